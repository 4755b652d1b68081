//! The house rules that a compiler does not know, proved on the sources.

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
