//! The queues of a scenario's links, and the algorithms that manage them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{ByteCount, Duration, PacketCount};

use super::quantity::Amount;

/// The limit of a queue. The packet in transmission counts.
pub type QueueSpec = Amount<PacketCount>;

/// A queue under an algorithm: exactly one of these.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueTable {
    /// Random early detection (Floyd and Jacobson 1993).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red: Option<RedTable>,
    /// Controlled delay (RFC 8289).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codel: Option<CodelTable>,
    /// A queue for each flow, each under CoDel (RFC 8290).
    #[serde(default, rename = "fq-codel", skip_serializing_if = "Option::is_none")]
    pub fq_codel: Option<FqCodelTable>,
    /// Proportional integral controller enhanced (RFC 8033).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pie: Option<PieTable>,
}

/// Random early detection.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RedTable {
    /// How much the queue holds.
    pub limit: QueueSpec,
    /// The average queue from which on packets are chosen, in packets or in bytes.
    pub min_th: QueueSpec,
    /// The average queue from which on all are dropped or, with `gentle`, more and more are.
    pub max_th: QueueSpec,
    /// The weight of the present queue in the average.
    pub wq: f64,
    /// The probability reached at `max_th`.
    pub max_p: f64,
    /// Whether the probability climbs on to 1 between `max_th` and twice that.
    pub gentle: bool,
    /// A typical packet: its time on the line measures idle time and, with thresholds in
    /// bytes, probabilities are those of this size.
    pub packet: ByteCount,
    /// Whether to mark packets that can be marked, and not to drop them.
    pub ecn: bool,
}

impl Default for RedTable {
    fn default() -> Self {
        Self {
            limit: Amount::Count(PacketCount(100)),
            min_th: Amount::Count(PacketCount(5)),
            max_th: Amount::Count(PacketCount(15)),
            wq: 0.002,
            max_p: 0.1,
            gentle: true,
            packet: ByteCount(1000),
            ecn: false,
        }
    }
}

/// Controlled delay.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CodelTable {
    /// The standing delay that is put up with.
    pub target: Duration,
    /// How long the delay must stay above that before a packet is dropped.
    pub interval: Duration,
    /// How much the queue holds.
    pub limit: QueueSpec,
    /// Whether to mark packets that can be marked, and not to drop them.
    pub ecn: bool,
}

impl Default for CodelTable {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            limit: Amount::Count(PacketCount(1000)),
            ecn: false,
        }
    }
}

/// A queue for each flow, each under controlled delay.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FqCodelTable {
    /// The standing delay that is put up with.
    pub target: Duration,
    /// How long the delay must stay above that before a packet is dropped.
    pub interval: Duration,
    /// How much all queues hold together.
    pub limit: QueueSpec,
    /// How many queues flows are spread over.
    pub flows: u32,
    /// What a queue may send in its turn.
    pub quantum: ByteCount,
    /// Whether to mark packets that can be marked, and not to drop them.
    pub ecn: bool,
    /// A delay beyond which every packet that can be marked is; by default there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Duration>,
}

impl Default for FqCodelTable {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            limit: Amount::Count(PacketCount(10_240)),
            flows: 1024,
            quantum: ByteCount(1514),
            ecn: true,
            ce_threshold: None,
        }
    }
}

/// Proportional integral controller enhanced.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PieTable {
    /// The delay it steers to.
    pub target: Duration,
    /// How often the probability is worked out.
    pub t_update: Duration,
    /// Probability for each second of delay beyond the target.
    pub alpha: f64,
    /// Probability for each second by which the delay grew.
    pub beta: f64,
    /// How long a burst passes untouched.
    pub max_burst: Duration,
    /// A typical packet; with two of them waiting or less nothing is chosen.
    pub packet: ByteCount,
    /// How much the queue holds.
    pub limit: QueueSpec,
    /// Whether to mark packets that can be marked, and not to drop them.
    pub ecn: bool,
    /// The probability from which on packets are dropped and not marked.
    pub mark_ecnth: f64,
}

impl Default for PieTable {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            t_update: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Duration::from_millis(150),
            packet: ByteCount(1024),
            limit: Amount::Count(PacketCount(1000)),
            ecn: false,
            mark_ecnth: 0.1,
        }
    }
}
