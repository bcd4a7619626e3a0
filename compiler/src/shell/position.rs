//! What can stand around a hole, in words that rules and reports can use.
//!
//! Pure data: nothing here reads shell text.

use super::Filter;
use crate::diagnostic::Applicability;
use std::ops::Range;

/// How the text right around a hole is quoted. This alone decides the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quote {
    Bare,
    Double,
    Single,
    /// `$'…'`
    AnsiC,
    /// The body of `<<EOF`.
    Heredoc,
    /// The body of `<<'EOF'`.
    QuotedHeredoc,
    /// `$((…))`, `((…))`, an index, an offset.
    Arithmetic,
    Comment,
}

/// The part that the word with the hole plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Argument,
    /// The first word of a command, or of what `sudo`, `exec`, `timeout` and the like start.
    Command,
    /// The right side of `x=…`.
    Assignment,
    /// The right side of `x=…` after `export`, `declare`, `local` and the like.
    Declaration,
    /// In `a=(…)`.
    ArrayElement,
    ArrayIndex,
    /// The index of an array that the text declares associative.
    ArrayKey,
    /// `${x:HERE:HERE}`
    Substring,
    Arithmetic,
    /// An operand in `[[ … ]]`.
    Test,
    /// The right side of `==` in `[[ … ]]`.
    TestPattern,
    /// The right side of `=~`; quoted, so that it matches literally.
    Regex,
    CaseWord,
    CasePattern,
    ForWord,
    Redirection,
    HereString,
    HeredocBody,
    HeredocDelimiter,
    /// `${x:-HERE}`, `${x:+HERE}`, `${x:?HERE}`, `${x:=HERE}`
    Default,
    /// `${x#HERE}`, `${x%HERE}`, `${x/HERE/…}`, `${x^HERE}`
    Pattern,
    /// `${x/…/HERE}`
    Replacement,
    /// Where the shell wants a name: `for HERE in`, `HERE=…`, `${HERE}`, `HERE()`.
    Name,
    Comment,
    /// The scanner lost its way before it came here.
    Unknown,
}

/// How the value of a hole reaches the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Through the environment variable of the hole.
    Env,
    /// Through the environment variable `integer_name(name)`, which holds what `render::integer`
    /// makes of the value; a value that is no integer fails the step. Bash itself takes an empty
    /// operand of `-gt` and the like in `[[ … ]]` for 0, and there `or_empty` lets it pass.
    Integer { or_empty: bool },
    /// As text of the script.
    Paste,
    /// Split at blanks, each word quoted.
    Words,
    /// Not at all: it stands in a comment.
    Unused,
    /// There is no safe form; a problem says so.
    Refused,
}

/// What stands around one hole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    pub quote: Quote,
    pub place: Place,
    /// How many `$(…)`, `<(…)` and backticks the hole stands in.
    pub substitutions: u32,
    /// How many of them are backticks.
    pub backticks: u32,
    /// The command of the word, if the text spells it out.
    pub command: Option<String>,
    /// The program that reads the text around the hole as its own source.
    pub program: Option<String>,
    pub reach: Use,
    pub(super) refusal: Option<Refusal>,
}

impl Position {
    /// Whether the text could not be read as far as here.
    pub fn is_lost(&self) -> bool {
        self.refusal == Some(Refusal::Lost)
    }

    /// The text here is evaluated as arithmetic after the quotes are gone.
    pub(super) fn evaluate(&mut self, filter: Filter) {
        match (filter, self.reach) {
            (Filter::Raw, _) => {}
            (_, Use::Env) => self.reach = Use::Integer { or_empty: false },
            (_, Use::Words) => self.refuse(Refusal::OneWordOnly),
            (_, Use::Paste) => self.refuse(Refusal::Evaluated),
            (_, Use::Integer { .. } | Use::Unused | Use::Refused) => {}
        }
    }

    pub(super) fn refuse(&mut self, why: Refusal) {
        self.reach = Use::Refused;
        self.refusal.get_or_insert(why);
    }

    pub(super) fn unknown() -> Position {
        Position {
            quote: Quote::Bare,
            place: Place::Unknown,
            substitutions: 0,
            backticks: 0,
            command: None,
            program: None,
            reach: Use::Refused,
            refusal: Some(Refusal::Lost),
        }
    }

    /// The position in a few words, for messages: "in single quotes".
    pub fn words(&self) -> &'static str {
        match (self.quote, self.place) {
            (Quote::Comment, _) => "in a comment",
            (Quote::QuotedHeredoc, _) => "in a quoted heredoc",
            (Quote::Heredoc, _) => "in a heredoc",
            (_, Place::ArrayIndex) => "as an array index",
            (_, Place::ArrayKey) => "as an array key",
            (_, Place::Substring) => "as an offset",
            (Quote::Arithmetic, _) | (_, Place::Arithmetic) => "in arithmetic",
            (Quote::Double, _) => "in double quotes",
            (Quote::Single, _) => "in single quotes",
            (Quote::AnsiC, _) => "in `$'…'`",
            (Quote::Bare, Place::Command) => "as the command",
            (Quote::Bare, Place::Assignment | Place::Declaration) => "in an assignment",
            (Quote::Bare, Place::ArrayElement) => "in an array",
            (Quote::Bare, Place::Test | Place::TestPattern) => "in `[[ ]]`",
            (Quote::Bare, Place::Regex) => "in a regular expression",
            (Quote::Bare, Place::CaseWord) => "as the word of `case`",
            (Quote::Bare, Place::CasePattern | Place::Pattern) => "in a pattern",
            (Quote::Bare, Place::ForWord) => "in the list of `for`",
            (Quote::Bare, Place::Redirection) => "as the target of a redirection",
            (Quote::Bare, Place::HereString) => "as a here-string",
            (Quote::Bare, Place::HeredocBody) => "in a heredoc",
            (Quote::Bare, Place::HeredocDelimiter) => "as the end mark of a heredoc",
            (Quote::Bare, Place::Default) => "in a default",
            (Quote::Bare, Place::Replacement) => "in a replacement",
            (Quote::Bare, Place::Name) => "as a name",
            (Quote::Bare, Place::Argument | Place::Comment | Place::Unknown) => "bare",
        }
    }
}

/// Why there is no safe form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Backslash,
    Dollar,
    ParameterName,
    AssignmentName,
    LoopName,
    FunctionName,
    Operator,
    BraceRange,
    HeredocDelimiter,
    BacktickPaste,
    OuterHeredoc,
    OneWordOnly,
    VariableArgument,
    ArrayDeclaration,
    Nameref,
    Evaluated,
    AnsiInDouble,
    QuoteInArithmetic,
    ControlEscape,
    UnevenQuotes,
    TooDeep,
    Lost,
}

impl Refusal {
    /// What is wrong, after "no value can go here: ".
    pub(super) fn reason(self) -> &'static str {
        match self {
            Refusal::Backslash => "a backslash stands right before it",
            Refusal::Dollar => "a `$` stands right before it",
            Refusal::ParameterName => "the shell wants the name of a parameter",
            Refusal::AssignmentName => "the shell wants the name of a variable",
            Refusal::LoopName => "the shell wants the name of the loop variable",
            Refusal::FunctionName => "the shell wants the name of a function",
            Refusal::Operator => "the shell wants an operator",
            Refusal::BraceRange => "`{a..b}` is expanded before values are known",
            Refusal::HeredocDelimiter => "it is the end mark of a heredoc",
            Refusal::BacktickPaste => "backticks would read the backslashes of the value",
            Refusal::OuterHeredoc => "a line of the value could end the heredoc around this one",
            Refusal::OneWordOnly => "several words cannot stand here",
            Refusal::VariableArgument => {
                "a value that names a variable can run commands through its index"
            }
            Refusal::ArrayDeclaration => "the value would be read as the source of an array",
            Refusal::Nameref => "the value would be read as the name of a variable",
            Refusal::Evaluated => "what is read into a variable declared with `-i` is evaluated",
            Refusal::AnsiInDouble => "it stands in `$'…'` inside a double-quoted expansion",
            Refusal::QuoteInArithmetic => "it stands in single quotes inside arithmetic",
            Refusal::ControlEscape => "`\\c` takes the next character",
            Refusal::UnevenQuotes => "a single quote in a double-quoted expansion is not closed",
            Refusal::TooDeep => "it is nested deeper than rrc reads",
            Refusal::Lost => "the shell text around it cannot be read",
        }
    }

    /// What to do.
    pub(super) fn help(self) -> &'static str {
        match self {
            Refusal::Backslash => "remove the backslash, or write two for a literal one",
            Refusal::Dollar => "write `\\$` for a dollar sign, or remove the `$`",
            Refusal::ParameterName => "choose between the variables with `case`",
            Refusal::AssignmentName => {
                "use a fixed name, or an associative array with the value as its key"
            }
            Refusal::LoopName | Refusal::FunctionName => "use a fixed name",
            Refusal::Operator => "choose between the operators with `case`",
            Refusal::BraceRange => "use `seq`, or a loop `for ((i = …; i <= …; i++))`",
            Refusal::HeredocDelimiter => "use a fixed end mark; rrc changes it if a value holds it",
            Refusal::BacktickPaste => "write `$(…)` in place of the backticks",
            Refusal::OuterHeredoc => "assign the text of the inner heredoc to a variable first",
            Refusal::OneWordOnly => "remove the `words` filter, or the quotes around the hole",
            Refusal::VariableArgument => {
                "use a fixed name, or an associative array with the value as its key"
            }
            Refusal::ArrayDeclaration => "write the value in parentheses, as one element: `x=(…)`",
            Refusal::Nameref => "use a fixed name",
            Refusal::Evaluated => "declare the variable without `-i`",
            Refusal::AnsiInDouble => "assign the text to a variable first",
            Refusal::QuoteInArithmetic => "remove the quotes",
            Refusal::ControlEscape => "write the control character as `\\x…`",
            Refusal::UnevenQuotes => "assign the value to a variable first",
            Refusal::TooDeep => "assign the value to a variable first: `x={{…}}`",
            Refusal::Lost => "close the quotes and brackets before it, or assign the value first",
        }
    }
}

/// A finding about one hole. The code says how serious it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Which hole.
    pub hole: usize,
    pub range: Range<usize>,
    pub code: &'static crate::codes::Code,
    pub message: String,
    pub help: String,
    pub fix: Option<Repair>,
}

/// Edits of the text that was compiled, which together repair it.
#[derive(Clone, Debug, PartialEq)]
pub struct Repair {
    pub applicability: Applicability,
    pub message: String,
    pub edits: Vec<(Range<usize>, String)>,
}
