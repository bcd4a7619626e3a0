//! Expressions, texts and scripts of the IR, evaluated straight off the tree.
//!
//! Single operations are those of the machine; what is said here is which one is meant, in which
//! order operands are looked at, and what is not looked at.

use rrc_compiler::ir::{
    Compare, Equality, Expr, ExprKind, Form, Literal, Missing, Part, Script, ScriptPart, Text,
    Truth, VarForm,
};
use rrc_vm::fault::{Failure, FailureKind};
use rrc_vm::isa::Builtin;
use rrc_vm::value::{Map, Value};
use rrc_vm::{builtin, flow, policy, shell, text};
use std::cmp::Ordering;
use std::rc::Rc;

pub type Outcome = Result<Value, Rc<Failure>>;

pub fn fail(kind: FailureKind, message: impl Into<Rc<str>>) -> Rc<Failure> {
    Rc::new(Failure {
        kind,
        message: message.into(),
        data: Value::Null,
        at: 0,
    })
}

pub fn literal(literal: &Literal) -> Value {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Int(value) => Value::Int(*value),
        Literal::Float(value) => Value::Float(*value),
        Literal::Text(text) => Value::text(text.as_str()),
        Literal::List(items) => Value::list(items.iter().map(self::literal).collect()),
        Literal::Map(fields) => Value::map(
            fields
                .iter()
                .map(|(name, value)| (Rc::from(name.as_str()), self::literal(value)))
                .collect(),
        ),
    }
}

pub fn is_true(truth: Truth, value: &Value) -> bool {
    match truth {
        Truth::Words => policy::truth_words(value),
        Truth::Emptiness => policy::truth_emptiness(value),
        Truth::Flags => policy::truth_flags(value),
    }
}

fn or(missing: Missing, found: Option<Value>, message: impl FnOnce() -> String) -> Outcome {
    match (found, missing) {
        (Some(found), _) => Ok(found),
        (None, Missing::Null) => Ok(Value::Null),
        (None, Missing::Fail) => Err(fail(FailureKind::Undefined, message())),
    }
}

pub fn eval(expr: &Expr, scope: &Map) -> Outcome {
    match &expr.kind {
        ExprKind::Literal(value) => Ok(literal(value)),
        ExprKind::Var { name, missing } => or(*missing, scope.get(name.as_str()).cloned(), || {
            format!("`{name}` is not set")
        }),
        ExprKind::Field { of, name, missing } => {
            let of = eval(of, scope)?;
            or(*missing, text::field(&of, name).cloned(), || {
                format!("{} has no field `{name}`", text::kind_word(&of))
            })
        }
        ExprKind::Index { of, at, missing } => {
            let (of, at) = (eval(of, scope)?, eval(at, scope)?);
            or(*missing, text::index(&of, &at), || {
                let at: String = text::render(&at).chars().take(40).collect();
                let at = text::on_a_line(&at);
                format!("{} has no item `{at}`", text::kind_word(&of))
            })
        }
        ExprKind::List(items) => {
            let items: Result<_, _> = items.iter().map(|item| eval(item, scope)).collect();
            Ok(Value::list(items?))
        }
        ExprKind::Map(fields) => {
            let mut map = Map::default();
            for (name, value) in fields {
                map.insert(name.as_str().into(), eval(value, scope)?);
            }
            Ok(Value::map(map))
        }
        ExprKind::Seconds { of, none } => {
            let kind = if *none { "seconds_or_none" } else { "seconds" };
            let wanted = [("name", "timeout"), ("kind", kind)];
            let wanted = wanted.map(|(name, word)| (name.into(), Value::text(word)));
            let wanted = Value::map(wanted.into_iter().collect());
            flow::fit(eval(of, scope)?, &wanted).map_err(|(kind, message)| fail(kind, message))
        }
        ExprKind::Compare {
            op,
            equality,
            left,
            right,
        } => {
            let (left, right) = (eval(left, scope)?, eval(right, scope)?);
            compare(*op, *equality, &left, &right)
        }
        ExprKind::Not { of, truth } => Ok(Value::Bool(!is_true(*truth, &eval(of, scope)?))),
        ExprKind::Truth { of, truth } => Ok(Value::Bool(is_true(*truth, &eval(of, scope)?))),
        ExprKind::And { left, right, truth } => {
            let both =
                is_true(*truth, &eval(left, scope)?) && is_true(*truth, &eval(right, scope)?);
            Ok(Value::Bool(both))
        }
        ExprKind::Or { left, right, truth } => {
            let either =
                is_true(*truth, &eval(left, scope)?) || is_true(*truth, &eval(right, scope)?);
            Ok(Value::Bool(either))
        }
        ExprKind::Call { builtin, args } => {
            let args: Result<Vec<_>, _> = args.iter().map(|arg| eval(arg, scope)).collect();
            call(*builtin, &args?)
        }
        ExprKind::Text(text) => self::text(text, scope),
    }
}

pub fn call(builtin: Builtin, args: &[Value]) -> Outcome {
    builtin::call(builtin, args).map_err(|(kind, message)| fail(kind, message))
}

fn compare(op: Compare, equality: Equality, a: &Value, b: &Value) -> Outcome {
    let (equal, order) = match equality {
        Equality::NumbersFirst => (
            policy::eq_numbers_first as fn(&Value, &Value) -> bool,
            policy::order_numbers_first as fn(&Value, &Value) -> Option<Ordering>,
        ),
        Equality::ByType => (policy::eq_by_type as _, policy::order_by_type as _),
    };
    let contains = match equality {
        Equality::NumbersFirst => policy::in_numbers_first(a, b),
        Equality::ByType => policy::in_by_type(a, b),
    };
    let contains = contains.map_err(|(kind, message)| fail(kind, message));
    Ok(Value::Bool(match op {
        Compare::Eq => equal(a, b),
        Compare::Ne => !equal(a, b),
        Compare::Lt => order(a, b).is_some_and(Ordering::is_lt),
        Compare::Le => order(a, b).is_some_and(Ordering::is_le),
        Compare::Gt => order(a, b).is_some_and(Ordering::is_gt),
        Compare::Ge => order(a, b).is_some_and(Ordering::is_ge),
        Compare::In => contains?,
        Compare::NotIn => !contains?,
    }))
}

pub fn text(text: &Text, scope: &Map) -> Outcome {
    let mut all = String::new();
    for part in &text.parts {
        match part {
            Part::Literal(literal) => all.push_str(literal),
            Part::Value { expr, form } => {
                let value = eval(expr, scope)?;
                match form {
                    Form::Plain => all.push_str(&text::render(&value)),
                    Form::Json => all.push_str(&text::json_text(&value)),
                }
            }
        }
    }
    Ok(Value::text(all))
}

/// The source of a script, and the variables it reads; none if it reads none.
pub fn script(script: &Script, scope: &Map) -> Result<(Value, Value), Rc<Failure>> {
    let source = parts(&script.parts, scope)?;
    let mut vars = Map::default();
    for var in &script.vars {
        let value = eval(&var.value, scope)?;
        let value = match var.form {
            VarForm::Text => text::render(&value),
            VarForm::Integer => integer(&value)?,
            VarForm::IntegerOrEmpty => match text::render(&value) {
                empty if empty.is_empty() => empty,
                text => integer(&Value::Text(text))?,
            },
        };
        vars.insert(var.name.as_str().into(), Value::Text(value));
    }
    let vars = if script.vars.is_empty() {
        Value::Null
    } else {
        Value::map(vars)
    };
    Ok((Value::text(source), vars))
}

fn parts(parts: &[ScriptPart], scope: &Map) -> Result<String, Rc<Failure>> {
    let mut all = String::new();
    for part in parts {
        match part {
            ScriptPart::Source(source) => all.push_str(source),
            ScriptPart::Paste(value) => all.push_str(&text::render(&eval(value, scope)?)),
            ScriptPart::Words(value) => {
                all.push_str(&shell::quote_words(&text::render(&eval(value, scope)?)));
            }
            ScriptPart::Delimiter { base, body } => {
                let body = self::parts(body, scope)?;
                all.push_str(&shell::fresh_delimiter(base, &[body.into()]));
            }
        }
    }
    Ok(all)
}

fn integer(value: &Value) -> Result<Rc<str>, Rc<Failure>> {
    if let Some(text) = shell::integer_text(value) {
        return Ok(text.into());
    }
    Err(match value {
        Value::Text(text) => {
            let shown: String = text.chars().take(40).collect();
            fail(
                FailureKind::NotANumber,
                format!("`{}` is not an integer", text::on_a_line(&shown)),
            )
        }
        Value::Float(_) => fail(
            FailureKind::NotANumber,
            format!("`{}` is not an integer", text::render(value)),
        ),
        other => fail(
            FailureKind::WrongType,
            format!("{} is not an integer", text::kind_word(other)),
        ),
    })
}
