//! Fuzzes the decoder of packets with any octets. A segment that passes all checks is encoded and
//! decoded again, and must then have the same numbers, length, flags and SACK blocks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netspurt::wire::{Checks, Packet, TcpView, decode, decode_echo, encode};

fuzz_target!(|octets: &[u8]| {
    let _ = (decode_echo(octets), TcpView::of(octets, octets.len()));
    for checks in [Checks::Captured, Checks::Whole] {
        let Ok(found) = decode(octets, checks) else { continue };
        let Ok(view) = TcpView::of(octets, octets.len()) else { continue };
        assert!(view.captured_bytes <= view.payload_bytes);
        if checks != Checks::Whole {
            continue;
        }
        let (source, destination) = (found.source, found.destination);
        let packet =
            Packet { source, destination, ip_id: 0, segment: found.segment, payload: None };
        let mut written = Vec::new();
        encode(&packet, &mut written);
        let again = decode(&written, Checks::Whole).expect("what was encoded can be decoded");
        assert_eq!((again.segment.seq, again.segment.ack), (found.segment.seq, found.segment.ack));
        assert_eq!(
            (again.segment.len, again.segment.flags),
            (found.segment.len, found.segment.flags)
        );
        assert_eq!(again.segment.sack(), found.segment.sack());
    }
});
