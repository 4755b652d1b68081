//! Retransmission timers: samples in, a timer value out.
//!
//! An estimator holds the whole law, gains, floor and ceiling, backoff, what to make of
//! ambiguous samples, so one object serves a sender, a replay and a shadow beside a real
//! connection. How time is read and when timers fire is not its business: see
//! [`Clock`](crate::clock::Clock).

mod arith;
mod backoff;
mod bsd44;
mod by_length;
mod cocoa;
mod datacenter;
mod eifel;
mod experts;
mod fixed;
mod freebsd;
mod jacobson88;
mod keys;
mod linux;
mod mean;
mod mills;
mod ns2;
mod ns3;
mod peak_hopper;
mod quic;
mod rfc6298;
mod rfc793;
mod sctp;
mod smoltcp;
mod solaris;
mod text;

#[cfg(test)]
mod contract;

/// Runs the example of the page on timers.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/estimators.md")]
struct Page;
use crate::clock::Clock;
use crate::event::RtoState;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use keys::Keys;

pub use arith::{Ratio, RatioError};
pub use bsd44::{Bsd44, Bsd44Config};
pub use cocoa::{Cocoa, CocoaConfig};
pub use datacenter::{Datacenter, DatacenterConfig};
pub use eifel::{Eifel, EifelConfig};
pub use experts::{Experts, ExpertsConfig};
pub use fixed::{Fixed, FixedConfig};
pub use freebsd::{FreeBsd, FreeBsdConfig};
pub use jacobson88::{Deviations, Jacobson88, Jacobson88Config};
pub use keys::EstimatorError;
pub use linux::{Linux, LinuxConfig};
pub use mills::{Mills, MillsConfig};
pub use ns2::{Ns2, Ns2Config};
pub use ns3::{Ns3, Ns3Config};
pub use peak_hopper::{PeakHopper, PeakHopperConfig};
pub use quic::{Quic, QuicConfig};
pub use rfc793::{Rfc793, Rfc793Config};
pub use rfc6298::{Rfc6298, Rfc6298Config};
pub use sctp::{Sctp, SctpConfig};
pub use smoltcp::{Smoltcp, SmoltcpConfig};
pub use solaris::{Solaris, SolarisConfig};
pub use text::Bounds;

/// Which timer fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutKind {
    /// The retransmission timer, with data outstanding.
    Rto,
    /// The retransmission timer, with the SYN of the end that opened outstanding.
    Syn,
    /// The same of the end that was opened to: its SYN answers another.
    SynAck,
    /// A probe timer: TLP's (RFC 8985 §7), which no law of TCP backs off for, or QUIC's
    /// (RFC 9002 §6.2), which is all the timer QUIC has.
    Probe,
}

/// A law that turns round-trip samples and timeouts into a retransmission timer.
///
/// A new law wears the first four verbs; the others have a meaning that suits most.
///
/// ```
/// use netspurt::event::RtoState;
/// use netspurt::rto::{RtoEstimator, TimeoutKind};
/// use netspurt::sample::RttSample;
/// use netspurt::units::{Duration, Time};
///
/// /// Three times the last round trip.
/// #[derive(Debug)]
/// struct Thrice(Duration);
///
/// impl RtoEstimator for Thrice {
///     fn on_sample(&mut self, sample: &RttSample) {
///         self.0 = sample.rtt * 3;
///     }
///     fn on_timeout(&mut self, _now: Time, _kind: TimeoutKind) {
///         self.0 = self.0 * 2;
///     }
///     fn rto(&self) -> Duration {
///         self.0
///     }
///     fn state(&self) -> RtoState {
///         RtoState { srtt: None, rttvar: None, backoff: 1, rto: self.0, fired: false }
///     }
/// }
///
/// let mut timer = Thrice(Duration::from_secs(1));
/// let rtt = Duration::from_millis(20);
/// timer.on_sample(&RttSample { rtt, ..RttSample::default() });
/// timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
/// assert_eq!(timer.rto(), Duration::from_millis(120));
/// ```
pub trait RtoEstimator: core::fmt::Debug + Send + Sync {
    /// Takes a sample in, or leaves it: what to make of an ambiguous one is the law's to say.
    fn on_sample(&mut self, sample: &RttSample);

    /// A timer fired at `now`.
    fn on_timeout(&mut self, now: Time, kind: TimeoutKind);

    /// The timer as it would be armed now.
    fn rto(&self) -> Duration;

    /// The state, for records.
    fn state(&self) -> RtoState;

    /// A segment of `wire_bytes` octets, headers included, left at `now`.
    fn on_send(&mut self, now: Time, wire_bytes: u32) {
        let _ = (now, wire_bytes);
    }

    /// The handshake is complete, and data may follow; called once, with its round trip
    /// (ambiguous where a SYN was sent again) in place of [`on_sample`](Self::on_sample).
    fn on_handshake(&mut self, sample: &RttSample) {
        self.on_sample(sample);
    }

    /// A timeout proved needless. `sample` is the one that the proving ACK brought, which is
    /// then not given to [`on_sample`](Self::on_sample) as well.
    ///
    /// Unless a law says otherwise, the [backoff ends](Self::end_backoff) and that sample is taken
    /// in.
    fn on_spurious(&mut self, sample: Option<&RttSample>) {
        self.end_backoff();
        if let Some(sample) = sample {
            self.on_sample(sample);
        }
    }

    /// The timer is what it was before it was backed off; nothing, for a law that lets only a
    /// sample end a backoff, or has none.
    fn end_backoff(&mut self) {}

    /// An acknowledgment made progress without giving a sample. `covers_timed` says that it
    /// covered the segment being timed.
    fn on_progress(&mut self, covers_timed: bool) {
        let _ = covers_timed;
    }

    /// The span from `sent` to `now` on a host with this `clock`: one tick at the least where it
    /// ticks. A law that counts a tick more than began, as those of BSD do, takes none for none.
    fn reading(&self, clock: Clock, sent: Time, now: Time) -> Duration {
        clock.at_least_a_tick(clock.elapsed(sent, now))
    }

    /// When a timer armed at `now` is to fire, as far as the law goes: a host's
    /// [`Clock`](crate::clock::Clock) may be later or earlier. `oldest_sent` is when the oldest
    /// outstanding segment left, `flight_segs` how many are outstanding.
    fn deadline(&self, now: Time, oldest_sent: Time, flight_segs: u64) -> Time {
        let _ = (oldest_sent, flight_segs);
        now + self.rto()
    }
}

/// Makes [`EstimatorConfig`] of a line for each law: its name and its types.
macro_rules! laws {
    ($($(#[$doc:meta])* $name:literal: $Law:ident($Config:ident);)+) => {
        /// Any law with its constants: what a scenario or a report says of a timer.
        ///
        /// ```
        /// use netspurt::rto::{EstimatorConfig, FixedConfig};
        /// use netspurt::units::Duration;
        /// let second = Duration::from_secs(1);
        /// let config = EstimatorConfig::Fixed(FixedConfig { rto: second, max: second });
        /// assert_eq!((config.name(), config.build().rto()), ("fixed", second));
        /// assert!(EstimatorConfig::NAMES.iter().all(|name| EstimatorConfig::named(name).is_some()));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum EstimatorConfig {
            $($(#[$doc])* $Law($Config),)+
        }

        impl EstimatorConfig {
            /// The names of all laws.
            pub const NAMES: &[&str] = &[$($name),+];

            /// The law called `name` with its published constants.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$Law($Config::default())),)+
                    _ => None,
                }
            }

            /// The law's name.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$Law(_) => $name,)+
                }
            }

            /// Its constants, by name.
            fn keys_mut(&mut self) -> &mut dyn Keys {
                match self {
                    $(Self::$Law(config) => config,)+
                }
            }

            /// A timer under this law that has seen nothing yet.
            ///
            /// # Panics
            /// Where the constants contradict each other, which [`check`](Self::check) tells.
            pub fn build(&self) -> Box<dyn RtoEstimator> {
                match self {
                    $(Self::$Law(config) => Box::new($Law::new(*config)),)+
                }
            }
        }
    };
}

laws! {
    /// RFC 793's: one smoothed value and a factor.
    "rfc793": Rfc793(Rfc793Config);
    /// RFC 889's: one gain for rising round trips, another for falling ones.
    "mills": Mills(MillsConfig);
    /// Jacobson's of 1988: mean and mean deviation, in integers.
    "jacobson88": Jacobson88(Jacobson88Config);
    /// RFC 6298's, or RFC 2988's by its constants.
    "rfc6298": Rfc6298(Rfc6298Config);
    /// 4.4BSD's: Jacobson's in ticks of half a second.
    "bsd44": Bsd44(Bsd44Config);
    /// Linux 6's.
    "linux": Linux(LinuxConfig);
    /// QUIC's probe timeout, RFC 9002.
    "quic": Quic(QuicConfig);
    /// A constant.
    "fixed": Fixed(FixedConfig);
    /// ns-2.35's.
    "ns2": Ns2(Ns2Config);
    /// FreeBSD's: 4.4BSD's in milliseconds, with a slop.
    "freebsd": FreeBsd(FreeBsdConfig);
    /// Solaris's and illumos's.
    "solaris": Solaris(SolarisConfig);
    /// ns-3's: RFC 6298 in whole nanoseconds.
    "ns3": Ns3(Ns3Config);
    /// smoltcp's: RFC 6298 in whole milliseconds.
    "smoltcp": Smoltcp(SmoltcpConfig);
    /// SCTP's, RFC 9260.
    "sctp": Sctp(SctpConfig);
    /// RFC 6298 in microseconds, with an optional random half.
    "datacenter": Datacenter(DatacenterConfig);
    /// CoCoA's: two estimators, weighed.
    "cocoa": Cocoa(CocoaConfig);
    /// The Eifel retransmission timer of 2000.
    "eifel": Eifel(EifelConfig);
    /// The Peak-Hopper of 2004.
    "peak-hopper": PeakHopper(PeakHopperConfig);
    /// Fixed-share experts, 2014.
    "experts": Experts(ExpertsConfig);
}
