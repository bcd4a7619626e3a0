//! What the verifier finds, and where it says that it is.

use super::{MAIN, X, plan};
use rrc_vm::isa::Instr;
use rrc_vm::verify::{MAX_FUEL, MAX_MEMORY, Rejected, verify};

fn rejected(code: &[Instr]) -> Rejected {
    verify(plan(&[(MAIN.0, MAIN.1, code)])).expect_err("the verifier finds it")
}

#[test]
fn the_verifier_says_what_is_wrong_and_where() {
    let why = |code: &[Instr], at: u32, what: &str| {
        let found = rejected(code);
        assert_eq!(found.function, Some(0));
        assert_eq!(found.at, at, "{found}");
        assert!(found.what.contains(what), "{found}");
    };
    why(&[Instr::Pop {}], 0, "empty");
    why(&[Instr::Null {}], 0, "does not end");
    why(
        &[Instr::Null {}, Instr::JumpIf { to: 0 }],
        1,
        "`data` is on the stack",
    );
    why(
        &[Instr::Load { local: 1 }, Instr::Return {}],
        0,
        "before it is set",
    );
    why(
        &[Instr::Load { local: 6 }, Instr::Return {}],
        0,
        "nothing it can be",
    );
    why(&[Instr::Jump { to: 7 }], 0, "nothing it can be");
    why(
        &[Instr::Null {}, Instr::Jump { to: 0 }],
        1,
        "different height",
    );
    why(
        &[Instr::Tasks {}, Instr::Pop {}, Instr::Return {}],
        1,
        "tasks",
    );
    why(
        &[Instr::Tasks {}, Instr::Store { local: 1 }, Instr::Return {}],
        1,
        "tasks",
    );
    why(
        &[
            Instr::Tasks {},
            Instr::Null {},
            Instr::Take { local: 0 },
            Instr::Return {},
        ],
        3,
        "open at a return",
    );
    why(
        &[
            Instr::Fail { message: X },
            Instr::SetVar { scope: 0, name: X },
            Instr::Return {},
        ],
        1,
        "`any` is on the stack",
    );
    why(
        &[
            Instr::Null {},
            Instr::Builtin {
                which: 14,
                arguments: 1,
            },
            Instr::Return {},
        ],
        1,
        "nothing it can be",
    );
    why(
        &[Instr::Fork { function: 0 }, Instr::Return {}],
        0,
        "nothing it can be",
    );
    // A local that is set on one path only.
    why(
        &[
            Instr::True {},
            Instr::JumpIf { to: 4 },
            Instr::Null {},
            Instr::Store { local: 1 },
            Instr::Load { local: 1 },
            Instr::Take { local: 0 },
            Instr::Return {},
        ],
        4,
        "before it is set",
    );
}

#[test]
fn what_jumps_bring_is_found_however_far_and_back() {
    let why = |code: &[Instr], at: u32, what: &str| {
        let found = rejected(code);
        assert_eq!(found.at, at, "{found}");
        assert!(found.what.contains(what), "{found}");
    };
    // An integer at first, but text when the loop comes back.
    let mut code = vec![
        Instr::Int { value: 0 },
        Instr::Store { local: 1 },
        Instr::Load { local: 1 },
        Instr::Int { value: 3 },
        Instr::Less {},
        Instr::JumpUnless { to: 8 },
        Instr::Text { text: X },
        Instr::Store { local: 1 },
        Instr::Jump { to: 2 },
    ];
    why(&code, 4, "`data` is on the stack");
    code[6] = Instr::Int { value: 1 };
    assert!(verify(plan(&[(MAIN.0, MAIN.1, &code)])).is_ok());
    // Only a jump back leads there.
    why(
        &[
            Instr::Jump { to: 3 },
            Instr::Load { local: 1 },
            Instr::Stop {},
            Instr::Jump { to: 1 },
        ],
        1,
        "before it is set",
    );
    // Ahead over more code than is looked at together, past other jumps, and all the way back.
    for length in [10, 511, 512, 513, 3000] {
        let far = length + 3;
        let mut code = vec![Instr::True {}, Instr::JumpIf { to: far }];
        code.extend((2..far).map(|at| Instr::Jump { to: at + 1 }));
        code.extend([Instr::Null {}, Instr::Stop {}]);
        assert!(verify(plan(&[(MAIN.0, MAIN.1, &code)])).is_ok());
        code[far as usize - 1] = Instr::Null {};
        why(&code, far, "different height");
        code[far as usize - 1] = Instr::Jump { to: 0 };
        assert!(verify(plan(&[(MAIN.0, MAIN.1, &code)])).is_ok());
        code[far as usize + 1] = Instr::Jump { to: 0 };
        why(&code, far + 1, "different height");
    }
}

#[test]
fn no_plan_allows_its_run_more_than_there_is_reason_for() {
    let code = [Instr::Null {}, Instr::Take { local: 0 }, Instr::Return {}];
    let with = |fuel, memory| {
        let mut plan = plan(&[(MAIN.0, MAIN.1, &code)]);
        (plan.limits.fuel, plan.limits.memory) = (fuel, memory);
        verify(plan).map(|_| ()).map_err(|found| found.what)
    };
    assert_eq!(with(MAX_FUEL, MAX_MEMORY), Ok(()));
    for (fuel, memory) in [(MAX_FUEL + 1, 1), (1, MAX_MEMORY + 1), (u64::MAX, u64::MAX)] {
        assert!(with(fuel, memory).is_err_and(|what| what.contains("higher")));
    }
}
