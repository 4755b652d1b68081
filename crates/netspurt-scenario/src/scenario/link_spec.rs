//! The links of a scenario file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use netspurt::units::{BitRate, ByteCount, Duration};

use super::number::{BoundedInteger, Ordinal, Probability};
use super::quantity::{Amount, BothWays, WordOr};
use super::queue_spec::{QueueSpec, QueueTable};
use super::slots_spec::SlotsTable;

/// A link with two directions. The values from `rate` to `long` are given once for both
/// directions, or as `[forward, reverse]`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// The two nodes that the link joins. Forward is from the first node to the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<[String; 2]>,
    /// The bit rate: a constant, a timeline, or opportunities, which are instants at which the link
    /// can deliver octets.
    pub rate: BothWays<WordOr<BitRate, RateTable>>,
    /// The propagation delay: a constant, or a timeline.
    #[serde(default = "no_delay")]
    pub delay: BothWays<WordOr<Duration, TimelineSpec>>,
    /// The limit of the queue in packets or bytes, or `unlimited`, or a table for a queue with an
    /// AQM. An AQM is an algorithm that manages the queue. The limit includes the packet in
    /// transmission.
    #[serde(default = "unlimited")]
    pub queue: BothWays<WordOr<QueueSpec, QueueTable>>,
    /// The size of the largest packet that the link carries, including the IP header. Without this
    /// key, the link carries packets of any size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<BothWays<ByteCount>>,
    /// What happens to packets that are larger than `mtu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_big: Option<BothWays<TooBigWord>>,
    /// The octets that the line adds to each packet, and the bits on the line for each octet.
    #[serde(default = "no_framing")]
    pub framing: BothWays<WordOr<FramingWord, FramingTable>>,
    /// Whether a packet may overtake packets that left earlier.
    #[serde(default = "fifo")]
    pub order: BothWays<OrderWord>,
    /// The packets that are lost.
    #[serde(default)]
    pub loss: BothWays<WordOr<NoneWord, LossTable>>,
    /// The packets that arrive a second time.
    #[serde(default)]
    pub duplicate: BothWays<WordOr<NoneWord, DuplicateTable>>,
    /// The packets that get an additional delay; needs `order = "overtaking"`.
    #[serde(default)]
    pub reorder: BothWays<WordOr<NoneWord, ReorderTable>>,
    /// An additional delay for packets that are longer than a given length.
    #[serde(default)]
    pub long: BothWays<WordOr<NoneWord, LongTable>>,
    /// The handovers: instants at which another path takes over, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handovers: Vec<HandoverTable>,
    /// A path over satellites in low orbits. Time is divided into slots, and the delay is drawn
    /// again in each slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<SlotsTable>,
    /// The name of a file with `delay`, `rate`, `loss`, `duplicate`, `order` or `handovers` of this
    /// link. The link must not set a key that the file sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
}

fn no_delay() -> BothWays<WordOr<Duration, TimelineSpec>> {
    BothWays::Same(WordOr::Word(Duration::ZERO))
}

fn unlimited() -> BothWays<WordOr<QueueSpec, QueueTable>> {
    BothWays::Same(WordOr::Word(Amount::Unlimited))
}

fn no_framing() -> BothWays<WordOr<FramingWord, FramingTable>> {
    BothWays::Same(WordOr::Word(FramingWord::None))
}

fn fifo() -> BothWays<OrderWord> {
    BothWays::Same(OrderWord::Fifo)
}

impl<T> Default for BothWays<WordOr<NoneWord, T>> {
    fn default() -> Self {
        BothWays::Same(WordOr::Word(NoneWord::None))
    }
}

/// What happens to a packet that is larger than a link carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TooBigWord {
    /// The packet crosses in fragments.
    #[default]
    Fragment,
    /// The packet is dropped, and the sender is not informed.
    Drop,
}

/// A delay that changes with time.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelineSpec {
    /// The points, each `[instant, delay]`, in the order of time.
    pub timeline: Vec<[Duration; 2]>,
    /// The rule for values between two points: the earlier value, or a straight line.
    #[serde(default)]
    pub between: BetweenWord,
}

/// A rate that is not constant: a timeline or opportunities.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateTable {
    /// The points, each `[instant, rate]`, in the order of time. Each rate stays until the next
    /// point. If the rate changes during a transmission, the rest of the packet leaves at the new
    /// rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Vec<(Duration, BitRate)>>,
    /// The instants, in the order of time, at which the link can deliver `octets` octets. After the
    /// last instant, the list begins again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opportunities: Option<Vec<Duration>>,
    /// The octets of each opportunity, 1500 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub octets: Option<ByteCount>,
}

/// A probability that changes with time.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbabilityTable {
    /// The points, each `[instant, probability]`, in the order of time.
    pub timeline: Vec<(Duration, Probability)>,
    /// The rule for values between two points: the earlier value, or a straight line.
    #[serde(default)]
    pub between: BetweenWord,
}

/// A handover: another path takes over.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandoverTable {
    /// The instant at which the old path ends.
    pub at: Duration,
    /// The time after `at` in which the link transmits nothing.
    #[serde(default)]
    pub dead: Duration,
    /// What happens to the packets that are queued or in transmission.
    #[serde(default)]
    pub queue: QueueFateWord,
    /// What happens to packets that arrive at the link in the dead time.
    #[serde(default)]
    pub arrivals: ArrivalFateWord,
    /// What happens to packets that are propagating on the old path.
    #[serde(default)]
    pub in_flight: FlightFateWord,
    /// The directions of the link to which the handover applies.
    #[serde(default)]
    pub direction: DirectionWord,
}

/// What happens to a queue at a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueFateWord {
    /// The queue is kept.
    #[default]
    Keep,
    /// All packets in the queue and the packet in transmission are dropped; only for drop-tail
    /// queues.
    Flush,
}

/// What happens to packets that arrive in the dead time of a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalFateWord {
    /// The packets wait in the queue, if it has room.
    #[default]
    Queue,
    /// The packets are dropped.
    Drop,
}

/// What happens at a handover to packets that are propagating.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlightFateWord {
    /// The packets arrive over the old path.
    #[default]
    Pass,
    /// The packets are dropped.
    Drop,
    /// The packets are delayed by the dead time.
    Hold,
    /// The packets arrive over the old path. When the dead time ends, a copy of each leaves over
    /// the new path. Needs `order = "overtaking"`.
    Copy,
}

/// The directions of a link to which something applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DirectionWord {
    /// Both directions.
    #[default]
    Both,
    /// From the first node to the second.
    Forward,
    /// From the second node to the first.
    Reverse,
}

impl DirectionWord {
    /// The words for a single direction: forward and reverse.
    pub(super) const ALONE: [Self; 2] = [Self::Forward, Self::Reverse];
}

/// The rule for the value between two points of a timeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BetweenWord {
    /// The value of the earlier point.
    #[default]
    Step,
    /// The value on a straight line between the points.
    Linear,
}

/// A framing that the file names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum FramingWord {
    /// No framing: only the octets of the packet.
    #[serde(rename = "none")]
    None,
    /// An asynchronous serial line: 10 bits for each octet.
    #[serde(rename = "8N1")]
    Serial8n1,
    /// PPP in HDLC-like framing: 8 additional octets.
    #[serde(rename = "PPP")]
    Ppp,
    /// PPP over an asynchronous serial line.
    #[serde(rename = "PPP 8N1")]
    Ppp8n1,
}

/// A framing that the file describes with two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FramingTable {
    /// The octets that the framing adds to each packet.
    pub overhead: ByteCount,
    /// Bits on the line for each octet.
    #[serde(default = "eight")]
    pub bits_per_octet: BoundedInteger<1, 64>,
}

fn eight() -> BoundedInteger<1, 64> {
    BoundedInteger(8)
}

/// Whether packets may overtake each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OrderWord {
    /// Packets arrive in order. If a packet's propagation delay is so short that the packet would
    /// overtake an earlier packet, it arrives directly after the earlier packet.
    Fifo,
    /// Packets may overtake each other. Each packet keeps its own propagation delay.
    Overtaking,
}

/// The word for an effect that a link does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoneWord {
    /// The link does not have the effect.
    None,
}

/// The rules for losses. A packet is lost if at least one rule selects it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossTable {
    /// Packets by their number in the flow, from 1. For each number in the list, the first packet
    /// with this number in any flow is lost. If a number is in the list twice, the second packet
    /// with this number is also lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packets: Vec<Ordinal>,
    /// Packets by their number in the order of arrival at this direction of the link, from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nth: Vec<Ordinal>,
    /// The probability that a packet is lost: a constant, or a timeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<WordOr<Probability, ProbabilityTable>>,
    /// The probability that a bit is wrong; a packet with a wrong bit is lost. A constant, or a
    /// timeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bit_error_rate: Option<WordOr<Probability, ProbabilityTable>>,
    /// Losses in bursts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<BurstTable>,
    /// Where packets are lost: with `entry`, before the queue; with `way`, after the transmission.
    #[serde(default)]
    pub at: LossPlace,
}

/// Where a packet is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossPlace {
    /// Before the queue. The packet takes no room in the queue and no transmission time.
    Entry,
    /// After the transmission. The packet takes room in the queue and transmission time.
    #[default]
    Way,
}

/// The model of Gilbert and Elliott with two states. The model makes a step for each packet or,
/// with `every`, at regular intervals.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BurstTable {
    /// The probability of a step from the good state to the bad state.
    pub to_bad: Probability,
    /// The probability of a step from the bad state to the good state.
    pub to_good: Probability,
    /// The probability of a loss in the good state.
    #[serde(default = "never")]
    pub loss_in_good: Probability,
    /// The probability of a loss in the bad state.
    #[serde(default = "certain")]
    pub loss_in_bad: Probability,
    /// The time between two steps. Without this key, the model makes a step for each packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
}

fn never() -> Probability {
    Probability(0.0)
}

fn certain() -> Probability {
    Probability(1.0)
}

/// The rules for packets that arrive a second time.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DuplicateTable {
    /// Packets by their number in the flow, as for `loss`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packets: Vec<Ordinal>,
    /// Packets by their number in the order of arrival at the link, as for `loss`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nth: Vec<Ordinal>,
    /// The probability that a packet arrives twice: a constant, or a timeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<WordOr<Probability, ProbabilityTable>>,
    /// The time from the packet's arrival to the arrival of the copy.
    #[serde(default)]
    pub after: Duration,
}

/// An additional delay for packets that are longer than a given length.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LongTable {
    /// The length of the longest packet without the additional delay.
    pub above: ByteCount,
    /// The additional delay.
    pub by: Duration,
}

/// The rules for packets that get an additional delay.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReorderTable {
    /// Packets by their number in the flow, as for `loss`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packets: Vec<Ordinal>,
    /// Packets by their number in the order of arrival at the link, as for `loss`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nth: Vec<Ordinal>,
    /// The probability that a packet is delayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<Probability>,
    /// The additional delay.
    pub by: Duration,
}
