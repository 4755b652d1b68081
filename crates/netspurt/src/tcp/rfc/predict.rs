//! Header prediction: a fast path for the segment that is expected next (Jacobson, "4BSD TCP Header
//! Prediction", Computer Communication Review 20(2), 1990). Most segments that arrive were
//! expected.
//!
//! The fast path is for a segment in sequence without anything unusual. The segment either brings
//! octets to an end that has nothing outstanding, or acknowledges octets of a sender that suspects
//! no losses. A few comparisons then replace most checks of RFC 9293 §3.10.7. The effect is exactly
//! the same as on the general path.

use crate::segment::{Flags, Segment};

use super::super::context::Context;
use super::state::TcpState;
use super::tcb::Tcb;
use crate::seq::is_before;

impl Tcb {
    /// Handles a segment if it is the segment that was expected next. Returns whether the segment
    /// was handled.
    #[inline]
    pub(super) fn take_predicted(&mut self, segment: &Segment, cx: &mut Context<'_>) -> bool {
        if !self.is_next(segment) {
            return false;
        }
        let (ack, len) = (self.tx.window.octet(segment.ack), u64::from(segment.len));
        let expected = if len > 0 {
            ack == self.tx.window.una
                && self.tx.recovery.loss.scoreboard.is_empty()
                && self.rx.takes_next(len)
        } else {
            self.tx.is_calm(ack)
        };
        if !expected {
            return false;
        }
        self.header.take_stamp(segment, self.rx.nxt, self.rx.last_ack, cx.now);
        self.tx.update_peer_window(self.rx.nxt, ack, self.header.peer_window(segment));
        if len > 0 {
            let at = self.tx.arrival_state(cx.now);
            self.rx.on_next(segment, &at, &self.config);
        } else {
            self.tx.on_calm_ack(ack, self.header.echo(segment), cx);
        }
        true
    }

    /// True if the connection is established without ECN, and the segment begins at the next
    /// expected octet and has nothing unusual.
    #[inline]
    fn is_next(&self, segment: &Segment) -> bool {
        let recent = self.header.recent_stamp();
        self.life.state() == TcpState::Established
            && segment.flags.without(Flags::PSH) == Flags::ACK
            && segment.is_bare(self.header.agreed.timestamps)
            && segment.seq == self.rx.next_on_wire()
            && segment.timestamps().is_none_or(|stamps| !is_before(stamps.val, recent))
            && !self.header.agreed.ecn
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};
    use std::sync::Arc;

    use super::super::written::WrittenPart;
    use super::*;
    use crate::event::{Events, Wanted};
    use crate::ids::EndId;
    use crate::rng::Stream;
    use crate::segment::Ecn;
    use crate::tcp::RfcConfig;
    use crate::units::{Duration, Time};

    /// Two connections with the same history. The connection `fast` uses the fast path, and the
    /// connection `general` does not. The field `predicted` counts the segments that took the fast
    /// path, and `flying` has the segments on their way.
    struct Twins {
        fast: [Tcb; 2],
        general: [Tcb; 2],
        predicted: u64,
        flying: BTreeMap<(Time, u64), (usize, Segment)>,
        count: u64,
    }

    impl Twins {
        /// Lets the same end of both connections act. Both must reach the same state and send the
        /// same segments.
        fn act(
            &mut self,
            now: Time,
            end: usize,
            dice: &mut Stream,
            fast: impl FnOnce(&mut Tcb, &mut Context<'_>) -> bool,
            general: impl FnOnce(&mut Tcb, &mut Context<'_>),
        ) {
            let mut events = Events::new(Wanted::default());
            let id = EndId::at(u32::try_from(end).unwrap());
            let [mut out, mut other] = [VecDeque::new(), VecDeque::new()];
            let mut cx = Context { now, end: id, events: &mut events, outbox: &mut out };
            self.predicted += u64::from(fast(&mut self.fast[end], &mut cx));
            let mut cx = Context { now, end: id, events: &mut events, outbox: &mut other };
            general(&mut self.general[end], &mut cx);
            let state = |tcb: &Tcb| format!("{tcb:?}");
            assert_eq!(state(&self.fast[end]), state(&self.general[end]), "at {now:?}");
            assert_eq!(out, other, "at {now:?}");
            for mut segment in out {
                if segment.ecn == Ecn::ECT0 && dice.chance(0.1) {
                    segment.ecn = Ecn::CE;
                }
                for copy in 0..1 + u64::from(dice.chance(0.02)) {
                    if dice.chance(0.025) {
                        continue;
                    }
                    let late = if dice.chance(0.05) { dice.bits() % 9000 } else { 0 };
                    let wait = 20_000 + late + 3000 * copy;
                    self.count += 1;
                    let at = now + Duration::from_micros(wait);
                    self.flying.insert((at, self.count), (id.peer().index(), segment));
                }
            }
        }

        /// The next instant at which a segment arrives or a timer is due.
        fn next(&self) -> Option<Time> {
            let flying = self.flying.first_key_value().map(|(key, _)| key.0);
            let due = self.fast.iter().map(Tcb::next_deadline).min();
            flying.into_iter().chain(due).min().filter(|at| *at < Time::NEVER)
        }
    }

    /// Plays a connection over a path that loses, delays and duplicates segments. One end or both
    /// ends write. Returns the number of segments that took the fast path.
    fn play(mut config: RfcConfig, seed: u64) -> u64 {
        let mut dice = Stream::named(seed, "prediction");
        config.ecn = dice.chance(0.3);
        config.timestamps = dice.chance(0.5);
        let config = Arc::new(config);
        let pair = || [Tcb::new(&config), Tcb::new(&config)];
        let (fast, general) = (pair(), pair());
        let flying = BTreeMap::new();
        let mut twins = Twins { fast, general, predicted: 0, flying, count: 0 };
        twins.fast[1].listen();
        twins.general[1].listen();
        let both = dice.chance(0.5);
        for end in 0..=usize::from(both) {
            let octets = 1 + dice.bits() % 200_000;
            let write = |tcb: &mut Tcb, cx: &mut Context<'_>| {
                tcb.write(&WrittenPart::whole(octets), cx);
                tcb.close(cx);
            };
            let quick = |tcb: &mut Tcb, cx: &mut Context<'_>| {
                write(tcb, cx);
                false
            };
            twins.act(Time::ZERO, end, &mut dice, quick, write);
        }
        while let Some(at) = twins.next().filter(|at| *at < Time::from_nanos(120_000_000_000)) {
            if let Some(entry) = twins.flying.first_entry().filter(|entry| entry.key().0 == at) {
                let (end, segment) = entry.remove();
                let fast = |tcb: &mut Tcb, cx: &mut Context<'_>| {
                    tcb.account_for(at);
                    let predicted = tcb.take_predicted(&segment, cx);
                    if !predicted {
                        tcb.take(&segment, cx);
                    }
                    tcb.answer(cx);
                    predicted
                };
                let general = |tcb: &mut Tcb, cx: &mut Context<'_>| {
                    tcb.account_for(at);
                    tcb.take(&segment, cx);
                    tcb.answer(cx);
                };
                twins.act(at, end, &mut dice, fast, general);
            } else {
                let end = usize::from(twins.fast[1].next_deadline() == at);
                let fast = |tcb: &mut Tcb, cx: &mut Context<'_>| {
                    tcb.on_deadline(cx);
                    false
                };
                twins.act(at, end, &mut dice, fast, |tcb, cx| tcb.on_deadline(cx));
            }
        }
        twins.predicted
    }

    #[test]
    fn the_fast_path_has_the_same_result_as_the_general_path() {
        let profiles =
            [RfcConfig::rfc_2026, RfcConfig::linux_6, RfcConfig::reno_1998, RfcConfig::reno_2005];
        let mut predicted = [0; 4];
        for seed in 0..40 {
            for (count, profile) in predicted.iter_mut().zip(profiles) {
                *count += play(profile(), seed);
            }
        }
        assert!(predicted.iter().all(|count| *count > 500), "{predicted:?}");
    }
}
