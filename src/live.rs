//! A run as it goes: on a terminal a line for each step that runs, with the time it has taken; else,
//! for who asks for it, a line when a step starts and when it ends.
//!
//! What has ended scrolls by above the lines of what runs. Those are drawn by a thread of their own,
//! and only for steps that take long enough to be seen: quick ones cost a line in a table.

use crate::cli::{Global, RunArgs, RunFormat};
use crate::results::{self, Look};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use rrc_runtime::event::{Event, What};
use rrc_runtime::os;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// How often the lines are drawn, and how long a step runs before it has one.
const TICK: Duration = Duration::from_millis(100);
/// Lines of running steps; the others are counted.
const MOST_LINES: usize = 10;
/// Columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;
/// Columns of what turns before a line, and the blank behind it.
const MARK: usize = 2;

/// How a run is shown while it goes.
pub enum Live {
    Nothing,
    /// Lines on standard error; whether ends are told elsewhere.
    Lines {
        starts_only: bool,
    },
    Screen(Screen),
}

impl Live {
    /// `gives`: standard output is for the result, so ends are not told there.
    pub fn new(args: &RunArgs, global: &Global, gives: bool) -> Live {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let text = args.output_format == RunFormat::Text;
        let wanted = args.progress || text && !global.quiet && io::stdout().is_terminal();
        if wanted && io::stderr().is_terminal() && !dumb && !set("CI") {
            return Live::Screen(Screen::new(global.use_color(true)));
        }
        match args.progress {
            true => Live::Lines {
                starts_only: text && !global.quiet && !gives,
            },
            false => Live::Nothing,
        }
    }

    /// Tells what happened; other writers write through [`Live::above`].
    pub fn see(&self, event: &Event, err: &mut dyn Write) -> io::Result<()> {
        match self {
            Live::Nothing => Ok(()),
            Live::Lines { starts_only } => line(event, *starts_only, err),
            Live::Screen(screen) => {
                screen.see(event);
                Ok(())
            }
        }
    }

    /// Writes lines that stay, above those that are redrawn.
    pub fn above<T>(&self, write: impl FnOnce() -> T) -> T {
        match self {
            Live::Screen(screen) => screen.above(write),
            Live::Nothing | Live::Lines { .. } => write(),
        }
    }

    /// Does something that has the terminal to itself.
    pub fn alone<T>(&self, work: impl FnOnce() -> T) -> T {
        let Live::Screen(screen) = self else {
            return work();
        };
        screen.state().hide(true);
        let done = work();
        screen.state().hide(false);
        done
    }
}

/// One event as a line, if it is worth one here.
fn line(event: &Event, starts_only: bool, err: &mut dyn Write) -> io::Result<()> {
    let Some(step) = event.step.as_ref().filter(|_| !event.replayed) else {
        return Ok(());
    };
    match &event.what {
        What::StepStart => {
            let path = results::printable(&step.path);
            writeln!(err, "started {path} ({})", step.kind.word())
        }
        What::Iteration { .. } => writeln!(err, "started {}", results::printable(&step.path)),
        _ if starts_only => Ok(()),
        _ => {
            let look = Look {
                color: false,
                terminal: io::stderr().is_terminal(),
            };
            results::text_line(event, look, err)
        }
    }
}

/// The lines of what runs, on a terminal.
pub struct Screen {
    state: Arc<Mutex<State>>,
    ended: Arc<(Mutex<bool>, Condvar)>,
    drawer: Option<JoinHandle<()>>,
}

/// A step that has begun and not ended.
struct Running {
    path: String,
    started: Instant,
    /// How many steps in it have begun and not ended. It is those that are shown.
    inside: usize,
    /// Since when there are none.
    alone: Instant,
}

struct State {
    running: Vec<Running>,
    all: MultiProgress,
    lines: Vec<ProgressBar>,
    style: ProgressStyle,
    hidden: bool,
}

impl Screen {
    fn new(color: bool) -> Screen {
        let template = match color {
            true => "{spinner:.cyan} {wide_msg}",
            false => "{spinner} {wide_msg}",
        };
        let state = Arc::new(Mutex::new(State {
            running: Vec::new(),
            all: MultiProgress::with_draw_target(ProgressDrawTarget::stderr()),
            lines: Vec::new(),
            style: ProgressStyle::with_template(template)
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
            hidden: false,
        }));
        let ended = Arc::new((Mutex::new(false), Condvar::new()));
        let (drawn, over) = (Arc::clone(&state), Arc::clone(&ended));
        let drawer = std::thread::Builder::new()
            .name("live".to_string())
            .spawn(move || draw(&drawn, &over))
            .ok();
        Screen {
            state,
            ended,
            drawer,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn see(&self, event: &Event) {
        let Some(step) = &event.step else { return };
        let path = &step.path;
        let mut state = self.state();
        match &event.what {
            What::StepStart | What::Iteration { .. } if !event.replayed => state.begin(path),
            What::StepEnd { .. } | What::StepPause => {
                state.end(path);
                // Its line goes before it is said how it ended.
                if !state.lines.is_empty() {
                    state.draw(Instant::now());
                }
            }
            _ => {}
        }
    }

    fn above<T>(&self, write: impl FnOnce() -> T) -> T {
        let state = self.state();
        match state.lines.is_empty() {
            true => write(),
            false => state.all.suspend(write),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        *lock(&self.ended.0) = true;
        self.ended.1.notify_all();
        if let Some(drawer) = self.drawer.take() {
            // A thread that has panicked has nothing more to draw.
            let _ = drawer.join();
        }
        self.state().hide(true);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn draw(state: &Mutex<State>, (over, changed): &(Mutex<bool>, Condvar)) {
    let mut ended = lock(over);
    while !*ended {
        let waited = changed.wait_timeout(ended, TICK);
        ended = waited.unwrap_or_else(PoisonError::into_inner).0;
        if !*ended {
            lock(state).draw(Instant::now());
        }
    }
}

/// The path of what holds a step, if anything does.
fn around(path: &str) -> &str {
    path.rfind(['/', '[']).map_or("", |end| &path[..end])
}

impl State {
    fn begin(&mut self, path: &str) {
        if let Some(holder) = self.holder(path) {
            holder.inside += 1;
        }
        let now = Instant::now();
        self.running.push(Running {
            path: path.to_string(),
            started: now,
            inside: 0,
            alone: now,
        });
    }

    fn end(&mut self, path: &str) {
        let Some(at) = self.running.iter().rposition(|known| known.path == path) else {
            return;
        };
        self.running.remove(at);
        // It goes on without it: it waits, tries again, or has something to do after it.
        if let Some(holder) = self.holder(path) {
            holder.inside = holder.inside.saturating_sub(1);
            holder.alone = Instant::now();
        }
    }

    fn holder(&mut self, path: &str) -> Option<&mut Running> {
        let around = around(path);
        let mut running = self.running.iter_mut().rev();
        running.find(|known| known.path == around)
    }

    fn draw(&mut self, now: Instant) {
        if self.hidden {
            return;
        }
        let long =
            |running: &&Running| running.inside == 0 && now.duration_since(running.alone) >= TICK;
        let seen: Vec<&Running> = self.running.iter().filter(long).collect();
        let columns = os::columns(io::stderr()).unwrap_or(COLUMNS);
        let mut texts: Vec<String> = seen
            .iter()
            .take(MOST_LINES)
            .map(|running| {
                let time = elapsed(now.duration_since(running.started));
                line_of(&results::printable(&running.path), &time, columns)
            })
            .collect();
        if seen.len() > MOST_LINES {
            texts.push(format!("and {} more", seen.len() - MOST_LINES));
        }
        while self.lines.len() > texts.len() {
            if let Some(line) = self.lines.pop() {
                line.finish_and_clear();
                self.all.remove(&line);
            }
        }
        while self.lines.len() < texts.len() {
            let line = ProgressBar::new_spinner().with_style(self.style.clone());
            self.lines.push(self.all.add(line));
        }
        for (line, text) in self.lines.iter().zip(texts) {
            if line.message() != text {
                line.set_message(text);
            }
            line.tick();
        }
    }

    fn hide(&mut self, hidden: bool) {
        self.hidden = hidden;
        for line in self.lines.drain(..) {
            line.finish_and_clear();
            self.all.remove(&line);
        }
    }
}

/// A path and a time in so many columns. Of a path that is too long its end stays, where the step is
/// that runs.
fn line_of(path: &str, time: &str, columns: usize) -> String {
    let blanks = 2;
    let room = columns.saturating_sub(MARK + blanks + time.width());
    if path.width() <= room {
        return format!("{path}  {time}");
    }
    let mut end = path.len();
    let mut taken = '…'.width().unwrap_or(1);
    for (at, letter) in path.char_indices().rev() {
        taken += letter.width().unwrap_or(0);
        if taken > room {
            break;
        }
        end = at;
    }
    format!("…{}  {time}", &path[end..])
}

/// How long something has taken, as short as can be read at a glance.
fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_gives_way_to_the_time() {
        assert_eq!(line_of("a/b", "5 s", 80), "a/b  5 s");
        assert_eq!(line_of("outer/inner", "5 s", 18), "outer/inner  5 s");
        assert_eq!(line_of("outer/inner", "5 s", 17), "…ter/inner  5 s");
        assert_eq!(line_of("日本語/日本", "5 s", 18), "日本語/日本  5 s");
        assert_eq!(line_of("日本語/日本", "5 s", 16), "…語/日本  5 s");
        assert_eq!(line_of("outer/inner", "5 s", 3), "…  5 s");
    }

    #[test]
    fn times_are_short() {
        let of = |seconds| elapsed(Duration::from_secs(seconds));
        assert_eq!([of(0), of(59)], ["0 s", "59 s"]);
        assert_eq!([of(60), of(3599)], ["1 min 00 s", "59 min 59 s"]);
        assert_eq!([of(3600), of(90_061)], ["1 h 00 min", "25 h 01 min"]);
    }
}
