//! Effects of a link on frames: losses, duplicates and delays. Rules select the frames to which an
//! effect applies.

use std::num::NonZero;
use std::sync::Arc;

use crate::rng::Stream;
use crate::segment::Packetization;
use crate::stage::Frame;
use crate::timeline::Timeline;
use crate::units::{Duration, Time};

/// The rules that select the frames to which an effect applies. A frame is selected if any rule
/// selects it.
///
/// ```
/// use netspurt::link::Pick;
/// use netspurt::segment::Segment;
/// use netspurt::units::Time;
/// let mut lost = Pick::default().nth(vec![2]);
/// let picked: Vec<bool> = (0..3).map(|_| lost.picks(Time::ZERO, &Segment::default())).collect();
/// assert_eq!(picked, [false, true, false]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Pick {
    seen: u64,
    /// Selects frames by their number, from 1, in the order in which they reach the effect. The
    /// highest number is first in this list.
    nth: Vec<u64>,
    /// Selects packets by their number in the flow. If a number is in the list *n* times, the first
    /// *n* packets with this number are selected, even if they belong to different flows. A
    /// retransmission has the number of its original.
    packets: Vec<u64>,
    /// For each direction of a flow, its hash and the octets of payload in its largest packet so
    /// far. Packet numbers are computed as if all packets had this payload, except the last packet
    /// of the flow or of a message.
    full_bytes: Vec<(u64, u16)>,
    /// The length of the messages that are sent to each end.
    messages: Messages,
    random: Option<(Chance, Stream)>,
    bursts: Option<Bursts>,
}

/// The probability with which a frame is selected.
#[derive(Clone, Debug)]
pub enum Chance {
    /// One probability for all frames.
    Frame(f64),
    /// One probability for all frames, which changes with time.
    FrameOverTime(Timeline<f64>),
    /// The probability that at least one bit of the frame is wrong, at this bit-error rate.
    Bits(f64),
    /// The probability that at least one bit of the frame is wrong, at a bit-error rate that
    /// changes with time.
    BitsOverTime(Timeline<f64>),
}

impl Chance {
    /// The probability for a frame of `size` octets at the instant `now`. `now` never decreases
    /// from call to call.
    fn of(&mut self, now: Time, size: u32) -> f64 {
        let any_bit = |rate: f64| 1.0 - (1.0 - rate).powf(8.0 * f64::from(size));
        match self {
            Self::Frame(p) => *p,
            Self::FrameOverTime(timeline) => timeline.value(now),
            Self::Bits(rate) => any_bit(*rate),
            Self::BitsOverTime(timeline) => any_bit(timeline.value(now)),
        }
    }
}

/// For each end, how many octets a message to this end has. The value is `None` if the flow has no
/// messages.
pub type Messages = Arc<[Option<NonZero<u64>>]>;

/// The two-state model of Gilbert (1960) and Elliott (1963) for losses in bursts. The state may
/// change at each step. There is one step per frame or per span of time.
#[derive(Clone, Debug)]
struct Bursts {
    /// Whether the present state is the bad state.
    bad: bool,
    /// The time of one step. The value is `None` for one step per frame.
    every: Option<Duration>,
    /// The number of whole spans of the length `every` from the start of the run to the last frame.
    steps: u64,
    to_bad: f64,
    to_good: f64,
    in_good: f64,
    in_bad: f64,
    stream: Stream,
}

impl Pick {
    /// Selects frames by their number, from 1, in the order in which they reach the effect. An
    /// effect after the queue does not count frames that the queue dropped.
    #[must_use]
    pub fn nth(mut self, mut places: Vec<u64>) -> Self {
        places.sort_unstable();
        places.dedup();
        places.reverse();
        self.nth = places;
        self
    }

    /// Selects packets by their number in the flow, from 1. If a number is in the list *n* times,
    /// the first *n* packets with this number are selected, even if they belong to different flows.
    /// A retransmission has the number of its original.
    #[must_use]
    pub fn packets(mut self, numbers: Vec<u64>) -> Self {
        self.packets = numbers;
        self
    }

    /// Selects each frame with probability `chance`, with draws from `stream`.
    #[must_use]
    pub fn random(mut self, chance: Chance, stream: Stream) -> Self {
        self.random = Some((chance, stream));
        self
    }

    /// Selects frames in bursts, by a model with a good and a bad state. The good state selects a
    /// frame with probability `in_good`, and each frame ends this state with probability `to_bad`.
    /// The bad state selects a frame with probability `in_bad`, and each frame ends this state with
    /// probability `to_good`. Before the first frame, the state is the good state.
    #[must_use]
    pub fn bursts(mut self, [to_bad, to_good, in_good, in_bad]: [f64; 4], stream: Stream) -> Self {
        let (bad, every, steps) = (false, None, 0);
        self.bursts = Some(Bursts { bad, every, steps, to_bad, to_good, in_good, in_bad, stream });
        self
    }

    /// Lets the state of bursts change once per span of time instead of once per frame. With a span
    /// of zero, the state changes once per frame. Without bursts, this method has no effect.
    #[must_use]
    pub fn by_time(mut self, every: Duration) -> Self {
        if let Some(bursts) = &mut self.bursts {
            bursts.every = Some(every).filter(|every| !every.is_zero());
        }
        self
    }

    /// Whether the next frame, `frame`, is selected at the instant `now`. Every rule makes its
    /// draws even if another rule has selected the frame. The draws of a rule therefore do not
    /// depend on other rules.
    pub fn picks(&mut self, now: Time, frame: &impl Frame) -> bool {
        self.seen += 1;
        let mut picked = false;
        if self.nth.last() == Some(&self.seen) {
            self.nth.pop();
            picked = true;
        }
        if !self.packets.is_empty() {
            let number = self.number(frame);
            if let Some(place) = number.and_then(|n| self.packets.iter().position(|p| *p == n)) {
                self.packets.swap_remove(place);
                picked = true;
            }
        }
        if let Some((chance, stream)) = &mut self.random {
            picked |= stream.chance(chance.of(now, frame.size_bytes()));
        }
        if let Some(bursts) = &mut self.bursts {
            picked |= bursts.step(now);
        }
        picked
    }
}

impl Pick {
    /// The frame's number in its flow.
    fn number(&mut self, frame: &impl Frame) -> Option<u64> {
        let (flow, octets) = (frame.flow_hash(), frame.payload_bytes());
        let known = self.full_bytes.iter_mut().find(|(other, _)| *other == flow);
        let full = match known {
            Some((_, full)) => {
                *full = octets.max(*full);
                *full
            }
            None => {
                self.full_bytes.push((flow, octets));
                octets
            }
        };
        let message_bytes = self.messages.get(frame.dest().index()).copied().flatten();
        frame.packet_number(Packetization { full_bytes: full, message_bytes })
    }
}

impl Bursts {
    fn step(&mut self, now: Time) -> bool {
        let leave = match self.every {
            None => self.leaves(1),
            Some(every) => {
                let steps = now.as_nanos() / every.as_nanos();
                let passed = steps.saturating_sub(self.steps);
                self.steps = steps;
                self.leaves(passed)
            }
        };
        self.bad ^= self.stream.chance(leave);
        let p = if self.bad { self.in_bad } else { self.in_good };
        self.stream.chance(p)
    }

    /// The probability that the state after `steps` steps differs from the present state. `out` is
    /// the probability that one step leaves the present state. `back` is the probability that one
    /// step returns to this state, and `both` is the sum of the two probabilities. With many steps,
    /// the result approaches `out / both`: each step multiplies the distance to this limit by `1 -
    /// both`.
    fn leaves(&self, steps: u64) -> f64 {
        let (out, back) =
            if self.bad { (self.to_good, self.to_bad) } else { (self.to_bad, self.to_good) };
        match (steps, out + back) {
            (0, _) | (_, 0.0) => 0.0,
            (1, _) => out,
            #[expect(clippy::cast_precision_loss, reason = "rounding above 2^53 has no effect")]
            (steps, both) => out / both * (1.0 - libm::pow(1.0 - both, steps as f64)),
        }
    }
}

/// The effects of one direction of a link. Each effect is off by default.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Selects frames that are lost before the queue. They take no room in the queue and no
    /// transmission time.
    pub loss_at_entry: Option<Pick>,
    /// Selects frames that are lost after the queue. They take room in the queue and transmission
    /// time.
    pub loss: Option<Pick>,
    /// Selects frames that are duplicated. The duration is the delay of the copy after the frame.
    pub duplicate: Option<(Pick, Duration)>,
    /// Selects frames that are delayed. The duration is their additional delay.
    pub reorder: Option<(Pick, Duration)>,
    /// Frames with more octets than this number are delayed. The duration is their additional
    /// delay.
    pub long: Option<(u32, Duration)>,
}

/// What the effects do to a frame after its transmission: whether it is lost, its additional delay,
/// and the delay of its copy if it is duplicated.
pub(super) struct Fate {
    pub(super) lost: bool,
    pub(super) delay: Duration,
    pub(super) copied: Option<Duration>,
}

impl Effects {
    /// Sets the message lengths of flows, for effects that select packets by number.
    pub fn set_message_lengths(&mut self, messages: &Messages) {
        let Self { loss_at_entry, loss, duplicate, reorder, long: _ } = self;
        let spans = [duplicate, reorder].into_iter().flatten().map(|(pick, _)| pick);
        for pick in loss_at_entry.iter_mut().chain(loss).chain(spans) {
            pick.messages = Arc::clone(messages);
        }
    }

    pub(super) fn lost_at_entry(&mut self, now: Time, frame: &impl Frame) -> bool {
        self.loss_at_entry.as_mut().is_some_and(|pick| pick.picks(now, frame))
    }

    /// What the effects do to a frame whose transmission ends at the instant `now`.
    pub(super) fn on_the_way(&mut self, now: Time, frame: &impl Frame) -> Fate {
        let span = |effect: &mut Option<(Pick, Duration)>| {
            effect.as_mut().and_then(|(pick, span)| pick.picks(now, frame).then_some(*span))
        };
        let long = self.long.filter(|(octets, _)| frame.size_bytes() > *octets);
        let longer = long.map_or(Duration::ZERO, |(_, by)| by);
        Fate {
            lost: self.loss.as_mut().is_some_and(|pick| pick.picks(now, frame)),
            delay: span(&mut self.reorder).unwrap_or_default() + longer,
            copied: span(&mut self.duplicate),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EndId;
    use crate::segment::Segment;

    #[test]
    fn a_short_last_packet_of_a_flow_is_selected_by_its_number() {
        let packet = |dest, n: u32, len| Segment {
            dest: EndId::at(dest),
            seq: 1 + (n - 1) * 1000,
            len,
            ..<_>::default()
        };
        let mut lost = Pick::default().packets(vec![3, 30]);
        let picked = |frame: &Segment, lost: &mut Pick| lost.picks(Time::ZERO, frame);
        let sent = [packet(1, 1, 1000), packet(1, 2, 1000), packet(1, 3, 100), packet(1, 3, 100)];
        assert_eq!(sent.map(|frame| picked(&frame, &mut lost)), [false, false, true, false]);
        // Each flow has its own packet size.
        let other = Segment { dest: EndId::at(3), seq: 1 + 29 * 50, len: 50, ..Segment::default() };
        assert!(lost.picks(Time::ZERO, &other));
    }
}
