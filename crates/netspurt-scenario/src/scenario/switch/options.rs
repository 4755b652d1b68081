//! The switches (named settings of TCP) for options, for acknowledgments, and for giving up a
//! connection. Names such as `tcp_ofo_queue` are functions of Linux that have the same rule.

use netspurt::plan::KernelTcp;
use netspurt::tcp::{AckPolicy, DelayedAck, NsConfig, RfcConfig};
use netspurt::units::Duration;

use super::definition::{Field, Refusal, Rule, Switch};
use super::kind::{SwitchKind, SwitchPart, Word};
use super::value::SwitchValue;

/// The switches.
pub const SWITCHES: &[Switch] = &[
    Switch::flag("sack", "Offers and accepts SACK blocks (RFC 2018)")
        .rfc(|c| Field::Flag(&mut c.sack))
        .kernel(|c| Field::Flag(&mut c.sack)),
    Switch::flag("handshake", "The first packet is a SYN (ns-2's `syn_`)")
        .ns(|c| Field::Flag(&mut c.handshake)),
    Switch::flag("timestamps", "Offers and accepts timestamps (RFC 7323 §3)")
        .ns(|c| Field::Flag(&mut c.timestamps))
        .rfc(|c| Field::Flag(&mut c.timestamps))
        .kernel(|c| Field::Flag(&mut c.timestamps)),
    Switch::flag("window_scaling", "Offers and accepts window scaling (RFC 7323 §2)")
        .rfc(|c| Field::Flag(&mut c.window_scaling))
        .kernel(|c| Field::Flag(&mut c.window_scaling)),
    Switch::flag("ecn", "Offers and accepts ECN (RFC 3168)")
        .rfc(|c| Field::Flag(&mut c.ecn))
        .kernel(|c| Field::Flag(&mut c.ecn)),
    Switch::new(
        "acks",
        "When the receiver acknowledges",
        SwitchKind::WordOr(every_segment, ACK_PARTS),
    )
    .ns_rule(Rule {
        read: |c: &NsConfig| Some(ns_acks(c.acks)),
        write: |c, value| {
            c.acks = match delays(value) {
                None => AckPolicy::EverySegment,
                Some((delayed, None)) => AckPolicy::Delayed(delayed),
                Some((_, Some(_))) => {
                    let refusal =
                        Refusal::new("ns-2's sinks have no `at_most`", "leave `at_most` out");
                    return Err(refusal.of_part(AT_MOST));
                }
            };
            Ok(())
        },
    })
    .rfc_rule(Rule {
        read: |c: &RfcConfig| Some(acks(c.acks)),
        write: |c, value| {
            c.acks = match delays(value) {
                None => DelayedAck::Never,
                Some((delayed, None)) => DelayedAck::Fixed(delayed),
                Some((min, Some(max))) if max < min => {
                    let message = "`at_most` is less than `delayed`, the minimum delay";
                    return Err(
                        Refusal::new(message, format!("write at least `{min}`")).of_part(AT_MOST)
                    );
                }
                Some((min, Some(max))) => DelayedAck::Adaptive { min, max },
            };
            Ok(())
        },
    })
    .kernel_rule(Rule {
        read: |c: &KernelTcp| c.quick_acks.then_some(SwitchValue::Word(EVERY_SEGMENT)),
        write: |c, value| {
            c.quick_acks = delays(value).is_none();
            Ok(())
        },
    }),
    Switch::flag(
        "sink.gaps_at_once",
        "A segment that fills only a part of a gap is acknowledged immediately (ns-2's \
         `RFC2581_immediate_ack_`). A segment that fills a whole gap is always acknowledged \
         immediately",
    )
    .ns(|c| Field::Flag(&mut c.sink.gaps_at_once)),
    Switch::flag(
        "sink.first_at_once",
        "The first packet is acknowledged immediately (ns-2's `SYN_immediate_ack_`)",
    )
    .ns(|c| Field::Flag(&mut c.sink.first_at_once)),
    Switch::flag(
        "sink.echoes_next",
        "If a segment begins exactly where the acknowledged data ends, the receiver echoes the \
         timestamp of this segment, even if an earlier echo was newer (ns-2's `ts_echo_rfc1323_`). \
         Without the switch, an echo is never older than an earlier echo",
    )
    .ns(|c| Field::Flag(&mut c.sink.echoes_next)),
    Switch::new(
        "quick_acks",
        "The maximum number of segments that are acknowledged immediately at the start (Linux's \
         quick ACKs)",
        SwitchKind::segments(0),
    )
    .rfc(|c| Field::Small(&mut c.quick_acks_segs)),
    Switch::flag(
        "receive.reports_overlaps",
        "With `dsack`: a segment may contain new octets and also octets that had already arrived \
         behind a gap. The first range of these earlier octets is then reported as a duplicate \
         (`tcp_ofo_queue`). Without the switch, it is not reported",
    )
    .rfc(|c| Field::Flag(&mut c.receive_rules.reports_overlaps)),
    Switch::flag(
        "receive.reports_fins",
        "With `dsack`: if a duplicate has a FIN, the report includes the FIN (`tcp_data_queue`). A \
         repeated FIN without data is also reported",
    )
    .rfc(|c| Field::Flag(&mut c.receive_rules.reports_fins)),
    Switch::flag(
        "receive.time_wait_is_mute",
        "In TIME-WAIT, no duplicates are reported (`tcp_timewait_state_process`)",
    )
    .rfc(|c| Field::Flag(&mut c.receive_rules.time_wait_is_mute)),
    Switch::flag(
        "receive.full_needs_reader",
        "The ACK of more than a full segment leaves immediately only in two cases: the application \
         reads data as it arrives, or the window is not smaller than in the last ACK \
         (`__tcp_ack_snd_check`). Without the switch, it always leaves immediately",
    )
    .rfc(|c| Field::Flag(&mut c.receive_rules.full_needs_reader)),
    Switch::flag(
        "receive.fin_ack_waits",
        "The acknowledgment of the peer's FIN may be delayed (`tcp_fin`). Without the switch, it \
         is sent immediately",
    )
    .rfc(|c| Field::Flag(&mut c.receive_rules.fin_ack_waits)),
    Switch::flag(
        "receive.stamp_after_ack",
        "If a segment acknowledges octets that were never sent, its timestamp is not stored \
         (`tcp_ack`). If a segment acknowledges less than an earlier one, its timestamp is stored \
         only if header prediction processes the segment. Without the switch, both timestamps are \
         stored (RFC 7323 §5.3)",
    )
    .rfc(|c| Field::Flag(&mut c.receive_rules.stamp_after_ack)),
    Switch::flag(
        "receive.takes_unstamped",
        "A segment without timestamps is accepted although the handshake agreed on them \
         (`tcp_validate_incoming`). Without the switch, it is discarded (RFC 7323 §3.2)",
    )
    .rfc(|c| Field::Flag(&mut c.receive_rules.takes_unstamped)),
    Switch::flag(
        "receive.fin_ends_reports",
        "The acknowledgment of a FIN reports no duplicate (`tcp_fin`)",
    )
    .rfc(|c| Field::Flag(&mut c.receive_rules.fin_ends_reports)),
    Switch::flag(
        "receive.forgets_blocks",
        "The receiver remembers only the last four SACK blocks that it reported. If data arrives \
         next to a forgotten block, the new block does not include the forgotten block \
         (`tcp_sack_new_ofo_skb`). Without the switch, the new block contains all contiguous data \
         (RFC 2018 §4)",
    )
    .rfc(|c| Field::Flag(&mut c.receive_rules.forgets_blocks)),
    Switch::flag(
        "receive.reset_behind_gap",
        "An RST whose sequence number is the end of the highest SACK block resets the connection \
         (`tcp_validate_incoming`). Without the switch, the answer to it is a challenge ACK (RFC \
         5961 §3.2)",
    )
    .rfc(|c| Field::Flag(&mut c.receive_rules.reset_behind_gap)),
    Switch::flag(
        "receive.reset_at_fin",
        "After the peer's FIN, an RST with the number of that FIN resets the connection \
         (`tcp_reset_check`). Without the switch, it is ignored (RFC 5961 §3.2)",
    )
    .rfc(|c| Field::Flag(&mut c.receive_rules.reset_at_fin)),
    Switch::flag(
        "receive.compresses_sacks",
        "The first three segments behind a gap are each acknowledged immediately. Later segments \
         share one ACK. This ACK waits for a twentieth of a round trip (but at most 1 ms), and \
         then for 0.1 ms more (`__tcp_ack_snd_check`). The round trip is the smaller of two \
         estimates of this host: as sender and as receiver. Without the switch, each segment is \
         acknowledged immediately (RFC 5681 §4.2)",
    )
    .rfc(|c| Field::Flag(&mut c.receive_rules.compresses_sacks)),
    Switch::flag(
        "receive.marks_in_text",
        "With `ecn`: congestion marks count only in new data. The next two ACKs leave immediately \
         in two cases: a mark begins a new echo, or data is not ECN-capable although earlier data \
         was (`tcp_data_ecn_check`). CWR counts only in data, a SYN or a FIN, and such a segment \
         is acknowledged immediately (`tcp_ecn_accept_cwr`). Without the switch, each mark counts \
         and is acknowledged immediately",
    )
    .rfc(|c| Field::Flag(&mut c.receive_rules.marks_in_text)),
    Switch::flag(
        "receive.stamp_may_lag",
        "A segment is accepted if its timestamp is one less than the last timestamp \
         (`TCP_PAWS_WINDOW`). Without the switch, it is discarded (RFC 7323 §5.3)",
    )
    .rfc(|c| Field::Flag(&mut c.receive_rules.stamp_may_lag)),
    Switch::flag(
        "receive.forgives_late_acks",
        "An ACK without data or FIN may have a timestamp that is older than the last one. It is \
         discarded without an answer if it begins before the next octet expected. It is processed \
         if it repeats the last acknowledgment, does not change the window, and its timestamp is \
         older by at most 1.2 RTOs (`tcp_disordered_ack_check`). Without the switch, all such ACKs \
         are discarded and answered (RFC 7323 §5.3)",
    )
    .rfc(|c| Field::Flag(&mut c.receive_rules.forgives_late_acks)),
    Switch::flag(
        "receive.takes_last_again",
        "If a segment brings no new octets, but ends at or after the acknowledgment number that \
         this end sent last, its acknowledgment and its timestamp count (`tcp_sequence`). Without \
         the switch, they do not count (RFC 9293 §3.10.7.4)",
    )
    .rfc(|c| Field::Flag(&mut c.receive_rules.takes_last_again)),
    Switch::new(
        "receive.gro",
        "For this time, arriving data segments are collected. Consecutive segments become one \
         segment of at most 64 KiB, which gets one ACK. PSH, FIN, a shorter segment or any other \
         packet ends the collection early. `\"0 s\"` collects nothing. This is generic receive \
         offload; this time stands for the time between two interrupts of a network card",
        SwitchKind::TIME,
    )
    .rfc(|c| Field::Time(&mut c.receive_rules.gro)),
    Switch::new(
        "receive.challenge_interval",
        "The minimum time between two answers of these kinds: challenge ACKs (RFC 5961 §7), \
         answers to a repeated SYN, and answers to segments outside the window that have neither \
         data nor FIN (`tcp_invalid_ratelimit`)",
        SwitchKind::TIME,
    )
    .rfc(|c| Field::Time(&mut c.receive_rules.challenge_interval)),
    Switch::flag(
        "syn.again_after_reset",
        "After a SYN-ACK with a wrong acknowledgment, the end sends an RST. If its SYN was sent \
         only once, the end retransmits it two to three jiffies later \
         (`tcp_rcv_synsent_state_process`). Without the switch, it waits for an RTO",
    )
    .rfc(|c| Field::Flag(&mut c.syn_rules.again_after_reset)),
    Switch::flag(
        "syn.keeps_offer",
        "If both ends open at the same time, the SYN-ACK has all options of this end's SYN \
         (`tcp_send_synack`). Without the switch, it has only those that the peer's SYN also had",
    )
    .rfc(|c| Field::Flag(&mut c.syn_rules.keeps_offer)),
    Switch::flag(
        "syn.again_without_ecn",
        "A retransmitted SYN does not ask for ECN (`tcp_ecn_clear_syn`, RFC 3168 §6.1.1.1)",
    )
    .rfc(|c| Field::Flag(&mut c.syn_rules.again_without_ecn)),
    Switch::flag(
        "syn.echo_forgives",
        "If an ACK echoes the timestamp of the first transmission of a SYN or SYN-ACK, \
         retransmissions of this segment do not reduce the initial window \
         (`tcp_try_undo_spurious_syn`)",
    )
    .rfc(|c| Field::Flag(&mut c.syn_rules.echo_forgives)),
    Switch::flag(
        "syn.fin_spoils",
        "A SYN that also has the FIN flag is not answered (`tcp_rcv_state_process`)",
    )
    .rfc(|c| Field::Flag(&mut c.syn_rules.fin_spoils)),
    Switch::new(
        "retries",
        "The number of retransmissions of one segment before the connection is given up (RFC 9293 \
         §3.8.3)",
        SwitchKind::whole(0, u32::MAX),
    )
    .rfc(|c| Field::Small(&mut c.retries))
    .live(),
    Switch::new(
        "syn_retries",
        "The number of retransmissions of a SYN before the connection is given up. With the timer \
         `linux`, the limit is a time: the time that this number of retransmissions takes if the \
         RTO doubles each time. The first timeout after this time gives the connection up",
        SwitchKind::whole(0, u32::MAX),
    )
    .rfc(|c| Field::Small(&mut c.syn_retries)),
    Switch::new(
        "syn_retransmissions_forgiven",
        "How many retransmissions of a SYN do not reduce the initial window: none in RFC 5681 \
         §3.1, one in Linux",
        SwitchKind::whole(0, u32::MAX),
    )
    .rfc(|c| Field::Small(&mut c.syn_retransmissions_forgiven)),
    Switch::flag(
        "empty_window_probes",
        "Window probes carry an old sequence number and no octet, as in Linux",
    )
    .rfc(|c| Field::Flag(&mut c.empty_window_probes)),
    Switch::new(
        "time_wait",
        "How long the end that closed first stays in TIME-WAIT (RFC 9293 §3.6.1)",
        SwitchKind::TIME,
    )
    .rfc(|c| Field::Time(&mut c.time_wait)),
];

const EVERY_SEGMENT: &str = "every segment";
const DELAYED: &str = "delayed";
const AT_MOST: &str = "at_most";

const ACK_PARTS: &[SwitchPart] = &[
    SwitchPart {
        key: DELAYED,
        doc: "How long the acknowledgment of one segment waits for a second segment",
        kind: SwitchKind::TIME,
        needed: true,
    },
    SwitchPart {
        key: AT_MOST,
        doc: "With this key the delay follows the gaps between arrivals, from `delayed` up to this \
              limit, as in Linux",
        kind: SwitchKind::TIME,
        needed: false,
    },
];

fn every_segment() -> Vec<Word> {
    vec![Word { word: EVERY_SEGMENT, doc: "acknowledges each segment immediately" }]
}

/// Returns the delay of ACKs, and the maximum of this delay if it is given. `None` if the value has
/// no delay.
fn delays(value: &SwitchValue) -> Option<(Duration, Option<Duration>)> {
    let time = |key| value.part(key).map(|part| Duration::from_nanos(part.number()));
    Some((time(DELAYED)?, time(AT_MOST)))
}

fn table(delayed: Duration, at_most: Option<Duration>) -> SwitchValue {
    let time = |key, time: Duration| (key, SwitchValue::Number(time.as_nanos()));
    let parts = [Some(time(DELAYED, delayed)), at_most.map(|most| time(AT_MOST, most))];
    SwitchValue::Table(parts.into_iter().flatten().collect())
}

fn ns_acks(policy: AckPolicy) -> SwitchValue {
    match policy {
        AckPolicy::EverySegment => SwitchValue::Word(EVERY_SEGMENT),
        AckPolicy::Delayed(delayed) => table(delayed, None),
    }
}

fn acks(policy: DelayedAck) -> SwitchValue {
    match policy {
        DelayedAck::Never => SwitchValue::Word(EVERY_SEGMENT),
        DelayedAck::Fixed(delayed) => table(delayed, None),
        DelayedAck::Adaptive { min, max } => table(min, Some(max)),
    }
}
