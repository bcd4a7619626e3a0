//! What children say while they run, line by line, without secrets.

use super::Driver;
use crate::capture::{Piece, text_cut};
use crate::event::What;
use crate::process::{ChildId, Stream};
use crate::secret::HIDDEN;

impl Driver<'_> {
    /// A line that a child wrote, or a piece of a long one. The end of a piece is kept until the
    /// next comes: a secret may go on there.
    pub(super) fn line(&mut self, child: ChildId, stream: Stream, line: Piece) {
        let stderr = matches!(stream, Stream::Err);
        let Piece { bytes: line, ends } = line;
        let kept = self.pieces.remove(&(child, stderr));
        let mut line = match kept {
            Some(mut kept) => {
                kept.extend_from_slice(&line);
                kept
            }
            None => line,
        };
        if !ends {
            let at = line.len().saturating_sub(self.secrets.window());
            let end = self.secrets.end_before(&line, at);
            // Half a character is none.
            let rest = line.split_off(text_cut(&line[..end]).len());
            self.pieces.insert((child, stderr), rest);
        }
        self.say_line(child, stderr, &line);
    }

    pub(super) fn end_line(&mut self, child: ChildId) {
        for stderr in [false, true] {
            if let Some(rest) = self.pieces.remove(&(child, stderr)) {
                self.say_line(child, stderr, &rest);
            }
            self.open_secrets.remove(&(child, stderr));
        }
    }

    fn say_line(&mut self, child: ChildId, stderr: bool, line: &[u8]) {
        if self.ending.contains(&child) {
            return;
        }
        let asked = self.children.get(&child).map(|running| &running.asked);
        let step = asked.and_then(|asked| self.step(asked.record));
        let secret = asked
            .and_then(|asked| asked.step)
            .is_some_and(|step| self.gives.contains_key(&step));
        let line = match secret && !stderr {
            true => HIDDEN.to_string(),
            false => {
                let mut open = self.open_secrets.remove(&(child, stderr));
                let line = String::from_utf8_lossy(line);
                let shown = self.secrets.line(open.get_or_insert_default(), &line);
                let open = open.filter(|open| !open.is_empty());
                self.open_secrets
                    .extend(open.map(|open| ((child, stderr), open)));
                shown
            }
        };
        self.say(step, None, What::StepOutput { stderr, line });
    }
}
