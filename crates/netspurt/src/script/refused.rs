//! Words of mechanisms that our connection does not have.

use super::cursor::Excerpt;
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
    ("TCP_ULP", "upper layers in the kernel"),
    ("splice", "splicing"),
    ("tcp_mtu_probing", "path MTU probing"),
    ("psp", "the security protocol PSP"),
];

const FAST_OPEN: &str = "Fast Open";
const TIMESTAMPING: &str = "the timestamping of arrivals";

/// Refuses a script that has a word of such a mechanism outside its comments. This check comes
/// first, because other unknown parts of such a script belong to the mechanism.
pub(super) fn refuse_mechanisms(source: &str) -> Result<(), Mistake> {
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or_default();
        let code = if code.trim_start().starts_with('#') { "" } else { code };
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let mut at = start;
        for word in code.split_inclusive(|c| !is_word(c)) {
            let bare = word.trim_end_matches(|c| !is_word(c));
            refuse(Excerpt { text: bare, at })?;
            at += word.len();
        }
        start += line.len();
    }
    Ok(())
}

/// Refuses an argument that asks for such a mechanism.
pub(super) fn refuse(argument: Excerpt<'_>) -> Result<(), Mistake> {
    for word in argument.text.split('|').map(str::trim) {
        if let Some((_, mechanism)) = WORDS.iter().find(|(known, _)| *known == word) {
            let message = format!("`{word}` asks for {mechanism}, which is not supported");
            let fix = "our connection does not have it: play another script";
            return Err(Mistake::new(argument.span(), message).fix(fix));
        }
    }
    Ok(())
}
