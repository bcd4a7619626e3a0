//! Variables as the environment of a script: `RECIPE_VAR_` names for all of them, and upper-case
//! aliases for the plain ones.
//!
//! Every name is usable in a shell, and no two variables share one. Knows nothing of how much an
//! environment can hold, nor of what else is in it: the driver does.

use crate::text;
use crate::value::{Map, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

const PREFIX: &str = "RECIPE_VAR_";

/// Objects are taken apart this deep; below, only their JSON is exported.
const DEEPEST: usize = 16;

struct Export<'v> {
    name: Rc<str>,
    value: &'v Value,
    /// Whether this is the name as the recipe writes it, not one that came to look like it.
    own: bool,
}

/// The environment of these variables. A name that needs no change belongs to the variable that
/// has it; others that come to the same name get a number, in the order of the variables.
pub fn exports(variables: &Map) -> Map {
    // Without a limit there is always an environment.
    exports_within(variables, usize::MAX).unwrap_or_default()
}

/// The same, unless its values are longer than `most` bytes together: see
/// [`text::render_within`].
pub fn exports_within(variables: &Map, most: usize) -> Option<Map> {
    let mut left = most;
    let mut wanted = Vec::new();
    for (name, value) in variables {
        let (shell_name, own) = shell_name(name);
        let shell_name = format!("{PREFIX}{shell_name}");
        flatten(&shell_name, value, 1, &mut wanted);
        wanted.push(Export {
            name: shell_name.into(),
            value,
            own,
        });
    }
    let mut taken: FxHashSet<Rc<str>> = wanted
        .iter()
        .filter(|export| export.own)
        .map(|export| export.name.clone())
        .collect();
    let mut numbers: FxHashMap<Rc<str>, u32> = FxHashMap::default();
    let mut given = Map::default();
    for Export { name, value, own } in wanted {
        let mut free = name.clone();
        if !own {
            let number = numbers.entry(name.clone()).or_insert(1);
            while !taken.insert(free.clone()) {
                *number += 1;
                free = format!("{name}_{number}").into();
            }
        }
        let text = text::render_within(value, left)?;
        left -= text.len();
        given.insert(free, Value::Text(text));
    }
    add_aliases(variables, &mut given);
    Some(given)
}

fn flatten<'v>(prefix: &str, value: &'v Value, depth: usize, wanted: &mut Vec<Export<'v>>) {
    let Value::Map(fields) = value else {
        return;
    };
    if depth > DEEPEST {
        return;
    }
    for (name, value) in fields.iter() {
        let name = format!("{prefix}__{}", shell_name(name).0);
        flatten(&name, value, depth + 1, wanted);
        wanted.push(Export {
            name: name.into(),
            value,
            own: false,
        });
    }
}

/// The characters of a name that a shell can hold, and whether they are the name itself.
fn shell_name(name: &str) -> (String, bool) {
    let mut out = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '.' => out.push_str("__"),
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => out.push(character),
            _ => out.push('_'),
        }
    }
    let own = out == name;
    (out, own)
}

/// An alias is a convenience, so two variables that differ only in case do not both get one: it
/// belongs to the one that is spelled like it, else to the first.
fn add_aliases(variables: &Map, given: &mut Map) {
    let mut aliases: Map = Map::default();
    for (name, value) in variables {
        if !is_identifier(name) || matches!(value, Value::List(_) | Value::Map(_)) {
            continue;
        }
        let alias = name.to_ascii_uppercase();
        if is_reserved(&alias) || given.contains_key(&*alias) {
            continue;
        }
        if *alias == **name || !aliases.contains_key(&*alias) {
            aliases.insert(alias.into(), Value::Text(text::render(value)));
        }
    }
    given.extend(aliases);
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Names that mean something to the shell, the loader or common tools: which code they load and
/// run, where they look for programs, configuration, repositories and certificates, and how they
/// talk to the terminal. A variable that happens to be called `path` or `git_dir` must not
/// change what the programs of a script do.
pub fn is_reserved(alias: &str) -> bool {
    OF_SHELLS.contains(&alias)
        || OF_PROGRAMS.contains(&alias)
        || begins(alias, RESERVED_PREFIXES)
        // `PYTHONPATH` and its many kin, but not `PYTHON_VERSION`.
        || alias
            .strip_prefix("PYTHON")
            .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_alphabetic()))
}

/// Of the reserved names, those that the shell or the session gives to every script: who reads one
/// of them means what it always holds.
pub fn is_everywhere(alias: &str) -> bool {
    OF_SHELLS.contains(&alias) || begins(alias, &["BASH_", "COMP_", "LC_", "SUDO_", "XDG_"])
}

/// The reserved names, and what others begin with that are, each in the order of the alphabet.
pub fn reserved() -> (Vec<&'static str>, &'static [&'static str]) {
    let mut names = [OF_SHELLS, OF_PROGRAMS].concat();
    names.sort_unstable();
    (names, RESERVED_PREFIXES)
}

fn begins(alias: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| alias.starts_with(prefix))
}

const RESERVED_PREFIXES: &[&str] = &[
    "BASH_",
    "BUNDLE_",
    "CARGO_",
    "COMP_",
    "CONDA_",
    "DBUS_",
    "DYLD_",
    "GIT_ATTR_",
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GIT_CONFIG",
    "GIT_CURL_",
    "GIT_HTTP_",
    "GIT_MERGE_",
    "GIT_NOTES_",
    "GIT_PROTOCOL",
    "GIT_REDIRECT_",
    "GIT_SSH",
    "GIT_SSL_",
    "GIT_TRACE",
    "LC_",
    "LD_",
    "MALLOC_",
    "NPM_CONFIG_",
    "PIP_",
    "RRC_",
    "RUSTUP_",
    "SUDO_",
    "XDG_",
];

/// Names that shells and sessions set.
#[rustfmt::skip]
const OF_SHELLS: &[&str] = &[
    "_", "BASH", "BASHOPTS", "BASHPID", "CDPATH", "COLUMNS", "COPROC", "DIRSTACK", "ENV",
    "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "EXECIGNORE", "FIGNORE", "FPATH", "FUNCNAME",
    "FUNCNEST", "GLOBIGNORE", "GROUPS", "HISTCMD", "HISTCONTROL", "HISTFILE", "HISTFILESIZE",
    "HISTIGNORE", "HISTSIZE", "HISTTIMEFORMAT", "HOME", "HOSTFILE", "HOSTNAME", "HOSTTYPE", "IFS",
    "IGNOREEOF", "INPUTRC", "INSIDE_EMACS", "KSH_VERSION", "LANG", "LANGUAGE", "LINENO", "LINES",
    "LOGNAME", "MACHTYPE", "MAIL", "MAILCHECK", "MAILPATH", "MAPFILE", "OLDPWD", "OPTARG", "OPTERR",
    "OPTIND", "OSTYPE", "PATH", "PIPESTATUS", "POSIXLY_CORRECT", "PPID", "PROMPT_COMMAND",
    "PROMPT_DIRTRIM", "PS0", "PS1", "PS2", "PS3", "PS4", "PWD", "RANDOM", "READLINE_LINE", "REPLY",
    "SECONDS", "SHELL", "SHELLOPTS", "SHLVL", "SRANDOM", "TEMP", "TEMPDIR", "TERM", "TIMEFORMAT",
    "TMOUT", "TMP", "TMPDIR", "UID", "USER", "USERNAME", "ZDOTDIR",
];

/// Names that other programs go by.
#[rustfmt::skip]
const OF_PROGRAMS: &[&str] = &[
    // The loader and the C library.
    "GCONV_PATH", "GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN", "LOCPATH",
    "NIS_PATH", "NLSPATH", "RES_OPTIONS", "RESOLV_HOST_CONF", "TZ", "TZDIR",
    // The terminal and the desktop.
    "BROWSER", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "DISPLAY", "EDITOR", "FCEDIT",
    "FORCE_COLOR", "LESS", "LESSCLOSE", "LESSOPEN", "LS_COLORS", "MANPAGER", "MORE", "NO_COLOR",
    "PAGER", "TERMCAP", "TERMINFO", "TERM_PROGRAM", "VISUAL", "WAYLAND_DISPLAY",
    // Git, and what it runs.
    "GIT_ADVICE", "GIT_ALLOW_PROTOCOL", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_ASKPASS",
    "GIT_CEILING_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DEFAULT_HASH", "GIT_DEFAULT_REF_FORMAT",
    "GIT_DIFF_OPTS", "GIT_DIR", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EDITOR", "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF", "GIT_FLUSH", "GIT_GLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_INDEX_FILE",
    "GIT_INDEX_VERSION", "GIT_INTERNAL_SUPER_PREFIX", "GIT_LITERAL_PATHSPECS", "GIT_NAMESPACE",
    "GIT_NOGLOB_PATHSPECS", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY", "GIT_OPTIONAL_LOCKS",
    "GIT_PAGER", "GIT_PREFIX", "GIT_PROXY_COMMAND", "GIT_QUARANTINE_PATH", "GIT_REFLOG_ACTION",
    "GIT_REF_PARANOIA", "GIT_REPLACE_REF_BASE", "GIT_SEQUENCE_EDITOR", "GIT_SHALLOW_FILE",
    "GIT_TEMPLATE_DIR", "GIT_TERMINAL_PROMPT", "GIT_WORK_TREE",
    // Where others find themselves, their configuration and their secrets.
    "CLOUDSDK_CONFIG", "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_HOST", "GH_CONFIG_DIR", "GH_HOST",
    "GH_REPO", "GNUPGHOME", "GPG_AGENT_INFO", "GPG_TTY", "JAVA_HOME", "KRB5_CONFIG", "KUBECONFIG",
    "MAGIC", "NETRC", "OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES", "SSH_AGENT_PID",
    "SSH_ASKPASS", "SSH_AUTH_SOCK", "VIRTUAL_ENV",
    // The network.
    "ALL_PROXY", "CURL_CA_BUNDLE", "CURL_HOME", "FTP_PROXY", "HTTPS_PROXY", "HTTP_PROXY",
    "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "NO_PROXY", "REQUESTS_CA_BUNDLE",
    "RSYNC_RSH", "SSL_CERT_DIR", "SSL_CERT_FILE", "WGETRC",
    // Interpreters and build tools: code they load, options they add.
    "AR", "AS", "CC", "CFLAGS", "CI", "CLASSPATH", "CPATH", "CPP", "CPPFLAGS", "CXX", "CXXFLAGS",
    "C_INCLUDE_PATH", "ERL_FLAGS", "GEM_HOME", "GEM_PATH", "GOBIN", "GOENV", "GOFLAGS", "GOPATH",
    "GOPROXY", "GOROOT", "GRADLE_OPTS", "JAVA_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "LD",
    "LDFLAGS", "LIBRARY_PATH", "LUA_CPATH", "LUA_INIT", "LUA_PATH", "MAKE", "MAKEFILES", "MAKEFLAGS",
    "MAKELEVEL", "MAVEN_OPTS", "MFLAGS", "NODE_OPTIONS", "NODE_PATH", "PERL5DB", "PERL5LIB",
    "PERL5OPT", "PERLLIB", "PHPRC", "PHP_INI_SCAN_DIR", "PKG_CONFIG_PATH", "RUBYLIB", "RUBYOPT",
    "RUSTC", "RUSTC_WRAPPER", "RUSTDOCFLAGS", "RUSTFLAGS", "_JAVA_OPTIONS",
    // Tools that read options from the environment.
    "BLOCKSIZE", "BLOCK_SIZE", "GREP_COLORS", "GREP_OPTIONS", "GZIP", "JQ_COLORS", "LESSCHARSET",
    "RIPGREP_CONFIG_PATH", "TAPE", "TAR_OPTIONS", "UNZIP", "XZ_DEFAULTS", "XZ_OPT", "ZIPOPT",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::{from_json, to_json};
    use serde_json::{Value as Json, json};

    fn environment(variables: Json) -> Json {
        let Value::Map(variables) = from_json(&variables) else {
            panic!("variables are an object");
        };
        to_json(&Value::map(exports(&variables)))
    }

    #[test]
    fn every_variable_has_a_name_and_scalars_an_alias() {
        assert_eq!(
            environment(
                json!({"task_name": "a\u{0}b", "n": 1.0, "none": null, "o": {"k": {"j-k": true}}, "l": [1]})
            ),
            json!({
                "RECIPE_VAR_task_name": "a\u{0}b", "TASK_NAME": "a\u{0}b",
                "RECIPE_VAR_n": "1", "N": "1",
                "RECIPE_VAR_none": "", "NONE": "",
                "RECIPE_VAR_o": "{\"k\":{\"j-k\":true}}",
                "RECIPE_VAR_o__k": "{\"j-k\":true}",
                "RECIPE_VAR_o__k__j_k": "true",
                "RECIPE_VAR_l": "[1]",
            })
        );
    }

    #[test]
    fn names_that_would_collide_get_a_number() {
        assert_eq!(
            environment(
                json!({"a-b": 1, "a.b": 2, "a_b": 3, "a": {"b": 4}, "a__b": 5, "a b=": 6, "é": 7, "a_b_2": 8})
            ),
            json!({
                "RECIPE_VAR_a_b_3": "1",
                "RECIPE_VAR_a__b_2": "2",
                "RECIPE_VAR_a_b": "3", "A_B": "3",
                "RECIPE_VAR_a__b_3": "4",
                "RECIPE_VAR_a": "{\"b\":4}",
                "RECIPE_VAR_a__b": "5", "A__B": "5",
                "RECIPE_VAR_a_b_": "6",
                "RECIPE_VAR__": "7",
                "RECIPE_VAR_a_b_2": "8", "A_B_2": "8",
            })
        );
    }

    #[test]
    fn an_alias_belongs_to_one_variable_and_never_to_a_tool() {
        let environment = environment(json!({
            "task": "first", "TASK": "exact", "x": "prefix", "recipe_var_x": "alias", "RECIPE_VAR_X": "own",
            "path": "p", "git_dir": "p", "git_branch": "main", "bash_env": "p", "ld_preload": "p", "ci": "p",
            "lc_all": "p", "pythonpath": "p", "python_version": "3", "Env": "p", "_": "p", "my-name": "p",
        }));
        assert_eq!(environment["TASK"], "exact");
        assert_eq!(environment["GIT_BRANCH"], "main");
        assert_eq!(environment["PYTHON_VERSION"], "3");
        assert_eq!(environment["RECIPE_VAR_X"], "own");
        assert_eq!(environment["RECIPE_VAR_x"], "prefix");
        for (name, value) in environment
            .as_object()
            .expect("an environment is an object")
        {
            assert!(name.starts_with(PREFIX) || value != "p", "{name}");
        }
    }

    #[test]
    fn what_every_script_has_is_told_from_what_programs_go_by() {
        for name in ["PATH", "HOME", "LC_ALL", "BASH_SOURCE"] {
            assert!(is_reserved(name) && is_everywhere(name), "{name}");
        }
        for name in ["CI", "EDITOR", "GIT_DIR", "PIP_INDEX_URL", "PYTHONPATH"] {
            assert!(is_reserved(name) && !is_everywhere(name), "{name}");
        }
    }

    #[test]
    fn deep_objects_are_no_trouble() {
        let mut deep = Value::Int(1);
        for _ in 0..2_000 {
            let mut fields = Map::default();
            fields.insert("k".into(), deep);
            deep = Value::map(fields);
        }
        let mut variables = Map::default();
        variables.insert("v".into(), deep);
        assert_eq!(exports(&variables).len(), DEEPEST + 1);
        assert!(exports_within(&variables, 1 << 10).is_none());
    }
}
