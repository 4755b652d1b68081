//! What a sender and its receiver were seen to do, with the number of observations.

use crate::units::Duration;

use super::order::StampTicks;
use super::path::Vantage;
use super::phase::Traits;
use super::timer_grid::TimerGrid;

/// How a receiver acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckHabits {
    /// Acknowledgments of new octets.
    pub acks: u64,
    /// Segments that they were the first to cover.
    pub covered: u64,
    /// How often the acknowledgment of a lone segment was timed, and the longest time beyond the
    /// shortest round trip. The receiver's delayed-ACK timer is at least that long.
    pub lone: u32,
    /// See [`lone`](Self::lone).
    pub longest_delay: Duration,
    /// The most octets that one acknowledgment covered while nothing was missing or sent again.
    pub most_bytes: u64,
    /// The most acknowledgments in a row that told nothing while nothing was outstanding (RFC 889
    /// §2.2 saw streams of them).
    pub idle: u32,
}

impl AckHabits {
    /// No receiver may wait longer than this (RFC 9293 §3.8.6.3).
    const LONGEST: Duration = Duration::from_millis(500);

    /// Takes the round trip `rtt` of a lone segment; `least` is the shortest round trip.
    pub fn lone_acknowledged(&mut self, rtt: Duration, least: Duration) {
        let delay = rtt - least;
        if delay <= Self::LONGEST {
            self.lone += 1;
            self.longest_delay = self.longest_delay.max(delay);
        }
    }
}

/// Packets that others overtook, which were sent later (RFC 4737 §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatePackets {
    /// Their number.
    pub packets: u64,
    /// The most packets that overtook one of them. Zero if it is not known.
    pub by_max: u64,
    /// The most full segments from one of them up to the highest octet that came before.
    pub distance_max: u64,
    /// The longest time from a packet to one that it had overtaken. Zero if it is not known.
    pub behind_max: Duration,
}

impl LatePackets {
    /// Counts a packet that is late by this.
    pub fn add(&mut self, one: LateBy) {
        self.packets += 1;
        self.by_max = self.by_max.max(one.overtook);
        self.distance_max = self.distance_max.max(one.distance);
        self.behind_max = self.behind_max.max(one.behind);
    }
}

/// By how much a packet is late; zeros where it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LateBy {
    /// The packets that overtook it.
    pub overtook: u64,
    /// The full segments from it up to the highest octet that came before.
    pub distance: u64,
    /// The time since the nearest of the packets that overtook it.
    pub behind: Duration,
}

/// What was seen of one direction's sender, receiver and path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Habits {
    /// Where the capture was taken, and the probability that this is right.
    pub vantage: (Vantage, f32),
    /// The least round trip from the capture to the sender.
    pub near: Option<Duration>,
    /// The least round trip from the capture to the receiver.
    pub far: Option<Duration>,
    /// What the sender does.
    pub traits: Traits,
    /// The grid on which its timeouts fall, and those of its host's other connections.
    pub timer_grid: Option<TimerGrid>,
    /// The clock of its time stamps.
    pub stamps: Option<StampTicks>,
    /// What the receiver does.
    pub acks: AckHabits,
    /// The packets that others had overtaken before the capture.
    pub late: LatePackets,
    /// The packets that others had overtaken before the receiver, as acknowledgments tell.
    pub late_in_acks: LatePackets,
    /// Packets that filled a gap at the receiver and had no marks that tell whether they were late
    /// or sent again.
    pub late_or_again: u64,
    /// Copies of packets that the network or the capture made.
    pub copies: u64,
    /// Octets that were acknowledged but never captured: the capture lost them, not the path.
    pub uncaptured_bytes: u64,
    /// Whether the receiver was seen to send D-SACK blocks.
    pub reports_duplicates: bool,
}
