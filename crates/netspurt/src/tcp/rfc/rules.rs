//! Rules in which Linux differs from the RFCs, by theme: each is a switch.

use crate::units::Duration;

/// How the congestion window is counted, cut and earned, where Linux does otherwise than the RFCs.
///
/// ```
/// use netspurt::tcp::{CwndRules, RfcConfig};
/// let halves_when_idle = CwndRules { idle_decay: true, ..CwndRules::RFC };
/// let config = RfcConfig { cwnd_rules: halves_when_idle, ..RfcConfig::rfc_2026() };
/// assert!(!config.cwnd_rules.whole_segments && RfcConfig::linux_6().cwnd_rules.whole_segments);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CwndRules {
    /// The window counts segments: a short one fills as much of it as a full one
    /// (`tcp_packets_in_flight`), sent, reported, lost or sent again. Thresholds are whole segments.
    /// Proportional rate reduction counts segments, and rounds the share that it sends up to one
    /// (`tcp_cwnd_reduction`).
    ///
    /// departs: RFC 6675 §4 - with `whole_segments` pipe counts segments, whatever their size; the RFC
    /// counts octets.
    pub whole_segments: bool,
    /// A cut is a part of the window (`tcp_init_cwnd_reduction`), and not of FlightSize (RFC 5681
    /// §3.1, equation 4).
    pub cut_from_cwnd: bool,
    /// A timeout cuts no further while what was outstanding at an earlier cut is not acknowledged
    /// (`tcp_enter_loss`).
    ///
    /// departs: RFC 5681 §3.1 - with `timeout_keeps_cut` a timeout soon after a cut does not cut
    /// again; the RFC cuts at each timeout of a segment that was not yet retransmitted.
    pub timeout_keeps_cut: bool,
    /// After a timeout the window is one segment more than what may still be on its way
    /// (`tcp_enter_loss`), and not one segment (RFC 5681 §3.1).
    pub timeout_adds_to_pipe: bool,
    /// The ACK that ends a recovery may already open the window (`tcp_ack`); without the switch
    /// only the next one may.
    pub last_repair_ack_grows: bool,
    /// Growth counts the octets that an ACK newly delivered (`tcp_cong_avoid`), and not the ones
    /// it acknowledged, some of which SACK had reported before.
    pub growth_by_delivery: bool,
    /// Growth is earned by use. After an RTO in which no ACK could open the window, half of what was
    /// not used is given up (`tcp_cwnd_validate`, RFC 2861 §3.1). Without the switch growth is earned
    /// by octets that left while the window was full, and nothing is given up.
    pub validation: bool,
    /// Where segments were overtaken by more than tell a loss, SACK reports open the window, too
    /// (`tcp_may_raise_cwnd`).
    pub reordered_reports_grow: bool,
    /// A cut for a mark ends with an ACK of something beyond what was outstanding as it began
    /// (`tcp_fastretrans_alert`), and not with an ACK of all that.
    pub mark_cut_ends_beyond: bool,
    /// Without SACK a repair ends with an ACK of something beyond what was outstanding as it began
    /// (`tcp_is_non_sack_preventing_reopen`), and not with an ACK of all that (RFC 6582 §3.2).
    pub repair_ends_beyond: bool,
    /// A loss that is found while the window is cut for a mark is repaired within that cut, which
    /// owes no retransmission at once where something left since (`tcp_enter_recovery`).
    pub mark_cut_goes_on: bool,
    /// A mark that the last ACK of a repair echoes cuts the window again (`tcp_try_to_open`).
    ///
    /// departs: RFC 3168 §6.1.2 - with `last_repair_ack_cuts` the window may be cut twice for one window
    /// of data; the RFC asks for one cut.
    pub last_repair_ack_cuts: bool,
    /// An idle window is halved for each RTO that passed (`tcp_cwnd_restart`, RFC 2861 §3.1), and
    /// not cut to the initial one at once (RFC 5681 §4.1).
    pub idle_decay: bool,
    /// An idle window shrinks at all (RFC 5681 §4.1), and so does one that was not used for an RTO
    /// (RFC 2861 §3.1): Linux's `tcp_slow_start_after_idle`.
    pub idle_restart: bool,
}

impl CwndRules {
    /// The rules of the RFCs.
    pub const RFC: Self = Self::all(false);
    /// Linux's.
    pub const LINUX: Self = Self::all(true);

    const fn all(on: bool) -> Self {
        Self {
            whole_segments: on,
            cut_from_cwnd: on,
            timeout_keeps_cut: on,
            timeout_adds_to_pipe: on,
            last_repair_ack_grows: on,
            growth_by_delivery: on,
            validation: on,
            mark_cut_ends_beyond: on,
            repair_ends_beyond: on,
            mark_cut_goes_on: on,
            last_repair_ack_cuts: on,
            idle_decay: on,
            idle_restart: true,
            reordered_reports_grow: on,
        }
    }
}

/// What moves the retransmission timer, and counts round trips for it, where Linux does otherwise
/// than RFC 6298.
///
/// ```
/// use netspurt::tcp::{RfcConfig, TimerRules};
/// assert_eq!(RfcConfig::linux_6().timer_rules, TimerRules::LINUX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerRules {
    /// An ACK without new octets moves the timer, too, where it reports by SACK what left before
    /// the head last did (`tcp_clean_rtx_queue`): the head's last copy may still be on its way.
    pub old_reports_restart: bool,
    /// A retransmission of the head sets a running timer anew, unless RACK's runs
    /// (`tcp_xmit_retransmit_queue`).
    ///
    /// departs: RFC 6298 §5.1 - with `head_copy_restarts` a retransmission restarts a running timer;
    /// the RFC starts the timer only where it does not run.
    pub head_copy_restarts: bool,
    /// An ACK that follows an arming of RACK's timer, and that timer when it fires, set the timer
    /// from the last transmission of the head (`tcp_rearm_rto`), and not from now.
    pub counts_from_head: bool,
    /// An ACK that leaves as the oldest segment one that SACK had reported is not acted upon. The timer
    /// fires half a round trip later, after 10 ms at least (`tcp_check_sack_reneging`), and all that is
    /// outstanding is lost, unless an ACK moves on before.
    pub reneging_hurries: bool,
    /// Behind new data a tail loss probe is due at the latest when a timer that counts from the last
    /// transmission of the head fires (`tcp_rto_delta_us`), and not when the timer does that runs.
    pub head_bounds_probes: bool,
    /// A round of samples ends with an ACK beyond what was next to be sent as it began
    /// (`rtt_seq`), and not with an ACK of all that.
    pub rounds_end_beyond: bool,
    /// While RACK's timer runs this one does not (`icsk_pending`; RFC 8985 §8 lets one timer run at a
    /// time). It is set anew when RACK's timer has fired, or when an ACK moves on.
    pub yields_to_rack: bool,
}

impl TimerRules {
    /// The rules of the RFCs.
    pub const RFC: Self = Self::all(false);
    /// Linux's.
    pub const LINUX: Self = Self::all(true);

    const fn all(on: bool) -> Self {
        Self {
            old_reports_restart: on,
            head_copy_restarts: on,
            counts_from_head: on,
            reneging_hurries: on,
            head_bounds_probes: on,
            rounds_end_beyond: on,
            yields_to_rack: on,
        }
    }
}

/// What the receiving side reports and when it acknowledges a FIN, where Linux does otherwise than
/// the profiles of the RFCs.
///
/// ```
/// use netspurt::tcp::{ReceiveRules, RfcConfig};
/// assert_eq!(RfcConfig::linux_6().receive_rules, ReceiveRules::LINUX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveRules {
    /// A segment that brings new octets, and some that had arrived beyond a hole, is reported as a
    /// duplicate of those (`tcp_ofo_queue`, `tcp_data_queue_ofo`; RFC 2883 §4.2).
    pub reports_overlaps: bool,
    /// The FIN is an octet of the duplicate that is reported, and an old FIN alone is one.
    pub reports_fins: bool,
    /// TIME-WAIT reports no duplicates (`tcp_timewait_state_process`).
    pub time_wait_is_mute: bool,
    /// More than a full segment is acknowledged at once only where the window does not shrink
    /// meanwhile: the application reads, or the last segment lets the window grow
    /// (`__tcp_ack_snd_check`).
    pub full_needs_reader: bool,
    /// The acknowledgment of a FIN waits for an answer of the application's as one of data does
    /// (`tcp_fin`), and is not sent at once.
    pub fin_ack_waits: bool,
    /// The stamp of a segment is kept after its acknowledgment was looked at (`tcp_ack`): none of a
    /// segment that acknowledges what was never sent. RFC 7323 §5.3 keeps it before.
    pub stamp_after_ack: bool,
    /// A segment that lacks the agreed time stamps is taken (`tcp_validate_incoming`). RFC 7323
    /// §3.2 discards it.
    pub takes_unstamped: bool,
    /// A FIN that is taken in order ends all reports: of octets that came with it again, too
    /// (`tcp_fin` calls `tcp_sack_reset`). RFC 2883 §4 reports those.
    pub fin_ends_reports: bool,
    /// A SACK block that had no room among the last four is forgotten: what joins it is reported
    /// without it (`tcp_sack_new_ofo_skb`).
    ///
    /// departs: RFC 2018 §4 - with `forgets_blocks` the first block may lack data beside the segment
    /// that arrived; the RFC reports all that is contiguous.
    pub forgets_blocks: bool,
    /// An RST resets also where its number is the end of the highest SACK block
    /// (`tcp_validate_incoming`).
    ///
    /// departs: RFC 5961 §3.2 - with `reset_behind_gap` two numbers reset; in the RFC only the next
    /// octet expected does, and others are answered with a challenge ACK.
    pub reset_behind_gap: bool,
    /// Once the peer's FIN came, an RST resets with the FIN's number, too (`tcp_reset_check`).
    ///
    /// departs: RFC 5961 §3.2 - with `reset_at_fin` an RST with the number of the peer's FIN resets; in
    /// the RFC only the next octet expected does.
    pub reset_at_fin: bool,
    /// A congestion mark counts only in new data: the first one that is echoed hurries two acknowledgments,
    /// further ones none. So does new data that could not be marked, once some could. What tells that the
    /// peer reacted counts with data or a FIN, which are acknowledged at once (`tcp_data_ecn_check`,
    /// `tcp_ecn_accept_cwr`).
    pub marks_in_text: bool,
    /// Reports of what arrived behind a gap wait to be sent as one (`__tcp_ack_snd_check`).
    ///
    /// departs: RFC 5681 §4.2 - with `compresses_sacks` from the fourth segment behind a gap on an ACK may
    /// wait for 1.1 ms; the RFC has one sent at once for each.
    pub compresses_sacks: bool,
    /// A time stamp may be one less than the last one (`TCP_PAWS_WINDOW`).
    ///
    /// departs: RFC 7323 §5.3 R1 - with `stamp_may_lag` a stamp may be one less than the last; the RFC
    /// discards a segment with any older stamp.
    pub stamp_may_lag: bool,
    /// A segment without new octets is acceptable if it ends where the last acknowledgment did, or
    /// later (`tcp_sequence`): its acknowledgment and its stamp count.
    ///
    /// departs: RFC 9293 §3.10.7.4 - with `takes_last_again` segments are acceptable from the last
    /// acknowledgment on; in the RFC they are from the next octet expected on.
    pub takes_last_again: bool,
    /// The receive buffer is counted in octets of memory, of which a share is window, and each segment
    /// that uses its memory well opens the window further (`tcp_grow_window`, `tcp_select_window`).
    pub counts_memory: bool,
    /// With [`counts_memory`](Self::counts_memory) the buffer begins with twice the first window and
    /// grows with what the application reads in a round trip (`tcp_rcv_space_adjust`). Without
    /// the switch it has one size.
    pub autotuning: bool,
    /// How long a data segment waits for others that continue it, to be taken with them as one (generic
    /// receive offload). Zero: not at all.
    pub gro: Duration,
    /// The least time between two challenge ACKs (RFC 5961 §7; Linux's `tcp_invalid_ratelimit`), also
    /// between two answers to a SYN that comes again, and to segments outside the window that have
    /// no payload. Zero: each is answered.
    pub challenge_interval: Duration,
}

impl ReceiveRules {
    /// The rules of the RFCs' profiles.
    pub const RFC: Self = Self::all(false);
    /// Linux's.
    pub const LINUX: Self = Self::all(true);

    const fn all(on: bool) -> Self {
        Self {
            reports_overlaps: on,
            reports_fins: on,
            time_wait_is_mute: on,
            fin_ack_waits: on,
            full_needs_reader: on,
            stamp_after_ack: on,
            takes_unstamped: on,
            fin_ends_reports: on,
            forgets_blocks: on,
            reset_behind_gap: on,
            reset_at_fin: on,
            compresses_sacks: on,
            marks_in_text: on,
            stamp_may_lag: on,
            takes_last_again: on,
            counts_memory: on,
            autotuning: on,
            gro: Duration::ZERO,
            challenge_interval: Duration::from_millis(if on { 500 } else { 0 }),
        }
    }
}

/// What SYNs offer, and when they leave again, where Linux does otherwise than the profiles of the
/// RFCs.
///
/// ```
/// use netspurt::tcp::{RfcConfig, SynRules};
/// assert_eq!(RfcConfig::linux_6().syn_rules, SynRules::LINUX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynRules {
    /// After a segment with a wrong acknowledgment, which is answered by an RST, the first SYN leaves
    /// again within two jiffies and a part of a third (`tcp_rcv_synsent_state_process`), and not
    /// after an RTO.
    pub again_after_reset: bool,
    /// Where both ends open at once, the SYN-ACK repeats what the SYN offered
    /// (`tcp_send_synack`), and not what both offered. RFC 7323 §2.2 and §3.2 send an option there
    /// only if the peer's SYN had it.
    pub keeps_offer: bool,
    /// The first receive window is a whole number of segments of the MSS
    /// (`tcp_select_initial_window`).
    pub whole_first_window: bool,
    /// A SYN that leaves again asks for no ECN (`tcp_ecn_clear_syn`; RFC 3168 §6.1.1.1 lets a host
    /// do so).
    pub again_without_ecn: bool,
    /// An acknowledgment that echoes the stamp of the first SYN, or SYN-ACK, shows that it was not
    /// lost, which leaves the initial window as it is (`tcp_try_undo_spurious_syn`).
    pub echo_forgives: bool,
    /// A SYN with a FIN is not answered (`tcp_rcv_state_process`).
    ///
    /// departs: RFC 9293 §3.10.7.2 - with `fin_spoils` a SYN with a FIN is dropped; the RFC takes the SYN,
    /// and the FIN later.
    pub fin_spoils: bool,
}

impl SynRules {
    /// The rules of the RFCs' profiles.
    pub const RFC: Self = Self::all(false);
    /// Linux's.
    pub const LINUX: Self = Self::all(true);

    const fn all(on: bool) -> Self {
        Self {
            again_after_reset: on,
            keeps_offer: on,
            whole_first_window: on,
            again_without_ecn: on,
            echo_forgives: on,
            fin_spoils: on,
        }
    }
}

/// When segments are held back or let go, where Linux does otherwise than the profiles of the RFCs.
///
/// ```
/// use netspurt::tcp::{RfcConfig, SendRules};
/// assert_eq!(RfcConfig::linux_6().send_rules, SendRules::LINUX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendRules {
    /// What is held back for being short leaves after an RTO at the latest (`tcp_check_probe_timer`),
    /// and not after the 200 ms of RFC 9293 §3.8.6.2.1.
    pub held_for_an_rto: bool,
    /// A FIN waits for a closed window to open (`tcp_snd_wnd_test`), and the window is probed.
    pub fin_needs_window: bool,
    /// With less room than a packet for offload has, at least two segments, the last segments wait
    /// where an ACK is due within 1 ms and the last octets left within 1 ms
    /// (`tcp_tso_should_defer`).
    pub waits_for_packets: bool,
    /// The last segment of each packet for offload with several segments has PSH
    /// (`__tcp_transmit_skb`), and not only the last segment of what the application wrote.
    pub pushes_packets: bool,
    /// A segment has at most half of the largest window that the peer offered, or all of it up to 536
    /// octets (`tcp_bound_to_half_wnd`).
    pub halves_small_windows: bool,
    /// The fewest segments of a packet for offload (`tcp_min_tso_segs`).
    pub packet_segs_min: u32,
    /// With [`pushes_packets`](Self::pushes_packets): a packet of several segments may end with a
    /// short one that fills the peer's window (`tcp_mss_split_point`).
    pub packets_fill_windows: bool,
    /// A retransmission waits for room in a window that the peer has shrunk, unless it is of the
    /// oldest segment (`__tcp_retransmit_skb`).
    pub copies_need_window: bool,
    /// An ACK without new octets or new text makes the peer's window larger or closes it, but does not
    /// make it smaller (`tcp_may_update_window`).
    ///
    /// departs: RFC 9293 §3.10.7.4 - with `keeps_larger_window` an ACK with the numbers of the last one
    /// does not shrink the window; in the RFC it does.
    pub keeps_larger_window: bool,
    /// With nothing outstanding each ACK whose window is too small for the next segment restarts
    /// the wait for the next probe, and the backoff lasts until a window takes that segment
    /// (`tcp_ack_probe`).
    pub acks_restart_probes: bool,
    /// A FIN for which cwnd has no room is the tail loss probe (`tcp_send_loss_probe`), and not the
    /// last segment once more.
    pub fin_is_probe: bool,
    /// Lost segments leave only while more segments are lost than copies are outstanding, whatever
    /// they are copies of (`tcp_xmit_retransmit_queue`).
    pub lost_outnumber_copies: bool,
    /// A tail loss probe that repeats data does not count as outstanding (`tcp_send_loss_probe`).
    pub probes_are_uncounted: bool,
    /// What the host's own queue drops does not count as sent: it is offered again when an ACK
    /// comes, and with nothing outstanding every 500 ms (`tcp_write_xmit`, `tcp_send_probe0`).
    /// Without the switch it counts as lost on its way.
    pub learns_drops: bool,
}

impl SendRules {
    /// The rules of the RFCs' profiles.
    pub const RFC: Self = Self::all(false);
    /// Linux's.
    pub const LINUX: Self = Self::all(true);

    const fn all(on: bool) -> Self {
        Self {
            held_for_an_rto: on,
            fin_needs_window: on,
            waits_for_packets: on,
            pushes_packets: on,
            halves_small_windows: on,
            packet_segs_min: 2,
            packets_fill_windows: on,
            copies_need_window: on,
            keeps_larger_window: on,
            acks_restart_probes: on,
            fin_is_probe: on,
            lost_outnumber_copies: on,
            probes_are_uncounted: on,
            learns_drops: on,
        }
    }
}

/// What proves a cut spurious, and what is learnt of it, where Linux does otherwise than the RFCs.
///
/// ```
/// use netspurt::tcp::{RfcConfig, SpuriousRules};
/// assert_eq!(RfcConfig::linux_6().spurious_rules, SpuriousRules::LINUX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpuriousRules {
    /// A partial ACK whose echo is older than the first retransmission takes the cut back only while
    /// no retransmission is outstanding; else new data leaves, and nothing more counts as lost
    /// (`tcp_try_undo_partial`).
    pub waits_for_copies: bool,
    /// A partial ACK with such an echo shows that the path reorders (`tcp_try_undo_partial`).
    pub teaches_reordering: bool,
    /// The report of a duplicate counts in an ACK that a later one overtook, with nothing
    /// outstanding, too (`tcp_ack`).
    pub old_acks_report: bool,
    /// Where the sender has doubted, it does until no copy is outstanding and the oldest segment
    /// left once only (`tcp_try_keep_open`): meanwhile the tail is not probed.
    pub doubts_copies: bool,
    /// An ACK that echoes a mark leaves the window as the last cut made it, also where the cut proves
    /// spurious with this ACK or later (`tcp_fastretrans_alert`).
    pub marks_keep_cuts: bool,
    /// A reported duplicate counts only while no more segments are reported as duplicates than ever
    /// were sent again (`tcp_dsack_seen`).
    pub reports_need_copies: bool,
}

impl SpuriousRules {
    /// The rules of the RFCs.
    pub const RFC: Self = Self::all(false);
    /// Linux's.
    pub const LINUX: Self = Self::all(true);

    const fn all(on: bool) -> Self {
        Self {
            waits_for_copies: on,
            teaches_reordering: on,
            old_acks_report: on,
            doubts_copies: on,
            marks_keep_cuts: on,
            reports_need_copies: on,
        }
    }
}

/// What RACK looks at and in which order, where Linux does otherwise than RFC 8985.
///
/// ```
/// use netspurt::tcp::{RackRules, RfcConfig};
/// assert_eq!(RfcConfig::linux_6().rack_rules, RackRules::LINUX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RackRules {
    /// Of an ACK that does both, what it reports by SACK is taken before what it acknowledges
    /// (`tcp_ack`): the last one taken sets RACK's round trip.
    pub reports_first: bool,
    /// What RACK called lost, and was not sent again when the cut was taken back, is not looked at
    /// any more until it leaves again (`tcp_rack_detect_loss`, which takes it off its list).
    pub spares_unsent: bool,
    /// RACK looks for losses only with an ACK that tells it a round trip, or undoes a cut; any other
    /// ACK of new octets ends its wait (`tcp_rack_mark_lost`, `tcp_rearm_rto`).
    pub needs_news: bool,
    /// A reported duplicate widens the reordering window only where reordering was seen before, and
    /// where the duplicate is not of a tail loss probe (`tcp_dsack_seen`).
    ///
    /// departs: RFC 8985 §6.2 - with `reports_need_reordering` a duplicate that is reported on a path
    /// without reordering leaves the window as it is; the RFC widens it once a round trip.
    pub reports_need_reordering: bool,
}

impl RackRules {
    /// The rules of RFC 8985.
    pub const RFC: Self = Self::all(false);
    /// Linux's.
    pub const LINUX: Self = Self::all(true);

    const fn all(on: bool) -> Self {
        Self { reports_first: on, spares_unsent: on, needs_news: on, reports_need_reordering: on }
    }
}
