//! The last acknowledgments with news. An acknowledgment has *news* if it acknowledges new octets, is
//! a duplicate, or has SACK blocks.

use std::num::NonZeroU32;

use crate::units::Time;

/// An acknowledgment with news that passed the capture point.
#[derive(Clone, Copy, Debug, Default)]
pub struct PassedNews {
    /// When the acknowledgment passed.
    pub at: Time,
    /// The receiver's timestamp. `None` without timestamps, or if it is 0.
    pub val: Option<NonZeroU32>,
    /// The octet after the acknowledged octets. Only its lowest 32 bits are kept.
    pub next: u32,
}

/// The recent acknowledgments with news. They are needed if the capture was taken far from the
/// sender. There, a packet of the sender answers an acknowledgment that passed the capture some
/// time before the packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecentNews {
    news: [PassedNews; RecentNews::MOST],
    count: usize,
}

impl RecentNews {
    const MOST: usize = 32;

    /// Adds the newest acknowledgment. Only the last [`MOST`](Self::MOST) are kept.
    pub fn add(&mut self, news: PassedNews) {
        self.news[self.count % Self::MOST] = news;
        self.count += 1;
    }

    /// Whether all acknowledgments so far are kept.
    pub fn has_all(&self) -> bool {
        self.count <= Self::MOST
    }

    /// The acknowledgments, the newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = PassedNews> {
        let known = self.count.min(Self::MOST);
        (1..=known).map(|back| self.news[(self.count - back) % Self::MOST])
    }
}
