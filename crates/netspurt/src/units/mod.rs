//! Quantities with their units: instants, spans of time, bit rates, and counts of bytes, packets
//! and segments.
//!
//! Everything is stored as an integer, for example in nanoseconds, bits per second or bytes, so a
//! run gives the same results on every machine. People write quantities as text with a unit, for
//! example `"25 ms"`, `"1.544 Mbit/s"` or `"1000 B"`. [`UnitError`] describes mistakes.

pub mod pattern;
mod quantity;
mod rate;
mod text;
mod time;

pub use quantity::Quantity;
pub use rate::BitRate;
pub use text::{ByteCount, PacketCount, SegmentCount, UnitError, steps_of};
pub use time::{Duration, Time};
