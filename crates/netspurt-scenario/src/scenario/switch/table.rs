//! The list of all switches, which are named settings of TCP.

use super::definition::Switch;
use super::{congestion, options, recovery, timers, windows};

/// The switches by theme, in the order in which they are set and written. A switch comes before the
/// switches that depend on it.
pub const THEMES: [(&str, &[Switch]); 5] = [
    ("Packets and windows", windows::SWITCHES),
    ("Losses", recovery::SWITCHES),
    ("Congestion control", congestion::SWITCHES),
    ("Options and acknowledgments", options::SWITCHES),
    ("Clocks and timers", timers::SWITCHES),
];

/// Returns all switches, in the order of the themes.
pub fn all() -> impl Iterator<Item = &'static Switch> {
    THEMES.iter().flat_map(|(_, switches)| switches.iter())
}

/// Returns the switch with this key, and the switch's index among all switches.
pub fn find(key: &str) -> Option<(usize, &'static Switch)> {
    all().enumerate().find(|(_, switch)| switch.key == key)
}

/// Returns the switch with this index among all switches.
///
/// # Panics
/// If there is no such switch.
pub fn at(index: usize) -> &'static Switch {
    let mut rest = index;
    for (_, switches) in &THEMES {
        match switches.get(rest) {
            Some(switch) => return switch,
            None => rest -= switches.len(),
        }
    }
    panic!("there is no switch number {index}")
}
