//! What else instructions name by a byte: how steps end, and the functions of conditions.

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    Completed = 0,
    Skipped = 1,
    Failed = 2,
    Degraded = 3,
    Cancelled = 4,
}

impl Status {
    pub const ALL: [Status; 5] = [
        Status::Completed,
        Status::Skipped,
        Status::Failed,
        Status::Degraded,
        Status::Cancelled,
    ];

    pub fn from_byte(byte: u8) -> Option<Status> {
        Status::ALL.get(byte as usize).copied()
    }

    pub fn word(self) -> &'static str {
        match self {
            Status::Completed => "completed",
            Status::Skipped => "skipped",
            Status::Failed => "failed",
            Status::Degraded => "degraded",
            Status::Cancelled => "cancelled",
        }
    }
}

macro_rules! builtins {
    ($($byte:literal $variant:ident $name:literal $style:ident $least:literal..=$most:literal $sentence:literal;)*) => {
        /// A function or method of the condition language. The receiver of a method is its first argument.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Builtin { $($variant = $byte),* }

        /// The list of functions and methods.
        pub static BUILTINS: &[BuiltinInfo] = &[$(*Builtin::$variant.info()),*];

        impl Builtin {
            pub fn from_byte(byte: u8) -> Option<Builtin> {
                match byte { $($byte => Some(Builtin::$variant),)* _ => None }
            }
            pub const fn info(self) -> &'static BuiltinInfo {
                match self {
                    $(Builtin::$variant => &BuiltinInfo {
                        builtin: Builtin::$variant, name: $name, style: Style::$style,
                        least: $least, most: $most, sentence: $sentence,
                    }),*
                }
            }
        }
    };
}

/// Whether a builtin is written `name(x)` or `x.name()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Function,
    Method,
}

/// One line of the list of builtins. `least` and `most` count arguments with the receiver.
#[derive(Clone, Copy, Debug)]
pub struct BuiltinInfo {
    pub builtin: Builtin,
    pub name: &'static str,
    pub style: Style,
    pub least: u8,
    pub most: u8,
    pub sentence: &'static str,
}

builtins! {
    0 Int "int" Function 1..=1 "an integer, cut towards zero; 0 for null; a failure for text that is no number";
    1 Str "str" Function 1..=1 "the text of a value";
    2 Len "len" Function 1..=1 "characters of a text, items of a list, fields of a map; 0 of anything else";
    3 Float "float" Function 1..=1 "a number; 0 for null; a failure for text that is no number";
    4 Min "min" Function 2..=32 "the least of the arguments, as numbers where all are";
    5 Max "max" Function 2..=32 "the greatest of the arguments, as numbers where all are";
    6 Strip "strip" Method 1..=1 "without blanks at both ends";
    7 LStrip "lstrip" Method 1..=1 "without blanks at the start";
    8 RStrip "rstrip" Method 1..=1 "without blanks at the end";
    9 Lower "lower" Method 1..=1 "in lower case";
    10 Upper "upper" Method 1..=1 "in upper case";
    11 Title "title" Method 1..=1 "with each word capitalised, blanks kept";
    12 StartsWith "startswith" Method 2..=2 "whether it starts with the argument";
    13 EndsWith "endswith" Method 2..=2 "whether it ends with the argument";
    14 Replace "replace" Method 3..=3 "with each occurrence of the first argument replaced by the second";
    15 Split "split" Method 1..=2 "the parts between occurrences of the argument, or between blanks";
    16 Join "join" Method 2..=2 "the items of the argument, rendered, with this text between them";
    17 Count "count" Method 2..=2 "how often the argument occurs";
    18 Find "find" Method 2..=2 "where the argument first occurs, in characters; -1 if it does not";
}
