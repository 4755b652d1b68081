//! The transmitter of a link: computes when the transmission of each frame starts and ends. It
//! carries fractions of a nanosecond from frame to frame, so rounding errors do not add up.

use crate::units::{BitRate, Duration, Time};

use super::Framing;
use super::rate::{MovingRate, Rate};
use crate::timeline::LineInstant;

/// The transmitter of one direction. It keeps the instant from which it is free, including the
/// fraction of a nanosecond.
///
/// This exact instant is `free_at + rest / rate` nanoseconds, and `rest` is the remainder of a
/// division. While the transmitter is busy, it carries the remainder from frame to frame, so *n*
/// frames take exactly the time of their bits.
#[derive(Debug)]
pub(super) struct Serializer {
    /// The rate. The value is 0 if the rate is unlimited.
    bits_per_second: u64,
    framing: Framing,
    free_at: Time,
    rest: u64,
    /// The transmission time that was computed last: octets, whole nanoseconds, remainder.
    last: (u32, Duration, u64),
    /// The rate, if it changes. Then `bits_per_second` is the rate when the last frame started.
    moving: Option<Box<MovingRate>>,
}

const NANOS: u128 = 1_000_000_000;

impl Serializer {
    pub(super) fn new(rate: &Rate, framing: Framing) -> Self {
        let mut this = Self {
            bits_per_second: 0,
            framing,
            free_at: Time::ZERO,
            rest: 0,
            last: (u32::MAX, Duration::ZERO, 0),
            moving: rate.moving().map(Box::new),
        };
        this.set_rate(rate.first());
        this
    }

    fn set_rate(&mut self, rate: BitRate) {
        self.bits_per_second = rate.bits_per_second().unwrap_or(0);
        self.last = (u32::MAX, Duration::ZERO, 0);
        self.last = self.line_time(0);
    }

    /// Transmits `size` octets that are ready at the instant `now`. Returns the start and the end
    /// of the transmission.
    #[inline(always)]
    pub(super) fn transmit(&mut self, now: Time, size: u32) -> (Time, Time) {
        if let Some(moving) = &mut self.moving {
            let free = LineInstant { at: self.free_at, rest: self.rest };
            let (start, end, rate) = moving.transmit(now, free, size, self.framing);
            (self.free_at, self.rest) = (end.at, end.rest);
            if rate.bits_per_second().unwrap_or(0) != self.bits_per_second {
                self.set_rate(rate);
            }
            return (start, end.at);
        }
        if now > self.free_at {
            self.free_at = now;
            self.rest = 0;
        }
        let start = self.free_at;
        if size != self.last.0 {
            self.last = self.line_time(size);
        }
        let (_, whole, rest) = self.last;
        self.free_at += whole;
        self.rest += rest;
        if self.rest >= self.bits_per_second && self.rest > 0 {
            self.rest -= self.bits_per_second;
            self.free_at += Duration::from_nanos(1);
        }
        (start, self.free_at)
    }

    /// Drops the octets that would be transmitted after the instant `at`. The transmitter is free
    /// from this instant on.
    pub(super) fn flush(&mut self, at: Time) {
        (self.free_at, self.rest) = (at, 0);
    }

    /// The transmission time of `size` octets, as (octets, whole nanoseconds, remainder).
    #[expect(
        clippy::cast_possible_truncation,
        reason = "even at 1 bit/s a packet (at most 65,535 octets) takes less than 2^64 ns"
    )]
    pub(super) fn line_time(&self, size: u32) -> (u32, Duration, u64) {
        if size == self.last.0 {
            return self.last;
        }
        let rate = u128::from(self.bits_per_second);
        if rate == 0 {
            return (size, Duration::ZERO, 0);
        }
        let bit_nanos = u128::from(self.framing.line_bits(size)) * NANOS;
        (size, Duration::from_nanos((bit_nanos / rate) as u64), (bit_nanos % rate) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_line_adds_fractions_of_a_nanosecond_to_the_next_frame() {
        // 1000 octets at 9600 bit/s take 833 333 333 1/3 ns.
        let mut modem = Serializer::new(&BitRate::new(9600).unwrap().into(), Framing::NONE);
        let ends: Vec<u64> =
            (0..3).map(|_| modem.transmit(Time::ZERO, 1000).1.as_nanos()).collect();
        assert_eq!(ends, [833_333_333, 1_666_666_666, 2_500_000_000]);
    }

    #[test]
    fn after_an_idle_time_a_transmission_starts_immediately_without_an_old_fraction() {
        let mut modem = Serializer::new(&BitRate::new(9600).unwrap().into(), Framing::NONE);
        modem.transmit(Time::ZERO, 1000);
        let now = Time::from_nanos(5_000_000_000);
        let (start, end) = modem.transmit(now, 1000);
        assert_eq!((start, end), (now, Time::from_nanos(5_833_333_333)));
    }

    #[test]
    fn a_transmission_at_an_unlimited_rate_takes_no_time() {
        let mut line = Serializer::new(&BitRate::UNLIMITED.into(), Framing::NONE);
        assert_eq!(line.transmit(Time::from_nanos(7), 1500).1, Time::from_nanos(7));
    }
}
