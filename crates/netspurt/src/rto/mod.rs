//! Retransmission timers: algorithms that compute the value of a timer (the RTO) from samples. A
//! sample is one measured round-trip time. A sample is ambiguous if the answer may belong to the
//! original or to a retransmission.
//!
//! A timer algorithm is called an estimator. It contains all rules: gains, minimum and maximum,
//! backoff, and the use of ambiguous samples. So the same type serves a simulated sender, a replay
//! of recorded delays, and a shadow. A shadow is a timer that gets the samples of a run, but does
//! not influence the run. A [`Clock`](crate::clock::Clock) decides how a host reads time and when
//! timers fire. An estimator does not read the time. Its caller passes instants, and the clock that
//! measures a round trip.

mod arith;
mod backoff;
mod bsd44;
mod by_length;
mod cocoa;
mod config;
mod datacenter;
mod eifel;
mod estimator;
mod experts;
mod fixed;
mod foreign;
mod freebsd;
mod jacobson88;
mod keys;
mod linux;
mod linux_floors;
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
mod super_fast;
mod text;

#[cfg(test)]
mod contract;

/// Tests the example in `docs/estimators.md`, the page on timers.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/estimators.md")]
struct Page;

pub use arith::{Ratio, RatioError};
pub use bsd44::{Bsd44, Bsd44Config};
pub use cocoa::{Cocoa, CocoaConfig};
pub use config::EstimatorConfig;
pub use datacenter::{Datacenter, DatacenterConfig};
pub use eifel::{Eifel, EifelConfig};
pub use estimator::{RtoEstimator, TimeoutKind};
pub use experts::{Experts, ExpertsConfig};
pub use fixed::{Fixed, FixedConfig};
pub use foreign::{FOREIGN_TIMERS, ForeignConfig, ForeignTimer};
pub use freebsd::{FreeBsd, FreeBsdConfig};
pub use jacobson88::{Jacobson88, Jacobson88Config};
pub use keys::EstimatorError;
pub use linux::{Linux, LinuxConfig};
pub use linux_floors::LinuxFloors;
pub use mean::{Deviations, MeanDeviation};
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
pub use super_fast::SfrConfig;
pub use text::Bounds;
