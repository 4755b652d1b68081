//! FQ-CoDel (RFC 8290), an algorithm that manages the queues of a link. A hash assigns each flow to
//! a queue, and CoDel manages each queue. The queues send in turn.
//!
//! The `Transit` stores the frames that are on their way. A parcel is the index of a frame in the
//! transit, with the frame's size and destination.

use std::collections::VecDeque;

use crate::event::DropReason;
use crate::link::backlog::QueueLimit;
use crate::link::transit::Parcel;
use crate::stage::Frame;
use crate::units::Time;

use super::codel::{Algorithm, State};
use super::config::FqCoDelConfig;
use super::decision_sink::DecisionSink;
use super::fifo::Fifo;

/// The queue of one or more flows.
#[derive(Debug)]
struct Flow {
    queue: Fifo,
    codel: State,
    /// The octets that the queue may still send in this turn.
    deficit: i64,
    /// True if the queue is in one of the two lists: the new queues or the old queues.
    listed: bool,
}

/// All queues of a link with FQ-CoDel.
#[derive(Debug)]
pub(in crate::link) struct FqCoDel {
    algorithm: Algorithm,
    limit: QueueLimit,
    quantum: i64,
    salt: u64,
    flows: Vec<Flow>,
    /// The indices of the new queues. A queue becomes new when a frame comes while the queue is in
    /// neither list. New queues are served first.
    new: VecDeque<u32>,
    /// The indices of the old queues, which are served if there is no new queue.
    old: VecDeque<u32>,
    packets: u32,
    bytes: u64,
}

impl FqCoDel {
    pub(super) fn new(config: FqCoDelConfig) -> Self {
        let FqCoDelConfig { target, interval, limit, flows, ecn, ce_threshold, salt, .. } = config;
        let flow =
            |_| Flow { queue: Fifo::default(), codel: State::default(), deficit: 0, listed: false };
        Self {
            algorithm: Algorithm { target, interval, ecn, ce_threshold, largest: 0 },
            limit,
            quantum: i64::from(config.quantum_bytes),
            salt,
            flows: (0..flows.max(1)).map(flow).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }
    }

    /// The numbers of frames and octets in all queues.
    pub(super) fn held(&self) -> (u32, u64) {
        (self.packets, self.bytes)
    }

    /// Queues the frame of `parcel`. All queues and the frame in transmission together may then
    /// exceed the limit. If so, frames are dropped from the head of the queue with the most octets
    /// (RFC 8290 §4.1). `held` has the numbers of frames and octets before the arrival, including
    /// the frame in transmission.
    pub(super) fn enqueue<F: Frame>(
        &mut self,
        now: Time,
        parcel: Parcel,
        held: (u32, u64),
        decision_sink: &mut DecisionSink<'_, F>,
    ) {
        let size = parcel.size_bytes();
        self.algorithm.largest = self.algorithm.largest.max(size);
        let index =
            bucket(decision_sink.transit.frame(parcel).flow_hash(), self.salt, self.flows.len());
        let flow = &mut self.flows[index as usize];
        flow.queue.add(now, parcel);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.quantum;
            self.new.push_back(index);
        }
        self.packets += 1;
        self.bytes += u64::from(size);
        let in_service = (held.0 + 1 - self.packets, held.1 + u64::from(size) - self.bytes);
        while !self.is_within_limit(in_service) {
            self.drop_from_longest(now, decision_sink);
        }
    }

    fn is_within_limit(&self, (packets, bytes): (u32, u64)) -> bool {
        match self.limit {
            QueueLimit::Packets(limit) => packets + self.packets <= limit || self.packets == 0,
            QueueLimit::Bytes(limit) => bytes + self.bytes <= limit || self.packets == 0,
            QueueLimit::Unlimited => true,
        }
    }

    fn drop_from_longest<F: Frame>(&mut self, now: Time, decision_sink: &mut DecisionSink<'_, F>) {
        let longest = self.flows.iter_mut().rev().max_by_key(|flow| flow.queue.held().1);
        if let Some((_, parcel)) = longest.and_then(|flow| flow.queue.take()) {
            self.packets -= 1;
            self.bytes -= u64::from(parcel.size_bytes());
            decision_sink.drop(now, DropReason::QueueFull, parcel);
        }
    }

    /// Returns the next frame. Deficit round robin serves the new queues first, and then the old
    /// queues (RFC 8290 §4.2).
    pub(super) fn dequeue<F: Frame>(
        &mut self,
        now: Time,
        decision_sink: &mut DecisionSink<'_, F>,
    ) -> Option<Parcel> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = list.pop_front()?;
            let flow = &mut self.flows[index as usize];
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                self.old.push_back(index);
                continue;
            }
            let before = flow.queue.held();
            let parcel = flow.codel.dequeue(&self.algorithm, now, &mut flow.queue, decision_sink);
            let after = flow.queue.held();
            self.packets -= before.0 - after.0;
            self.bytes -= before.1 - after.1;
            match parcel {
                Some(parcel) => {
                    flow.deficit -= i64::from(parcel.size_bytes());
                    let list = if is_new { &mut self.new } else { &mut self.old };
                    list.push_front(index);
                    return Some(parcel);
                }
                // A new queue that becomes empty goes to the end of the old queues once, before it
                // can be new again. Otherwise flows that send single frames would keep the old
                // queues from sending.
                None if is_new => self.old.push_back(index),
                None => flow.listed = false,
            }
        }
    }
}

/// The index of the queue of a flow. The hash of the flow is mixed with the salt (the finalizer of
/// SplitMix64, Steele et al. 2014), and then scaled to the number of queues.
#[expect(clippy::cast_possible_truncation, reason = "the result is below the number of queues")]
fn bucket(flow_hash: u64, salt: u64, queues: usize) -> u32 {
    let mut z = flow_hash.wrapping_add(salt).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    ((u128::from(z) * queues as u128) >> 64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_spread_flows_evenly_and_depend_on_the_salt() {
        let mut counts = [0_u32; 8];
        (0..8000).for_each(|flow| counts[bucket(flow, 7, 8) as usize] += 1);
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
        let moved = (0..1000).filter(|f| bucket(*f, 1, 1024) != bucket(*f, 2, 1024)).count();
        assert!(moved > 950, "{moved}");
    }
}
