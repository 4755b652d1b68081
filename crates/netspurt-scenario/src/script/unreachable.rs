//! ICMP messages that report an unreachable destination (RFC 792, RFC 1122 §4.2.3.9).

use core::fmt;

use super::cursor::{Blank, Cursor};
use super::error::Mistake;
use super::names::{name_in, named};

/// Why a destination cannot be reached: a code of RFC 792 or RFC 1812 §5.2.7.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the table below has the names")]
pub enum UnreachableCode {
    Network,
    Host,
    Protocol,
    Port,
    SourceRoute,
    NetworkUnknown,
    HostUnknown,
    Prohibited,
}

impl UnreachableCode {
    /// Each code with packetdrill's name.
    const NAMES: [(&'static str, UnreachableCode); 8] = [
        ("net_unreachable", UnreachableCode::Network),
        ("host_unreachable", UnreachableCode::Host),
        ("protocol_unreachable", UnreachableCode::Protocol),
        ("port_unreachable", UnreachableCode::Port),
        ("source_route_failed", UnreachableCode::SourceRoute),
        ("net_unknown", UnreachableCode::NetworkUnknown),
        ("host_unknown", UnreachableCode::HostUnknown),
        ("admin_prohibited", UnreachableCode::Prohibited),
    ];

    /// The number of the code, and the error that Linux returns for it (`icmp_err_convert`).
    const fn meaning(self) -> (u8, &'static str) {
        match self {
            Self::Network => (0, "ENETUNREACH"),
            Self::Host => (1, "EHOSTUNREACH"),
            Self::Protocol => (2, "ENOPROTOOPT"),
            Self::Port => (3, "ECONNREFUSED"),
            Self::SourceRoute => (5, "EOPNOTSUPP"),
            Self::NetworkUnknown => (6, "ENETUNREACH"),
            Self::HostUnknown => (7, "EHOSTDOWN"),
            Self::Prohibited => (13, "EHOSTUNREACH"),
        }
    }

    /// The code with this number.
    pub fn numbered(number: u8) -> Option<Self> {
        let mut all = Self::NAMES.iter().map(|(_, code)| *code);
        all.find(|code| code.meaning().0 == number)
    }

    /// The error that Linux returns for this code.
    pub(super) fn errno(self) -> &'static str {
        self.meaning().1
    }

    /// Whether the message ends the handshake of a passive opener (`tcp_v4_err`).
    pub(super) fn ends_handshakes(self) -> bool {
        matches!(self, Self::Network | Self::Host)
    }
}

/// A message that reports that a packet of the host did not reach its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreachable {
    /// The reason.
    pub code: UnreachableCode,
    /// The sequence number of the packet's first octet. In a script, the number is relative. The
    /// TCP under test, a [`Subject`](super::Subject), gets the number as on the wire.
    pub seq: u32,
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = name_in(&UnreachableCode::NAMES, self.code);
        write!(f, "icmp unreachable {code} [{0}:{0}(0)]", self.seq)
    }
}

/// Reads `icmp unreachable host_unreachable [0:0(0)]` after `<`. The brackets quote the packet that
/// did not arrive. Without brackets, the message is about the host's first packet. Returns `None`
/// if the line is not an ICMP message.
pub(super) fn unreachable(cursor: &mut Cursor<'_>) -> Result<Option<Unreachable>, Mistake> {
    let mut ahead = cursor.clone();
    ahead.skip(Blank::Line)?;
    if ahead.word().0 != "icmp" {
        return Ok(None);
    }
    ahead.skip(Blank::Line)?;
    let (kind, span) = ahead.word();
    if kind != "unreachable" {
        let mistake = Mistake::new(span, format!("the ICMP message `{kind}` is not supported"));
        return Err(mistake.fix("only `icmp unreachable CODE [1:1001(1000)]` is supported"));
    }
    ahead.skip(Blank::Line)?;
    let (name, span) = ahead.word();
    let Some(code) = named(&UnreachableCode::NAMES, name) else {
        let known = UnreachableCode::NAMES.iter().map(|(name, _)| *name);
        return Err(Mistake::unknown(span, "code of `icmp unreachable`", name, known));
    };
    let seq = quoted(&mut ahead)?;
    *cursor = ahead;
    Ok(Some(Unreachable { code, seq }))
}

/// Reads `[1:1001(1000)]`: the number of the first octet of the packet that a message quotes.
fn quoted(cursor: &mut Cursor<'_>) -> Result<u32, Mistake> {
    if !cursor.take_mark("[")? {
        return Ok(0);
    }
    let fix = "quote the packet that was not delivered, as in `[1:1001(1000)]`";
    let seq = cursor.number_u32("a sequence number").map_err(|mistake| mistake.fix(fix))?;
    cursor.expect(":", fix)?;
    cursor.number_u32("a sequence number")?;
    cursor.expect("(", fix)?;
    cursor.number_u32("the length of the payload")?;
    cursor.expect(")", fix)?;
    cursor.expect("]", fix)?;
    Ok(seq)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes and errors of `icmp_err_convert` in Linux's `net/ipv4/icmp.c`.
    #[test]
    fn a_code_has_the_number_of_its_rfc_and_the_error_of_linux() {
        let told = |number| UnreachableCode::numbered(number).map(UnreachableCode::errno);
        assert_eq!([0, 1, 2].map(told), ["ENETUNREACH", "EHOSTUNREACH", "ENOPROTOOPT"].map(Some));
        assert_eq!([3, 5, 6].map(told), ["ECONNREFUSED", "EOPNOTSUPP", "ENETUNREACH"].map(Some));
        assert_eq!([7, 13].map(told), ["EHOSTDOWN", "EHOSTUNREACH"].map(Some));
        assert_eq!([4, 8, 12, 16].map(told), [None; 4], "code 4 asks for smaller packets");
    }
}
