//! From a request to a running process, or the reason why not.
//!
//! Everything that can be known before the start is checked before it, so that each kind of
//! failure has its own name. Descriptors of ours are closed on exec but for the one private file that
//! carries what does not fit a command line or an environment.

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Seek as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::family;
use super::handed;
use super::{ErrorKind, ExecError, Request, Script};
use crate::os::{self, DescriptorLimit, Start};
use rrc_vm::shell::is_posix;

/// The longest value that travels as one environment string. The kernel's limit is 128 KiB for
/// name and value together.
pub const VALUE_MAX: usize = 96 * 1024;
/// The longest script that travels as an argument.
pub const TEXT_MAX: usize = 96 * 1024;
/// The most that variables may add to the environment.
pub const ENVIRONMENT_MAX: usize = 512 * 1024;
const ARGUMENT_MAX: usize = 128 * 1024 - 1;
/// Scripts use low descriptor numbers by hand, and bash keeps its own from 10 on: where there are so many,
/// ours is none of those, and else it is as high as can be.
const LEAST_DESCRIPTORS: [i32; 4] = [64, 40, 20, 10];

pub struct Launched {
    pub pid: u32,
    pub stdin: Option<PipeWriter>,
    pub stdout: PipeReader,
    pub stderr: PipeReader,
    /// Ours of the ends that the child writes to.
    pub ends: [PipeWriter; 2],
    pub warnings: Vec<String>,
}

/// What the system is given of a request, as it wants it.
struct Command<'a> {
    program: CString,
    words: Vec<CString>,
    environment: Vec<Cow<'a, CStr>>,
    cwd: CString,
}

pub struct Launcher {
    null: File,
    own: Environment,
    limit: &'static DescriptorLimit,
    portable: bool,
}

type Failure = ExecError;

fn invalid(detail: String) -> Failure {
    ExecError::new(ErrorKind::InvalidRequest, detail)
}

fn refused(error: io::Error) -> Failure {
    let kind = match error.kind() {
        io::ErrorKind::InvalidInput => ErrorKind::InvalidRequest,
        io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
        _ => ErrorKind::SpawnFailed,
    };
    ExecError::new(kind, error.to_string())
}

/// A program that is there did not start.
fn not_started(program: &str, error: io::Error) -> Failure {
    let why = match error.kind() {
        io::ErrorKind::NotFound => {
            "what its first line says to run it with is not there".to_string()
        }
        _ if os::is_no_program(&error) => "no program for this machine, and no script".to_string(),
        _ => error.to_string(),
    };
    let failure = refused(error);
    ExecError {
        detail: format!("{program}: {why}"),
        ..failure
    }
}

impl Launcher {
    pub fn new(portable: bool, told: &[(String, String)]) -> io::Result<Launcher> {
        Ok(Launcher {
            null: File::open("/dev/null")?,
            own: Environment::own(told),
            limit: DescriptorLimit::raised(),
            portable,
        })
    }

    /// How many of them this process may have.
    pub fn descriptors(&self) -> usize {
        self.limit.own()
    }

    pub fn launch(&self, request: &Request, marker: &str) -> Result<Launched, Failure> {
        check(request)?;
        // Whether it can be entered is asked when something went wrong: starting a program asks too.
        let cwd = absolute(&request.cwd)?;
        let or_cwd = |failure: Failure| enter(&request.cwd).err().unwrap_or(failure);
        let mut parcel = Parcel::pack(request)?;
        let given = value_of(&request.env, "PATH").map(|(_, value)| value.as_str());
        let given = given
            .or_else(|| parcel.value_of("PATH"))
            .map(OsString::from);
        let path = given
            .or_else(|| std::env::var_os("PATH"))
            .unwrap_or_default();
        let find = || find_program(&request.program, &path, &cwd);
        let program = match Path::new(&request.program).is_absolute() {
            // Starting it asks the same, and says less of what is wrong.
            true => PathBuf::from(&request.program),
            false => find().map_err(or_cwd)?,
        };

        let words = words(request, &mut parcel).map_err(refused)?;
        // A stale value of the same name must not stand in for one that was left out; and a
        // variable that is in the environment would be exported again by the shell.
        let absent = std::mem::take(&mut parcel.absent);
        let given = request.env.iter().map(|(name, value)| (&**name, &**value));
        let added = parcel.environment.iter().copied().chain(given);
        let added = added.chain([(family::MARKER, marker)]);
        let environment = self.own.of_child(&request.inherit, &absent, added);
        let command = Command {
            program: c_text(program.as_os_str().as_bytes()).map_err(refused)?,
            words,
            environment: environment.map_err(refused)?,
            cwd: c_text(cwd.as_os_str().as_bytes()).map_err(refused)?,
        };
        let fed = request
            .stdin
            .as_ref()
            .is_some_and(|bytes| !bytes.is_empty());
        self.spawn(&command, parcel, fed).map_err(|error| {
            let wrong = || not_started(&request.program, error);
            or_cwd(find().err().unwrap_or_else(wrong))
        })
    }

    /// Starts this program once more, under another name and with nothing in its environment: a marker in
    /// it would make it a stray of an rrc above us.
    pub fn launch_again(
        &self,
        argv: &[&str],
        input: BorrowedFd<'_>,
        output: BorrowedFd<'_>,
    ) -> io::Result<u32> {
        // The link still works when the file was replaced by an update.
        let program = match cfg!(target_os = "linux") {
            true => PathBuf::from("/proc/self/exe"),
            false => std::env::current_exe()?,
        };
        let program = c_text(program.as_os_str().as_bytes())?;
        let words: Vec<CString> = argv
            .iter()
            .map(|word| c_text(*word))
            .collect::<io::Result<_>>()?;
        let words: Vec<&CStr> = words.iter().map(|word| &**word).collect();
        let start = Start {
            program: &program,
            argv: &words,
            environment: &[],
            cwd: c"/",
            streams: [input, output, self.null.as_fd()],
            limit: self.limit,
        };
        family::start(|| os::spawn(&start, self.portable))
    }

    fn spawn(&self, command: &Command<'_>, parcel: Parcel<'_>, fed: bool) -> io::Result<Launched> {
        let (stdout, child_stdout) = io::pipe()?;
        let (stderr, child_stderr) = io::pipe()?;
        let (child_stdin, stdin) = match fed {
            true => io::pipe().map(|(theirs, ours)| (Some(theirs), Some(ours)))?,
            false => (None, None),
        };
        let child_stdin = child_stdin
            .as_ref()
            .map_or(self.null.as_fd(), |pipe| pipe.as_fd());
        let streams = [child_stdin, child_stdout.as_fd(), child_stderr.as_fd()];
        let words: Vec<&CStr> = command.words.iter().map(|word| &**word).collect();
        let environment: Vec<&CStr> = command.environment.iter().map(|entry| &**entry).collect();
        let start = Start {
            program: &command.program,
            argv: &words,
            environment: &environment,
            cwd: &command.cwd,
            streams,
            limit: self.limit,
        };
        let pid = family::start(|| {
            // Inside, because a program started meanwhile would get the file as well.
            if let Some(file) = &parcel.file {
                os::set_inherited(file, true)?;
            }
            let started = os::spawn(&start, self.portable);
            if let Some(file) = &parcel.file {
                // It is closed in a moment; this is for programs started by others until then.
                let _ = os::set_inherited(file, false);
            }
            started
        })?;
        Ok(Launched {
            pid,
            stdin,
            stdout,
            stderr,
            ends: [child_stdout, child_stderr],
            warnings: parcel.warnings,
        })
    }
}

/// Whether a directory can be entered, and whether a program is there.
pub fn can_start(program: Option<&str>, cwd: &Path) -> Result<(), ExecError> {
    enter(cwd)?;
    let Some(program) = program else {
        return Ok(());
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    find_program(program, &path, &absolute(cwd)?).map(drop)
}

fn c_text(text: impl Into<Vec<u8>>) -> io::Result<CString> {
    Ok(CString::new(text)?)
}

/// All words of a command, its name first.
fn words(request: &Request, parcel: &mut Parcel<'_>) -> io::Result<Vec<CString>> {
    let name = request.arg0.as_ref().unwrap_or(&request.program);
    let words = [name].into_iter().chain(&request.args);
    let mut words: Vec<CString> = words
        .map(|word| c_text(&**word))
        .collect::<io::Result<_>>()?;
    if let Some(script) = &request.script {
        parcel.add_script(&mut words, script, &request.program)?;
    }
    Ok(words)
}

fn value_of<'a>(list: &'a [(String, String)], name: &str) -> Option<&'a (String, String)> {
    list.iter().rev().find(|(key, _)| key == name)
}

/// What no system call could make sense of.
fn check(request: &Request) -> Result<(), Failure> {
    if request.program.is_empty() {
        return Err(invalid("the program has no name".to_owned()));
    }
    if request.timeout.is_some_and(|timeout| timeout.is_zero()) {
        return Err(invalid("a time limit of 0".to_owned()));
    }
    let script_args = request
        .script
        .iter()
        .flat_map(|s| s.name.iter().chain(&s.args));
    let args = request.args.iter().chain(script_args);
    for word in args.chain(&request.arg0).chain([&request.program]) {
        if word.contains('\0') {
            return Err(invalid("an argument holds a NUL".to_owned()));
        }
        if word.len() > ARGUMENT_MAX {
            return Err(invalid(format!("an argument of {} bytes", word.len())));
        }
    }
    for (name, value) in &request.env {
        if !is_environment_name(name) {
            return Err(invalid(format!(
                "`{}` cannot name a variable",
                name.escape_debug()
            )));
        }
        if value.contains('\0') {
            return Err(invalid(format!("the value of `{name}` holds a NUL")));
        }
        if value.len() > VALUE_MAX {
            let size = value.len();
            return Err(invalid(format!(
                "the value of `{name}` is too long: {size} bytes"
            )));
        }
    }
    Ok(())
}

fn is_environment_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 1024 && !name.contains(['=', '\0'])
}

/// Whether a value can be an environment string.
pub fn fits_environment(value: &str) -> bool {
    value.len() <= VALUE_MAX && !value.contains('\0')
}

fn is_python(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or("");
    name.starts_with("python") || name.starts_with("pypy")
}

fn is_shell_name(name: &str) -> bool {
    let mut letters = name.bytes();
    letters
        .next()
        .is_some_and(|first| first == b'_' || first.is_ascii_alphabetic())
        && name.len() <= 1024
        && letters.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

fn bad_cwd(cwd: &Path, why: &dyn std::fmt::Display) -> Failure {
    let detail = format!("{}: {why}", cwd.display());
    ExecError::new(ErrorKind::InvalidCwd, detail)
}

fn absolute(cwd: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(cwd).map_err(|error| bad_cwd(cwd, &error))
}

/// Whether a directory can be entered.
fn enter(cwd: &Path) -> Result<(), Failure> {
    let metadata = cwd.metadata().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => bad_cwd(cwd, &"there is no such directory"),
        _ => bad_cwd(cwd, &error),
    })?;
    match (metadata.is_dir(), os::may_execute(cwd)) {
        (false, _) => Err(bad_cwd(cwd, &"not a directory")),
        (_, false) => Err(bad_cwd(cwd, &"permission denied")),
        _ => Ok(()),
    }
}

/// The file that a command word means: a regular file that may be executed, the first on `path`.
/// A word with a `/` is not searched for but taken from `cwd`.
pub fn find_program(word: &str, path: &OsStr, cwd: &Path) -> Result<PathBuf, ExecError> {
    let missing = |why: &str| ExecError::new(ErrorKind::CommandNotFound, format!("{word}: {why}"));
    let unusable =
        |why: &str| ExecError::new(ErrorKind::PermissionDenied, format!("{word}: {why}"));
    if word.contains('/') {
        let file = cwd.join(word);
        return match file.metadata() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(unusable(&error.to_string()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(missing("there is no such file"))
            }
            Err(error) => Err(missing(&error.to_string())),
            Ok(metadata) if metadata.is_dir() => Err(unusable("is a directory")),
            Ok(metadata) if !metadata.is_file() => Err(unusable("not a regular file")),
            Ok(_) if !os::may_execute(&file) => Err(unusable("not marked as executable")),
            Ok(_) => Ok(file),
        };
    }
    let mut seen = false;
    let mut tried: Vec<&[u8]> = Vec::new();
    let mut file: Vec<u8> = Vec::new();
    for directory in path.as_bytes().split(|byte| *byte == b':') {
        // A relative entry would make the meaning of a name depend on where a step runs.
        if !directory.starts_with(b"/") || tried.contains(&directory) {
            continue;
        }
        tried.push(directory);
        file.clear();
        file.extend_from_slice(directory);
        file.push(b'/');
        file.extend_from_slice(word.as_bytes());
        let file = Path::new(OsStr::from_bytes(&file));
        if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            if os::may_execute(file) {
                return Ok(file.to_path_buf());
            }
            seen = true;
        }
    }
    Err(match seen {
        true => unusable("not marked as executable"),
        false => missing("not on PATH"),
    })
}

/// How the values of a request travel.
#[derive(Default)]
struct Parcel<'a> {
    environment: Vec<(&'a str, &'a str)>,
    /// Names that must not be in the environment.
    absent: Vec<&'a str>,
    /// Assignments for the shell to read from the private file.
    assignments: String,
    file: Option<File>,
    warnings: Vec<String>,
}

impl<'a> Parcel<'a> {
    fn pack(request: &'a Request) -> Result<Parcel<'a>, Failure> {
        let mut parcel = Parcel::default();
        let mut size = 0;
        let weight = |name: &str, value: &str| name.len() + value.len() + 2;
        let is_shell = request.script.is_some() && is_posix(&request.program);
        let mut vars = Vec::with_capacity(request.vars.len());
        for (name, value) in &request.vars {
            if !is_shell_name(name) {
                let name = name.escape_debug();
                return Err(invalid(format!("`{name}` cannot name a shell variable")));
            }
            let nul = value.contains('\0');
            if nul && is_shell {
                parcel
                    .warnings
                    .push(format!("NUL bytes of `{name}` were dropped"));
            }
            let weight = weight(name, value);
            if !nul && value.len() <= VALUE_MAX && size + weight <= ENVIRONMENT_MAX {
                size += weight;
                vars.push((name.as_str(), value.as_str()));
                continue;
            }
            if !is_shell {
                let size = value.len();
                return Err(invalid(format!(
                    "`{name}` ({size} bytes) needs a shell to arrive"
                )));
            }
            parcel.absent.push(name);
            assign(&mut parcel.assignments, name, value);
            let script = request.script.as_ref();
            if script.is_some_and(|script| handed::is_for_others(&script.text, name)) {
                let size = value.len();
                parcel.warnings.push(format!(
                    "`{name}` ({size} bytes) does not fit the environment of programs; \
                     only the script itself has it"
                ));
            }
        }
        let fits = |(name, value): &&(String, String)| {
            is_environment_name(name) && fits_environment(value)
        };
        let fitting = || request.ambient.iter().filter(fits);
        size += fitting()
            .map(|(name, value)| weight(name, value))
            .sum::<usize>();
        let named = |name: &str| value_of(&request.vars, name).is_some();
        if size <= ENVIRONMENT_MAX {
            let pairs = fitting().filter(|(name, _)| !named(name));
            parcel
                .environment
                .extend(pairs.map(|(name, value)| (name.as_str(), value.as_str())));
        } else {
            let detail = format!("{size} bytes of variables do not fit the environment");
            parcel
                .warnings
                .push(format!("{detail}; only those in use are exported"));
        }
        let left_out = |pair: &&(String, String)| size > ENVIRONMENT_MAX || !fits(pair);
        let absent = request.ambient.iter().filter(left_out);
        let absent = absent.filter(|(name, _)| is_environment_name(name) && !named(name));
        for (name, value) in absent {
            parcel.absent.push(name);
            let script = request.script.as_ref().filter(|_| !is_shell);
            if script.is_some_and(|script| script.mentions(name)) {
                let (program, size) = (&request.program, value.len());
                parcel.warnings.push(format!(
                    "`{name}` ({size} bytes) does not fit the environment of `{program}`; it is left out"
                ));
            }
        }
        parcel.environment.extend(vars);
        Ok(parcel)
    }

    fn value_of(&self, name: &str) -> Option<&'a str> {
        let mut pairs = self.environment.iter().rev();
        pairs.find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    /// Adds what follows the options of a shell: `-c`, the text, `$0` and the arguments.
    fn add_script(
        &mut self,
        words: &mut Vec<CString>,
        script: &Script,
        shell: &str,
    ) -> io::Result<()> {
        let mut text = script.text.as_str();
        let without;
        if text.contains('\0') {
            self.warnings
                .push("NUL bytes of the script were dropped".to_owned());
            without = text.replace('\0', "");
            text = &without;
        }
        if text.len() <= TEXT_MAX && self.assignments.is_empty() {
            words.extend([c"-c".into(), c_text(text)?]);
        } else if is_posix(shell) {
            words.extend([c"-c".into(), c_text(self.with_prologue(text)?)?]);
        } else {
            let (file, path) = private_file()?;
            self.carry(file, text)?;
            if is_python(shell) {
                // A file of its own would not find modules in the working directory.
                let read = format!("exec(open('{path}', encoding='utf-8').read())");
                words.extend([c"-c".into(), c_text(read)?]);
            } else {
                words.push(c_text(path)?);
            }
        }
        if script.name.is_some() || !script.args.is_empty() {
            words.push(c_text(script.name.as_deref().unwrap_or(shell))?);
            for arg in &script.args {
                words.push(c_text(&**arg)?);
            }
        }
        Ok(())
    }

    /// The text of a shell that first reads its values, or also itself if it is long.
    fn with_prologue(&mut self, text: &str) -> io::Result<String> {
        let long = text.len() > TEXT_MAX;
        let mut contents = std::mem::take(&mut self.assignments);
        if long {
            assign(&mut contents, "__rrc_text", text);
        }
        let (file, path) = private_file()?;
        // Only bash can name a descriptor of two digits; others keep it open, unused.
        contents += "[ -z \"${BASH_VERSION-}\" ] || exec ";
        contents += &format!("{}<&-\n", file.as_raw_fd());
        self.carry(file, &contents)?;
        // On the first line of the text, which keeps its number. Errors are hidden because
        // `-x` would print the values; failing is not.
        let read = format!(
            "{{ . {path}; }} 2>/dev/null || {{ echo \
             'rrc: the values of this script cannot be read' >&2; exit 126; }}; "
        );
        Ok(match long {
            true => read + "eval \"unset __rrc_text; $__rrc_text\"",
            false => read + text,
        })
    }

    fn carry(&mut self, mut file: File, contents: &str) -> io::Result<()> {
        file.write_all(contents.as_bytes())?;
        file.rewind()?;
        self.file = Some(file);
        Ok(())
    }
}

/// A file that only the child has, and the path by which it opens it.
fn private_file() -> io::Result<(File, String)> {
    let file = os::private_file()?;
    let moved = LEAST_DESCRIPTORS.iter();
    let mut moved = moved.filter_map(|least| os::move_above(&file, *least).ok());
    let file = match moved.next() {
        Some(moved) => moved,
        None => os::move_above(&file, 3)?,
    };
    let path = format!("/dev/fd/{}", file.as_raw_fd());
    Ok((file, path))
}

/// One assignment that gives exactly the value, but for NULs, which no shell can hold.
fn assign(to: &mut String, name: &str, value: &str) {
    to.reserve(name.len() + value.len() + 8);
    to.push_str(name);
    to.push_str("='");
    for (at, piece) in value.split('\'').enumerate() {
        if at > 0 {
            to.push_str("'\\''");
        }
        to.extend(piece.split('\0'));
    }
    to.push_str("'\n");
}
