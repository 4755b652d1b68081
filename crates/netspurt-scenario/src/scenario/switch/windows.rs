//! The switches (named settings of TCP) for packets and windows: sizes, buffers, and when segments
//! are held back. Names such as `tcp_grow_window` are functions of Linux that have the same rule.

use netspurt::plan::KernelTcp;
use netspurt::tcp::{InitialWindow, NsConfig, RfcConfig};
use netspurt::wire::{BARE_HEADER_BYTES, full_payload};

use super::definition::{Field, Rule, Switch};
use super::kind::SwitchKind;
use super::value::SwitchValue;

/// The largest window that TCP can offer (RFC 7323 §2.3).
pub const WINDOW_MAX_BYTES: u64 = 1 << 30;

/// The largest receive window that can be set for a kernel. The buffer is set to twice the window,
/// and the maximum of the buffer is 2^30 octets.
const KERNEL_WINDOW_MAX_BYTES: u64 = 1 << 29;

/// The smallest receive window that can be set for a kernel.
const KERNEL_WINDOW_MIN_BYTES: u64 = 4096;

/// Returns the number of segments in the initial window of a connection whose two ends both have
/// the configuration `config`.
pub fn initial_segs(config: &RfcConfig) -> u64 {
    InitialWindow::of(config).segs(full_payload(config.mss, config.timestamps).into())
}

/// The switches.
pub const SWITCHES: &[Switch] = &[
    Switch::new(
        "packet_size",
        "The size of a full packet on the wire: 40 B of IP and TCP headers, the TCP options, and the \
         payload",
        SwitchKind::bytes(BARE_HEADER_BYTES as u64 + 1, u16::MAX as u64),
    )
    .ns_rule(Rule {
        read: |c: &NsConfig| Some(SwitchValue::Number(c.packet_bytes.into())),
        write: |c, value| {
            c.packet_bytes = octets(value);
            Ok(())
        },
    })
    .rfc_rule(Rule {
        read: |c: &RfcConfig| Some(SwitchValue::Number(u64::from(c.mss + BARE_HEADER_BYTES))),
        write: |c, value| {
            c.mss = octets(value) - BARE_HEADER_BYTES;
            Ok(())
        },
    })
    .kernel_rule(Rule {
        read: |c: &KernelTcp| Some(SwitchValue::Number(c.packet_bytes.into())),
        write: |c, value| {
            c.packet_bytes = octets(value);
            Ok(())
        },
    }),
    Switch::new(
        "peer_mss_min",
        "The minimum for the peer's MSS option. A smaller option counts as this value (Linux's \
         `tcp_min_snd_mss`). RFC 9293 §3.7.1 has no minimum",
        SwitchKind::bytes(48, u16::MAX as u64),
    )
    .rfc(|c| Field::Small(&mut c.peer_mss_bytes_min)),
    Switch::new(
        "initial_window",
        "The number of segments that a sender sends at the start of the connection. In `ns-2`, \
         later slow starts begin with one segment",
        SwitchKind::segments(1),
    )
    .ns(|c| Field::Small(&mut c.initial_window_segs))
    .rfc_rule(Rule {
        read: |c: &RfcConfig| Some(SwitchValue::Number(initial_segs(c))),
        write: |c, value| {
            c.initial_window_segs = value.small();
            c.initial_window_bytes = None;
            Ok(())
        },
    })
    .kernel(|c| Field::Small(&mut c.initial_window_segs))
    .kernel_bounds(1, 1000),
    Switch::flag(
        "headers_on_top",
        "`packet_size` is the payload of a full packet; 40 B of headers are added to it. The first \
         packet has no headers if it carries data (ns-2's `useHeaders_`). Without the switch, \
         `packet_size` includes the headers",
    )
    .ns(|c| Field::Flag(&mut c.headers_on_top)),
    Switch::flag(
        "initial_window_by_size",
        "The size of a full segment determines the initial window: four segments of at most 1095 \
         B, three of 1096 to 2189 B, or two of more than 2189 B. If a timeout comes before the \
         first ACK, `initial_window` applies instead (ns-2's `windowInitOption_ 2`)",
    )
    .ns(|c| Field::Flag(&mut c.initial_window_by_size)),
    Switch::flag(
        "delay_growth",
        "A connection with a handshake starts with a cwnd of one segment. The ACK of the first \
         packet sets cwnd to the initial window (ns-2's `delay_growth_`)",
    )
    .ns(|c| Field::Flag(&mut c.delay_growth)),
    Switch::flag(
        "send.halves_small_windows",
        "A segment carries at most half of the largest window that the peer offered. If this \
         window is at most 536 B, a segment may fill it (`tcp_bound_to_half_wnd`)",
    )
    .rfc(|c| Field::Flag(&mut c.send_rules.halves_small_windows)),
    Switch::new(
        "receive_window",
        "The receive window, which the sender never exceeds. It is also the first ssthresh",
        SwitchKind::segments(1),
    )
    .ns(|c| Field::Small(&mut c.receive_window_segs)),
    Switch::new(
        "receive_buffer",
        "The largest receive window. With `receive.autotuning`, it is instead the maximum of the \
         receive buffer in octets of memory, and only a share of this memory is window. Setting \
         this key switches `receive.autotuning` off, unless `receive.autotuning` is also set",
        SwitchKind::bytes(1, WINDOW_MAX_BYTES),
    )
    .rfc_rule(Rule {
        read: |c: &RfcConfig| Some(SwitchValue::Number(c.receive_buffer_bytes)),
        write: |c, value| {
            c.receive_buffer_bytes = value.number();
            c.receive_rules.autotuning = false;
            Ok(())
        },
    })
    .kernel_rule(Rule {
        read: |c: &KernelTcp| c.receive_buffer_bytes.map(|n| SwitchValue::Number(n.into())),
        write: |c, value| {
            c.receive_buffer_bytes = Some(value.small());
            Ok(())
        },
    })
    .kernel_bounds(KERNEL_WINDOW_MIN_BYTES, KERNEL_WINDOW_MAX_BYTES),
    Switch::new(
        "receive.first_window",
        "The largest receive window that a SYN offers (half of `tcp_rmem[1]`)",
        SwitchKind::bytes(1, WINDOW_MAX_BYTES),
    )
    .rfc(|c| Field::Number(&mut c.first_window_bytes)),
    Switch::flag(
        "receive.counts_memory",
        "The receiver counts the memory that each segment occupies. Only a share of its free \
         memory is window. Each segment whose payload fills most of its memory enlarges the window \
         (`tcp_grow_window`, `tcp_select_window`). Without the switch, the receiver counts only \
         payload. `false` also switches `receive.autotuning` off",
    )
    .rfc_rule(Rule {
        read: |c: &RfcConfig| Some(SwitchValue::Flag(c.receive_rules.counts_memory)),
        write: |c, value| {
            c.receive_rules.counts_memory = value.flag();
            c.receive_rules.autotuning &= value.flag();
            Ok(())
        },
    }),
    Switch::flag(
        "receive.autotuning",
        "Needs `receive.counts_memory`. The receive buffer starts with twice \
         `receive.first_window` octets of memory. It grows in three cases: the application reads \
         more in a round trip than before, data waits behind a gap, or the buffer is full \
         (`tcp_rcv_space_adjust`, `tcp_clamp_window`). `receive_buffer` is its maximum. Without \
         the switch, its size is fixed",
    )
    .rfc(|c| Field::Flag(&mut c.receive_rules.autotuning)),
    Switch::flag(
        "syn.whole_first_window",
        "A SYN offers a whole number of segments as the receive window \
         (`tcp_select_initial_window`)",
    )
    .rfc(|c| Field::Flag(&mut c.syn_rules.whole_first_window)),
    Switch::flag(
        "pacing",
        "Spaces segments evenly, as in Linux: at two cwnd per round trip while cwnd is below half \
         of ssthresh, afterwards at 1.2 cwnd per round trip. BBR always paces, at its own rate",
    )
    .rfc(|c| Field::Flag(&mut c.pacing)),
    Switch::flag("nagle", "Holds a short segment back while any octet is outstanding (RFC 896)")
        .rfc(|c| Field::Flag(&mut c.nagle))
        .kernel(|c| Field::Flag(&mut c.nagle)),
    Switch::flag(
        "minshall",
        "With `nagle`: holds a short segment back only while another short segment is outstanding \
         (Minshall 1999, as in Linux)",
    )
    .rfc(|c| Field::Flag(&mut c.minshall)),
    Switch::flag(
        "send.held_for_an_rto",
        "If nothing is outstanding, a short segment that is held back leaves at the latest when a \
         window probe would be due, usually after an RTO (`tcp_check_probe_timer`). Without the \
         switch, it leaves after 200 ms at the latest (RFC 9293 §3.8.6.2.1 allows 0.1 to 1 s)",
    )
    .rfc(|c| Field::Flag(&mut c.send_rules.held_for_an_rto)),
    Switch::flag(
        "send.fin_needs_window",
        "A FIN waits for room in the peer's window (`tcp_snd_wnd_test`). Without the switch, it \
         does not wait",
    )
    .rfc(|c| Field::Flag(&mut c.send_rules.fin_needs_window)),
    Switch::flag(
        "send.waits_for_packets",
        "Linux gives several segments to the network card as one packet (a *packet for offload*). \
         If cwnd and the peer's window have room for only a part of such a packet, a small part \
         may wait. It waits for more room if the last segment left less than 1 ms ago and an ACK \
         is due within 1 ms (`tcp_tso_should_defer`). Without the switch, it is sent immediately",
    )
    .rfc(|c| Field::Flag(&mut c.send_rules.waits_for_packets)),
    Switch::flag(
        "send.pushes_packets",
        "The last segment of each packet for offload with several segments has PSH \
         (`__tcp_transmit_skb`); `send.waits_for_packets` says what such a packet is. Without the \
         switch, only the last segment of what the application wrote has PSH",
    )
    .rfc(|c| Field::Flag(&mut c.send_rules.pushes_packets)),
    Switch::new(
        "send.packet_segs_min",
        "With `send.waits_for_packets` or `send.pushes_packets`: a whole packet for offload has at \
         least this number of segments (`tcp_min_tso_segs`)",
        SwitchKind::whole(1, 65_535),
    )
    .rfc(|c| Field::Small(&mut c.send_rules.packet_segs_min))
    .live(),
    Switch::flag(
        "send.packets_fill_windows",
        "With `send.pushes_packets`: the peer's window may end within a segment of a packet for \
         offload. The packet then ends with a short segment that fills the window \
         (`tcp_mss_split_point`). Without the switch, it ends with the last full segment that fits",
    )
    .rfc(|c| Field::Flag(&mut c.send_rules.packets_fill_windows)),
    Switch::flag(
        "send.copies_need_window",
        "If the peer reduced its window, segments beyond the window are not retransmitted until \
         the window includes them again (`__tcp_retransmit_skb`), and a retransmission is cut at \
         the window's edge. The oldest segment does not wait. Without the switch, no \
         retransmission waits or is cut",
    )
    .rfc(|c| Field::Flag(&mut c.send_rules.copies_need_window)),
    Switch::flag(
        "send.joins_copies",
        "A retransmission that is shorter than a full segment also carries the outstanding \
         segments after it, if they fit into it and into the peer's window \
         (`tcp_retrans_try_collapse`). Without the switch, each segment is retransmitted as it was \
         sent",
    )
    .rfc(|c| Field::Flag(&mut c.send_rules.joins_copies)),
    Switch::flag(
        "send.keeps_larger_window",
        "An ACK that acknowledges no new octets and carries no new data may enlarge or close the \
         peer's window, but may not change it in another way (`tcp_may_update_window`). Without \
         SACK, an ACK that may change the window is no duplicate, even if the window stays the \
         same. Without the switch, such an ACK may also reduce the window, and is a duplicate if \
         the window stays the same",
    )
    .rfc(|c| Field::Flag(&mut c.send_rules.keeps_larger_window)),
    Switch::flag(
        "send.acks_restart_probes",
        "If nothing is outstanding, each ACK whose window is too small for the next segment \
         restarts the wait for the next window probe. The backoff ends when the window has room \
         for this segment (`tcp_ack_probe`). Without the switch, such an ACK does not restart the \
         wait, and the backoff ends when the window is not zero",
    )
    .rfc(|c| Field::Flag(&mut c.send_rules.acks_restart_probes)),
    Switch::flag(
        "send.fin_is_probe",
        "With `tlp`: if a FIN waits for room in cwnd, the tail loss probe is this FIN \
         (`tcp_send_loss_probe`). Without the switch, the probe repeats the last segment",
    )
    .rfc(|c| Field::Flag(&mut c.send_rules.fin_is_probe)),
    Switch::flag(
        "send.lost_outnumber_copies",
        "Lost segments are retransmitted only while there are more lost segments than outstanding \
         retransmissions (`tcp_xmit_retransmit_queue`). The first retransmission after a timeout \
         is an exception",
    )
    .rfc(|c| Field::Flag(&mut c.send_rules.lost_outnumber_copies)),
    Switch::flag(
        "send.probes_are_uncounted",
        "With `tlp`: a tail loss probe that repeats data does not count as an outstanding \
         retransmission (`tcp_send_loss_probe`)",
    )
    .rfc(|c| Field::Flag(&mut c.send_rules.probes_are_uncounted)),
    Switch::flag(
        "send.learns_drops",
        "If the host's own queue drops a segment, the segment does not count as sent. The sender \
         tries again with the next ACK or, if nothing is outstanding, every 500 ms after a first \
         wait (`tcp_send_probe0`). Without the switch, the segment counts as sent. Only scripts \
         have such a queue",
    )
    .rfc(|c| Field::Flag(&mut c.send_rules.learns_drops)),
];

fn octets(value: &SwitchValue) -> u16 {
    u16::try_from(value.number()).expect("the maximum of the kind has 16 bits")
}
