//! `--bounds`: what each recipe can do at most, as a table or as JSON.

use rrc_compiler::bounds::worst::{Most, worst};
use rrc_compiler::ir::Program;
use rrc_compiler::source::Sources;
use serde_json::{Value, json};
use std::io::{self, Write};

/// What is known about one recipe.
pub struct Row {
    file: String,
    recipe: String,
    cells: Vec<Cell>,
}

struct Cell {
    key: &'static str,
    name: &'static str,
    number: Option<u64>,
    /// Why there is no number: file, line, column, reason.
    because: Option<(String, u32, u32, String)>,
}

/// None if there is no recipe in the file.
pub fn row(file: &str, program: &Program, sources: &Sources) -> Option<Row> {
    let worst = worst(program)?;
    let cell = |key, name, most: Most| match most {
        Most::Of(number) => Cell {
            key,
            name,
            number: Some(number),
            because: None,
        },
        Most::Unbounded(span, why) => {
            let source = sources.get(span.source);
            let place = source.place(span.start);
            Cell {
                key,
                name,
                number: None,
                because: Some((source.name.clone(), place.line, place.column, why)),
            }
        }
    };
    Some(Row {
        file: file.to_string(),
        recipe: program.units.first()?.name.clone(),
        cells: vec![
            cell("steps", "steps", worst.steps),
            cell("depth", "calls deep", worst.depth),
            cell("processes", "processes at once", worst.processes),
            cell("agents", "agent calls", worst.agents),
            cell("time_ms", "wall time", worst.time_ms),
        ],
    })
}

pub fn table(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    for row in rows {
        writeln!(out, "{} ({})", row.file, row.recipe)?;
        for cell in &row.cells {
            let shown = match (cell.number, &cell.because) {
                (Some(ms), _) if cell.key == "time_ms" => duration(ms),
                (Some(number), _) => number.to_string(),
                (None, Some((file, line, column, why))) => {
                    format!("unbounded: {file}:{line}:{column}: {why}")
                }
                (None, None) => "unbounded".to_string(),
            };
            writeln!(out, "  {:17}  {shown}", cell.name)?;
        }
    }
    Ok(())
}

/// What was found, which is JSON already, and the bounds in one object.
pub fn object(what: &str, found: &[u8], rows: &[Row]) -> Vec<u8> {
    let rows: Vec<Value> = rows.iter().map(Row::json).collect();
    let mut out = format!("{{\"{what}\":").into_bytes();
    out.extend(found.trim_ascii_end());
    out.extend(b",\n\"bounds\":");
    out.extend(Value::from(rows).to_string().into_bytes());
    out.extend(b"}\n");
    out
}

impl Row {
    fn json(&self) -> Value {
        let mut object = json!({ "file": self.file, "recipe": self.recipe });
        let mut unbounded = Vec::new();
        for cell in &self.cells {
            object[cell.key] = json!(cell.number);
            if let Some((file, line, column, why)) = &cell.because {
                unbounded.push(json!({
                    "what": cell.key, "file": file, "line": line, "column": column, "why": why,
                }));
            }
        }
        object["unbounded"] = Value::from(unbounded);
        object
    }
}

/// `1 h 2 min 3 s`, as far as it matters.
fn duration(ms: u64) -> String {
    let seconds = ms.div_ceil(1000);
    let parts = [
        (seconds / 86_400, "d"),
        (seconds / 3600 % 24, "h"),
        (seconds / 60 % 60, "min"),
        (seconds % 60, "s"),
    ];
    let shown: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count} {unit}"))
        .collect();
    match shown.is_empty() {
        true => "0 s".to_string(),
        false => shown.join(" "),
    }
}
