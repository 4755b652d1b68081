//! Words in scripts that ask for a mechanism that netspurt's TCP does not have. A script is a test
//! in packetdrill's notation.

use super::cursor::{Blank, Cursor, Excerpt};
use super::error::Mistake;

/// Each word, and the mechanism that it asks for.
const WORDS: [(&str, &str); 18] = [
    ("TCP_FASTOPEN", FAST_OPEN),
    ("TCP_FASTOPEN_CONNECT", FAST_OPEN),
    ("TCP_FASTOPEN_KEY", FAST_OPEN),
    ("TCP_FASTOPEN_NO_COOKIE", FAST_OPEN),
    ("MSG_FASTOPEN", FAST_OPEN),
    ("FO", FAST_OPEN),
    ("FOEXP", FAST_OPEN),
    ("TCP_ZEROCOPY_RECEIVE", "receiving without a copy"),
    ("SO_TIMESTAMP", TIMESTAMPING),
    ("SO_TIMESTAMPNS", TIMESTAMPING),
    ("TCP_MD5SIG", "MD5 signatures"),
    ("TCP_MD5SIG_EXT", "MD5 signatures"),
    ("md5", "MD5 signatures"),
    ("TCP_REPAIR", "the repair mode"),
    ("TCP_ULP", "upper-layer protocols in the kernel"),
    ("splice", "splicing"),
    (MTU_PROBING, "path MTU probing"),
    ("psp", "the security protocol PSP"),
];

const FAST_OPEN: &str = "Fast Open";
/// The sysctl of path MTU probing. Its value 0 switches path MTU probing off, and is not refused.
const MTU_PROBING: &str = "tcp_mtu_probing";
const TIMESTAMPING: &str = "the timestamping of arrivals";

/// Refuses a script that has a word of the list [`WORDS`] outside its comments.
///
/// The parser makes this check first. A script that uses an unsupported mechanism may have other
/// unknown parts that belong to this mechanism. Without the check, the error could name one of
/// these parts instead of the mechanism.
pub(super) fn refuse_mechanisms(source: &str) -> Result<(), Mistake> {
    let mut cursor = Cursor::new(source);
    // If the cursor is in a text or in shell commands, this is the mark that ends them.
    let mut end = None;
    loop {
        // A comment that does not end is a mistake that the parser reports later.
        if end.is_none() && cursor.skip(Blank::Lines).is_err() {
            return Ok(());
        }
        let (text, span) = cursor.word();
        let switches_off = text == MTU_PROBING && cursor.starts_with("=0");
        if !switches_off {
            refuse(Excerpt { text, at: span.start })?;
        }
        if !text.is_empty() {
            continue;
        }
        let Some(mark) = cursor.peek() else { return Ok(()) };
        cursor.bump();
        end = match (end, mark) {
            (None, '"' | '`') => Some(mark),
            (Some('"'), '\n') => None,
            (Some(open), _) if open == mark => None,
            _ => end,
        };
        // In shell commands, `#` begins a comment only where a word could begin.
        let separates = mark.is_whitespace() || matches!(mark, '`' | ';' | '&' | '|');
        if end == Some('`') && separates && cursor.starts_with("#") {
            cursor.take_while(|c| c != '\n' && c != '`');
        }
    }
}

/// Refuses an argument that has a word of the list [`WORDS`].
pub(super) fn refuse(argument: Excerpt<'_>) -> Result<(), Mistake> {
    for word in argument.text.split('|').map(str::trim) {
        if let Some((_, mechanism)) = WORDS.iter().find(|(known, _)| *known == word) {
            let message = format!("`{word}` asks for {mechanism}, which is not supported");
            let fix = "play a script that does not use it";
            return Err(Mistake::new(argument.span(), message).fix(fix));
        }
    }
    Ok(())
}
