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
    newer: Values,
    /// As YAML 1.1 has it, if that may be something else.
    older: Option<Values>,
    set: Vec<String>,
    /// It is what a run began with, which is over.
    pub ran: bool,
}

/// One reading of what is given.
struct Values {
    /// What `--vars` holds.
    file: Map,
    /// That, and what `--set` puts over it.
    all: Map,
}

impl Given {
    /// None if something is wrong with it, which is said.
    pub fn read(
        vars: Option<&Path>,
        set: &[String],
        streams: &mut Streams<'_>,
    ) -> io::Result<Option<Given>> {
        match Given::of_options(vars, set) {
            Ok(given) => Ok(Some(given)),
            Err(words) => say(&words, streams).map(|()| None),
        }
    }

    fn of_options(vars: Option<&Path>, set: &[String]) -> Result<Given, String> {
        // Once: what another program writes is gone when it has been read.
        let of_file = |words: String, path: &Path| format!("--vars {}: {words}", path.display());
        let text = match vars {
            Some(path) => Some((path, text_of(path).map_err(|words| of_file(words, path))?)),
            None => None,
        };
        let read = |schema| {
            let file = match &text {
                Some((path, text)) => {
                    from_text(path, text, schema).map_err(|words| of_file(words, path))?
                }
                None => Map::default(),
            };
            let mut all = file.clone();
            assign_all(&mut all, set)?;
            Ok::<_, String>(Values { file, all })
        };
        Ok(Given {
            newer: read(Schema::Yaml12)?,
            older: match vars {
                Some(path) if !is_json(path) => Some(read(Schema::Yaml11)?),
                _ => None,
            },
            set: set.to_vec(),
            ran: false,
        })
    }

    /// What a run began with, be it given or not.
    pub fn of_run(values: &Map) -> Given {
        let newer = Values {
            file: values.clone(),
            all: values.clone(),
        };
        Given {
            newer,
            older: None,
            set: Vec::new(),
            ran: true,
        }
    }

    pub fn newer(&self) -> &Map {
        &self.newer.all
    }

    pub fn older(&self) -> Option<&Map> {
        self.older.as_ref().map(|values| &values.all)
    }

    fn read_as(&self, schema: Schema) -> &Values {
        match (schema, &self.older) {
            (Schema::Yaml11, Some(older)) => older,
            _ => &self.newer,
        }
    }

    /// What is given to a recipe whose scalars are read so.
    pub fn to(&self, schema: Schema) -> &Map {
        &self.read_as(schema).all
    }

    /// Puts what `--vars` and then `--set` give over the variables, or says what is wrong.
    pub fn put_over(
        &self,
        variables: &mut Map,
        schema: Schema,
        streams: &mut Streams<'_>,
    ) -> io::Result<bool> {
        let file = self.read_as(schema).file.iter();
        variables.extend(file.map(|(name, value)| (name.clone(), value.clone())));
        match assign_all(variables, &self.set) {
            Ok(()) => Ok(true),
            Err(words) => say(&words, streams).map(|()| false),
        }
    }
}

fn say(words: &str, streams: &mut Streams<'_>) -> io::Result<()> {
    writeln!(streams.err, "rrc: {words}")
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

fn assign_all(variables: &mut Map, set: &[String]) -> Result<(), String> {
    for pair in set {
        assign(variables, pair).map_err(|words| {
            // Only the name: the value may be a secret.
            let name = pair.split('=').next().unwrap_or_default();
            let option = format!("--set {name}");
            format!("{}: {words}", option.trim_end())
        })?;
    }
    Ok(())
}

fn text_of(path: &Path) -> Result<String, String> {
    let bytes = match read_at_most(path, MOST_BYTES) {
        Ok(bytes) if bytes.len() <= MOST_BYTES => bytes,
        Ok(_) | Err(ReadError::TooLarge(_)) => {
            return Err(format!("the file is larger than {MOST_BYTES} bytes"));
        }
        Err(ReadError::NotFound) => {
            let words = "there is no such file";
            return Err(match path.to_string_lossy().contains('=') {
                true => format!("{words}; to set a variable, use `-s`"),
                false => words.to_string(),
            });
        }
        Err(ReadError::Directory) => return Err("it is a directory".to_string()),
        Err(ReadError::Other(words)) => return Err(words),
    };
    String::from_utf8(bytes).map_err(|_| "the file is not UTF-8 text".to_string())
}

fn from_text(path: &Path, text: &str, schema: Schema) -> Result<Map, String> {
    let schema = match is_json(path) {
        true => Schema::Json,
        false => schema,
    };
    let value = match schema {
        Schema::Json if text.len() > doc::MAX_BYTES => large_json(text)?,
        _ => values(text.to_string(), schema)?,
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
