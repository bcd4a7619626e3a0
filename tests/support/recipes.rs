//! Recipes of our own that use most of the language, for laws about texts: what holds for them
//! has to hold for what is left of them after damage, too.

/// A file and the files it may call.
pub struct Base {
    pub name: &'static str,
    pub text: &'static str,
}

pub const BASES: [Base; 7] = [
    Base {
        name: "release.yaml",
        text: RELEASE,
    },
    Base {
        name: "loops.yaml",
        text: LOOPS,
    },
    Base {
        name: "ship.yaml",
        text: SHIP,
    },
    Base {
        name: "gates.yaml",
        text: GATES,
    },
    Base {
        name: "child.yaml",
        text: CHILD,
    },
    Base {
        name: "shell.yaml",
        text: SHELL,
    },
    Base {
        name: "slips.yaml",
        text: SLIPS,
    },
];

const RELEASE: &str = r#"# A release, from tag to notes.
name: release
description: "Tags, builds and describes a release"
version: 1.2.0
context:
  tag: v1.2.0
  targets: [x86_64-linux, aarch64-linux]
  notify: true
  limits: {minutes: 20, parts: 3}
steps:
  - id: check-tag
    type: bash
    command: git rev-parse --verify "refs/tags/{{tag}}"
    output: commit
    output_exit_code: tag_code
    on_error: continue
  - id: build
    type: bash
    condition: "{{tag_code}} == 0 and {{tag}} != 'nightly'"
    foreach: "{{targets}}"
    as: target
    parallel: 2
    collect: builds
    command: |
      cargo build --target {{target}} \
        --release 2>&1 | tail -n {{limits.parts}}
    timeout: 1200
    env:
      TARGET: "{{target}}"
      JOBS: 4
    retry:
      max_attempts: 3
      backoff: exponential
      initial_delay: 2
      max_delay: 30
  - id: describe
    agent: writer
    prompt: |
      Describe {{commit}} for {{builds[0]}}.
      Say what changed since {{tag}}.
    output: notes
    parse_json: true
    on_error: skip_remaining
  - id: notify
    type: bash
    condition: "{{notify}} and len({{notes}}) > 0"
    command: curl -d '{{notes}}' "https://example.org/{{tag}}"
"#;

const LOOPS: &str = r#"name: loops
description: Loops of both kinds
version: "0.1.0"
context:
  count: 0
  rows:
    - {id: 1, text: "first"}
    - {id: 2, text: "it's second"}
steps:
  - id: wait
    type: bash
    while_condition: "int({{count}}) < 3"
    max_while_iterations: 5
    break_when: "{{state}} == 'ready'"
    command: printf '%s' "{{_loop_index}}"
    output: state
    update_context:
      count: "{{_loop_iteration}}"
  - id: rows
    foreach: "{{rows}}"
    as: row
    max_iterations: 10
    delay_between: 100
    steps:
      - id: show
        type: bash
        command: echo "{{row.text}}" >> log.{{row.id}}
        stdin: "{{row}}"
        output: shown
      - id: judge
        agent: critic
        prompt: "Is {{shown}} right? {{row.text}}"
        output: verdict
        condition: "'second' in {{row.text}} or {{row.id}} >= 2"
  - id: summary
    type: bash
    shell: /bin/sh
    cwd: /tmp
    command: |
      cat <<'END'
      {{state}} of {{count}}
      END
    output_stderr: complaints
    max_output_size: 4096
    on_error: continue
"#;

const SHIP: &str = r#"# rrc: dialect = amplihack
name: ship
description: Ships a change
context:
  task: "make it faster"
  branch: main
  flags: {deep: true, tries: 2}
hooks:
  post_step: echo "$step_id is $step_status" >> steps.log
steps:
  - id: status
    command: git status --porcelain
  - id: plan
    agent: planner
    prompt: |
      Plan {{task}} on {{branch}}. The tree says: {{status}}
    output: plan
    parse_json: true
    when_tags: [plan]
  - id: tests
    command: cargo test -- {{flags.tries}} && echo "$RECIPE_VAR_task" "$BRANCH"
    condition: flags.deep and plan != null and not (branch in ['main', "release"])
    continue_on_error: true
    working_dir: .
    timeout: 300
  - id: lint
    command: cargo clippy
    parallel_group: checks
  - id: docs
    command: cargo doc --no-deps
    parallel_group: checks
  - id: sub
    recipe: child
    context:
      who: "{{task}}"
      list: [1, "{{branch}}", {deep: "{{flags.deep}}"}]
    output: sub
  - id: done
    command: echo "{{sub}} {{tests.strip}}"
    condition: len(status.strip()) == 0 or tests.startswith('ok')
"#;

const GATES: &str = r#"name: gates
description: Stages with approvals
version: 2.0.0
context:
  env: staging
  count: 2
secrets: [token]
recursion:
  max_depth: 3
  max_total_steps: 50
stages:
  - name: prepare
    steps:
      - id: fetch
        type: bash
        command: "fetch --env {{env}}"
        output: fetched
    approval:
      required: true
      prompt: "Deploy {{fetched}} to {{env}}?"
      timeout: 3600
      default: deny
  - name: deploy
    steps:
      - id: deploy
        type: bash
        command: deploy {{env}} --count $(( {{count}} + 1 ))
        condition: not {{fetched}}
      - id: child
        type: recipe
        recipe: child.yaml
        context: {who: "{{env}}", list: []}
        output: result
      - id: report
        type: bash
        command: echo {{result.greeting}}
        depends_on: [deploy]
"#;

const CHILD: &str = r#"name: child
description: Greets
version: 1.0.0
context:
  who: nobody
  list: []
  count: 1
steps:
  - id: greet
    type: bash
    command: |
      echo "hello, {{who}}"
    output: greeting
  - id: items
    type: bash
    foreach: "{{list}}"
    command: echo {{item}}
"#;

const SHELL: &str = r#"name: shell
description: Holes in all kinds of places
version: 1.0.0
context: {a: "x y", n: 3, files: "one two", cmd: ls, program: "print(1)"}
steps:
  - id: places
    type: bash
    command: |
      echo {{a}} "{{a}}" '{{a}}' $'{{a}}' "${HOME:-{{a}}}"
      x={{a}}; y="$(printf %s {{a}} | tr a-z A-Z)"
      if [[ {{a}} == *x* ]] && (( {{n}} > 2 )); then echo $(( {{n}} * 2 )); fi
      case {{a}} in x*) echo "`echo {{a}}`" ;; esac
      cat <<EOF
      {{a}} and $x
      EOF
      cat <<-'RAW'
      	{{a}}
      	RAW
      # a comment with {{a}}
      for f in {{files|words}}; do echo "$f"; done
      {{cmd}} -l
      python3 -c '{{program}}'
      echo {{a|raw}} {{a|json}} \{{not a hole}}
  - id: next
    type: bash
    command: 'grep -- {{a}} <(echo {{n}}) > {{files}}.out'
    condition: '{{n}} >= 1 and {{a}}.upper().replace("X", "Z") != "" or {{n}} in [1, 2.5, -3]'
"#;

/// Mistakes that have fixes.
const SLIPS: &str = r#"name: slips
description: Mistakes that rrc can repair
version: 1.0
context:
  user: ada
  flag: yes
steps:
  - id: one
    type: bash
    comand: echo {{usre}}
  - id: two
    type: bash
    command: echo {{ user }}
    output: "{{result}}"
    condition: "{{user}} = 'ada'"
  - id: three
    type: bash
    command: echo "{{user}}
    timeout_sec: 5
"#;
