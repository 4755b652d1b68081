//! Helpers that several files of this folder use: packets, and columns of tables.

use std::net::SocketAddr;

use netspurt::ids::{EndId, TransmissionId};
use netspurt::record::{Data, Table};
use netspurt::segment::{Flags, Segment};
use netspurt::units::{Duration, Time};
use netspurt::wire::{Packet, encode};

/// The instant `count` milliseconds after the start.
pub fn ms(count: u64) -> Time {
    Time::ZERO + Duration::from_millis(count)
}

/// Makes a packet from the socket address `source` to the socket address `destination`.
pub fn packet_between(source: &str, destination: &str, segment: Segment) -> Vec<u8> {
    let [source, destination]: [SocketAddr; 2] =
        [source, destination].map(|socket| socket.parse().unwrap());
    let mut octets = Vec::new();
    encode(&Packet { source, destination, ip_id: 1, segment, payload: None }, &mut octets);
    octets
}

/// Makes a packet from the first end of flow 0 to the second end.
pub fn packet(segment: Segment) -> Vec<u8> {
    packet_between("10.0.0.1:10000", "10.0.0.2:5001", segment)
}

/// Packet `number` of end 0. The first packet has number 0. Each packet carries 1000 octets.
pub fn data(number: u64) -> Segment {
    let dest = EndId::at(1);
    Segment {
        id: TransmissionId::of_packet(dest.peer(), number),
        dest,
        seq: 1 + 1000 * u32::try_from(number).unwrap(),
        len: 1000,
        size_bytes: 1040,
        flags: Flags::ACK,
        ..Segment::default()
    }
}

/// Packet `number` of end 1. The first packet has number 0. The packet acknowledges all octets
/// before `ack`.
pub fn ack(number: u64, ack: u32) -> Segment {
    let dest = EndId::at(0);
    Segment {
        id: TransmissionId::of_packet(dest.peer(), number),
        dest,
        ack,
        size_bytes: 40,
        flags: Flags::ACK,
        ..Segment::default()
    }
}

/// A column of whole numbers; `None` for a missing value.
pub fn numbers(table: &Table, name: &str) -> Vec<Option<i64>> {
    match table.column(name) {
        Some(Data::I64(values)) => values.iter().copied().map(Some).collect(),
        Some(Data::OptionalI64(values)) => values.iter().collect(),
        Some(Data::U64(values)) => values.iter().map(|value| Some(value.cast_signed())).collect(),
        Some(Data::U32(values)) => values.iter().map(|value| Some(i64::from(*value))).collect(),
        _ => panic!("no numbers called {name}"),
    }
}

/// A column of texts.
pub fn texts(table: &Table, name: &str) -> Vec<String> {
    match table.column(name) {
        Some(Data::Text { codes, texts }) => {
            codes.iter().map(|code| texts[*code as usize].clone()).collect()
        }
        Some(Data::Tag { codes, texts }) => {
            codes.iter().map(|code| texts[*code as usize].to_owned()).collect()
        }
        _ => panic!("no texts called {name}"),
    }
}
