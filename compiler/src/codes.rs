//! Every finding that `rrc` can report, declared once.
//!
//! The hundreds say who speaks: 00 reading, 01 shape, 02 names, 03 values and flow, 04 effects and
//! policy, 05 suspicious, 06 limits, 07 plan rejected, 08 the run stopped. A code is never reused.
//! Each has a page `spec/rules/CODE.md`; `tests/tidy.rs` holds the two together.

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; shown with `-v` only.
    Note,
    /// Almost surely not meant.
    Warning,
    /// Must fail when it runs.
    Error,
}

impl Severity {
    pub fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One kind of finding.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    pub code: &'static str,
    /// Reads after "allow": `unknown-field`.
    pub name: &'static str,
    pub severity: Severity,
    /// One line: what it finds.
    pub summary: &'static str,
    /// Whether it is only said to those who select it: what it finds is seldom a mistake.
    pub on_demand: bool,
}

macro_rules! on_demand {
    () => {
        false
    };
    (OnDemand) => {
        true
    };
}

macro_rules! codes {
    ($($constant:ident $code:literal $name:literal $severity:ident $summary:literal $($demand:ident)?;)*) => {
        $(pub static $constant: Code = Code {
            code: $code, name: $name, severity: Severity::$severity, summary: $summary,
            on_demand: on_demand!($($demand)?),
        };)*
        /// All codes, in the order of their numbers.
        pub static ALL: &[&Code] = &[$(&$constant),*];
    };
}

codes! {
    UNREADABLE_FILE "RRC0001" "unreadable-file" Error "a file cannot be read";
    NOT_UTF8 "RRC0002" "not-utf8" Error "a file is not UTF-8 text";
    TOO_LARGE "RRC0003" "too-large" Error "a file is larger than 1 MB";
    YAML_SYNTAX "RRC0004" "yaml-syntax" Error "the text is not YAML";
    JSON_SYNTAX "RRC0005" "json-syntax" Error "the text is not JSON";
    TOO_DEEP "RRC0006" "too-deep" Error "values are nested deeper than 64 levels";
    ALIAS_EXPANSION "RRC0007" "alias-expansion" Error "aliases expand to more than ten times the file";
    DUPLICATE_KEY "RRC0008" "duplicate-key" Error "a key stands twice in one map";
    SEVERAL_DOCUMENTS "RRC0009" "several-documents" Error "a file holds more than one YAML document";
    NOT_A_RECIPE "RRC0010" "not-a-recipe" Error "a file is not a recipe, a template or tool metadata";
    BAD_MERGE "RRC0011" "bad-merge" Error "`<<` is given something that is not a map";
    AMBIGUOUS_SCALAR "RRC0012" "ambiguous-scalar" Warning "a plain scalar means different things to YAML 1.1 and YAML 1.2";
    UNQUOTED_HOLE "RRC0013" "unquoted-hole" Error "an unquoted `{{x}}` reads as a YAML map";
    DIALECT_CONFLICT "RRC0014" "dialect-conflict" Error "a recipe shows signs of both dialects";
    UNUSED_IGNORE "RRC0015" "unused-ignore" Warning "a comment ignores findings that are not there";
    BAD_IGNORE "RRC0016" "bad-ignore" Warning "a comment that ignores findings cannot be understood";
    STRAY_QUOTE "RRC0017" "stray-quote" Warning "a value ends with a quote that it does not begin with";
    LINES_BECOME_ONE "RRC0018" "lines-become-one" Warning "commands on lines of their own become one line";
    FIELD_IN_TEXT "RRC0019" "field-in-text" Warning "a field of a step has become the last line of the text before it";

    WRONG_TYPE "RRC0101" "wrong-type" Error "a field holds a value of the wrong type";
    UNKNOWN_FIELD "RRC0102" "unknown-field" Error "a field that nothing knows";
    MISSING_FIELD "RRC0103" "missing-field" Error "a required field is missing";
    EXCLUSIVE_FIELDS "RRC0104" "exclusive-fields" Error "two fields that exclude each other";
    DUPLICATE_ID "RRC0105" "duplicate-id" Error "two steps or stages have the same id";
    BAD_VALUE "RRC0106" "bad-value" Error "a field holds a value that is not allowed";
    FOREIGN_FIELD "RRC0107" "foreign-field" Error "a field that belongs to another kind of step";
    LEGACY_FIELD "RRC0108" "legacy-field" Error "a field of a template that older runners had";
    LATER_FIELD "RRC0109" "later-field" Warning "a field of a template that a later release of the standard has";
    RECIPE_LAYER "RRC0110" "recipe-layer" Note "a field that belongs to the recipe layer of pi-actors, not to the template";
    WORDS_AS_STEPS "RRC0111" "words-as-steps" Error "the words of one command stand where commands are expected";
    NO_COMMAND "RRC0112" "no-command" Error "a node of a template has no command";
    NESTED_LIST "RRC0113" "nested-list" Error "a list stands where a step of a template is expected";
    IDLE_FIELD "RRC0114" "idle-field" Warning "a field that has no effect where it stands";
    UNCLEAR_LABEL "RRC0115" "unclear-label" Warning "a label that does not tell branches apart";
    TEMPLATE_NOT_LAST "RRC0116" "template-not-last" Note "fields of a node stand behind its `template`";

    UNDEFINED_VARIABLE "RRC0201" "undefined-variable" Error "a name that nothing defines";
    RESERVED_NAME "RRC0202" "reserved-name" Error "a variable takes a name that rrc sets itself";
    UNKNOWN_STEP "RRC0203" "unknown-step" Error "a reference to a step that does not exist or comes later";
    MISSING_RECIPE "RRC0204" "missing-recipe" Error "a recipe that is called or extended cannot be found";
    RECIPE_CYCLE "RRC0205" "recipe-cycle" Error "recipes call or extend each other without an end";
    PARALLEL_CONFLICT "RRC0206" "parallel-conflict" Error "steps that run side by side use the same variable";
    POSSIBLY_UNSET "RRC0207" "possibly-unset" Warning "a variable is read that no step may have set";
    MISSING_INPUT "RRC0208" "missing-input" Error "a call does not give a recipe what it needs";
    UNKNOWN_RESULT "RRC0209" "unknown-result" Error "a field of a recipe's result that the recipe never sets";
    MISSPELT_OUTPUT "RRC0210" "misspelt-output" Warning "an output that nothing reads has nearly the name of a variable that is read";
    UNUSED_OUTPUT "RRC0211" "unused-output" Note "an output that nothing reads";
    UNUSED_INPUT "RRC0212" "unused-input" Note "a variable of `context` that nothing reads";
    SET_TWICE "RRC0213" "set-twice" Warning "a variable is set again before anything has read it";
    SHADOWED_VARIABLE "RRC0214" "shadowed-variable" Warning "the variable of a loop hides another one";
    NOT_EXPORTED "RRC0215" "not-exported" Warning "a script reads a variable that is not in its environment";
    MISSPELT_EXPORT "RRC0216" "misspelt-export" Warning "a script reads nearly the name of a variable in its environment";
    UNSET_IN_SCRIPT "RRC0217" "unset-in-script" Warning "a script that stops at unset variables reads one that may not be set";
    OUTSIDE_REPEAT "RRC0218" "outside-repeat" Error "a name that only `repeat` sets is read outside of one";
    DEFAULT_CYCLE "RRC0219" "default-cycle" Error "defaults refer to each other without an end";
    DUPLICATE_ARGUMENT "RRC0220" "duplicate-argument" Error "an argument is declared twice";
    UNUSED_ARGUMENT "RRC0221" "unused-argument" Warning "an argument of a template that nothing reads";
    TYPE_CONFLICT "RRC0222" "type-conflict" Error "a value is declared with two types";
    UNKNOWN_OUTPUT "RRC0223" "unknown-output" Error "`output` names a value that nothing gives";
    MINUS_IN_NAME "RRC0224" "minus-in-name" Warning "a difference that other runners read as one name";
    MISSPELT_INPUT "RRC0225" "misspelt-input" Warning "a call gives nearly the name of something that the recipe takes";
    UNUSED_DEFAULT "RRC0226" "unused-default" Note "a default of a template that nothing reads";
    SHADOWED_DEFAULT "RRC0227" "shadowed-default" Note "a default in a placeholder that never counts";
    CONFLICTING_DEFAULT "RRC0228" "conflicting-default" Warning "two placeholders give one name different defaults";
    ODD_FIELD "RRC0229" "odd-field" Warning "a field that is read once has nearly the name of one that is there";
    MISSPELT_SECRET "RRC0230" "misspelt-secret" Warning "`secrets` has nearly the name of a variable";

    BAD_CONDITION "RRC0301" "bad-condition" Error "a condition that cannot be read";
    UNKNOWN_FUNCTION "RRC0302" "unknown-function" Error "a function or method that does not exist";
    WRONG_ARGUMENTS "RRC0303" "wrong-arguments" Error "a function or method is given the wrong number of arguments";
    NOT_A_HOLE "RRC0304" "not-a-hole" Warning "text that looks like a hole but is not one";

    CONSTANT_CONDITION "RRC0305" "constant-condition" Warning "a condition that is always true or always false";
    NEVER_EQUAL "RRC0306" "never-equal" Warning "two values are compared that can never be equal";
    IN_NUMBER "RRC0307" "in-number" Warning "`in` asks for something inside a number or a boolean";
    FIELD_OF_TEXT "RRC0308" "field-of-text" Error "a field is read from a value that has none";
    NO_SUCH_FIELD "RRC0309" "no-such-field" Error "a field is read that a value does not have";
    NOT_A_LIST "RRC0310" "not-a-list" Error "`foreach` goes over something that is not a list";
    TOO_MANY_ITEMS "RRC0311" "too-many-items" Error "a list is longer than `max_iterations` allows";
    WRONG_ARGUMENT "RRC0312" "wrong-argument" Error "a function or method is given a value it cannot use";
    SCHEMA_AS_VALUE "RRC0313" "schema-as-value" Warning "a declaration stands where a value is expected";
    NOT_A_NUMBER "RRC0314" "not-a-number" Error "a number is wanted and the value is none";
    BAD_PLACEHOLDER "RRC0315" "bad-placeholder" Error "a placeholder that means nothing";
    LITERAL_JSON "RRC0316" "literal-json" Error "a JSON object in a command is read as a placeholder";
    SPLIT_PLACEHOLDER "RRC0317" "split-placeholder" Error "a blank cuts a placeholder into two words";
    OPEN_QUOTE "RRC0318" "open-quote" Error "a quote that nothing closes";
    UNKNOWN_TYPE "RRC0319" "unknown-type" Error "a type that does not exist";
    BAD_DEFAULT "RRC0320" "bad-default" Error "a default does not fit the type of its argument";
    DIVISION_BY_ZERO "RRC0321" "division-by-zero" Error "a number is divided by zero";
    WORD_AS_CONDITION "RRC0322" "word-as-condition" Error "a word that `when` reads as the name of a value";
    CONDITION_OPERATOR "RRC0323" "condition-operator" Error "`when` with an operator, which it does not have";
    UNUSABLE_DEFAULT "RRC0324" "unusable-default" Error "a template cannot run with its own defaults";
    NEWLINE_IN_PATH "RRC0325" "newline-in-path" Warning "a path holds the newline that a step printed";

    NO_SAFE_FORM "RRC0401" "no-safe-form" Error "a hole stands where no value can go safely";
    RECOVER_WITHOUT_RETRY "RRC0402" "recover-without-retry" Error "`recover` stands where nothing is tried again";
    RETRY_NEVER_FAILS "RRC0403" "retry-never-fails" Warning "`retry` on a group that never fails";
    GROUP_TIMEOUT "RRC0404" "group-timeout" Warning "a `timeout` on a group, which other runners ignore";
    OUTPUT_FAIL_OPEN "RRC0405" "output-fail-open" Warning "`output` names a file although its producer may have failed";
    CONDITION_BEFORE_REPEAT "RRC0406" "condition-before-repeat" Error "`when` reads what only its own `repeat` sets";
    PARALLEL_STEPS "RRC0407" "parallel-steps" Warning "the steps of a parallel `repeat` run at once as well";
    SECRET_IN_ARGV "RRC0408" "secret-in-argv" Warning "a secret becomes an argument of a program, where others can see it";
    RETRY_ON_OBJECT "RRC0409" "retry-on-object" Warning "`retry` around an object, which other runners ignore";
    BRANCH_IS_ROOT "RRC0410" "branch-is-root" Note "a failure that ends its branch, where there is only one";
    UNBOUNDED_NETWORK "RRC0411" "unbounded-network" Note "a command waits for another machine, for as long as it takes";
    BROKEN_SCRIPT "RRC0412" "broken-script" Error "shell text that bash cannot read";
    SWALLOWED_FAILURE "RRC0413" "swallowed-failure" Note "the failure of the last step of a template is passed over" OnDemand;
    LONG_DELAY "RRC0414" "long-delay" Note "a `delay` of more than ten minutes";

    VALUE_IN_PROGRAM_TEXT "RRC0501" "value-in-program-text" Warning "a value becomes part of another program's text";
    VALUE_AS_COMMAND "RRC0502" "value-as-command" Warning "a value is used as the name of a command";
    RAW_VALUE "RRC0503" "raw-value" Warning "a value from outside is pasted into shell text";
    OVERWRITTEN_BY_ID "RRC0504" "overwritten-by-id" Warning "the output of a step is stored over a variable that has the name of the step";
    SHELL_SYNTAX "RRC0505" "shell-syntax" Warning "shell syntax in a command that no shell reads";
    SHELL_EXPANSION "RRC0506" "shell-expansion" Error "`${x}` in a command that no shell reads";
    EMPTY_WORD "RRC0507" "empty-word" Warning "an empty word, which commands are never given";
    LOST_BACKSLASH "RRC0508" "lost-backslash" Warning "a backslash that the command does not get to see";
    ODD_BLANK "RRC0509" "odd-blank" Warning "a blank that does not look like one separates words";
    VALUE_IN_JSON "RRC0510" "value-in-json" Warning "a value is put into JSON text without escaping";
    TRUSTED_CODE "RRC0511" "trusted-code" Note "a command runs a shell, or code that it is given";
    WIDE_PATH "RRC0512" "wide-path" Note "files are removed or overwritten by a path that a value decides";
    DANGLING_FLAG "RRC0513" "dangling-flag" Note "a flag that is left alone when its value is empty";
    MACHINE_PATH "RRC0514" "machine-path" Note "a path of one machine in a template";
    HOME_IN_ARGUMENT "RRC0515" "home-in-argument" Warning "`~` in an argument, where nothing expands it";
    SECONDS_SUSPECTED "RRC0516" "seconds-suspected" Note "a `timeout` in milliseconds that looks like seconds";
    COALESCE_HIDES_ZERO "RRC0517" "coalesce-hides-zero" Note "`??` replaces the number 0 as well";
    OTHER_RUNNER "RRC0518" "other-runner" Note "text that means something else to the runner it was written for";
    NARROW_PADDING "RRC0519" "narrow-padding" Note "zeros in front for fewer digits than the numbers have";
    LIST_IN_WORD "RRC0520" "list-in-word" Note "a list becomes one word, as JSON";
    VALUE_AS_OPTION "RRC0521" "value-as-option" Note "a value that begins with `-` is read as an option";
    SECOND_ZERO "RRC0522" "second-zero" Warning "`grep -c … || echo 0` prints two numbers where nothing is found";
    SHELLCHECK "RRC0590" "shellcheck" Warning "shellcheck finds something in shell text";

    TOO_MANY_STEPS "RRC0601" "too-many-steps" Error "a recipe has more steps than rrc accepts";
    STEP_LIMIT "RRC0602" "step-limit" Error "a recipe must run more steps than its own limit allows";
    DEPTH_LIMIT "RRC0603" "depth-limit" Error "recipes must call each other deeper than the limit allows";
    HUGE_FANOUT "RRC0604" "huge-fanout" Warning "more branches at once than later releases of the standard allow";

    BAD_PLAN "RRC0701" "bad-plan" Error "a plan file is damaged or was not made by rrc";
    FOREIGN_PLAN "RRC0702" "foreign-plan" Error "a plan file was made by another version of rrc";
    UNSOUND_PLAN "RRC0703" "unsound-plan" Error "a plan file holds code that does not verify";

    EVALUATION_FAILED "RRC0801" "evaluation-failed" Error "a condition fails for the values it is given";
    REFUSED_VALUES "RRC0802" "refused-values" Error "a template cannot run with the values it is given";
}

/// A code (`RRC0201`, or its number alone) or its name (`undefined-variable`), in any case.
pub fn find(text: &str) -> Option<&'static Code> {
    let number = |text: &str| text.parse::<u16>().ok();
    let is = |code: &&Code| {
        code.code.eq_ignore_ascii_case(text)
            || code.name.eq_ignore_ascii_case(text)
            || number(text).is_some_and(|wanted| number(&code.code[3..]) == Some(wanted))
    };
    ALL.iter().copied().find(is)
}
