//! The interface between a sender and a congestion control algorithm.

use crate::packed::Packed;
use crate::units::{BitRate, Duration, Time};

use super::window::Window;

/// What one ACK brought.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckInfo {
    /// When it arrived.
    pub now: Time,
    /// Sender maximum segment size, in octets of payload.
    pub smss: u64,
    /// Octets newly acknowledged in order.
    pub acked_bytes: u64,
    /// Octets newly known to have arrived, in order or by SACK.
    pub delivered_bytes: u64,
    /// Octets newly declared lost.
    pub lost_bytes: u64,
    /// The estimate of what is in the network, before this ACK.
    pub pipe_before: u64,
    /// The same after it.
    pub pipe: u64,
    /// The round trip it measured, unambiguous and to the nanosecond.
    pub rtt: Option<Duration>,
    /// Smoothed round trip; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// The least round trip so far, within the window the sender keeps (RFC 8985 §6.2 step 1).
    pub min_rtt: Option<Duration>,
    /// The oldest octet not acknowledged, after this ACK.
    pub una: u64,
    /// The next octet to be sent.
    pub nxt: u64,
    /// Whether the sender had filled the window before this ACK: only then is growth earned
    /// (RFC 9438 §5.8, RFC 2861 §3.1).
    pub window_limited: bool,
    /// Whether loss recovery or its like steers the window now.
    pub in_recovery: bool,
    /// Whether the repair of a timeout goes on, so that a stretch ACK may not open the window by
    /// more than a segment (RFC 3465 §2.3).
    pub after_timeout: bool,
    /// The rate at which octets were delivered, as this ACK shows it.
    pub rate: Option<RateSample>,
}

/// A delivery rate sample (draft-ietf-ccwg-bbr, "Delivery Rate Samples").
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Octets delivered over the interval.
    pub delivered_bytes: u64,
    /// The interval: the longer of the spans of sending and of acknowledging.
    pub interval: Duration,
    /// `delivered` of the connection when the newest acknowledged segment was sent.
    pub prior_delivered_bytes: u64,
    /// `delivered` of the connection now.
    pub total_delivered_bytes: u64,
    /// Whether the application, not the window, set the pace of that flight.
    pub app_limited: bool,
}

/// What a window of data met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// A loss found by acknowledgments.
    Loss,
    /// A mark (RFC 3168 §6.1.2).
    Mark,
    /// The retransmission timer fired.
    Timeout,
}

/// An algorithm of the congestion window, whose state is packed while its connection rests.
pub trait CongestionControl: Packed + core::fmt::Debug + Send + Sync {
    /// An ACK arrived. An algorithm that does not own the window is asked only where growth is
    /// allowed: new octets in order, no recovery steering the window.
    fn on_ack(&mut self, ack: &AckInfo, window: &mut Window);

    /// The handshake is complete: its round trip, where its SYN went out once, and the initial
    /// window.
    fn on_open(&mut self, rtt: Option<Duration>, window: &Window) {
        let _ = (rtt, window);
    }

    /// Congestion met a window of data of which `flight` octets were outstanding at `now`: the
    /// new slow-start threshold. Called once for each such window, before the cut.
    fn on_congestion(
        &mut self,
        now: Time,
        kind: Congestion,
        flight: u64,
        smss: u64,
        window: &Window,
    ) -> u64;

    /// The congestion proved not to be: the sender has put `window` back to what it was.
    fn on_undo(&mut self, now: Time, window: &mut Window);

    /// Recovery has ended, and the window is what recovery left it.
    fn on_recovery_end(&mut self, now: Time, window: &mut Window) {
        let _ = (now, window);
    }

    /// Octets are to be sent with nothing outstanding, `idle` after the last sending.
    fn on_idle_restart(&mut self, now: Time, idle: Duration) {
        let _ = (now, idle);
    }

    /// Whether the algorithm steers the window in recovery, too. The sender then cuts it itself at
    /// a timeout alone, to one segment.
    fn owns_window(&self) -> bool {
        false
    }

    /// The rate at which the algorithm wants segments paced; `None` leaves pacing to the sender,
    /// which spreads a window over a round trip where asked to.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    /// Whether its state can be packed while its connection rests.
    fn can_be_packed(&self) -> bool {
        true
    }

    /// Whether it looks at [`AckInfo::rate`], which costs something to know.
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
