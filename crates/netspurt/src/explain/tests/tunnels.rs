//! Tests of captures of packets in tunnels, such as GRE. A talk (`Talk`) is a made-up capture of
//! one connection.

use crate::explain::{CaptureNotes, Explainer};
use crate::ids::Side;
use crate::wire::{CaptureReader, CapturedPacket};

use super::causes::first_of_ten_lost;

/// How a capture holds a packet: as it is, or in a tunnel (GRE over IPv4).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Bare,
    InGre,
}

use Held::{Bare, InGre};

/// Explains a capture with a loss and its retransmission. `held` says, for each side, how often and
/// how its packets were captured. Returns the habits (the observed behaviour) and the
/// retransmissions of both directions as text, and the notes on the capture.
fn repaired(held: [&[Held]; 2]) -> (String, CaptureNotes) {
    let talk = first_of_ten_lost(true);
    let capture = talk.capture();
    let (mut reader, mut explainer) =
        (CaptureReader::new(&capture[..]).unwrap(), Explainer::default());
    let mut number = 0;
    while let Some(packet) = reader.next_packet().unwrap() {
        for how in held[usize::from(talk.side(number) == Side::To)] {
            let total = packet.bytes.len() + 24;
            let mut bytes = vec![0; 24];
            (bytes[0], bytes[2], bytes[3]) = (0x45, (total >> 8) as u8, total as u8);
            (bytes[9], bytes[22]) = (47, 8);
            bytes.extend_from_slice(packet.bytes);
            let original_bytes = packet.original_bytes + 24;
            let inside = CapturedPacket { bytes: &bytes, original_bytes, ..packet };
            explainer.take(if *how == InGre { &inside } else { &packet });
        }
        number += 1;
    }
    let found = explainer.finish();
    let one = found.connections.at(0);
    assert_eq!(found.connections.len(), 1);
    let habits = one.directions.iter().flatten().map(|direction| &direction.habits);
    let repairs = one.directions.iter().flatten().map(|direction| &direction.retransmissions);
    let said = format!("{:?}{:?}", habits.collect::<Vec<_>>(), repairs.collect::<Vec<_>>());
    (said, found.notes)
}

#[test]
fn packets_in_tunnels_are_explained_like_other_packets() {
    let (bare, notes) = repaired([&[Bare]; 2]);
    assert_eq!(notes.tunnels, (0, 0));
    assert!(bare.contains("cause"));
    let (inside, notes) = repaired([&[InGre]; 2]);
    assert!(bare == inside && notes.tunnels.0 > 10 && notes.tunnels.1 == 0);
    assert_eq!(repaired([&[Bare], &[InGre]]).0, bare, "a tunnel in one direction only");
}

/// If a host at the end of a tunnel sends a packet, it captures the packet first outside of the
/// tunnel, and then inside. If it receives a packet, it captures the packet first inside, and then
/// outside.
#[test]
fn a_packet_captured_in_a_tunnel_and_outside_counts_once() {
    let (bare, _) = repaired([&[Bare]; 2]);
    let (both, notes) = repaired([&[Bare, InGre], &[InGre, Bare]]);
    assert!(both == bare && notes.tunnels.0 > 0 && notes.copies == 0);
    let twice = format!("{} packets were captured in a tunnel and also", notes.tunnels.1);
    assert!(notes.lines().iter().any(|line| line.contains(&twice)), "{:?}", notes.lines());
    let (_, notes) = repaired([&[Bare, InGre]; 2]);
    assert_eq!(notes.tunnels.0, 0);
    assert!(notes.lines()[0].contains(" packets were captured in a tunnel"), "{:?}", notes.lines());
    assert!(!notes.lines()[0].contains("0 packets were in tunnels"), "{:?}", notes.lines());
}
