//! Bit rates.

use super::Duration;

/// A rate in bits per second, above zero, or no limit.
///
/// ```
/// use netspurt::units::BitRate;
/// let t1: BitRate = "1.544 Mbit/s".parse().unwrap();
/// assert_eq!(t1.bits_per_second(), Some(1_544_000));
/// assert_eq!("unlimited".parse::<BitRate>().unwrap().bits_per_second(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitRate(u64);

impl BitRate {
    /// The rate without a limit. At this rate, a transmission takes no time.
    pub const UNLIMITED: BitRate = BitRate(0);

    /// A rate of `bits` bits per second, or `None` if `bits` is zero.
    pub const fn new(bits: u64) -> Option<Self> {
        if bits == 0 { None } else { Some(Self(bits)) }
    }

    /// The time, rounded up, that `octets` octets take at this rate. At the rate without a limit,
    /// they take no time.
    #[expect(clippy::cast_possible_truncation, reason = "the value is below 2^64")]
    pub const fn time_for(self, octets: u64) -> Duration {
        let Some(rate) = self.bits_per_second() else { return Duration::ZERO };
        let nanos = (octets as u128 * 8 * 1_000_000_000).div_ceil(rate as u128);
        let most = u64::MAX as u128;
        Duration::from_nanos(if nanos < most { nanos as u64 } else { u64::MAX })
    }

    /// The number of bits per second, or `None` if the rate has no limit.
    pub const fn bits_per_second(self) -> Option<u64> {
        if self.0 == 0 { None } else { Some(self.0) }
    }
}
