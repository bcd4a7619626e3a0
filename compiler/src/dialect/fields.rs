//! The fields of every map in a recipe, declared once.
//!
//! Both dialects know all of them; a dialect decides what a field means, never whether it works.
//! Suggestions, hover, completion and the JSON Schema come from these tables.

use crate::doc::shape::{Field, Shape, Type};

const fn field(name: &'static str, ty: Type, doc: &'static str) -> Field {
    Field {
        name,
        ty,
        doc,
        aliases: &[],
    }
}

const fn aliased(
    name: &'static str,
    aliases: &'static [&'static str],
    ty: Type,
    doc: &'static str,
) -> Field {
    Field {
        name,
        ty,
        doc,
        aliases,
    }
}

const COUNT: Type = Type::Int {
    min: 1,
    max: u32::MAX as i64,
};
/// Either says which runner a recipe is for, so that neither is put there unasked.
const GO_ON: &str =
    "write `on_error: continue`, or `continue_on_error: true` as `amplihack` has it";
const TEXTS: Type = Type::List(&Type::Text);

pub static RECIPE: Shape = Shape {
    what: "recipe",
    fields: &[
        field("name", Type::Name, "what the recipe is called"),
        field(
            "description",
            Type::Text,
            "what the recipe does, in a sentence",
        ),
        field("version", Type::Text, "three numbers: `1.0.0`"),
        field("author", Type::Any, "who wrote it"),
        field("tags", Type::Any, "words to find it by"),
        field(
            "context",
            Type::Map(&Type::Any),
            "variables and their values before the first step",
        ),
        field(
            "steps",
            Type::List(&Type::Nested(&STEP)),
            "what to do, in order",
        ),
        field(
            "stages",
            Type::List(&Type::Nested(&STAGE)),
            "groups of steps with approvals between",
        ),
        field(
            "recursion",
            Type::Nested(&RECURSION),
            "how deep and how long the recipe may run",
        ),
        field(
            "rate_limiting",
            Type::Nested(&RATE_LIMITING),
            "how often agents may be asked",
        ),
        field(
            "orchestrator",
            Type::Any,
            "settings for the sessions of agents",
        ),
        field(
            "hooks",
            Type::Nested(&HOOKS),
            "shell text to run around each step",
        ),
        field("extends", Type::Name, "a recipe whose steps come first"),
        field(
            "context_validation",
            Type::Map(&Type::Choice(&["nonempty", "git_repo", "path", "optional"])),
            "what variables must hold before the first step",
        ),
        field(
            "secrets",
            Type::List(&Type::Name),
            "variables whose values are never shown",
        ),
        field(
            "schedule",
            Type::Choice(&["list", "graph"]),
            "run steps in order, or as a graph",
        ),
        field(
            "substitution",
            Type::Choice(&["contextual", "raw"]),
            "put values into shell text safely, or paste them",
        ),
        field(
            "auto_stage",
            Type::Bool,
            "stage all changes in git after each agent's step that says nothing itself",
        ),
    ],
    hints: &[
        ("step", "steps"),
        ("vars", "context"),
        ("variables", "context"),
        ("inputs", "context"),
        ("parameters", "context"),
        (
            "default_step_timeout",
            "put `timeout` on each step, or `default-timeout` in rrc.toml",
        ),
        (
            "max_env_value_bytes",
            "remove it: large values reach scripts without it",
        ),
        ("timeout", "`timeout` belongs on each step"),
        (
            "dialect",
            "write it as a comment: `# rrc: dialect = amplihack`, or `amplifier`",
        ),
        (
            "on_error",
            "`on_error` belongs on each step; `hooks.on_error` is shell text",
        ),
    ],
    elsewhere: &[
        (&STEP, "put it on the step that needs it, under `steps`"),
        (&STAGE, "put it on a stage, under `stages`"),
        (&HOOKS, "put it under `hooks`"),
        (&RECURSION, "put it under `recursion`"),
        (&RATE_LIMITING, "put it under `rate_limiting`"),
    ],
    open: &[
        "x-*",
        "metadata",
        "created",
        "updated",
        "output",
        "outputs",
        "notes",
        "cleanup",
        "final_output",
        "validation",
    ],
};

pub static STAGE: Shape = Shape {
    what: "stage",
    fields: &[
        field("name", Type::Name, "what the stage is called"),
        field(
            "steps",
            Type::List(&Type::Nested(&STEP)),
            "what to do, in order",
        ),
        field(
            "approval",
            Type::Nested(&APPROVAL),
            "a question to answer before going on",
        ),
    ],
    hints: &[
        (
            "condition",
            "a stage has no condition: put `condition` on its steps",
        ),
        (
            "approval_required",
            "write `approval: {required: true, prompt: …}`",
        ),
        (
            "approval_prompt",
            "write `approval: {required: true, prompt: …}`",
        ),
        (
            "approval_message",
            "write `approval: {required: true, prompt: …}`",
        ),
        (
            "approval_gate",
            "write `approval: {required: true, prompt: …}`",
        ),
        (
            "auto_approve_if",
            "a stage cannot approve itself: use `--approve`",
        ),
    ],
    elsewhere: &[
        (&APPROVAL, "put it under `approval`"),
        (&RECIPE, "put it at the top of the recipe"),
        (&STEP, "put it on the steps of the stage"),
    ],
    open: &["x-*", "metadata", "description"],
};

pub static APPROVAL: Shape = Shape {
    what: "`approval`",
    fields: &[
        field("required", Type::Bool, "whether to ask at all"),
        field("prompt", Type::Text, "what to ask"),
        field(
            "timeout",
            Type::Number,
            "seconds to wait for an answer; 0 waits for ever",
        ),
        field(
            "default",
            Type::Choice(&["deny", "approve"]),
            "the answer when time is over",
        ),
    ],
    hints: &[("message", "prompt"), ("question", "prompt")],
    elsewhere: &[(&STAGE, "put it on the stage, beside `approval`")],
    open: &["x-*", "metadata", "description"],
};

pub static RETRY: Shape = Shape {
    what: "`retry`",
    fields: &[
        field("max_attempts", COUNT, "how often to try in all; 3"),
        field(
            "backoff",
            Type::Choice(&["exponential", "linear"]),
            "how the pause grows",
        ),
        field(
            "initial_delay",
            Type::Number,
            "seconds before the second try; 5",
        ),
        field(
            "max_delay",
            Type::Number,
            "the longest pause in seconds; 60",
        ),
    ],
    hints: &[
        ("attempts", "max_attempts"),
        ("max", "max_attempts"),
        ("retries", "max_attempts"),
        ("max_retries", "max_attempts"),
        ("delay", "initial_delay"),
        ("strategy", "backoff"),
    ],
    elsewhere: &[(&STEP, "put it on the step, beside `retry`")],
    open: &["x-*"],
};

pub static RECURSION: Shape = Shape {
    what: "`recursion`",
    fields: &[
        // A dialect may allow less.
        field("max_depth", COUNT, "how deep recipes may call each other"),
        field("max_total_steps", COUNT, "how many steps may run in all"),
    ],
    hints: &[
        ("depth", "max_depth"),
        ("max_steps", "max_total_steps"),
        ("max_concurrent_llm", "put it under `rate_limiting`"),
        ("min_delay_ms", "put it under `rate_limiting`"),
        ("backoff", "put it under `rate_limiting`"),
    ],
    elsewhere: &[],
    open: &["x-*"],
};

pub static RATE_LIMITING: Shape = Shape {
    what: "`rate_limiting`",
    fields: &[
        field(
            "max_concurrent_llm",
            Type::Int { min: 1, max: 100 },
            "agents at once",
        ),
        field(
            "min_delay_ms",
            Type::Int {
                min: 0,
                max: 60_000,
            },
            "milliseconds between agents",
        ),
        field(
            "backoff",
            Type::Nested(&BACKOFF),
            "what to do when an agent is refused",
        ),
    ],
    hints: &[],
    elsewhere: &[],
    open: &["x-*"],
};

pub static BACKOFF: Shape = Shape {
    what: "`backoff`",
    fields: &[
        field("enabled", Type::Bool, "whether to slow down"),
        field(
            "initial_delay_ms",
            Type::Int {
                min: 100,
                max: i64::MAX,
            },
            "the first pause, in milliseconds",
        ),
        field(
            "max_delay_ms",
            Type::Int {
                min: 100,
                max: i64::MAX,
            },
            "the longest pause, in milliseconds",
        ),
        field("multiplier", Type::Number, "how the pause grows"),
        field(
            "reset_after_success",
            COUNT,
            "successes until the pause is short again",
        ),
    ],
    hints: &[],
    elsewhere: &[],
    open: &["x-*"],
};

pub static PREFERENCE: Shape = Shape {
    what: "preference",
    fields: &[
        field("provider", Type::Text, "who serves the model"),
        field("model", Type::Text, "the model"),
        field("class", Type::Text, "what kind of model"),
    ],
    hints: &[],
    elsewhere: &[],
    open: &["x-*"],
};

pub static HOOKS: Shape = Shape {
    what: "`hooks`",
    fields: &[
        field("pre_step", Type::Text, "shell text before each step"),
        field(
            "post_step",
            Type::Text,
            "shell text after each step that did not fail",
        ),
        field(
            "on_error",
            Type::Text,
            "shell text after each step that failed",
        ),
    ],
    hints: &[
        ("before_step", "pre_step"),
        ("after_step", "post_step"),
        ("on_failure", "on_error"),
    ],
    elsewhere: &[(&RECIPE, "put it at the top of the recipe")],
    open: &["x-*"],
};

pub static STEP: Shape = Shape {
    what: "step",
    fields: &[
        field("id", Type::Name, "a name for the step, unique in the file"),
        field(
            "type",
            Type::Choice(&["bash", "agent", "recipe", "template", "tool"]),
            "what kind of step it is",
        ),
        field("command", Type::Text, "shell text to run"),
        field("shell", Type::Text, "the shell that runs it; /bin/bash"),
        field("stdin", Type::Text, "what the command reads"),
        field("stream", Type::Bool, "show output while it is written"),
        field(
            "max_output_size",
            COUNT,
            "bytes of output that are kept; 10 MiB",
        ),
        field(
            "output_stderr",
            Type::Name,
            "a variable for what was written to stderr",
        ),
        field(
            "output_exit_code",
            Type::Name,
            "a variable for the exit code",
        ),
        aliased(
            "cwd",
            &["working_dir"],
            Type::Text,
            "the directory to run in",
        ),
        field(
            "env",
            Type::Map(&Type::Text),
            "environment variables to set",
        ),
        field("agent", Type::Text, "which agent to ask"),
        field("prompt", Type::Text, "what to ask it"),
        field("mode", Type::Text, "a mode the agent works in"),
        field("agent_config", Type::Any, "settings of the agent"),
        field(
            "spawn_mode",
            Type::Choice(&["subprocess"]),
            "how the agent is started",
        ),
        field("provider", Type::Text, "who serves the model"),
        field("model", Type::Text, "the model"),
        field(
            "provider_preferences",
            Type::List(&Type::Nested(&PREFERENCE)),
            "providers and models, best first",
        ),
        field("model_role", Type::Text, "what the model is for"),
        field(
            "auto_stage",
            Type::Bool,
            "stage all changes in git afterwards",
        ),
        field("recipe", Type::Text, "the recipe to run"),
        field("context", Type::Map(&Type::Any), "variables for the recipe"),
        field(
            "recursion",
            Type::Nested(&RECURSION),
            "nothing: the limits are those of the recipe that is run",
        ),
        field(
            "recovery_on_failure",
            Type::Bool,
            "ask an agent when the recipe fails",
        ),
        field(
            "template",
            Type::Any,
            "a command template, or the path of one",
        ),
        field("tool", Type::Text, "a tool that metadata describes"),
        field("arguments", Type::Map(&Type::Any), "values for the tool"),
        field("output", Type::Name, "a variable for what the step gives"),
        field("parse_json", Type::Bool, "read the output as JSON"),
        field(
            "parse_json_required",
            Type::Bool,
            "fail when the output holds no JSON",
        ),
        field("condition", Type::Text, "run the step only if this is true"),
        field("timeout", Type::Number, "seconds it may take"),
        field("retry", Type::Nested(&RETRY), "try again when it fails"),
        field(
            "on_error",
            Type::Choice(&["fail", "continue", "skip_remaining"]),
            "what to do when it fails",
        ),
        field("continue_on_error", Type::Bool, "go on when it fails"),
        field("nonfatal", Type::Bool, "the same as `continue_on_error`"),
        field("fatal", Type::Bool, "false: go on when it fails"),
        field(
            "once",
            Type::Bool,
            "a resumed run stops here rather than do it a second time",
        ),
        field("depends_on", TEXTS, "steps that must have run before"),
        field(
            "when_tags",
            TEXTS,
            "run only when one of these tags is asked for",
        ),
        field(
            "parallel_group",
            Type::Name,
            "neighbours with the same name run at once",
        ),
        field("foreach", Type::Text, "run once per item of this list"),
        field("as", Type::Name, "the variable that holds the item; `item`"),
        field("collect", Type::Name, "a variable for the list of results"),
        field(
            "parallel",
            Type::OneOf(&[Type::Bool, COUNT]),
            "run iterations at once",
        ),
        field("max_iterations", COUNT, "how long the list may be; 100"),
        field(
            "delay_between",
            Type::Int {
                min: 0,
                max: i64::MAX,
            },
            "milliseconds between starts",
        ),
        field("checkpoint_iterations", Type::Bool, "record each iteration"),
        field(
            "while_condition",
            Type::Text,
            "run again while this is true",
        ),
        field(
            "max_while_iterations",
            Type::Int { min: 1, max: 1000 },
            "how often at most; 100",
        ),
        field("break_when", Type::Text, "end the loop when this is true"),
        field(
            "update_context",
            Type::Map(&Type::Text),
            "variables to set after each iteration",
        ),
        aliased(
            "steps",
            &["while_steps"],
            Type::List(&Type::Nested(&STEP)),
            "the steps of each iteration",
        ),
    ],
    hints: &[
        ("sub_context", "context"),
        ("timeout_seconds", "timeout"),
        ("timeout_secs", "timeout"),
        ("retries", "write `retry: {max_attempts: …}`"),
        ("max_attempts", "write `retry: {max_attempts: …}`"),
        ("max_retries", "write `retry: {max_attempts: …}`"),
        ("retry_count", "write `retry: {max_attempts: …}`"),
        ("timeout_minutes", "write `timeout`, in seconds"),
        ("timeout_ms", "write `timeout`, in seconds"),
        ("ignore_errors", GO_ON),
        ("ignore_error", GO_ON),
        ("ignore_failure", GO_ON),
        ("allow_failure", GO_ON),
        (
            "output_format",
            "write `parse_json: true` if the output is to be read as JSON",
        ),
        ("with", "context"),
        ("run", "command"),
        ("bash", "command"),
        ("cmd", "command"),
        ("script", "command"),
        ("if", "condition"),
        ("when", "condition"),
        ("dir", "cwd"),
        ("directory", "cwd"),
        ("workdir", "cwd"),
        ("working_directory", "cwd"),
        ("environment", "env"),
        ("tags", "when_tags"),
        ("needs", "depends_on"),
        ("loop", "foreach"),
        ("for_each", "foreach"),
        ("items", "foreach"),
        ("outputs", "output"),
        ("register", "output"),
        ("result", "output"),
        ("save_as", "output"),
        ("json", "parse_json"),
        ("while", "while_condition"),
        ("on_failure", "on_error"),
        ("substeps", "steps"),
        (
            "requires_approval",
            "put the step in a stage with an `approval`",
        ),
        ("inputs", "context"),
        ("parameters", "context"),
        (
            "max_env_value_bytes",
            "remove it: large values reach scripts without it",
        ),
    ],
    elsewhere: &[
        (&RETRY, "put it under `retry`"),
        (&RECIPE, "put it at the top of the recipe"),
        (&STAGE, "put it on a stage, which holds steps"),
        (&RECURSION, "put it under `recursion`"),
    ],
    open: &["x-*", "metadata", "description", "name"],
};

/// The kinds of steps, and the fields that only they have.
pub static KINDS: &[(&str, &[&str])] = &[
    (
        "bash",
        &[
            "command",
            "shell",
            "stdin",
            "stream",
            "max_output_size",
            "output_stderr",
        ],
    ),
    (
        "agent",
        &[
            "agent",
            "prompt",
            "mode",
            "agent_config",
            "spawn_mode",
            "provider",
            "model",
            "provider_preferences",
            "model_role",
        ],
    ),
    ("recipe", &["recipe", "context", "recovery_on_failure"]),
    ("template", &["template"]),
    ("tool", &["tool", "arguments"]),
];
