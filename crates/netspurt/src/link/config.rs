//! The parameters of one direction of a link.

use crate::units::Duration;

use super::aqm::Queue;
use super::delay::Delay;
use super::effects::Effects;
use super::flight::Order;
use super::framing::Framing;
use super::handover::Handover;
use super::mtu::Mtu;
use super::rate::Rate;
use super::serializer::Serializer;

/// The configuration of one direction of a link.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// The bit rate.
    pub rate: Rate,
    /// The overhead of every datagram.
    pub framing: Framing,
    /// The propagation delay.
    pub delay: Delay,
    /// Whether a frame may overtake another.
    pub order: Order,
    /// The largest datagram that the link carries, and what happens to larger datagrams. The value
    /// is `None` for no limit.
    pub mtu: Option<Mtu>,
    /// The queue's limit and its algorithm.
    pub queue: Queue,
    /// Losses, duplicates and delayed frames. The value is `None` if the link has none of them.
    pub effects: Option<Effects>,
    /// The handovers to another path, in the order of time. No handover begins before the previous
    /// handover has ended.
    pub handovers: Vec<Handover>,
}

impl LinkConfig {
    /// The octets of the largest frame that enters the queue when a datagram of `size` octets
    /// arrives. This frame is the datagram itself or its largest fragment. If the link drops
    /// datagrams above its MTU, the result is at most the MTU.
    pub fn largest_part(&self, size: u32) -> u32 {
        self.mtu.map_or(size, |mtu| mtu.largest_part(size))
    }

    /// Whether a frame of `size` octets crosses the link in fragments.
    pub fn fragments_frame(&self, size: u32) -> bool {
        self.mtu.is_some_and(|mtu| mtu.fragments_frame(size))
    }

    /// Whether an empty queue has room for a frame of `size` octets.
    pub fn has_room_for(&self, size: u32) -> bool {
        self.queue.limit().admits((0, 0), size)
    }

    /// The rate, with the dead times of handovers, in which the link transmits nothing.
    pub(super) fn rate_with_dead_times(&self) -> Rate {
        let dead = |this: &Handover| (!this.dead.is_zero()).then_some((this.at, this.dead));
        let dead: Vec<_> = self.handovers.iter().filter_map(dead).collect();
        self.rate.clone().silent(&dead)
    }

    /// The shortest time in which any frame of `size` octets crosses the link during the run. The
    /// result is rounded down. If the link transmits at given instants ([`Rate::AtInstants`]), the
    /// result is 1 ns plus the minimum delay. The reason is that a frame that comes exactly at one
    /// of these instants waits for the next instant, at least 1 ns.
    pub fn least_time(&self, size: u32) -> Duration {
        if matches!(self.rate, Rate::AtInstants(_)) {
            return Duration::from_nanos(1) + self.delay.minimum();
        }
        let fastest = Rate::Constant(self.rate.greatest());
        Serializer::new(&fastest, self.framing).line_time(size).1 + self.delay.minimum()
    }
}
