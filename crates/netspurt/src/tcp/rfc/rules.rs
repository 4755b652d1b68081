//! The rules in which Linux differs from the RFCs, by theme, and a few settings in which they
//! agree. Each rule is a switch.

use crate::units::Duration;

/// Rules by which cwnd is counted, reduced and increased, where Linux differs from the RFCs.
///
/// ```
/// use netspurt::tcp::{CwndRules, RfcConfig};
/// let halves_when_idle = CwndRules { idle_decay: true, ..CwndRules::RFC };
/// let config = RfcConfig { cwnd_rules: halves_when_idle, ..RfcConfig::rfc_2026() };
/// assert!(!config.cwnd_rules.whole_segments && RfcConfig::linux_6().cwnd_rules.whole_segments);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CwndRules {
    /// cwnd counts segments: a short segment fills as much of cwnd as a full segment
    /// (`tcp_packets_in_flight`). The amounts that are outstanding, reported, lost or retransmitted
    /// are also counted in segments. ssthresh is a whole number of segments. In proportional rate
    /// reduction, the octets that may be sent while pipe is above ssthresh are rounded up to whole
    /// segments (`tcp_cwnd_reduction`).
    ///
    /// departs: RFC 6675 §4 - with `whole_segments` pipe counts segments, whatever their size; the
    /// RFC counts octets.
    pub whole_segments: bool,
    /// A cut (a reduction of ssthresh because of congestion) is computed from cwnd
    /// (`tcp_init_cwnd_reduction`), and not from FlightSize (RFC 5681 §3.1, equation 4).
    pub cut_from_cwnd: bool,
    /// A timeout during recovery, or during a cut for a congestion mark, does not reduce ssthresh
    /// again. This holds until all octets that were outstanding when this recovery or cut began are
    /// acknowledged (`tcp_enter_loss`).
    ///
    /// departs: RFC 5681 §3.1 - with `timeout_keeps_cut` a timeout soon after a cut does not reduce
    /// ssthresh again; the RFC reduces it at each timeout of a segment that was not yet
    /// retransmitted.
    pub timeout_keeps_cut: bool,
    /// After a timeout, cwnd is one segment larger than the data that may still be on its way
    /// (`tcp_enter_loss`). In RFC 5681 §3.1, cwnd is one segment.
    pub timeout_adds_to_pipe: bool,
    /// The ACK that ends a recovery may already open cwnd (`tcp_ack`). Without the switch, only the
    /// next ACK may open it.
    pub last_repair_ack_grows: bool,
    /// cwnd grows by the octets that an ACK acknowledges or reports by SACK for the first time
    /// (`tcp_cong_avoid`). Without the switch, it grows by the octets that the ACK acknowledges,
    /// even if SACK had reported them before.
    pub growth_by_delivery: bool,
    /// For proportional rate reduction and for the growth of cwnd, the report of a duplicate counts
    /// as the delivery of a segment (`tcp_dsack_seen`).
    ///
    /// departs: RFC 9937 §6.2 - with `duplicates_deliver` the report of a duplicate counts as
    /// DeliveredData; in the RFC only octets that arrive for the first time count.
    pub duplicates_deliver: bool,
    /// If RACK finds after a timeout that a retransmission is lost, a recovery with another cut
    /// begins (`tcp_fastretrans_alert`).
    pub lost_copies_cut: bool,
    /// An ACK opens cwnd only if cwnd was full in the last flight or, in slow start, if more than
    /// half of it was used. With `idle_restart`, cwnd also loses half of its unused part if the
    /// application leaves a part unused for an RTO (`tcp_cwnd_validate`, RFC 2861 §3.1). Without
    /// `validation`, cwnd loses no unused part, and an ACK opens cwnd if the first octet that it
    /// acknowledges was sent before cwnd was last full.
    pub validation: bool,
    /// An ACK that acknowledges nothing new, but reports arrivals by SACK, may also open cwnd. The
    /// condition is that a segment was once overtaken by more than `dup_thresh` other segments
    /// (`tcp_may_raise_cwnd`).
    pub reordered_reports_grow: bool,
    /// A cut for a mark (a reduction of cwnd because of a congestion mark) ends with an ACK that
    /// covers more than the data outstanding when the cut began (`tcp_fastretrans_alert`). Without
    /// the switch, an ACK of just this data ends the cut.
    pub mark_cut_ends_beyond: bool,
    /// Without SACK, a repair ends only with an ACK that covers more than the data outstanding when
    /// the repair began (`tcp_is_non_sack_preventing_reopen`). In RFC 6582 §3.2, an ACK of just
    /// this data ends the repair.
    pub repair_ends_beyond: bool,
    /// If a loss is found while cwnd is cut for a mark, the repair continues this reduction of cwnd
    /// and begins no new one. If a segment was sent since the reduction began, the first
    /// retransmission waits until cwnd has room (`tcp_enter_recovery`).
    pub mark_cut_goes_on: bool,
    /// If the last ACK of a repair echoes a mark, cwnd is cut again (`tcp_try_to_open`).
    ///
    /// departs: RFC 3168 §6.1.2 - with `last_repair_ack_cuts` cwnd may be cut twice for one window
    /// of data; the RFC allows one cut.
    pub last_repair_ack_cuts: bool,
    /// After an idle time, cwnd is halved for each RTO that passed (`tcp_cwnd_restart`, RFC 2861
    /// §3.1), and not reduced to the initial window immediately (RFC 5681 §4.1).
    pub idle_decay: bool,
    /// cwnd shrinks after an idle time of more than an RTO (RFC 5681 §4.1). With `validation`, it
    /// also shrinks after an RTO in which the application left a part unused (RFC 2861 §3.1).
    /// In Linux this is `tcp_slow_start_after_idle`. Without the switch, cwnd shrinks in neither
    /// case.
    pub idle_restart: bool,
}

impl CwndRules {
    /// The rules of the RFCs.
    pub const RFC: Self = Self::all(false);
    /// The rules of Linux.
    pub const LINUX: Self = Self::all(true);

    const fn all(on: bool) -> Self {
        Self {
            whole_segments: on,
            cut_from_cwnd: on,
            timeout_keeps_cut: on,
            timeout_adds_to_pipe: on,
            last_repair_ack_grows: on,
            growth_by_delivery: on,
            duplicates_deliver: on,
            lost_copies_cut: on,
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

/// Rules for the sender's timers and for the end of a round of samples, where Linux differs from
/// the RFCs.
///
/// ```
/// use netspurt::tcp::{RfcConfig, TimerRules};
/// assert_eq!(RfcConfig::linux_6().timer_rules, TimerRules::LINUX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerRules {
    /// The head is the first outstanding segment. An ACK without new octets also restarts the
    /// retransmission timer if its SACK blocks newly report a segment that was sent only once,
    /// before the head was last sent (`tcp_clean_rtx_queue`). The reason is that the head may then
    /// still be on its way.
    pub old_reports_restart: bool,
    /// A retransmission of the first outstanding segment restarts a running retransmission timer,
    /// unless RACK's timer runs (`tcp_xmit_retransmit_queue`).
    ///
    /// departs: RFC 6298 §5.1 - with `head_copy_restarts` a retransmission restarts a running
    /// timer; the RFC starts the timer only where it does not run.
    pub head_copy_restarts: bool,
    /// If RACK's timer was armed since the last restart of the retransmission timer, the next
    /// restart does not count the RTO from the ACK. It counts the RTO from the last transmission of
    /// the head (`tcp_rearm_rto`). When RACK's timer fires, the retransmission timer is set in the
    /// same way. The timer of tail loss probes also runs while the result of the last probe is not
    /// known. If it fires in this time, no probe leaves, and the retransmission timer is set in the
    /// same way (`tcp_send_loss_probe`).
    pub counts_from_head: bool,
    /// After an ACK of new octets, the oldest outstanding segment may be a segment that SACK had
    /// reported. On this ACK, the sender does not look for losses. It sets the retransmission timer
    /// to fire half a round trip later, but not before 10 ms (`tcp_check_sack_reneging`). When the
    /// timer fires, everything outstanding counts as lost, unless an ACK of new octets has arrived
    /// in the meantime.
    pub reneging_hurries: bool,
    /// After new data was sent, a tail loss probe is due at the latest one RTO after the last
    /// transmission of the head, unless this instant has passed (`tcp_rto_delta_us`). A second
    /// limit holds with and without the switch: the probe is due at the latest when the running
    /// retransmission timer fires.
    pub head_bounds_probes: bool,
    /// A round of samples ends with an ACK that covers more than the octets sent before the round
    /// began, and that gives a sample (`rtt_seq`). Without the switch, an ACK of just these octets
    /// ends the round, with or without a sample.
    pub rounds_end_beyond: bool,
    /// The retransmission timer does not run while RACK's timer runs (`icsk_pending`; RFC 8985 §8
    /// lets one timer run at a time). The retransmission timer is set again in three cases: RACK's
    /// timer has fired, an ACK of new octets arrives, or the timer of a tail loss probe replaces
    /// RACK's.
    pub yields_to_rack: bool,
}

impl TimerRules {
    /// The rules of the RFCs.
    pub const RFC: Self = Self::all(false);
    /// The rules of Linux.
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

/// Rules by which the receiving side reports and acknowledges, where Linux differs from the
/// profiles (named sets of switches) of the RFCs.
///
/// ```
/// use netspurt::tcp::{ReceiveRules, RfcConfig};
/// assert_eq!(RfcConfig::linux_6().receive_rules, ReceiveRules::LINUX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveRules {
    /// A segment may bring new octets together with octets that had already arrived beyond a hole.
    /// The receiver then sends a D-SACK block for the first range of these old octets
    /// (`tcp_ofo_queue`, `tcp_data_queue_ofo`; RFC 2883 §4.2).
    pub reports_overlaps: bool,
    /// The FIN counts as an octet of a reported duplicate. A repeated FIN without data is also a
    /// duplicate.
    pub reports_fins: bool,
    /// In TIME-WAIT, an end reports no duplicates (`tcp_timewait_state_process`).
    pub time_wait_is_mute: bool,
    /// If more than a full segment of data waits for its acknowledgment, the ACK leaves immediately
    /// only if the receive window has not shrunk (`__tcp_ack_snd_check`). The window does not
    /// shrink if the application reads, or if the last segment lets it grow.
    pub full_needs_reader: bool,
    /// The acknowledgment of a FIN waits for an answer of the application, like an acknowledgment
    /// of data (`tcp_fin`), and is not sent immediately.
    pub fin_ack_waits: bool,
    /// The timestamp of a segment is kept only after the segment's acknowledgment number was
    /// checked (`tcp_ack`). If the segment acknowledges octets that were never sent, its timestamp
    /// is therefore not kept. If it acknowledges less than an earlier segment, its timestamp is
    /// kept only if header prediction processes the segment. RFC 7323 §5.3 keeps the timestamp
    /// before the check.
    pub stamp_after_ack: bool,
    /// A segment without the agreed timestamps is accepted (`tcp_validate_incoming`). RFC 7323 §3.2
    /// discards it.
    pub takes_unstamped: bool,
    /// The acknowledgment of a FIN that arrives in order reports no duplicate, not even repeated
    /// octets that came with the FIN (`tcp_fin` calls `tcp_sack_reset`). RFC 2883 §4 reports these
    /// octets.
    pub fin_ends_reports: bool,
    /// The receiver remembers only the last four SACK blocks that it reported. If data arrives next
    /// to a forgotten block, the new block does not include the forgotten block
    /// (`tcp_sack_new_ofo_skb`).
    ///
    /// departs: RFC 2018 §4 - with `forgets_blocks` the first block may lack data beside the
    /// segment that arrived; the RFC reports all that is contiguous.
    pub forgets_blocks: bool,
    /// An RST also resets the connection if its number is the end of the highest SACK block
    /// (`tcp_validate_incoming`).
    ///
    /// departs: RFC 5961 §3.2 - with `reset_behind_gap` an RST with either of two numbers resets
    /// the connection; in the RFC only an RST with the number of the next expected octet resets it,
    /// and any other RST is answered with a challenge ACK.
    pub reset_behind_gap: bool,
    /// After the peer's FIN, an RST with the FIN's number also resets the connection
    /// (`tcp_reset_check`).
    ///
    /// departs: RFC 5961 §3.2 - with `reset_at_fin` an RST with the number of the peer's FIN resets
    /// the connection; in the RFC only an RST with the number of the next expected octet resets it.
    pub reset_at_fin: bool,
    /// A congestion mark counts only in new data. After a mark that begins a new echo, the next two
    /// acknowledgments are not delayed. The same holds after new data that is not ECN-capable
    /// although earlier new data was. The flag CWR says that the peer has reduced its cwnd. CWR
    /// counts only in a segment with data, SYN or FIN. If CWR counts, the segment is acknowledged
    /// immediately (`tcp_data_ecn_check`, `tcp_ecn_accept_cwr`).
    pub marks_in_text: bool,
    /// The first three segments behind a gap are each acknowledged immediately. Later segments
    /// share an ACK that waits for a short time (`__tcp_ack_snd_check`).
    ///
    /// departs: RFC 5681 §4.2 - with `compresses_sacks` the ACK of the fourth and of each later
    /// segment behind a gap may wait for 1.1 ms; in the RFC each such segment is acknowledged
    /// immediately.
    pub compresses_sacks: bool,
    /// The timestamp of a segment may be one less than the newest timestamp so far
    /// (`TCP_PAWS_WINDOW`).
    ///
    /// departs: RFC 7323 §5.3 R1 - with `stamp_may_lag` a timestamp may be one less than the last;
    /// the RFC discards a segment with any older timestamp.
    pub stamp_may_lag: bool,
    /// An ACK without data or FIN may have an old timestamp because a later segment overtook it
    /// (`tcp_disordered_ack_check`). It is discarded without an answer if it begins before the next
    /// octet expected. It is processed if it repeats the last acknowledgment and its timestamp is
    /// older by at most 1.2 RTOs.
    ///
    /// departs: RFC 7323 §5.3 R1 - with `forgives_late_acks` some ACKs with an old timestamp are
    /// processed, and some are discarded without an answer; the RFC discards and answers all.
    pub forgives_late_acks: bool,
    /// A segment without new octets is acceptable if it does not end below the acknowledgment
    /// number that this host sent last (`tcp_sequence`). This number may be behind the next octet
    /// expected, because ACKs are delayed. The host processes the acknowledgment and the timestamp
    /// of an acceptable segment.
    ///
    /// departs: RFC 9293 §3.10.7.4 - with `takes_last_again` a segment that ends at this end's last
    /// acknowledgment or later is acceptable, even if more octets have arrived; in the RFC segments
    /// are acceptable only from the next octet expected on.
    pub takes_last_again: bool,
    /// The receive buffer is counted in octets of memory. Only a share of this memory counts as
    /// receive window. Each segment that uses its memory well opens the window further
    /// (`tcp_grow_window`, `tcp_select_window`).
    pub counts_memory: bool,
    /// With [`counts_memory`](Self::counts_memory), the buffer begins with twice the first window
    /// and grows with what the application reads in a round trip (`tcp_rcv_space_adjust`). Without
    /// the switch, the size of the buffer is fixed.
    pub autotuning: bool,
    /// How long a data segment waits for segments that continue it. All of them are then merged
    /// into one (generic receive offload). If the value is zero, a segment does not wait.
    pub gro: Duration,
    /// The minimum time between two challenge ACKs (RFC 5961 §7; Linux's `tcp_invalid_ratelimit`).
    /// The answers to a repeated SYN, and to a segment outside the receive window without data or
    /// FIN, also count as challenge ACKs. If the value is zero, there is no minimum.
    pub challenge_interval: Duration,
}

impl ReceiveRules {
    /// The rules of the RFCs' profiles.
    pub const RFC: Self = Self::all(false);
    /// The rules of Linux.
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
            forgives_late_acks: on,
            takes_last_again: on,
            counts_memory: on,
            autotuning: on,
            gro: Duration::ZERO,
            challenge_interval: Duration::from_millis(if on { 500 } else { 0 }),
        }
    }
}

/// Rules about the options and the retransmission of SYNs, where Linux differs from the profiles of
/// the RFCs.
///
/// ```
/// use netspurt::tcp::{RfcConfig, SynRules};
/// assert_eq!(RfcConfig::linux_6().syn_rules, SynRules::LINUX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynRules {
    /// In SYN-SENT, the end answers a wrong acknowledgment with an RST. If it has sent its SYN only
    /// once, it then retransmits the SYN two to three jiffies later
    /// (`tcp_rcv_synsent_state_process`), and not after an RTO.
    pub again_after_reset: bool,
    /// If both ends open simultaneously, the SYN-ACK repeats all options that the SYN offered
    /// (`tcp_send_synack`), and not only the options that both ends offered. By RFC 7323 §2.2 and
    /// §3.2, a SYN-ACK has an option only if the peer's SYN had this option.
    pub keeps_offer: bool,
    /// The first receive window is a whole number of segments of the MSS
    /// (`tcp_select_initial_window`).
    pub whole_first_window: bool,
    /// A retransmitted SYN does not ask for ECN (`tcp_ecn_clear_syn`; RFC 3168 §6.1.1.1 allows
    /// this).
    pub again_without_ecn: bool,
    /// An acknowledgment that echoes the timestamp of the first SYN or SYN-ACK shows that this
    /// segment was not lost. The initial window is then not reduced (`tcp_try_undo_spurious_syn`).
    pub echo_forgives: bool,
    /// A SYN with a FIN is not answered (`tcp_rcv_state_process`).
    ///
    /// departs: RFC 9293 §3.10.7.2 - with `fin_spoils` a SYN with a FIN is dropped; the RFC
    /// processes the SYN, and the FIN later.
    pub fin_spoils: bool,
}

impl SynRules {
    /// The rules of the RFCs' profiles.
    pub const RFC: Self = Self::all(false);
    /// The rules of Linux.
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

/// Rules by which segments are held back or sent, where Linux differs from the profiles of the
/// RFCs.
///
/// ```
/// use netspurt::tcp::{RfcConfig, SendRules};
/// assert_eq!(RfcConfig::linux_6().send_rules, SendRules::LINUX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendRules {
    /// If nothing is outstanding, a short segment is held back at most until a window probe would
    /// be due, usually for an RTO (`tcp_check_probe_timer`). Without the switch, it is held back
    /// for at most 200 ms (RFC 9293 §3.8.6.2.1 allows 0.1 to 1 s).
    pub held_for_an_rto: bool,
    /// A FIN waits for the peer's closed window to open (`tcp_snd_wnd_test`), and the window is
    /// probed.
    pub fin_needs_window: bool,
    /// The sender passes several segments to the network card as one packet (segmentation offload).
    /// A whole packet has at least `packet_segs_min` segments. If cwnd and the peer's window have
    /// room for only a small part of a packet, this part waits under two conditions: an ACK is due
    /// within 1 ms, and a segment is sent now or was sent less than 1 ms ago
    /// (`tcp_tso_should_defer`).
    pub waits_for_packets: bool,
    /// The last segment of each packet for offload with several segments has PSH
    /// (`__tcp_transmit_skb`), and not only the last segment of what the application wrote.
    pub pushes_packets: bool,
    /// A segment has at most half as many octets as the largest window that the peer offered. If
    /// this window has at most 536 octets, a segment may have as many octets as the window
    /// (`tcp_bound_to_half_wnd`).
    pub halves_small_windows: bool,
    /// The minimum number of segments of a packet for offload (`tcp_min_tso_segs`).
    pub packet_segs_min: u32,
    /// With [`pushes_packets`](Self::pushes_packets): a packet of several segments may end with a
    /// short segment that fills the peer's window (`tcp_mss_split_point`).
    pub packets_fill_windows: bool,
    /// If the peer has shrunk its window, retransmissions wait for room in this window, and are cut
    /// at its edge. Only a retransmission of the oldest segment does not wait; if this segment lies
    /// beyond the window, it is not cut (`__tcp_retransmit_skb`).
    pub copies_need_window: bool,
    /// If a retransmission is shorter than a full segment, outstanding segments after it are joined
    /// with it, as far as they fit (`tcp_retrans_try_collapse`).
    pub joins_copies: bool,
    /// An ACK that acknowledges nothing new and has no new data may enlarge the peer's window or
    /// close it. It may not reduce the window to another size (`tcp_may_update_window`). Without
    /// SACK, an ACK that may change the window is no duplicate, even if the window stays the same.
    ///
    /// departs: RFC 9293 §3.10.7.4 - with `keeps_larger_window` an ACK with the same numbers as the
    /// last ACK does not shrink the window, except to zero; in the RFC it shrinks the window.
    pub keeps_larger_window: bool,
    /// While nothing is outstanding, each ACK whose window is too small for the next segment
    /// restarts the wait for the next window probe. The backoff of this wait lasts until a window
    /// has room for that segment (`tcp_ack_probe`).
    pub acks_restart_probes: bool,
    /// If cwnd has no room for the FIN, the tail loss probe is the FIN (`tcp_send_loss_probe`), and
    /// not a retransmission of the last segment.
    pub fin_is_probe: bool,
    /// Lost segments are retransmitted only while there are more lost segments than outstanding
    /// retransmissions (`tcp_xmit_retransmit_queue`). The rule does not apply to the first
    /// retransmission after a timeout.
    pub lost_outnumber_copies: bool,
    /// A tail loss probe that repeats data does not count as outstanding (`tcp_send_loss_probe`).
    pub probes_are_uncounted: bool,
    /// A segment that the host's own queue drops does not count as sent. The sender offers the
    /// segment again when an ACK arrives. If nothing is outstanding, the sender first waits as long
    /// as before a window probe, and then offers it every 500 ms (`tcp_write_xmit`,
    /// `tcp_send_probe0`). Without the switch, the sender does not learn of the drop.
    pub learns_drops: bool,
}

impl SendRules {
    /// The rules of the RFCs' profiles.
    pub const RFC: Self = Self::all(false);
    /// The rules of Linux.
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
            joins_copies: on,
            keeps_larger_window: on,
            acks_restart_probes: on,
            fin_is_probe: on,
            lost_outnumber_copies: on,
            probes_are_uncounted: on,
            learns_drops: on,
        }
    }
}

/// Rules about proofs that a cut was spurious, and about what the sender learns from them, where
/// Linux differs from the RFCs.
///
/// ```
/// use netspurt::tcp::{RfcConfig, SpuriousRules};
/// assert_eq!(RfcConfig::linux_6().spurious_rules, SpuriousRules::LINUX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpuriousRules {
    /// A partial ACK that echoes a timestamp from before the first retransmission undoes the cut
    /// only while no retransmission is outstanding. Otherwise new data is sent, and no further
    /// segment is marked as lost (`tcp_try_undo_partial`). This echo is examined in each ACK of the
    /// repair (`tcp_packet_delayed`). Without the switch, only the first ACK after the
    /// retransmission of the oldest segment decides (RFC 3522 §3.2).
    pub waits_for_copies: bool,
    /// A partial ACK that echoes a timestamp from before the first retransmission shows that the
    /// path reorders (`tcp_try_undo_partial`). A second sign is a reported duplicate, if its
    /// segment was retransmitted and lies above the cumulative ACK (`tcp_sacktag_one`).
    pub teaches_reordering: bool,
    /// For connections without SACK: reordering changes the number of duplicate ACKs that indicates
    /// a loss (`tcp_newreno_mark_lost`). A partial ACK that echoes a timestamp from before the
    /// first retransmission may raise this number. If more duplicates come than outstanding
    /// segments can have arrived, the number becomes the number of outstanding segments
    /// (`tcp_check_reno_reordering`).
    ///
    /// departs: RFC 5681 §3.2 - with `sets_dup_thresh` fewer or more than three duplicate ACKs
    /// indicate a loss; the RFC always takes three.
    pub sets_dup_thresh: bool,
    /// An ACK is old if an ACK with a higher number has already arrived. An old ACK can report a
    /// duplicate. With the switch, this report counts even if nothing is outstanding (`tcp_ack`).
    /// The report may undo a cut. Apart from this, old ACKs, and ACKs that come while nothing is
    /// outstanding, leave cwnd unchanged.
    pub old_acks_report: bool,
    /// After the sender has suspected a loss, this suspicion ends only when no retransmission is
    /// outstanding and the oldest segment was sent only once (`tcp_try_keep_open`). Until then, the
    /// sender sends no tail loss probe.
    pub doubts_copies: bool,
    /// An ACK that echoes a mark makes the last cut permanent. cwnd is not restored even if the cut
    /// proves spurious with this ACK or later (`tcp_fastretrans_alert`).
    pub marks_keep_cuts: bool,
    /// A reported duplicate counts only while the number of reported duplicates does not exceed the
    /// number of retransmitted segments (`tcp_dsack_seen`). Reports of earlier retransmissions may
    /// undo a cut before it has led to a retransmission (`tcp_may_undo`).
    pub reports_need_copies: bool,
}

impl SpuriousRules {
    /// The rules of the RFCs.
    pub const RFC: Self = Self::all(false);
    /// The rules of Linux.
    pub const LINUX: Self = Self::all(true);

    const fn all(on: bool) -> Self {
        Self {
            waits_for_copies: on,
            teaches_reordering: on,
            sets_dup_thresh: on,
            old_acks_report: on,
            doubts_copies: on,
            marks_keep_cuts: on,
            reports_need_copies: on,
        }
    }
}

/// Rules about the segments that RACK checks, and about their order, where Linux differs from RFC
/// 8985.
///
/// ```
/// use netspurt::tcp::{RackRules, RfcConfig};
/// assert_eq!(RfcConfig::linux_6().rack_rules, RackRules::LINUX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RackRules {
    /// The segments that an ACK reports by SACK are handled before the segments that it
    /// acknowledges in order (`tcp_ack`). The segment that is handled last sets RACK's round trip.
    pub reports_first: bool,
    /// When a cut is undone, some segments that RACK marked as lost may not have been retransmitted
    /// yet. RACK ignores these segments until they are sent again (`tcp_rack_detect_loss` removes
    /// them from its list).
    pub spares_unsent: bool,
    /// RACK looks for losses only on an ACK that gives RACK a round trip or undoes a cut. Any other
    /// ACK of new octets stops RACK's timer (`tcp_rack_mark_lost`, `tcp_rearm_rto`).
    pub needs_news: bool,
    /// A reported duplicate widens the reordering window only if reordering was seen before, and if
    /// the duplicate is not a tail loss probe (`tcp_dsack_seen`). The window then grows with the
    /// next ACK that newly covers a segment, unless this segment was sent before the window last
    /// grew (`tcp_rack_update_reo_wnd`).
    ///
    /// departs: RFC 8985 §6.2 - with `reports_need_reordering` a duplicate that is reported on a
    /// path without reordering does not widen reo_wnd; the RFC widens it, once in a round trip.
    pub reports_need_reordering: bool,
    /// While simulated time stands still, the clock advances between some segments: between
    /// retransmissions and the new data after them, and between the buffers that a write fills
    /// (`tcp_mstamp_refresh`). If the clock was read again before a segment was sent, this segment
    /// counts as sent later than the segments before it. So it becomes late after them. Without the
    /// switch, segments that left at one instant are equally late.
    pub clock_read_again: bool,
}

impl RackRules {
    /// The rules of RFC 8985.
    pub const RFC: Self = Self::all(false);
    /// The rules of Linux.
    pub const LINUX: Self = Self::all(true);

    const fn all(on: bool) -> Self {
        Self {
            reports_first: on,
            spares_unsent: on,
            needs_news: on,
            reports_need_reordering: on,
            clock_read_again: on,
        }
    }
}
