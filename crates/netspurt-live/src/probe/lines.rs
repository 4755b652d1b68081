//! The lines of a data file, and the other lines that the probing process writes to its standard
//! output. Each line is an object of JSON.

use std::net::{IpAddr, SocketAddr};

use serde::Serialize;

use super::clock::ClockReading;
use super::lengths::ProbeLengths;
use super::packet::ProbeKind;
use crate::lateness::{Lateness, QuantilesNs};

/// The version of the layout of a data file.
pub(super) const VERSION: u32 = 1;

/// The first line of a data file: everything that is known before the first echo probe.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ProbeHeader {
    /// The text by which readers recognise the format.
    pub netspurt: &'static str,
    pub version: u32,
    pub made_by: &'static str,
    #[serde(flatten)]
    pub asked: Asked,
    pub kernel: String,
    pub clocks: Clocks,
    /// The kind of socket that sends the probes, in words.
    pub socket: &'static str,
    /// The number of octets of the shortest probe of this kind.
    pub least_octets: u16,
    pub noise: Option<NoiseReport>,
    pub path: PathReport,
    pub began: ClockReading,
    /// The number of this file in the run, from 1.
    pub part: u64,
    /// The path of the data file. `None` if the lines only go to the standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// The settings of the task that the probing process was given.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Asked {
    pub task: &'static str,
    pub host: String,
    pub address: IpAddr,
    pub port: u16,
    pub kind: ProbeKind,
    pub lengths: ProbeLengths,
    pub seed: u64,
    pub count: Option<u64>,
    pub pace: &'static str,
    pub gap_s: Option<f64>,
    pub timeout_s: f64,
}

/// The clocks of the timestamps, in words.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Clocks {
    raw_ns: &'static str,
    #[serde(rename = "user_tx_ns, user_rx_ns")]
    user: &'static str,
    #[serde(rename = "kernel_tx_ns, kernel_rx_ns")]
    kernel: &'static str,
    rtt_ns: &'static str,
}

/// The path to the target, as the machine knows it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PathReport {
    pub source: IpAddr,
    pub device: Option<String>,
    pub gateway: Option<IpAddr>,
    pub mtu: Option<u32>,
    pub warmed: Warmed,
}

/// The outcome of the probe that was sent before the first echo probe, with a hop limit of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum Warmed {
    Failed { failed: String },
    Answered { answer: String, after_ns: u64 },
    Silent { answer: () },
}

/// The round-trip times that were measured over loopback, or why there are none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum NoiseReport {
    Measured {
        #[serde(rename = "where")]
        place: &'static str,
        user: SpanCounts,
        kernel: SpanCounts,
    },
    Failed {
        failed: String,
    },
}

/// The number of measured round-trip times, and their quantiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct SpanCounts {
    pub count: u64,
    #[serde(flatten)]
    pub spans: QuantilesNs,
}

/// The line of a finished echo probe.
#[derive(Clone, Debug, Serialize)]
pub(super) struct EchoProbeLine<'a> {
    pub echo_probe: u64,
    pub octets: u16,
    pub raw_ns: u64,
    pub user_tx_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_tx_ns: Option<u64>,
    #[serde(flatten)]
    pub reply: Option<ReplyFields>,
    #[serde(skip_serializing_if = "is_not")]
    pub lost: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'a str>,
}

/// The fields of every answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ReplyFields {
    pub rtt_ns: u64,
    /// The source of the timestamps from which `rtt_ns` was computed.
    pub by: StampedBy,
    pub user_rtt_ns: u64,
    pub user_rx_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_rx_ns: Option<u64>,
    /// The hop limit that was left when the answer arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u8>,
    #[serde(skip_serializing_if = "is_zero")]
    pub clock_step_ns: i64,
}

/// The source of the timestamps of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum StampedBy {
    Kernel,
    User,
}

/// The line of an answer to a finished echo probe: a late answer or a duplicate.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum StrayLine {
    Late {
        late: u64,
        #[serde(flatten)]
        reply: ReplyFields,
    },
    Duplicate {
        duplicate: u64,
        #[serde(flatten)]
        reply: ReplyFields,
    },
}

/// The line that reports that the machine's clock was set before an echo probe left.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct ClockStepLine {
    pub clock_step_ns: i64,
    /// The number of the echo probe.
    pub before: u64,
}

/// The line of a probe with a hop limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct HopLine {
    pub hop: u8,
    pub echo_probe: u64,
    pub octets: u16,
    pub raw_ns: u64,
    #[serde(skip_serializing_if = "is_not")]
    pub lost: bool,
    #[serde(flatten)]
    pub answer: Option<HopAnswer>,
}

/// The fields of an answer to a probe with a hop limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct HopAnswer {
    pub rtt_ns: u64,
    /// The source of the timestamps from which `rtt_ns` was computed.
    pub by: StampedBy,
    pub user_rtt_ns: u64,
    pub from: Option<IpAddr>,
    /// Whether the path ends at the address that answered.
    pub last: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The last line of a data file that is continued in another file.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ContinuedLine {
    pub end: &'static str,
    pub next: Option<String>,
}

/// The last line of a run.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct EndLine {
    pub end: &'static str,
    #[serde(flatten)]
    pub counts: Option<EndCounts>,
}

/// The counts of a run of echo probes.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct EndCounts {
    pub echo_probes: u64,
    pub answered: u64,
    pub late: u64,
    pub duplicates: u64,
    pub clock_steps: u64,
    pub raw_ns: u64,
}

/// The line that reports that a host now serves at this address.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct ServingLine {
    pub serving: SocketAddr,
}

/// The line that reports the beginning of a capture.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct ReadyLine {
    pub ready: bool,
}

/// The line that reports the end of a capture.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct CapturedLine {
    pub packets: u64,
}

impl Clocks {
    /// The clocks of this program.
    pub(super) const OURS: Self = Self {
        raw_ns: "CLOCK_MONOTONIC_RAW, the program's",
        user: "CLOCK_REALTIME, the program's",
        kernel: "CLOCK_REALTIME, the kernel's",
        rtt_ns: "the round trip: by CLOCK_REALTIME if `by` is kernel, by CLOCK_MONOTONIC_RAW if \
                 `by` is user; half of it is RFC 889's delay in one direction",
    };
}

impl From<&Lateness> for SpanCounts {
    fn from(spans: &Lateness) -> Self {
        Self { count: spans.count, spans: spans.quantiles_ns() }
    }
}

fn is_not(value: &bool) -> bool {
    !value
}

fn is_zero(value: &i64) -> bool {
    *value == 0
}
