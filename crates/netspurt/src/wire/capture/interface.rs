//! The interface at which packets were captured, and the unit of its timestamps.

use crate::wire::LinkType;

/// The maximum captured length of a packet that is read, in octets. Capture programs keep at most
/// 256 KiB of a packet. A packet that segmentation offload has not yet cut has up to 512 KiB.
pub(super) const MOST: usize = 1 << 20;

const NANOSECONDS: u64 = 1_000_000_000;

/// An interface: its link type, and the unit of its timestamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interface {
    pub(super) link: LinkType,
    /// The number of timestamp units per second.
    pub(super) rate: u64,
    /// Seconds to add to each timestamp.
    pub(super) offset: i64,
    /// The maximum number of octets that were captured of a packet. It is 0 if there was no limit.
    pub(super) snap_bytes: u32,
}

impl Interface {
    /// Converts a timestamp to nanoseconds since 1970. `None` if they do not fit into 64 bits.
    #[inline]
    pub(super) fn unix_ns(self, stamp: u64) -> Option<i64> {
        let ns = match self.rate {
            NANOSECONDS => i64::try_from(stamp).ok()?,
            1_000_000 => i64::try_from(stamp).ok()?.checked_mul(1000)?,
            rate => {
                let ns = u128::from(stamp) * u128::from(NANOSECONDS) / u128::from(rate);
                i64::try_from(ns).ok()?
            }
        };
        ns.checked_add(self.offset.checked_mul(NANOSECONDS.cast_signed())?)
    }

    /// Returns the number of timestamp units per second, which the option `if_tsresol` gives. The
    /// unit is a negative power of 10, or of 2 if the highest bit is set. `None` if the number does
    /// not fit into 64 bits.
    pub(super) fn rate(option: u8) -> Option<u64> {
        let power = u32::from(option & 0x7f);
        if option & 0x80 == 0 { 10_u64.checked_pow(power) } else { 2_u64.checked_pow(power) }
    }
}

/// The numbers of packets that a capture missed, as the interface statistics of pcapng give them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureDrops {
    /// The number of packets that interfaces dropped because they lacked resources.
    pub interface: u64,
    /// The number of packets that the system dropped before the capturing program got them.
    pub system: u64,
}

impl CaptureDrops {
    /// Returns the sums of these counts and the counts `other`.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            interface: self.interface.saturating_add(other.interface),
            system: self.system.saturating_add(other.system),
        }
    }
}
