//! The queues of a scenario's links, and the algorithms (AQM) that manage them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use netspurt::units::{ByteCount, Duration, PacketCount};

use super::quantity::{Amount, above_zero};

/// The limit of a queue. It includes the packet in transmission.
pub type QueueSpec = Amount<PacketCount>;

/// A queue with an AQM. Exactly one of these tables must be given.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueTable {
    /// Random early detection (Floyd and Jacobson 1993).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red: Option<RedTable>,
    /// Controlled delay (RFC 8289).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codel: Option<CodelTable>,
    /// A queue for each flow, each with CoDel (RFC 8290).
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
    /// The limit of the queue.
    pub limit: QueueSpec,
    /// The average queue length at which random drops or marks begin, in packets or in bytes.
    pub min_th: QueueSpec,
    /// Without `gentle`, all packets are dropped if the average queue length is at least this
    /// value. With `gentle`, an increasing share is dropped or marked above this value, and all
    /// packets are dropped if the average is at least twice this value.
    pub max_th: QueueSpec,
    /// The weight of the current queue length in the average.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub wq: f64,
    /// The probability of a drop or a mark at an average of `max_th`.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub max_p: f64,
    /// Whether the probability rises to 1 between `max_th` and twice `max_th`.
    pub gentle: bool,
    /// The size of a typical packet. Idle time is counted in transmission times of such a packet.
    /// With thresholds in bytes, the probabilities apply to packets of this size.
    pub packet: ByteCount,
    /// Whether ECN-capable packets are marked instead of dropped.
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
    /// The standing delay that is accepted.
    pub target: Duration,
    /// How long the delay must stay above `target` before CoDel begins to drop or mark packets.
    #[schemars(schema_with = "above_zero")]
    pub interval: Duration,
    /// The limit of the queue.
    pub limit: QueueSpec,
    /// Whether ECN-capable packets are marked instead of dropped.
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

/// The maximum number of queues that FQ-CoDel may have in one direction of a link.
pub const FLOWS_MAX: u32 = 65_536;

/// A queue for each flow, each with controlled delay.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FqCodelTable {
    /// The standing delay that is accepted.
    pub target: Duration,
    /// How long the delay must stay above `target` before CoDel begins to drop or mark packets.
    #[schemars(schema_with = "above_zero")]
    pub interval: Duration,
    /// The limit of all queues together.
    pub limit: QueueSpec,
    /// The number of queues.
    #[schemars(range(min = 1, max = FLOWS_MAX))]
    pub flows: u32,
    /// The octets that a queue may send in its turn.
    pub quantum: ByteCount,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// The delay above which every ECN-capable packet is marked; by default there is none.
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
    /// The delay that the controller aims at.
    pub target: Duration,
    /// The time between two updates of the probability that a packet is dropped or marked.
    #[schemars(schema_with = "above_zero")]
    pub t_update: Duration,
    /// An update raises the probability by this value for each second of delay beyond the target.
    /// If the probability is small, only a part of this rise is added (RFC 8033 §4.2).
    #[schemars(range(min = 0))]
    pub alpha: f64,
    /// An update also raises the probability by this value for each second that the delay has grown
    /// since the last update. If the probability is small, only a part is added, as for `alpha`.
    #[schemars(range(min = 0))]
    pub beta: f64,
    /// The time, at the beginning of a burst, in which no packet is dropped or marked.
    pub max_burst: Duration,
    /// The size of a typical packet. If at most twice this many octets wait, no packet is dropped
    /// or marked.
    pub packet: ByteCount,
    /// The limit of the queue.
    pub limit: QueueSpec,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// From this probability on, ECN-capable packets are dropped and not marked.
    #[schemars(range(min = 0, max = 1))]
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
