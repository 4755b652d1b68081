//! Fuzzes the reader of delays with any octets. The first octet of an input is the number of a
//! format. If no format has this number, the reader detects the format.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netspurt_files::recordings::{Format, Hints, read_as};

fuzz_target!(|octets: &[u8]| {
    let Some((first, rest)) = octets.split_first() else { return };
    let format = Format::ALL.get(usize::from(*first)).copied();
    let hints = Hints { format, ..Hints::default() };
    match read_as("fuzz", rest, &hints) {
        Ok(reading) => {
            for recording in &reading.recordings {
                assert!(recording.received() <= recording.sent());
                assert!(recording.untimed <= recording.received());
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
