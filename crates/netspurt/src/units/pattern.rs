//! Regular expressions of quantities, for the schema of scenarios.
//!
//! The patterns match the texts that scenarios accept. A pattern does not match zero if zero makes
//! no sense for its quantity. The patterns limit the number of decimals for each unit. They also
//! limit the digits before the point, so that the value is below 10^18 base units. A test compares
//! the patterns with the reader of scenarios.

/// The pattern of a number and its unit. The number has at most `$digits` digits before the point,
/// and at most `$decimals` decimals.
macro_rules! decimal {
    ($digits:literal, $decimals:literal, $unit:literal) => {
        concat!("0*[0-9]{1,", $digits, "}(\\.[0-9]{1,", $decimals, "})? *", $unit)
    };
}

/// The pattern of a number and its unit. The number has at most `$digits` digits before the point.
/// Its decimals, if it has any, stand for a whole number of quarters.
macro_rules! binary {
    ($digits:literal, $unit:literal) => {
        concat!("0*[0-9]{1,", $digits, "}(\\.(0|5|00|25|50|75))? *", $unit)
    };
}

/// The pattern of a whole number with at most `$digits` digits, and its unit.
macro_rules! whole {
    ($digits:literal, $unit:literal) => {
        concat!("0*[0-9]{1,", $digits, "} *", $unit)
    };
}

macro_rules! bytes {
    () => {
        concat!(
            whole!(18, "B|"),
            decimal!(15, 3, "kB|"),
            decimal!(12, 6, "MB|"),
            decimal!(9, 9, "GB|"),
            binary!(14, "KiB|"),
            binary!(11, "MiB|"),
            binary!(8, "GiB")
        )
    };
}

/// The pattern of a time.
pub const TIME: &str = concat!(
    "^ *(",
    whole!(18, "ns|"),
    decimal!(15, 3, "us|"),
    decimal!(12, 6, "ms|"),
    decimal!(9, 9, "s|"),
    decimal!(7, 10, "min|"),
    decimal!(5, 11, "h"),
    ") *$"
);

/// The pattern of a bit rate above zero, or of `unlimited`.
pub const RATE: &str = concat!(
    "^ *(unlimited|(?=.*[1-9])(",
    whole!(18, "bit/s|"),
    decimal!(15, 3, "kbit/s|"),
    decimal!(12, 6, "Mbit/s|"),
    decimal!(9, 9, "Gbit/s|"),
    decimal!(6, 12, "Tbit/s"),
    ")) *$"
);

/// The pattern of a size in bytes.
pub const BYTES: &str = concat!("^ *(", bytes!(), ") *$");

/// The pattern of a number of packets above zero.
pub const PACKETS: &str = concat!("^ *(?=.*[1-9])", whole!(9, "packets?"), " *$");

/// The maximum number of segments that [`SEGMENTS_OR_NONE`] and [`SEGMENTS`] allow.
pub const SEGMENTS_MAX: u64 = 1_000_000;

/// The pattern of a number of segments from zero to [`SEGMENTS_MAX`].
pub const SEGMENTS_OR_NONE: &str = "^ *0*([0-9]{1,6}|1000000) *segments? *$";

/// The pattern of a number of segments from one to [`SEGMENTS_MAX`].
pub const SEGMENTS: &str = "^ *0*([1-9][0-9]{0,5}|1000000) *segments? *$";

/// The pattern of a number of packets or bytes above zero, or of `unlimited`.
pub const PACKETS_OR_BYTES: &str =
    concat!("^ *(unlimited|(?=.*[1-9])(", whole!(9, "packets?|"), bytes!(), ")) *$");

/// The pattern of a number of segments or bytes above zero, or of `unlimited`.
pub const SEGMENTS_OR_BYTES: &str =
    concat!("^ *(unlimited|(?=.*[1-9])(", whole!(12, "segments?|"), bytes!(), ")) *$");
