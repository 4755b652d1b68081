//! Joins segments that follow each other, so that they can be compared with one line of a script. A
//! line may show one large packet, because a kernel may pass several segments to its network card
//! as one packet. A script is a test in packetdrill's notation.

use netspurt::segment::Flags;

use super::packet::ScriptPacket;

/// Control bits in which the segments of one packet may differ.
const FREE: u8 = Flags::FIN.0 | Flags::PSH.0 | Flags::CWR.0;

/// Joins the packets `sent` and `next` to one packet. Returns `None` if the packet `next` does not
/// continue the packet `sent`.
///
/// The joined packet has the flags of the last segment, and also CWR if the first segment has CWR.
pub(super) fn join(sent: &ScriptPacket, next: &ScriptPacket) -> Option<ScriptPacket> {
    let follows = sent.len > 0
        && next.len > 0
        && next.seq == sent.seq.wrapping_add(sent.len.into())
        && next.ack == sent.ack
        && next.ecn == sent.ecn
        && next.flags.0 & !FREE == sent.flags.0 & !FREE;
    let len = sent.len.checked_add(next.len).filter(|_| follows)?;
    let flags = next.flags.with(Flags(sent.flags.0 & Flags::CWR.0));
    Some(ScriptPacket { seq: sent.seq, len, flags, ..next.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Script, ScriptAction};

    fn packet(text: &str) -> ScriptPacket {
        let script = Script::parse("a.pkt", &format!("0 > {text}")).unwrap();
        let ScriptAction::Outbound(packet) = &script.events[0].action else { panic!() };
        packet.clone()
    }

    #[test]
    fn segments_that_follow_each_other_are_joined_to_one_packet() {
        let whole = join(&packet(". 1:1001(1000) ack 1"), &packet("F. 1001:1501(500) ack 1"));
        assert_eq!(whole, Some(packet("F. 1:1501(1500) ack 1")));
        for other in [
            ". 1002:2002(1000) ack 1",
            ". 1001:2001(1000) ack 2",
            "E. 1001:2001(1000) ack 1",
            ". 1001:1001(0) ack 1",
        ] {
            assert_eq!(join(&packet(". 1:1001(1000) ack 1"), &packet(other)), None, "{other}");
        }
    }
}
