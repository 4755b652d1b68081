//! Finds the differences between two packets: the packet that a script expects, and the packet that
//! the connection sent. A script is a test in packetdrill's notation.

use core::fmt;

use netspurt::segment::Flags;

use super::packet::{EcnMark, Letters, PacketOptions, ScriptPacket};

/// A field in which a packet differs from the expected packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The name of the field, as in `ack`.
    pub field: &'static str,
    /// The value of the field in the script.
    pub expected: String,
    /// The value of the field in the packet that was sent.
    pub actual: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, sent {}", self.field, self.expected, self.actual)
    }
}

/// The fields that differ. The values of timestamps may differ by at most `ticks`, but their echoes
/// must be equal. PSH, the receive window, ECN and the options are compared only if the script
/// gives them.
pub(super) fn differences(
    expected: &ScriptPacket,
    actual: &ScriptPacket,
    ticks: u32,
) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut compare = |field, same: bool, expected: String, actual: String| {
        if !same {
            found.push(Difference { field, expected, actual });
        }
    };
    let flags = if expected.flags.has(Flags::PSH) {
        actual.flags
    } else {
        Flags(actual.flags.0 & !Flags::PSH.0)
    };
    let letters = |flags| Letters(flags).to_string();
    compare("flags", expected.flags == flags, letters(expected.flags), letters(flags));
    compare("seq", expected.seq == actual.seq, expected.seq.to_string(), actual.seq.to_string());
    compare("length", expected.len == actual.len, expected.len.to_string(), actual.len.to_string());
    let number = |number: Option<u32>| number.map_or("none".to_owned(), |n| n.to_string());
    compare("ack", expected.ack == actual.ack, number(expected.ack), number(actual.ack));
    if expected.window.is_some() {
        let window = |packet: &ScriptPacket| number(packet.window.map(u32::from));
        compare("win", expected.window == actual.window, window(expected), window(actual));
    }
    if let Some(mark) = expected.ecn {
        let sent = actual.ecn.unwrap_or(EcnMark::NotCapable);
        let either = matches!(sent, EcnMark::Ect0 | EcnMark::Ect1);
        let same = mark == sent || mark == EcnMark::Either && either;
        compare("ECN", same, mark.name().to_owned(), sent.name().to_owned());
    }
    if let (Some(wanted), Some(sent)) = (&expected.options, &actual.options) {
        let same = options_agree(wanted, sent, ticks);
        compare("options", same, format!("<{wanted}>"), format!("<{sent}>"));
    }
    found
}

fn options_agree(wanted: &PacketOptions, sent: &PacketOptions, ticks: u32) -> bool {
    let stamps = match (wanted.timestamps, sent.timestamps) {
        (Some(wanted), Some(sent)) => {
            let off = wanted.val.wrapping_sub(sent.val).cast_signed().unsigned_abs();
            off <= ticks && wanted.ecr == sent.ecr
        }
        (wanted, sent) => wanted.is_none() && sent.is_none(),
    };
    let without = |options: &PacketOptions| PacketOptions { timestamps: None, ..options.clone() };
    stamps && without(wanted) == without(sent)
}
