//! The interface between a sender and its congestion control algorithm. The algorithm is a
//! [`CongestionControl`]; the sender calls its methods.

use crate::packed::Packed;
use crate::units::{BitRate, Duration, Time};

use super::window::Window;

/// The facts about one ACK that the congestion control algorithm gets from the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckInfo {
    /// When the ACK arrived.
    pub now: Time,
    /// The sender's maximum segment size, in octets of payload.
    pub smss: u64,
    /// The octets that the ACK newly acknowledges in order. If cwnd counts whole segments, this is
    /// `smss` for each newly delivered segment. With the switch `growth_by_delivery`, an algorithm
    /// that does not [own cwnd](CongestionControl::owns_window) gets the value of `delivered_bytes`
    /// here.
    pub acked_bytes: u64,
    /// The octets that are newly known to have arrived, in order or by SACK. If cwnd counts whole
    /// segments, a short segment counts as a full segment.
    pub delivered_bytes: u64,
    /// The octets that are newly counted as lost.
    pub lost_bytes: u64,
    /// The sender's estimate of the octets in the network, before this ACK.
    pub pipe_before: u64,
    /// The sender's estimate of the octets in the network, after this ACK.
    pub pipe: u64,
    /// The round trip that the ACK measured, exact to the nanosecond. `None` if the ACK measured no
    /// round trip, for example because it may answer a retransmission.
    pub rtt: Option<Duration>,
    /// The smoothed round trip. The value is `None` before the first sample.
    pub srtt: Option<Duration>,
    /// The minimum round trip so far (RFC 8985 §6.2 step 1).
    pub min_rtt: Option<Duration>,
    /// The oldest octet that is not acknowledged, after this ACK.
    pub una: u64,
    /// The next octet to be sent.
    pub nxt: u64,
    /// Whether the sender had filled cwnd before this ACK. In slow start with the switch
    /// `validation`, more than half of cwnd is enough. cwnd may grow only if this field is true
    /// (RFC 9438 §5.8, RFC 2861 §3.1).
    pub window_limited: bool,
    /// Whether a repair is in progress: recovery, or the repair after a timeout.
    pub in_recovery: bool,
    /// Whether a timeout, or Tahoe's fast retransmit, began the repair that is in progress. During
    /// this repair, RFC 3465 §2.3 lets an ACK open cwnd by at most one segment.
    pub after_timeout: bool,
    /// The delivery rate that this ACK shows.
    pub rate: Option<RateSample>,
}

/// A delivery rate sample (draft-ietf-ccwg-bbr, "Delivery Rate Samples").
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// The octets that were delivered in [`interval`](Self::interval).
    pub delivered_bytes: u64,
    /// The time in which the octets were sent, or the time in which they were acknowledged,
    /// whichever is longer.
    pub interval: Duration,
    /// The octets that the connection had delivered when the newest acknowledged segment was sent.
    pub prior_delivered_bytes: u64,
    /// The octets that the connection has delivered by now.
    pub total_delivered_bytes: u64,
    /// Whether the application, and not cwnd, limited the rate of the delivered segments.
    pub app_limited: bool,
}

/// The kinds of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// ACKs or RACK's timer showed a loss, or the timer of Super Fast Retransmit (Tarr and Ghita
    /// 2005) fired with the setting `response = "halve"`.
    Loss,
    /// An ACK echoed a congestion mark (ECN, RFC 3168 §6.1.2).
    Mark,
    /// The retransmission timer fired, or the timer of Super Fast Retransmit fired with the setting
    /// `response = "reset"`.
    Timeout,
}

/// A congestion control algorithm. To save memory, the state of the algorithm is packed into few
/// octets while the connection is idle, if [`can_be_packed`](Self::can_be_packed) allows it.
pub trait CongestionControl: Packed + core::fmt::Debug + Send + Sync {
    /// Processes an ACK. An algorithm that does not own cwnd gets only ACKs of new octets. It gets
    /// no ACKs while the sender sets cwnd itself: in recovery, and for some time after a congestion
    /// mark. With the switch `reordered_reports_grow`, the algorithm also gets ACKs that only
    /// report new octets by SACK, once a segment was overtaken by more than `dup_thresh` other
    /// segments. The algorithm itself checks [`window_limited`](AckInfo::window_limited).
    fn on_ack(&mut self, ack: &AckInfo, window: &mut Window);

    /// Processes the round trip of an ACK for which the sender does not call
    /// [`on_ack`](Self::on_ack), such as a duplicate ACK or an ACK in recovery. The sender does not
    /// call this for an algorithm that owns cwnd.
    fn on_round_trip(&mut self, now: Time, rtt: Duration) {
        let _ = (now, rtt);
    }

    /// The sender calls this when the handshake is complete, or when this algorithm replaces
    /// another algorithm. `rtt` is the round trip of the handshake, or `None` if the SYN was
    /// retransmitted. `window` has the present cwnd and ssthresh; when the handshake is complete,
    /// this cwnd is the initial window.
    fn on_open(&mut self, rtt: Option<Duration>, window: &Window) {
        let _ = (rtt, window);
    }

    /// The sender calls this on congestion at the instant `now`, before it cuts cwnd. Usually the
    /// sender calls this once for each flight of data, and again for a timeout in the same flight.
    /// `flight` is the number of outstanding octets, usually without the octets that Limited
    /// Transmit sent. With the switch `cut_from_cwnd`, `flight` is cwnd. Returns the new slow-start
    /// threshold.
    fn on_congestion(
        &mut self,
        now: Time,
        kind: Congestion,
        flight: u64,
        smss: u64,
        window: &Window,
    ) -> u64;

    /// The sender calls this when a timeout at the instant `now` begins a repair. It also calls
    /// this when the timer of Super Fast Retransmit fires with the setting `response = "reset"`.
    /// The octets up to `nxt` are outstanding. If ssthresh was cut,
    /// [`on_congestion`](Self::on_congestion) was called before this method.
    fn on_timeout(&mut self, now: Time, nxt: u64) {
        let _ = (now, nxt);
    }

    /// The sender calls this when a recovery or a timeout that reduced ssthresh proved spurious.
    /// The sender has already undone this reduction in `window`.
    fn on_undo(&mut self, now: Time, window: &mut Window);

    /// The sender calls this when a recovery, or the repair after a timeout, has ended without an
    /// undo. `window` has cwnd and ssthresh at that instant.
    fn on_recovery_end(&mut self, now: Time, window: &mut Window) {
        let _ = (now, window);
    }

    /// The sender calls this when it starts to send again with nothing outstanding. `idle` is the
    /// time since it sent the last segment. For an algorithm that owns cwnd, the sender calls this
    /// only if `idle` is longer than the RTO.
    fn on_idle_restart(&mut self, now: Time, idle: Duration) {
        let _ = (now, idle);
    }

    /// Whether the algorithm controls cwnd even in recovery. The sender then cuts cwnd itself only
    /// at a timeout, at Tahoe's fast retransmit and in Super Fast Retransmit.
    fn owns_window(&self) -> bool {
        false
    }

    /// The rate at which the sender paces segments. `None` leaves pacing to the sender. If pacing
    /// is switched on, the sender then sends twice cwnd in a round trip while cwnd is below half of
    /// ssthresh. Otherwise it sends 1.2 times cwnd in a round trip.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    /// Whether the state of the algorithm can be packed while the connection is idle.
    fn can_be_packed(&self) -> bool {
        true
    }

    /// Whether the algorithm uses [`AckInfo::rate`]. If nothing uses the rate, the sender does not
    /// compute it, to save time.
    fn wants_rate(&self) -> bool {
        false
    }
}

impl Packed for Box<dyn CongestionControl> {
    fn pack(&self, into: &mut Vec<u8>) {
        (**self).pack(into);
    }

    fn unpack(&mut self, from: &mut &[u8]) {
        (**self).unpack(from);
    }
}
