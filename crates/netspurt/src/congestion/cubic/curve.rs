//! The curve of the congestion control algorithm CUBIC, in octets and nanoseconds. The curve gives
//! cwnd for each instant of congestion avoidance. It is flat at its plateau. All numbers are
//! integers, so that the results are the same on every machine.

use crate::units::Duration;

use super::super::Window;

/// The longest time on the curve, in nanoseconds: 73 minutes. In practice, stages of congestion
/// avoidance are shorter than 73 minutes. The cube of this number, 2^126, fits into 128 bits.
const LONGEST: u64 = 1 << 42;

/// The steepness of the curve for one segment size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curve {
    /// *C*, in segments per cubic second, as a fraction.
    pub(super) c: (u32, u32),
    /// The sender's maximum segment size, in octets.
    pub(super) smss: u64,
}

impl Curve {
    /// The distance *C · dt³* between the curve and its plateau, in octets. `dt` is the time until
    /// the curve reaches the plateau, or the time since it reached the plateau.
    pub(super) fn offset(self, dt: Duration) -> u64 {
        let dt = u128::from(dt.as_nanos().min(LONGEST));
        let (num, den) = self.c;
        // A cubic second has 10^27 = 2^27 · 5^27 cubic nanoseconds. So one shift and one division
        // convert the unit.
        let cube = (dt * dt * dt) >> 27;
        let octets = cube.saturating_mul(u128::from(num) * u128::from(self.smss));
        // Each divisor fits into 64 bits, but their product may not. Two divisions by numbers of
        // 64 bits are several times faster than one division by the product.
        let octets = octets / u128::from(5_u64.pow(27)) / u128::from(den);
        u64::try_from(octets).unwrap_or(u64::MAX).min(Window::NO_THRESHOLD)
    }

    /// The time *K* in which the curve climbs `gap` octets to its plateau.
    pub(super) fn climb(self, gap: u64) -> Duration {
        let (num, den) = self.c;
        let steepness = u128::from(num) * u128::from(self.smss.max(1));
        // The quotient is in billionths of a cubic second, because a dividend in cubic nanoseconds
        // might not fit into 128 bits. A billionth of a cubic second is 10^18 cubic nanoseconds.
        let billionths = u128::from(gap) * u128::from(den) * 1_000_000_000 / steepness;
        let cube = billionths.saturating_mul(1_000_000_000_000_000_000);
        Duration::from_nanos(cube_root(cube))
    }
}

/// The largest whole number whose cube is not above `x`.
pub(super) fn cube_root(x: u128) -> u64 {
    let mut root: u128 = 0;
    for bit in (0..43).rev() {
        let next = root | 1 << bit;
        // The cube of a number of 43 bits may overflow. A cube that overflows is above `x`.
        if (next * next).checked_mul(next).is_some_and(|cube| cube <= x) {
            root = next;
        }
    }
    u64::try_from(root).unwrap_or(u64::MAX)
}
