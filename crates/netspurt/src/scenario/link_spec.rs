//! The links of a scenario file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{BitRate, ByteCount, Duration};

use super::number::{Ordinal, Probability, Whole};
use super::quantity::{Amount, BothWays, WordOr};
use super::queue_spec::{QueueSpec, QueueTable};
use super::slots_spec::SlotsTable;

/// A link: two directions, each value given once for both or as `[forward, reverse]`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// The two nodes that it joins; forward is from the first to the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<[String; 2]>,
    /// The bit rate: one, or a timeline.
    pub rate: BothWays<WordOr<BitRate, RateTable>>,
    /// The propagation delay: a time, or a timeline.
    #[serde(default = "no_delay")]
    pub delay: BothWays<WordOr<Duration, TimelineSpec>>,
    /// The limit of packets queued and in transmission: packets, bytes, or unlimited; or an AQM.
    #[serde(default = "unlimited")]
    pub queue: BothWays<WordOr<QueueSpec, QueueTable>>,
    /// The largest packet that it carries, including the IP header; by default it carries all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<BothWays<ByteCount>>,
    /// What happens to larger packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_big: Option<BothWays<TooBigWord>>,
    /// What the line adds to each packet.
    #[serde(default = "no_framing")]
    pub framing: BothWays<WordOr<FramingWord, FramingTable>>,
    /// Whether a packet may arrive before one that left earlier.
    #[serde(default = "fifo")]
    pub order: BothWays<OrderWord>,
    /// Packets lost.
    #[serde(default)]
    pub loss: BothWays<WordOr<NoneWord, LossTable>>,
    /// Packets that arrive a second time.
    #[serde(default)]
    pub duplicate: BothWays<WordOr<NoneWord, DuplicateTable>>,
    /// Packets that travel longer than the others; needs `order = "overtaking"`.
    #[serde(default)]
    pub reorder: BothWays<WordOr<NoneWord, ReorderTable>>,
    /// Longer packets travel longer.
    #[serde(default)]
    pub long: BothWays<WordOr<NoneWord, LongTable>>,
    /// The instants at which another path takes over, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handovers: Vec<HandoverTable>,
    /// A path over low satellites: a delay that is drawn anew in each slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<SlotsTable>,
    /// A file with `delay`, `rate`, `loss`, `duplicate`, `order` or `handovers` of this link, which then has none
    /// itself.
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
    /// It crosses in fragments.
    #[default]
    Fragment,
    /// It is dropped, and the sender is not informed.
    Drop,
}

/// A delay that changes with time.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelineSpec {
    /// Points: `[instant, delay]`, in order of time.
    pub timeline: Vec<[Duration; 2]>,
    /// The rule between two points: the earlier one's delay, or a straight line.
    #[serde(default)]
    pub between: BetweenWord,
}

/// A rate that is not constant: either a timeline, or opportunities.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateTable {
    /// Points: `[instant, rate]`, in order of time; each rate holds up to the next point. The bits
    /// that are left of the packet in transmission leave at the new rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Vec<(Duration, BitRate)>>,
    /// Instants at each of which some octets are delivered, in order of time; behind the last one
    /// the list begins again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opportunities: Option<Vec<Duration>>,
    /// Octets of each opportunity: 1500 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub octets: Option<ByteCount>,
}

/// A probability that changes with time.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbabilityTable {
    /// Points: `[instant, probability]`, in order of time.
    pub timeline: Vec<(Duration, Probability)>,
    /// The rule between two points: the earlier one's value, or a straight line.
    #[serde(default)]
    pub between: BetweenWord,
}

/// An instant at which another path takes over.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandoverTable {
    /// When the old path ends.
    pub at: Duration,
    /// How long nothing is transmitted from then on.
    #[serde(default)]
    pub dead: Duration,
    /// What becomes of the packets that are queued or in transmission.
    #[serde(default)]
    pub queue: QueueFateWord,
    /// What becomes of packets that come while the link is dead.
    #[serde(default)]
    pub arrivals: ArrivalFateWord,
    /// What becomes of packets on their way.
    #[serde(default)]
    pub in_flight: FlightFateWord,
    /// Which direction of the link hands over.
    #[serde(default)]
    pub direction: DirectionWord,
}

/// What becomes of a queue at a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueFateWord {
    /// It stays.
    #[default]
    Keep,
    /// All of it is dropped, with the packet in transmission; drop-tail queues only.
    Flush,
}

/// What becomes of packets that come while a link is dead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalFateWord {
    /// They wait in the queue.
    #[default]
    Queue,
    /// They are dropped.
    Drop,
}

/// What becomes of packets on their way at a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlightFateWord {
    /// They arrive by the old path.
    #[default]
    Pass,
    /// They are dropped.
    Drop,
    /// They stop for the dead time.
    Hold,
    /// They arrive by the old path, and a copy leaves by the new one when it opens; needs
    /// `order = "overtaking"`.
    Copy,
}

/// The directions of a link that something concerns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DirectionWord {
    /// Both.
    #[default]
    Both,
    /// From the first node to the second.
    Forward,
    /// From the second node to the first.
    Reverse,
}

impl DirectionWord {
    /// Only forward, and only in reverse.
    pub(super) const ALONE: [Self; 2] = [Self::Forward, Self::Reverse];
}

/// The rule between two points of a timeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BetweenWord {
    /// The earlier point's value.
    #[default]
    Step,
    /// A straight line.
    Linear,
}

/// A framing with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum FramingWord {
    /// Nothing but the packet's octets.
    #[serde(rename = "none")]
    None,
    /// Asynchronous serial line: 10 bits for each octet.
    #[serde(rename = "8N1")]
    Serial8n1,
    /// PPP in HDLC-like framing: 8 additional octets.
    #[serde(rename = "PPP")]
    Ppp,
    /// PPP over an asynchronous serial line.
    #[serde(rename = "PPP 8N1")]
    Ppp8n1,
}

/// A framing by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FramingTable {
    /// Octets around each packet.
    pub overhead: ByteCount,
    /// Bits on the line for each octet.
    #[serde(default = "eight")]
    pub bits_per_octet: Whole<1, 64>,
}

fn eight() -> Whole<1, 64> {
    Whole(8)
}

/// Whether packets may overtake each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OrderWord {
    /// No: a packet with a shorter propagation delay arrives directly behind the one before it.
    Fifo,
    /// Yes: each keeps its own propagation delay.
    Overtaking,
}

/// No such effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoneWord {
    /// No such effect.
    None,
}

/// Which packets are lost. The rules add up.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossTable {
    /// By number in the flow, from 1: the first transmission of each. A number given twice loses
    /// its second transmission as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packets: Vec<Ordinal>,
    /// By number in the order of arrival at this direction of the link, from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nth: Vec<Ordinal>,
    /// Each with this probability: one, or a timeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<WordOr<Probability, ProbabilityTable>>,
    /// Each of which a bit is hit, at this rate of errors per bit: one, or a timeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bit_error_rate: Option<WordOr<Probability, ProbabilityTable>>,
    /// In bursts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<BurstTable>,
    /// Where: at the `entry`, before the queue, or on the `way`, after the transmission.
    #[serde(default)]
    pub at: LossPlace,
}

/// Where a packet is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossPlace {
    /// Before the queue: it takes no room and no time.
    Entry,
    /// On the way: it has taken its place in the queue and its transmission time.
    #[default]
    Way,
}

/// Gilbert's and Elliott's two states, with one step per packet or per span of time.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BurstTable {
    /// Probability of leaving the good state for the bad one.
    pub to_bad: Probability,
    /// Probability of leaving the bad state for the good one.
    pub to_good: Probability,
    /// Probability of loss in the good state.
    #[serde(default = "never")]
    pub loss_in_good: Probability,
    /// Probability of loss in the bad state.
    #[serde(default = "certain")]
    pub loss_in_bad: Probability,
    /// The time between two steps; by default each packet is a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
}

fn never() -> Probability {
    Probability(0.0)
}

fn certain() -> Probability {
    Probability(1.0)
}

/// Which packets arrive a second time.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DuplicateTable {
    /// By number in the flow, as for `loss`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packets: Vec<Ordinal>,
    /// By number in the order of arrival at the link, as for `loss`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nth: Vec<Ordinal>,
    /// Each with this probability: one, or a timeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<WordOr<Probability, ProbabilityTable>>,
    /// How much later the copy arrives.
    #[serde(default)]
    pub after: Duration,
}

/// Packets above a length, and how much longer they travel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LongTable {
    /// The longest packet that does not.
    pub above: ByteCount,
    /// The additional delay.
    pub by: Duration,
}

/// Which packets are delayed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReorderTable {
    /// By number in the flow, as for `loss`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packets: Vec<Ordinal>,
    /// By number in the order of arrival at the link, as for `loss`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nth: Vec<Ordinal>,
    /// Each with this probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<Probability>,
    /// The additional delay.
    pub by: Duration,
}
