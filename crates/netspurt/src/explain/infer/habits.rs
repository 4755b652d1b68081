//! The observed behaviour of a sender, a receiver and a path, with the numbers of observations.

use crate::units::Duration;

use super::order::StampTicks;
use super::path::{Vantage, least};
use super::timer_grid::TimerGrid;
use super::traits::Traits;

/// How a receiver acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckHabits {
    /// The number of acknowledgments of new octets.
    pub acks: u64,
    /// The number of segments that acknowledgment numbers newly covered. Segments that only SACK
    /// blocks reported do not count.
    pub covered: u64,
    /// How often the round trip of a lone segment was measured. A segment is lone if no other
    /// segment was outstanding when its acknowledgment arrived.
    pub lone: u32,
    /// By how much the longest round trip of a lone segment exceeds the shortest round trip. Unless
    /// the path caused this difference, the receiver's delayed-ACK timer is at least as long as the
    /// difference.
    pub longest_delay: Duration,
    /// The maximum number of octets that one acknowledgment covered while nothing was missing or
    /// retransmitted.
    pub most_bytes: u64,
    /// The number of acknowledgments of more than one new octet that came while nothing was missing
    /// or retransmitted.
    pub calm: u32,
    /// The length of the longest series of acknowledgments that acknowledged nothing new while
    /// nothing was outstanding (RFC 889 §2.2 describes such series).
    pub idle: u32,
}

impl AckHabits {
    /// Linux acknowledges at most `QUICK` segments one by one before it delays ACKs
    /// (`TCP_MAX_QUICKACKS`).
    const QUICK: u32 = 16;
    /// The maximum time that a receiver may delay an ACK (RFC 9293 §3.8.6.3).
    const LONGEST: Duration = Duration::from_millis(500);

    /// Takes an acknowledgment of `bytes` new octets that came while nothing was missing or
    /// retransmitted.
    #[inline]
    pub fn calm_ack(&mut self, bytes: u64) {
        // A SYN takes one octet, and its acknowledgment shows nothing.
        self.calm += u32::from(bytes > 1);
        self.most_bytes = self.most_bytes.max(bytes);
    }

    /// The number of octets for which the receiver may wait before it acknowledges. The receiver
    /// waits for two full segments of `smss_bytes` octets (RFC 5681 §4.2), or for one full segment
    /// if the receiver was seen to acknowledge each segment.
    pub fn awaited_bytes(&self, smss_bytes: u64) -> u64 {
        let each = self.most_bytes <= smss_bytes && self.calm > Self::QUICK;
        if each { smss_bytes } else { smss_bytes * 2 }
    }

    /// Takes the round trip `rtt` of a lone segment. `least` is the shortest round trip. If `rtt`
    /// exceeds `least` by more than `LONGEST`, it does not count.
    pub fn lone_acknowledged(&mut self, rtt: Duration, least: Duration) {
        let delay = rtt - least;
        if delay <= Self::LONGEST {
            self.lone += 1;
            self.longest_delay = self.longest_delay.max(delay);
        }
    }

    /// These habits together with the habits `other`, which the same receiver showed at other
    /// times.
    fn and(&self, other: &Self) -> Self {
        Self {
            acks: self.acks + other.acks,
            covered: self.covered + other.covered,
            lone: self.lone.saturating_add(other.lone),
            longest_delay: self.longest_delay.max(other.longest_delay),
            most_bytes: self.most_bytes.max(other.most_bytes),
            calm: self.calm.saturating_add(other.calm),
            idle: self.idle.max(other.idle),
        }
    }
}

/// Packets that arrived late: packets that were sent later overtook them (RFC 4737 §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatePackets {
    /// The number of late packets.
    pub packets: u64,
    /// The maximum number of packets that overtook one late packet. Zero if it is not known.
    pub by_max: u64,
    /// The maximum distance from a late packet to the highest octet that came before it, in full
    /// segments.
    pub distance_max: u64,
    /// The maximum time between a late packet and a packet that overtook it. Zero if it is not
    /// known.
    pub behind_max: Duration,
}

impl LatePackets {
    /// Counts a late packet. `one` says by how much it is late.
    pub fn add(&mut self, one: LateBy) {
        self.packets += 1;
        self.by_max = self.by_max.max(one.overtook);
        self.distance_max = self.distance_max.max(one.distance);
        self.behind_max = self.behind_max.max(one.behind);
    }

    fn and(&self, other: &Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            by_max: self.by_max.max(other.by_max),
            distance_max: self.distance_max.max(other.distance_max),
            behind_max: self.behind_max.max(other.behind_max),
        }
    }
}

/// By how much a packet is late. A value is zero if it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LateBy {
    /// The number of packets that overtook the late packet.
    pub overtook: u64,
    /// The distance from the late packet to the highest octet that came before it, in full
    /// segments.
    pub distance: u64,
    /// The time from an overtaking packet to the late packet. The overtaking packet is the one
    /// whose octets are nearest to the octets of the late packet.
    pub behind: Duration,
}

/// The observed behaviour of one direction's sender, receiver and path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Habits {
    /// Where the capture was taken, and the probability that this is right.
    pub vantage: (Vantage, f32),
    /// The shortest round trip between the capture and the sender.
    pub near: Option<Duration>,
    /// The shortest round trip between the capture and the receiver.
    pub far: Option<Duration>,
    /// The behaviour of the sender.
    pub traits: Traits,
    /// The grid (instants with equal steps between them) of the timeouts of all connections of the
    /// sender's host. If these timeouts have no grid, this is the grid of the sender's own
    /// timeouts.
    pub timer_grid: Option<TimerGrid>,
    /// The clock of the sender's timestamps.
    pub stamps: Option<StampTicks>,
    /// The behaviour of the receiver.
    pub acks: AckHabits,
    /// The packets that were overtaken before they reached the capture.
    pub late: LatePackets,
    /// The packets that were overtaken before they reached the receiver, as acknowledgments show.
    pub late_in_acks: LatePackets,
    /// Packets that filled a gap at the receiver, and may be late originals or retransmissions.
    /// Neither identifications nor timestamps show in which order these packets were sent.
    pub late_or_again: u64,
    /// Copies of packets that the network or the capture made.
    pub copies: u64,
    /// Octets that were acknowledged but never captured: the capture lost these octets, and the
    /// path did not lose them.
    pub uncaptured_bytes: u64,
    /// Whether the receiver was seen to send D-SACK blocks.
    pub reports_duplicates: bool,
}

impl Habits {
    /// These habits together with the habits `later`, which the same direction showed after its
    /// connection was packed to save memory.
    ///
    /// In most cases, the later part has few packets. So the result has the vantage with the higher
    /// probability, and the clock that was measured over more ticks.
    #[must_use]
    pub fn and_later(&self, later: &Self) -> Self {
        let ticks = |stamps: Option<StampTicks>| stamps.map_or(0, |stamps| stamps.ticks);
        let later_place = later.vantage.1 > self.vantage.1;
        let later_clock = ticks(later.stamps) > ticks(self.stamps);
        Self {
            vantage: if later_place { later.vantage } else { self.vantage },
            near: least(self.near, later.near),
            far: least(self.far, later.far),
            traits: self.traits.and(&later.traits),
            timer_grid: later.timer_grid.or(self.timer_grid),
            stamps: if later_clock { later.stamps } else { self.stamps },
            acks: self.acks.and(&later.acks),
            late: self.late.and(&later.late),
            late_in_acks: self.late_in_acks.and(&later.late_in_acks),
            late_or_again: self.late_or_again + later.late_or_again,
            copies: self.copies + later.copies,
            uncaptured_bytes: self.uncaptured_bytes + later.uncaptured_bytes,
            reports_duplicates: self.reports_duplicates || later.reports_duplicates,
        }
    }
}
