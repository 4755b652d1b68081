//! The rules of this project that a compiler does not check, tested on the sources.

mod bans;
mod circles;
mod departures;
mod floors;
mod observers;
mod papers;
mod parity;
mod sizes;
mod source;
mod types;
mod words;
