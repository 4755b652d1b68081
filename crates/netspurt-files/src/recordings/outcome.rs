//! Recognises the words for the outcome of a probe in the cells of tables.

use super::text::decimal;

/// Returns a word in lower case without blanks, `_`, `-` and `.`, so that `TimedOut`, `timed_out`
/// and `Timed out` are one word.
fn compact(text: &str) -> String {
    text.chars()
        .filter(|c| !matches!(c, ' ' | '_' | '-' | '.'))
        .flat_map(char::to_lowercase)
        .collect()
}

/// True if a word means that no reply came. The words come from .NET's `IPStatus` (which
/// PowerShell's `Test-Connection` prints), from ping on Windows and Linux, from fping, and from
/// monitoring tools.
pub(super) fn says_lost(text: &str) -> bool {
    const PARTS: [&str; 14] = [
        "timedout",
        "timeout",
        "unreachable",
        "ttlexpired",
        "expiredintransit",
        "exceeded",
        "prohibited",
        "filtered",
        "noreply",
        "noresponse",
        "noanswer",
        "noroute",
        "unreached",
        "unanswered",
    ];
    // Most cells are numbers, which need no further look.
    if text.bytes().all(|octet| octet.is_ascii() && !octet.is_ascii_alphabetic()) {
        return false;
    }
    let word = compact(text);
    word.len() <= LETTERS_MAX && PARTS.iter().any(|part| word.contains(part))
}

/// The maximum number of letters of a word for an outcome. A longer cell is other text.
const LETTERS_MAX: usize = 48;

/// Returns whether a probe was answered. The cell may hold a word for the outcome, or a number: a
/// truth value, the count of answers, or the instant of the answer. A number above 0 means that
/// the probe was answered. `None` if the cell does not show the outcome. If `coded` is true, the
/// column's numbers are codes, and a number gives `None`.
pub(super) fn success(text: &str, coded: bool) -> Option<bool> {
    if let Some((value, "")) = decimal(text, 1) {
        // The function `decimal` cuts off the decimals. So a number such as 0.532 gives 0, although
        // it is above 0.
        let part =
            value == 0 && !text.starts_with('-') && text.contains(|one| ('1'..='9').contains(&one));
        return (!coded).then_some(value > 0 || part);
    }
    match &*compact(text) {
        "true" | "yes" | "y" | "t" | "ok" | "success" | "successful" | "succeeded" | "received"
        | "reply" | "echoreply" | "replied" | "up" | "alive" | "answered" | "responded"
        | "reachable" | "online" | "open" | "connected" | "pass" | "passed" => Some(true),
        "false"
        | "no"
        | "n"
        | "f"
        | "lost"
        | "loss"
        | "dropped"
        | "error"
        | "failed"
        | "failure"
        | "fail"
        | "down"
        | "offline"
        | "generalfailure"
        | "hardwareerror"
        | "icmperror"
        | "noresources"
        | "badoption"
        | "badroute"
        | "baddestination"
        | "badheader"
        | "packettoobig"
        | "parameterproblem"
        | "sourcequench"
        | "unrecognizednextheader"
        | "destinationscopemismatch"
        | "unknown"
        | ""
        | "*" => Some(false),
        _ => says_lost(text).then_some(false),
    }
}

/// Returns whether the probe was lost, as the cell in a column of losses says; `None` if the cell
/// does not show the outcome.
pub(super) fn lost(text: &str) -> Option<bool> {
    match &*compact(text) {
        "1" | "true" | "yes" | "y" | "t" | "lost" | "100%" | "100%loss" => Some(true),
        "0%" | "0%loss" => Some(false),
        "0" | "false" | "no" | "n" | "f" | "" => Some(false),
        _ => success(text, true).map(|answered| !answered),
    }
}

#[cfg(test)]
mod tests {
    use super::success;

    #[test]
    fn a_number_above_zero_is_an_answer_even_if_it_is_below_one() {
        for (text, answered) in [("0", false), ("0.000", false), ("-0.5", false), ("0.532", true)] {
            assert_eq!(success(text, false), Some(answered), "{text}");
        }
        assert_eq!((success("1.5", false), success("0,25", false)), (Some(true), Some(true)));
        assert_eq!(success("0.532", true), None, "a code");
    }
}
