//! Fuzzes the two ends of a connection over a hostile network, in two modes. In the first mode, the
//! network loses, copies, delays, reorders and marks packets. In this mode, the fuzz target checks
//! that no more octets arrive than were written, and that all octets arrive after the network stops
//! doing harm. In the second mode, the network also forges segments whose numbers are near the
//! connection's sequence numbers. In both modes, the connection must not panic or hang.

#![no_main]

use std::collections::VecDeque;

use libfuzzer_sys::fuzz_target;
use netspurt::event::{Events, Wanted};
use netspurt::ids::EndId;
use netspurt::segment::{Ecn, Flags, SackBlock, SackBlocks, Segment, Timestamps};
use netspurt::stage::Stage;
use netspurt::tcp::{Connection, RfcConfig, TcpState};
use netspurt::units::{Duration, Time};

const PROFILES: [fn() -> RfcConfig; 4] =
    [RfcConfig::rfc_2026, RfcConfig::linux_6, RfcConfig::reno_1998, RfcConfig::reno_2005];

/// The maximum number of steps of one wait, and of a transfer after the network stops doing harm.
const STEPS_MAX: u32 = 200_000;

fuzz_target!(|octets: &[u8]| {
    let Some(([mode, profile, octets_wanted], rest)) = octets.split_first_chunk() else { return };
    let mut config = PROFILES[usize::from(profile % 4)]();
    config.mss = 1000;
    config.iss = u32::MAX - 20_000;
    config.retries = 100_000;
    config.syn_retries = 100_000;
    config.ecn = profile & 64 != 0;
    let mut transfer = Transfer::new(&config, u64::from(*octets_wanted) * 400 + 1);
    let forges = mode & 1 != 0;
    for action in rest.as_chunks::<8>().0 {
        transfer.act(*action, forges);
        if !forges {
            transfer.check();
        }
    }
    if !forges {
        transfer.finish_without_harm();
    }
});

/// The segments in flight, each with the index of the end that receives it.
type Flying = VecDeque<(usize, Segment)>;

/// A transfer from the first end to the second end, with the network between them.
struct Transfer {
    now: Time,
    octets: u64,
    ends: [Connection; 2],
    events: Events<Segment>,
    flying: Flying,
}

impl Transfer {
    fn new(config: &RfcConfig, octets: u64) -> Self {
        let mut ends = [0, 1].map(|end| Connection::new(EndId::at(end), &(*config).into()));
        let mut events = Events::new(Wanted::default());
        ends[1].listen();
        ends[0].write(Time::ZERO, octets, &mut events);
        ends[0].close(Time::ZERO, &mut events);
        let mut transfer = Self { now: Time::ZERO, octets, ends, events, flying: VecDeque::new() };
        transfer.collect();
        transfer
    }

    /// Takes the segments that the ends send now, and puts them in flight.
    fn collect(&mut self) {
        for end in 0..2 {
            let mut sent = 0;
            while let Some((_, _, segment)) = self.ends[end].pop(self.now, &mut self.events) {
                self.flying.push_back((segment.dest.index(), segment));
                sent += 1;
                assert!(sent < 100_000, "an end does not stop sending");
            }
        }
        self.events.drain().for_each(drop);
    }

    fn deliver(&mut self, to: usize, segment: Segment) {
        self.ends[to].push(self.now, 0, segment, &mut self.events);
        if self.ends[1].peer_closed() {
            self.ends[1].close(self.now, &mut self.events);
        }
        self.collect();
    }

    /// Delivers the segment that the function `take` removes or copies from the segments in flight.
    /// Does nothing if `take` returns no segment.
    fn deliver_some(&mut self, take: impl Fn(&mut Flying) -> Option<(usize, Segment)>) {
        if let Some((to, segment)) = take(&mut self.flying) {
            self.deliver(to, segment);
        }
    }

    fn wait(&mut self, span: Duration) {
        let until = self.now + span;
        let mut steps = 0;
        while let Some(at) = self.ends.iter().filter_map(Stage::next_wakeup).min() {
            if at > until {
                break;
            }
            self.now = self.now.max(at);
            self.collect();
            steps += 1;
            assert!(steps < STEPS_MAX, "the ends do not stop waking up");
            if self.flying.len() > 5_000 {
                self.flying.clear();
            }
        }
        self.now = self.now.max(until);
    }

    fn act(&mut self, action: [u8; 8], forges: bool) {
        let [what, which, span, ..] = action;
        let place = usize::from(which) % self.flying.len().max(1);
        match what % 8 {
            // The actions 0 and 1 deliver the oldest segment, 2 delivers any segment, 3 loses a
            // segment, 4 delivers a copy, 5 marks a segment, 6 forges a segment, and 7 waits.
            // If `forges` is false, the action 6 waits, as the action 7 does.
            0 | 1 => self.deliver_some(VecDeque::pop_front),
            2 => self.deliver_some(|flying| flying.remove(place)),
            3 => drop(self.flying.remove(place)),
            4 => self.deliver_some(|flying| flying.get(place).copied()),
            5 => {
                if let Some((_, segment)) = self.flying.get_mut(place)
                    && segment.ecn != Ecn::default()
                {
                    segment.ecn = Ecn::CE;
                }
            }
            6 if forges => self.deliver(usize::from(which & 1), forged(action, &self.flying)),
            // The time is from a microsecond to half a minute.
            _ => self.wait(Duration::from_nanos((u64::from(span).max(1) * 1000) << (which % 18))),
        }
    }

    fn check(&self) {
        let delivered = self.ends[1].received().delivered_bytes;
        let acked = self.ends[0].totals().acked_bytes;
        assert!(delivered <= self.octets, "of {} octets, {delivered} were delivered", self.octets);
        assert!(acked <= delivered, "octets acknowledged: {acked}, octets delivered: {delivered}");
    }

    /// Runs the transfer to its end over a network that delivers each segment immediately and in
    /// order.
    fn finish_without_harm(&mut self) {
        let mut steps = 0;
        let over = |end: &Connection| matches!(end.state(), TcpState::Closed | TcpState::TimeWait);
        while !self.ends.iter().all(over) {
            steps += 1;
            assert!(steps < STEPS_MAX, "the transfer does not end");
            if let Some((to, segment)) = self.flying.pop_front() {
                self.deliver(to, segment);
                continue;
            }
            let wake = self.ends.iter().filter_map(Stage::next_wakeup).min();
            self.now = self.now.max(wake.expect("a transfer that is not over waits for something"));
            self.collect();
        }
        assert!(self.ends.iter().all(|end| end.failure().is_none()));
        assert_eq!(self.ends[1].received().delivered_bytes, self.octets);
        self.check();
    }
}

/// Returns a segment like the newest segment in flight, but with some fields changed.
fn forged(action: [u8; 8], flying: &Flying) -> Segment {
    let [_, which, flags, seq, ack, len, window, block] = action;
    let like = flying.back().map_or(Segment::default(), |(_, segment)| *segment);
    let near = |number: u32, by: u8| number.wrapping_add_signed(i32::from(by as i8) * 250);
    let mut segment = Segment {
        seq: near(like.seq, seq),
        ack: near(like.ack, ack),
        len: u16::from(len) * 8,
        window: u16::from(window) << 8,
        ..like
    };
    if which & 2 != 0 {
        segment.flags = Flags(flags);
    }
    if which & 4 != 0 {
        segment.set_timestamps(Timestamps { val: block.into(), ecr: seq.into() });
    } else if which & 8 != 0 {
        let mut blocks = SackBlocks::default();
        let left = near(segment.ack, block);
        blocks.add(SackBlock { left, right: near(left, len) });
        segment.set_sack(&blocks);
    }
    segment.size_bytes = 60 + segment.len;
    segment
}
