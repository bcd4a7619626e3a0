//! Variables from the command line: `--vars FILE` and `--set KEY=VALUE`.

use crate::Streams;
use crate::disk::read_at_most;
use rrc_compiler::codes::Severity;
use rrc_compiler::diagnostic::Report;
use rrc_compiler::dialect::{self, read_values};
use rrc_compiler::doc::{self, Schema};
use rrc_compiler::source::{Source, Sources};
use rrc_compiler::world::ReadError;
use rrc_vm::plan::Plan;
use rrc_vm::text::{json_or_text, render};
use rrc_vm::value::{Map, Value};
use std::io;
use std::path::Path;
use std::rc::Rc;

/// The largest file of variables that is read.
const MOST_BYTES: usize = 64 << 20;

/// What is given to a recipe whose dialect is not known yet: a file of variables is read as the recipe is.
pub struct Given {
    newer: Map,
    /// As YAML 1.1 has it, if that may be something else.
    older: Option<Map>,
}

impl Given {
    /// None if something is wrong with it, which is said.
    pub fn read(
        vars: Option<&Path>,
        set: &[String],
        streams: &mut Streams<'_>,
    ) -> io::Result<Option<Given>> {
        let (mut newer, mut older) = (Map::default(), None);
        if !put_over(&mut newer, vars, set, Schema::Yaml12, streams)? {
            return Ok(None);
        }
        if vars.is_some_and(|path| !is_json(path)) {
            let mut read = Map::default();
            if !put_over(&mut read, vars, set, Schema::Yaml11, streams)? {
                return Ok(None);
            }
            older = Some(read);
        }
        Ok(Some(Given { newer, older }))
    }

    /// Values that are what they are.
    pub fn of(values: &Map) -> Given {
        Given {
            newer: values.clone(),
            older: None,
        }
    }

    pub fn newer(&self) -> &Map {
        &self.newer
    }

    pub fn older(&self) -> Option<&Map> {
        self.older.as_ref()
    }

    /// What is given to a plan.
    pub fn to(&self, plan: &Plan) -> &Map {
        match (schema_of(plan), &self.older) {
            (Schema::Yaml11, Some(older)) => older,
            _ => &self.newer,
        }
    }
}

/// How plain scalars of the recipe of a plan were read.
pub fn schema_of(plan: &Plan) -> Schema {
    let name = plan.texts.get(plan.dialect).unwrap_or_default();
    dialect::find(name).map_or(Schema::Yaml12, |dialect| dialect.schema)
}

fn is_json(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "json")
}

/// Puts what `--vars` and then `--set` give over the variables, or says what is wrong.
pub fn put_over(
    variables: &mut Map,
    vars: Option<&Path>,
    set: &[String],
    schema: Schema,
    streams: &mut Streams<'_>,
) -> io::Result<bool> {
    if let Some(path) = vars {
        match from_file(path, schema) {
            Ok(read) => variables.extend(read),
            Err(words) => {
                writeln!(streams.err, "rrc: --vars {}: {words}", path.display())?;
                return Ok(false);
            }
        }
    }
    for pair in set {
        if let Err(words) = assign(variables, pair) {
            // Only the name: the value may be a secret.
            let name = pair.split('=').next().unwrap_or_default();
            let option = format!("--set {name}");
            writeln!(streams.err, "rrc: {}: {words}", option.trim_end())?;
            return Ok(false);
        }
    }
    Ok(true)
}

fn from_file(path: &Path, schema: Schema) -> Result<Map, String> {
    let bytes = match read_at_most(path, MOST_BYTES) {
        Ok(bytes) if bytes.len() <= MOST_BYTES => bytes,
        Ok(_) | Err(ReadError::TooLarge(_)) => {
            return Err(format!("the file is larger than {MOST_BYTES} bytes"));
        }
        Err(ReadError::NotFound) => return Err("there is no such file".to_string()),
        Err(ReadError::Directory) => return Err("it is a directory".to_string()),
        Err(ReadError::Other(words)) => return Err(words),
    };
    let text = String::from_utf8(bytes).map_err(|_| "the file is not UTF-8 text")?;
    let schema = match is_json(path) {
        true => Schema::Json,
        false => schema,
    };
    let value = match schema {
        Schema::Json if text.len() > doc::MAX_BYTES => large_json(&text)?,
        _ => values(text, schema)?,
    };
    match value {
        Value::Map(map) => Ok(Rc::unwrap_or_clone(map)),
        Value::Null => Ok(Map::default()),
        _ => Err("the file must hold a map of variables".to_string()),
    }
}

/// Reads values as those of a recipe are read: what is no number there is none here.
fn values(text: String, schema: Schema) -> Result<Value, String> {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("", text));
    let source = sources.get(id);
    let mut report = Report::default();
    let value = read_values(id, &source.text, schema, &mut report);
    let mut findings = report.findings.into_iter();
    match findings.find(|finding| finding.severity == Severity::Error) {
        Some(wrong) => {
            let at = source.place(wrong.span.range().start as u32);
            Err(format!("{}:{}: {}", at.line, at.column, wrong.message))
        }
        None => Ok(value.value()),
    }
}

/// JSON that is longer than the reader that knows places takes it.
fn large_json(text: &str) -> Result<Value, String> {
    serde_json::from_str::<serde_json::Value>(text).map_err(|error| error.to_string())?;
    Ok(json_or_text(text))
}

/// Sets one variable, or one field of one.
fn assign(map: &mut Map, pair: &str) -> Result<(), String> {
    let (key, text) = pair.split_once('=').ok_or("write it as KEY=VALUE")?;
    if key.is_empty() {
        return Err("the name before `=` is missing".to_string());
    }
    let mut names: Vec<&str> = key.split('.').collect();
    if names.iter().any(|name| name.is_empty()) {
        return Err(format!("`{key}` has an empty part"));
    }
    if let Some(name) = names.iter().find(|name| !is_name(name)) {
        return Err(match name.find('[') {
            Some(at) if at > 0 => {
                let list = &name[..at];
                format!("one item of a list cannot be set; give the whole list: `{list}=[…]`")
            }
            _ => format!("`{name}` is no name: letters, digits, `_` and `-` make one"),
        });
    }
    let last = names.pop().unwrap_or_default();
    let mut into = map;
    for name in names {
        let field = into.entry(Rc::from(name)).or_insert(Value::Null);
        if matches!(field, Value::Null) {
            *field = Value::map(Map::default());
        }
        let is = rrc_vm::text::kind_word(field);
        let Value::Map(inner) = field else {
            return Err(format!("`{name}` is {is} and has no fields"));
        };
        into = Rc::make_mut(inner);
    }
    into.insert(Rc::from(last), typed(text));
    Ok(())
}

/// Whether something could read a variable or a field of this name.
fn is_name(name: &str) -> bool {
    name.chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

/// Objects, lists, numbers, booleans and null are read; everything else is text. A number only
/// when it prints back as it was written: `007` and `1.10` are not what a program would print.
fn typed(text: &str) -> Value {
    match json_or_text(text) {
        number @ (Value::Int(_) | Value::Float(_)) if &*render(&number) != text => {
            Value::text(text)
        }
        Value::Text(_) => Value::text(text),
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_prints_back_is_a_number() {
        for text in ["007", "1.10", "-0", "+5", "1e3", "\"q\"", "", "nope"] {
            assert!(
                matches!(typed(text), Value::Text(same) if &*same == text),
                "{text}"
            );
        }
        assert!(matches!(typed("42"), Value::Int(42)));
        assert!(matches!(typed("1.5"), Value::Float(value) if value == 1.5));
        assert!(matches!(typed("true"), Value::Bool(true)));
        assert!(matches!(typed("[1]"), Value::List(_)));
    }

    #[test]
    fn a_dotted_name_sets_a_field_and_the_last_one_wins() {
        let mut map = Map::default();
        for pair in ["a.b=1", "a.c=2", "a.b=3"] {
            assign(&mut map, pair).unwrap();
        }
        let value = rrc_vm::text::json_text(&Value::map(map));
        assert_eq!(value, r#"{"a":{"b":3,"c":2}}"#);
        assert!(assign(&mut Map::default(), "nothing").is_err());
        assert!(assign(&mut Map::default(), "a..b=1").is_err());
    }

    #[test]
    fn what_cannot_be_set_is_said() {
        let mut map = Map::default();
        assign(&mut map, "n=5").unwrap();
        assign(&mut map, "none=null").unwrap();
        for (pair, words) in [
            (
                "items[0]=3",
                "one item of a list cannot be set; give the whole list: `items=[…]`",
            ),
            ("n.x=3", "`n` is a number and has no fields"),
            (
                "a b=3",
                "`a b` is no name: letters, digits, `_` and `-` make one",
            ),
        ] {
            assert_eq!(assign(&mut map, pair), Err(words.to_string()), "{pair}");
        }
        assign(&mut map, "none.x=3").unwrap();
    }
}
