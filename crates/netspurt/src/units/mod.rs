//! Quantities with their units: instants, spans of time, bit rates and byte counts.
//!
//! Everything inside is an integer, nanoseconds, bits per second and bytes, so a run comes out
//! the same on every machine. People write quantities as text with a unit, `"25 ms"`,
//! `"1.544 Mbit/s"`, `"1000 B"`; see [`UnitError`] for what a slip is answered with.

mod rate;
mod text;
mod time;

pub use rate::BitRate;
pub use text::{ByteCount, PacketCount, SegmentCount, UnitError};
pub use time::{Duration, Time};
