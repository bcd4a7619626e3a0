//! The environment of children: what rrc itself was given, and what a request adds to it.
//!
//! Ours is read once. Most children get it with a few more variables, so those of ours are handed on as
//! they are, and only what is added is written anew.

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt as _;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::Inherit;

/// What an agent says to all it starts, rrc among them. One that finds it refuses to work, as it would
/// disturb the one around it: but what a run asks is on its own.
const WITHIN_AN_AGENT: &str = "CLAUDECODE";

/// What this process was started with.
pub struct Environment {
    variables: Vec<Variable>,
}

struct Variable {
    /// `NAME=value`, as the system wants it.
    entry: CString,
    name_length: usize,
}

impl Variable {
    fn name(&self) -> &[u8] {
        &self.entry.to_bytes()[..self.name_length]
    }
}

fn entry(name: &[u8], value: &[u8]) -> io::Result<CString> {
    let mut text = Vec::with_capacity(name.len() + value.len() + 2);
    text.extend_from_slice(name);
    text.push(b'=');
    text.extend_from_slice(value);
    Ok(CString::new(text)?)
}

impl Environment {
    /// What this process was started with, and what all it starts are told besides.
    pub fn own(told: &[(String, String)]) -> Environment {
        let is_told = |name: &OsStr| told.iter().any(|(other, _)| name == other.as_str());
        let passed_on =
            std::env::vars_os().filter(|(name, _)| name != WITHIN_AN_AGENT && !is_told(name));
        let told = told.iter().map(|(name, value)| (name.into(), value.into()));
        let variables = passed_on.chain(told).filter_map(|(name, value)| {
            let entry = entry(name.as_bytes(), value.as_bytes()).ok()?;
            let name_length = name.len();
            Some(Variable { entry, name_length })
        });
        Environment {
            variables: variables.collect(),
        }
    }

    /// The environment of a child: of ours what it inherits, less what must be absent, and what is added
    /// to it. Of two values of a name the later one counts.
    pub fn of_child<'a>(
        &'a self,
        inherit: &Inherit,
        absent: &[&str],
        added: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> io::Result<Vec<Cow<'a, CStr>>> {
        let added: IndexMap<&[u8], &[u8], FxBuildHasher> = added
            .into_iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
            .collect();
        let is_passed_on = |name: &[u8]| {
            let inherited = match inherit {
                Inherit::All => true,
                Inherit::Only(names) => names.iter().any(|other| other.as_bytes() == name),
            };
            inherited
                && !added.contains_key(name)
                && !absent.iter().any(|other| other.as_bytes() == name)
        };
        let mut entries = Vec::with_capacity(self.variables.len() + added.len());
        let own = self.variables.iter();
        let own = own.filter(|variable| is_passed_on(variable.name()));
        entries.extend(own.map(|variable| Cow::Borrowed(variable.entry.as_c_str())));
        for (name, value) in &added {
            entries.push(Cow::Owned(entry(name, value)?));
        }
        Ok(entries)
    }
}
