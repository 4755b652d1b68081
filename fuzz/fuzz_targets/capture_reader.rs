//! Fuzzes the reader of captures in two ways: with files of any octets, and with well-formed files
//! that hold packets of every supported link type with any octets.

#![no_main]

use std::io::Read;

use libfuzzer_sys::fuzz_target;
use netspurt::wire::{CaptureReader, Checks, Datagrams, TcpView, decode, decode_echo};

/// All link types below 256 that the reader supports, and one that it does not support.
const LINKS: [u8; 20] =
    [0, 1, 9, 10, 12, 14, 50, 51, 100, 101, 104, 105, 108, 113, 127, 147, 204, 228, 229, 239];

fuzz_target!(|octets: &[u8]| {
    let Some((first, rest)) = octets.split_first() else { return };
    match first {
        0 => read(CaptureReader::new(rest)),
        1 => read(CaptureReader::unpacking(rest)),
        choice => {
            let link = match LINKS.get(usize::from(choice - 2)) {
                Some(link) => (*link).into(),
                // This is the link type of Linux's cooked captures, version 2.
                None => 276_u16,
            };
            read(CaptureReader::new(&pcap(link, rest)[..]));
        }
    }
});

/// Makes a pcap file from `octets`. Three octets come before each packet: its time in seconds, its
/// captured length, and the number of missing octets divided by 256.
fn pcap(link: u16, mut octets: &[u8]) -> Vec<u8> {
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0];
    file.extend(u32::from(link).to_le_bytes());
    while let Some(([seconds, captured, missing], rest)) = octets.split_first_chunk() {
        let packet;
        (packet, octets) = rest.split_at(rest.len().min((*captured).into()));
        let original = packet.len() as u32 + (u32::from(*missing) << 8);
        for word in [u32::from(*seconds), 0, packet.len() as u32, original] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// Reads packets up to the end or to the first fault, and checks the rules that every result must
/// keep.
fn read<R: Read>(reader: Result<CaptureReader<R>, netspurt::wire::CaptureFault>) {
    let mut reader = match reader {
        Ok(reader) => reader,
        Err(fault) => return drop(fault.to_string()),
    };
    let mut datagrams = Datagrams::default();
    loop {
        let packet = match reader.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => break,
            Err(fault) => {
                assert!(!fault.to_string().is_empty());
                assert!(matches!(reader.next_packet(), Ok(None)));
                break;
            }
        };
        assert!(packet.bytes.len() <= packet.original_bytes as usize);
        assert!(packet.link.is_supported() || packet.ip().is_none());
        let Some(ip) = packet.captured_ip() else { continue };
        assert!(ip.bytes.len() <= ip.original_bytes as usize);
        let _ = (decode(ip.bytes, Checks::Captured), decode_echo(ip.bytes));
        let Some(whole) = datagrams.take(packet.unix_ns, ip) else { continue };
        if let Ok(view) = TcpView::of(whole.bytes, whole.original_bytes as usize) {
            assert!(view.captured_bytes <= view.payload_bytes);
            assert!(view.payload_bytes < view.size_bytes);
        }
    }
    let _ = (reader.drops(), datagrams.counts());
}
