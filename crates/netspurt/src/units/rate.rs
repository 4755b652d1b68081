//! Bit rates.

/// A rate in bits per second, above zero, or no limit at all.
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
    /// Every frame is on its way at once.
    pub const UNLIMITED: BitRate = BitRate(0);

    /// A rate of `bits` per second; `None` for zero, which is not a rate.
    pub const fn new(bits: u64) -> Option<Self> {
        if bits == 0 { None } else { Some(Self(bits)) }
    }

    /// Bits per second; `None` where there is no limit.
    pub const fn bits_per_second(self) -> Option<u64> {
        if self.0 == 0 { None } else { Some(self.0) }
    }
}
