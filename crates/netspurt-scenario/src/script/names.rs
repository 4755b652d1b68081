//! Looks up values in tables by their names, and names by their values.

/// The name of the value `wanted` in a table that holds every value.
pub(super) fn name_in<T: Copy + PartialEq>(table: &[(&'static str, T)], wanted: T) -> &'static str {
    table.iter().find(|(_, entry)| *entry == wanted).expect("the table is complete").0
}

/// The entry called `name`.
pub(super) fn named<T: Copy>(table: &[(&'static str, T)], name: &str) -> Option<T> {
    table.iter().find(|(known, _)| *known == name).map(|(_, entry)| *entry)
}
