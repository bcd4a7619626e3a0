//! Templates by chance: right ones, with every field and every form of placeholder, for laws about
//! what they do; and damaged ones, for laws about what is said of them.

use rrc_vm::generate::Random;

/// The values that the templates read, besides those with defaults of their own.
pub const VALUES: &str =
    r#"{"a": "one", "n": "3", "xs": ["x", "y"], "flag": true, "cold": "no", "empty": ""}"#;

const WORDS: [&str; 20] = [
    "plain",
    "'two words'",
    "{a}",
    "--a={a}",
    "{b=x}",
    "{c??y}",
    "{n??y}",
    "{flag?--on:--off}",
    "{!flag?--off:}",
    "{cold?yes:no}",
    "{empty}",
    "{xs[0]}",
    "{xs[1]}{a}",
    "{xs}",
    "{(n)+1}",
    "{n-1}",
    "{2*n-1}",
    "{__(n*2)}",
    "{d}",
    "é",
];
const TURN_WORDS: [&str; 6] = [
    "{index}",
    "{prev}{next}",
    "{_(index+1)}",
    "{repeat}",
    "{repeat-index*2}",
    "{_index}",
];

/// A template that means something.
pub fn template(random: &mut Random) -> String {
    let mut made = Maker {
        random,
        commands: 0,
    };
    let inner = made.node(4, false);
    format!(
        "{{\"defaults\": {{\"d\": \"{{a}}/{{e=e}}\"}}, \"template\": [{inner}, \"last {{a}}\"]}}"
    )
}

/// The same with something wrong in it.
pub fn damaged(random: &mut Random) -> Vec<u8> {
    const PIECES: [&str; 22] = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "'",
        "\\\\",
        "=",
        "??",
        "null",
        "-1",
        "30",
        "100",
        "\"retry\": 2, ",
        "\"timeout\": 30, ",
        "\"failure\": \"branch\", ",
        "{a=1}",
        "{a=2}",
        "curl ",
        "\"tmplate\": ",
    ];
    let mut text = template(random).into_bytes();
    for _ in 0..random.below(4) {
        let at = random.below(text.len() + 1);
        match random.below(3) {
            0 => {
                let end = (at + 1 + random.below(12)).min(text.len());
                text.drain(at..end);
            }
            1 => {
                let piece = PIECES[random.below(PIECES.len())].bytes();
                text.splice(at..at, piece);
            }
            _ => {
                let end = (at + 1 + random.below(20)).min(text.len());
                let again = text[at..end].to_vec();
                text.splice(at..at, again);
            }
        }
    }
    text
}

struct Maker<'r> {
    random: &'r mut Random,
    commands: usize,
}

impl Maker<'_> {
    fn one_of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.random.below(all.len())]
    }

    fn command(&mut self, in_repeat: bool) -> String {
        self.commands += 1;
        let mut words = vec![format!("c{}", self.commands)];
        for _ in 0..self.random.below(4) {
            let word = match in_repeat && self.random.once_in(3) {
                true => self.one_of(&TURN_WORDS),
                false => self.one_of(&WORDS),
            };
            words.push(word.to_string());
        }
        format!("\"{}\"", words.join(" "))
    }

    fn list(&mut self, depth: usize, in_repeat: bool) -> String {
        let items: Vec<String> = (0..1 + self.random.below(3))
            .map(|_| self.node(depth, in_repeat))
            .collect();
        format!("[{}]", items.join(", "))
    }

    fn node(&mut self, depth: usize, in_repeat: bool) -> String {
        if depth == 0 || self.random.once_in(4) {
            return self.command(in_repeat);
        }
        let mut fields: Vec<String> = Vec::new();
        let mut say = |maybe: bool, field: String| {
            if maybe {
                fields.push(field);
            }
        };
        let when = self.one_of(&[
            "\"flag\"",
            "\"!flag\"",
            "\"cold\"",
            "\"{a}\"",
            "\"nobody\"",
            "true",
        ]);
        say(self.random.once_in(6), format!("\"when\": {when}"));
        let failure = self.one_of(&["continue", "branch", "root"]);
        say(
            self.random.once_in(3),
            format!("\"failure\": \"{failure}\""),
        );
        say(self.random.once_in(8), "\"label\": \"some\"".to_string());
        say(self.random.once_in(12), "\"delay\": 1".to_string());
        say(
            self.random.once_in(8),
            "\"defaults\": {\"e\": \"{a}{b=o}\"}".to_string(),
        );
        say(self.random.once_in(3), "\"parallel\": true".to_string());
        let repeats = self.random.once_in(4);
        let count = self.one_of(&["1", "2", "\"3\"", "\"{xs.length}\""]);
        say(repeats, format!("\"repeat\": {count}"));
        let in_repeat = in_repeat || repeats;
        if self.random.once_in(3) {
            let most = self.one_of(&["1", "2", "3", "\"{n}\""]);
            fields.push(format!("\"retry\": {most}"));
            if most != "1" && self.random.once_in(2) {
                let recover = self.node(depth - 1, in_repeat);
                fields.push(format!("\"recover\": {recover}"));
            }
        }
        let template = match self.random.below(5) {
            0 => self.command(in_repeat),
            1 => format!("{{\"template\": {}}}", self.list(depth - 1, in_repeat)),
            _ => self.list(depth - 1, in_repeat),
        };
        let at = match self.random.once_in(4) {
            true => self.random.below(fields.len() + 1),
            false => fields.len(),
        };
        fields.insert(at, format!("\"template\": {template}"));
        let between = self.one_of(&[", ", ",\n  ", ","]);
        format!("{{{}}}", fields.join(between))
    }
}
