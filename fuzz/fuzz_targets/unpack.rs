//! Fuzzes the reader of compressed files with any octets. The reader reaches the end of a file or
//! stops at a fault. This fuzz target reads at most about 128 MiB of contents.

#![no_main]

use std::io::Read;

use libfuzzer_sys::fuzz_target;
use netspurt::unpack::Unpacked;

fuzz_target!(|octets: &[u8]| {
    let Ok(mut unpacked) = Unpacked::new(octets) else { return };
    let mut room = vec![0; 1 << 16];
    let mut read = 0;
    while let Ok(some) = unpacked.read(&mut room) {
        if some == 0 || read > 1 << 27 {
            break;
        }
        read += some;
    }
});
