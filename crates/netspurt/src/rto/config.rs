//! Selects a retransmission timer algorithm by its name, with its constants.

use super::bsd44::{Bsd44, Bsd44Config};
use super::cocoa::{Cocoa, CocoaConfig};
use super::datacenter::{Datacenter, DatacenterConfig};
use super::eifel::{Eifel, EifelConfig};
use super::estimator::RtoEstimator;
use super::experts::{Experts, ExpertsConfig};
use super::fixed::{Fixed, FixedConfig};
use super::foreign::ForeignConfig;
use super::freebsd::{FreeBsd, FreeBsdConfig};
use super::jacobson88::{Jacobson88, Jacobson88Config};
use super::keys::Keys;
use super::linux::{Linux, LinuxConfig};
use super::mills::{Mills, MillsConfig};
use super::ns2::{Ns2, Ns2Config};
use super::ns3::{Ns3, Ns3Config};
use super::peak_hopper::{PeakHopper, PeakHopperConfig};
use super::quic::{Quic, QuicConfig};
use super::rfc793::{Rfc793, Rfc793Config};
use super::rfc6298::{Rfc6298, Rfc6298Config};
use super::sctp::{Sctp, SctpConfig};
use super::smoltcp::{Smoltcp, SmoltcpConfig};
use super::solaris::{Solaris, SolarisConfig};
use crate::units::Duration;

/// Makes [`EstimatorConfig`] from a list. The list has one line for each algorithm, with the name
/// and the two types of the algorithm.
macro_rules! algorithms {
    ($($(#[$doc:meta])* $name:literal: $Algorithm:ident($Config:ident);)+) => {
        /// A timer algorithm with its constants. Scenarios and reports write it as a text, such as
        /// `linux:rto_min=50ms`.
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
            $($(#[$doc])* $Algorithm($Config),)+
            /// A foreign algorithm: its code is not in this crate, but for example in a Python
            /// file.
            Foreign(ForeignConfig),
        }

        impl EstimatorConfig {
            /// The names of the algorithms of this crate.
            pub const NAMES: &[&str] = &[$($name),+];

            /// The algorithm called `name` with its published constants.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$Algorithm($Config::default())),)+
                    _ => None,
                }
            }

            /// The name of the algorithm. For a foreign algorithm, the whole text that names the
            /// algorithm.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$Algorithm(_) => $name,)+
                    Self::Foreign(config) => config.text(),
                }
            }

            /// The constants of the algorithm, by name.
            pub(super) fn keys_mut(&mut self) -> &mut dyn Keys {
                match self {
                    $(Self::$Algorithm(config) => config,)+
                    Self::Foreign(config) => config,
                }
            }

            /// The two limits of Linux for a SYN: a number of retransmissions, and a span since the
            /// first SYN. `retries` is the value of Linux's sysctl `tcp_syn_retries`. `None` if the
            /// timer is not Linux's, because only Linux has this rule.
            pub fn syn_limit(&self, retries: u32) -> Option<(u32, Duration)> {
                if let Self::Linux(config) = self { Some(config.syn_limit(retries)) } else { None }
            }

            /// Makes a timer of this algorithm that has seen no sample.
            ///
            /// # Panics
            /// When [`check`](Self::check) finds a constant out of its range or a contradiction.
            pub fn build(&self) -> Box<dyn RtoEstimator> {
                match self {
                    $(Self::$Algorithm(config) => Box::new($Algorithm::new(*config)),)+
                    Self::Foreign(config) => config.build(),
                }
            }
        }
    };
}

algorithms! {
    /// RFC 793: one smoothed value and a factor.
    "rfc793": Rfc793(Rfc793Config);
    /// RFC 889: one gain for rising round trips, and another gain for falling round trips.
    "mills": Mills(MillsConfig);
    /// Jacobson 1988: mean and mean deviation, in integers.
    "jacobson88": Jacobson88(Jacobson88Config);
    /// RFC 6298. With the constants of RFC 2988, this is the timer of RFC 2988.
    "rfc6298": Rfc6298(Rfc6298Config);
    /// 4.4BSD: Jacobson's algorithm in ticks of half a second.
    "bsd44": Bsd44(Bsd44Config);
    /// Linux 6.
    "linux": Linux(LinuxConfig);
    /// The probe timeout of QUIC (RFC 9002).
    "quic": Quic(QuicConfig);
    /// A constant timer.
    "fixed": Fixed(FixedConfig);
    /// ns-2.35.
    "ns2": Ns2(Ns2Config);
    /// FreeBSD: 4.4BSD's algorithm in milliseconds, with a slop.
    "freebsd": FreeBsd(FreeBsdConfig);
    /// Solaris and illumos.
    "solaris": Solaris(SolarisConfig);
    /// ns-3: RFC 6298 in whole nanoseconds.
    "ns3": Ns3(Ns3Config);
    /// smoltcp: RFC 6298 in whole milliseconds.
    "smoltcp": Smoltcp(SmoltcpConfig);
    /// SCTP (RFC 9260).
    "sctp": Sctp(SctpConfig);
    /// RFC 6298 in microseconds, with an optional random part of up to half of the timer.
    "datacenter": Datacenter(DatacenterConfig);
    /// CoCoA: two estimators whose timers are mixed by weights.
    "cocoa": Cocoa(CocoaConfig);
    /// The Eifel retransmission timer of 2000.
    "eifel": Eifel(EifelConfig);
    /// The Peak-Hopper of 2004: the timer rises at once and falls slowly.
    "peak-hopper": PeakHopper(PeakHopperConfig);
    /// Fixed-share experts (2014): the weighted mean of many guesses.
    "experts": Experts(ExpertsConfig);
}
