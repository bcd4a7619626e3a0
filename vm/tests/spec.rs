//! The generated parts of the pages in `spec` are what the lists say. `RRC_UPDATE=1` writes them.

#![allow(
    clippy::disallowed_methods,
    reason = "a test of a file reads and writes that file"
)]

use rrc_vm::codec::Section;
use rrc_vm::isa::{BUILTINS, Flow, INSTRUCTIONS, Role, Slot, Style};
use rrc_vm::plan::HostKind;
use std::fmt::Write as _;

fn slots(slots: &[Slot]) -> String {
    let word = |slot: &Slot| match slot {
        Slot::One(kind) => kind.name(),
        Slot::Many => "any…",
        Slot::Held => "*held*",
        Slot::Written => "*written*",
        Slot::Params => "*params*",
        Slot::Results => "*results*",
        Slot::OwnResults => "*own results*",
        Slot::Args => "*arguments*",
    };
    slots.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn operand(&(name, role): &(&str, Role)) -> String {
    let role = match role {
        Role::Text => "text",
        Role::Const => "const",
        Role::Label => "label",
        Role::Func => "function",
        Role::TaskFunc => "task function",
        Role::Host => "call",
        Role::Step => "step",
        Role::ReadLocal => "local, read",
        Role::TakeLocal => "local, taken",
        Role::WriteLocal => "local, set",
        Role::LocalOf(kind) => return format!("{name}: local of {}", kind.name()),
        Role::Count => "count",
        Role::Int => "int",
        Role::Builtin => "builtin",
        Role::Status => "status",
    };
    format!("{name}: {role}")
}

fn instructions() -> String {
    let mut out = String::from(
        "| byte | mnemonic | operands | takes | leaves | fuel | |\n|---|---|---|---|---|---|---|\n",
    );
    for info in INSTRUCTIONS {
        let operands: Vec<String> = info.operands.iter().map(operand).collect();
        let leaves = match info.flow {
            Flow::Next => slots(info.pushes),
            Flow::Jump if info.pushes.is_empty() => "→ label".to_owned(),
            Flow::Jump => format!("→ label: {}", slots(info.pushes)),
            Flow::End => "ends".to_owned(),
            Flow::Branch(branch) => {
                format!("{}; → label: {}", slots(info.pushes), or_nothing(branch))
            }
        };
        writeln!(
            out,
            "| {:02x} | `{}` | {} | {} | {} | {} | {} |",
            info.byte,
            info.mnemonic,
            operands.join("; "),
            slots(info.pops),
            leaves,
            info.fuel,
            info.sentence
        )
        .expect("writing to a string does not fail");
    }
    out
}

fn or_nothing(branch: &[Slot]) -> String {
    if branch.is_empty() {
        "nothing".to_owned()
    } else {
        slots(branch)
    }
}

fn builtins() -> String {
    let mut out = String::from("| byte | name | arguments | |\n|---|---|---|---|\n");
    for info in BUILTINS {
        let name = match info.style {
            Style::Function => format!("`{}(…)`", info.name),
            Style::Method => format!("`….{}()`", info.name),
        };
        let arguments = match (info.least, info.most) {
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        let byte = info.builtin as u8;
        writeln!(out, "| {byte} | {name} | {arguments} | {} |", info.sentence)
            .expect("writing to a string does not fail");
    }
    out
}

fn calls() -> String {
    let mut out = String::from("| byte | call | arguments | |\n|---|---|---|---|\n");
    for kind in HostKind::ALL {
        let params = kind.params().join(" ");
        writeln!(
            out,
            "| {} | `{}` | {params} | {} |",
            *kind as u8,
            kind.word(),
            kind.sentence()
        )
        .expect("writing to a string does not fail");
    }
    out
}

fn sections() -> String {
    let mut out = String::from("| number | section | holds |\n|---|---|---|\n");
    for section in Section::ALL {
        writeln!(
            out,
            "| {} | {} | {} |",
            *section as u32,
            section.word(),
            section.sentence()
        )
        .expect("writing to a string does not fail");
    }
    out
}

/// Names in backticks, in lines of some length.
fn lines(names: &[String]) -> String {
    let mut out = String::new();
    let mut length = 0;
    for (at, name) in names.iter().enumerate() {
        let end = if at + 1 < names.len() { "," } else { "." };
        let word = format!("{name}{end}");
        let between = match length {
            0 => "",
            _ if length + word.len() >= 108 => "\n",
            _ => " ",
        };
        length = match between {
            "\n" => word.len(),
            _ => length + between.len() + word.len(),
        };
        out += between;
        out += &word;
    }
    out + "\n"
}

fn reserved() -> String {
    let (names, prefixes) = rrc_vm::exports::reserved();
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let prefixes: Vec<String> = prefixes.iter().map(|name| format!("`{name}…`")).collect();
    format!(
        "Names that begin with one of these, or with `PYTHON` and a letter:\n\n{}\n\
         And these names:\n\n{}",
        lines(&prefixes),
        lines(&names)
    )
}

/// Whether the generated parts of a page are what they should be.
fn is_current(page: &str, parts: &[(&str, String)]) -> Result<(), String> {
    let path = format!("{}/../spec/{page}", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(&path).expect("the specification is there");
    let mut current = page.clone();
    for (name, part) in parts {
        let open = format!("<!-- generated:{name} -->\n");
        let close = format!("<!-- end:{name} -->");
        let mark = |mark: &str| current.find(mark).ok_or_else(|| format!("no mark {mark}"));
        let range = mark(&open)? + open.len()..mark(&close)?;
        current.replace_range(range, part);
    }
    if current == page {
        return Ok(());
    }
    if std::env::var_os("RRC_UPDATE").is_none() {
        return Err(format!(
            "{path} is not current; RRC_UPDATE=1 cargo test -p rrc-vm --test spec"
        ));
    }
    std::fs::write(path, current).expect("the specification can be written");
    Ok(())
}

#[test]
fn the_tables_of_the_specification_are_current() -> Result<(), String> {
    is_current(
        "bytecode.md",
        &[
            ("sections", sections()),
            ("instructions", instructions()),
            ("builtins", builtins()),
            ("calls", calls()),
        ],
    )
}

#[test]
fn the_names_that_stay_those_of_programs_are_in_the_book() -> Result<(), String> {
    is_current("holes.md", &[("reserved", reserved())])
}
