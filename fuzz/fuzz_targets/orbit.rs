//! Fuzzes the reader of element sets, which describe the orbits of satellites, with any text. At
//! any time, an accepted satellite has a finite position, or an error says why it has no position.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netspurt_files::orbit::{Satellite, Utc, read_elements};

fuzz_target!(|text: &str| {
    let all = match read_elements(text, "fuzz") {
        Ok(all) => all,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for elements in all.into_iter().take(8) {
        let Ok(satellite) = Satellite::new(elements) else { continue };
        for day in [0, 1, 400] {
            let at = Utc::from_nanos(1_700_000_000_000_000_000 + day * 86_400_000_000_000);
            match satellite.position(at) {
                Ok(place) => assert!(place.length().is_finite()),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
});
