//! Congestion control laws: how large the window is, and how fast it may be filled.
//!
//! A law does not know how losses are found or repaired; the sender tells it what an ACK brought
//! and when a window of data met congestion. Two kinds exist behind one trait. Most laws only
//! grow the window and say how far to cut it, and the sender's loss recovery steers the window
//! in between (RFC 9937). A law that [owns the window](CongestionControl::owns_window), as BBR
//! does, is told of everything at all times and has the last word.

mod bbr;
mod cubic;
mod reno;
mod slow_start;
mod westwood;

use crate::units::{BitRate, Duration, Time};

pub use bbr::{Bbr, BbrConfig};
pub use cubic::{Cubic, CubicConfig};
pub use reno::{Reno, RenoConfig};
pub use slow_start::{HyStartConfig, HyStartPpConfig, NO_ABC_LIMIT, SlowStartExit};
pub use westwood::{Westwood, WestwoodConfig};

/// `octets` times a fraction, rounded down and held at the longest window there is.
fn share(octets: u64, (num, den): (u32, u32)) -> u64 {
    let product = u128::from(octets) * u128::from(num) / u128::from(den);
    u64::try_from(product).unwrap_or(u64::MAX).min(Window::NO_THRESHOLD)
}

/// The window as sender and law share it, in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold; [`Window::NO_THRESHOLD`] before the first congestion.
    pub ssthresh: u64,
}

impl Window {
    /// The slow-start threshold of a connection that has met no congestion (RFC 5681 §3.1).
    pub const NO_THRESHOLD: u64 = 1 << 62;

    /// Whether the window grows by slow start.
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

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

/// A law of the congestion window.
pub trait CongestionControl: core::fmt::Debug + Send + Sync {
    /// An ACK arrived. A law that does not own the window is asked only where growth is allowed:
    /// new octets in order, no recovery steering the window.
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

    /// Whether the law steers the window in recovery, too. The sender then cuts it itself at a
    /// timeout alone, to one segment.
    fn owns_window(&self) -> bool {
        false
    }

    /// The rate at which the law wants segments paced; `None` leaves pacing to the sender, which
    /// spreads a window over a round trip where asked to.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    /// Whether it looks at [`AckInfo::rate`], which costs something to know.
    fn wants_rate(&self) -> bool {
        false
    }
}

/// Which law, with its constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CongestionConfig {
    /// Reno with appropriate byte counting.
    Reno(RenoConfig),
    /// CUBIC.
    Cubic(CubicConfig),
    /// BBR, version 1.
    Bbr(BbrConfig),
    /// Westwood+.
    Westwood(WestwoodConfig),
}

impl CongestionConfig {
    /// The law at the start of a connection.
    pub fn build(&self) -> Box<dyn CongestionControl> {
        match self {
            CongestionConfig::Reno(config) => Box::new(Reno::new(*config)),
            CongestionConfig::Cubic(config) => Box::new(Cubic::new(*config)),
            CongestionConfig::Bbr(config) => Box::new(Bbr::new(*config)),
            CongestionConfig::Westwood(config) => Box::new(Westwood::new(*config)),
        }
    }

    /// What tables and scenarios call it.
    pub const fn name(&self) -> &'static str {
        match self {
            CongestionConfig::Reno(_) => "reno",
            CongestionConfig::Cubic(_) => "cubic",
            CongestionConfig::Bbr(_) => "bbr",
            CongestionConfig::Westwood(_) => "westwood",
        }
    }
}
