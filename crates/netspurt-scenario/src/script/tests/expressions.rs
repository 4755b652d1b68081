//! Tests that expressions in assertions have limits, and that a written expression is read back
//! unchanged.

use super::*;

#[test]
fn expressions_that_would_exhaust_the_stack_are_refused() {
    for (part, message) in [("1 + ", "too long"), ("(", "too deeply"), ("not ", "too deeply")] {
        let error = wrong(&format!("0 %{{ assert {}1 }}%", part.repeat(100_000)));
        assert!(error.message.contains(message), "{}", error.message);
    }
}

#[test]
fn a_written_expression_is_read_back_unchanged() {
    for text in [
        "1 + 2 * 3 == 7",
        "(1 + 2) * 3 == 9",
        "1 - (2 - 3) < 4",
        "not (tcpi_rto == 1 and 1) or -(1 + 2) > 3",
        "(1 < 2) == True",
        "not not 1",
        "(not 1) == 0",
        "(tcpi_options & 1 | 6) % 4 == min(1, tcpi_rto + 2, max(3, 4))",
        "-(-1) - 2 == -1",
    ] {
        let script = parse(&format!("0 %{{ assert {text} }}%"));
        let ScriptAction::Check(statements) = &script.events[0].action else { panic!() };
        assert_eq!(statements[0].to_string(), format!("assert {text}"));
    }
}
