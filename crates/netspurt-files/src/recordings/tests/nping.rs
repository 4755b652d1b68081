//! Tests of the reader for nping's output.

use super::{counts, one, reading};
use crate::recordings::read;

/// The output of nping for three requests. The second request has no reply, and the third has two.
const RUN: &str = "
Starting Nping 0.7.80 ( https://nmap.org/nping ) at 2024-10-22 10:11 UTC
SENT (0.0100s) ICMP [10.0.0.1 > 8.8.8.8 Echo request (type=8/code=0) id=52428 seq=1] IP [ttl=64 id=5 iplen=28 ]
RCVD (0.0223s) ICMP [8.8.8.8 > 10.0.0.1 Echo reply (type=0/code=0) id=52428 seq=1] IP [ttl=118 id=0 iplen=28 ]
SENT (1.0105s) ICMP [10.0.0.1 > 8.8.8.8 Echo request (type=8/code=0) id=52428 seq=2] IP [ttl=64 id=5 iplen=28 ]
SENT (2.0110s) ICMP [10.0.0.1 > 8.8.8.8 Echo request (type=8/code=0) id=52428 seq=3] IP [ttl=64 id=5 iplen=28 ]
RCVD (2.0210s) ICMP [8.8.8.8 > 10.0.0.1 Echo reply (type=0/code=0) id=52428 seq=3] IP [ttl=118 id=0 iplen=28 ]
RCVD (2.0211s) ICMP [8.8.8.8 > 10.0.0.1 Echo reply (type=0/code=0) id=52428 seq=3] IP [ttl=118 id=0 iplen=28 ]

Max rtt: 12.300ms | Min rtt: 10.000ms | Avg rtt: 11.150ms
Raw packets sent: 3 (84B) | Rcvd: 3 (138B) | Lost: 1 (33.33%)
Nping done: 1 IP address pinged in 3.05 seconds
";

#[test]
fn requests_are_paired_with_replies_by_their_numbers() {
    let reading = reading(RUN);
    assert!(reading.malformed.is_empty(), "{:?}", reading.malformed);
    let delays = &reading.recordings[0];
    assert_eq!(counts(delays), [3, 2, 1, 0, 1]);
    assert_eq!(delays.probes[0].rtt.unwrap().as_nanos(), 12_300_000);
    assert_eq!((delays.probes[0].number, delays.probes[0].wire_bytes), (1, 28));
    assert_eq!(delays.probes[2].sent.as_nanos(), 2_001_000_000);
    assert_eq!((delays.format.as_str(), delays.began), ("nping (ICMP)", None));
}

#[test]
fn each_address_is_a_recording_and_icmp_errors_are_not_replies() {
    let text = "\
SENT (0.0100s) ICMP [10.0.0.1 > 8.8.8.8 Echo request (type=8/code=0) id=1 seq=1] IP [ttl=64 id=5 iplen=28 ]
SENT (0.5100s) ICMP [10.0.0.1 > 1.1.1.1 Echo request (type=8/code=0) id=1 seq=1] IP [ttl=64 id=5 iplen=28 ]
RCVD (0.5200s) ICMP [10.0.0.9 > 10.0.0.1 Destination unreachable (type=3/code=1) ] IP [ttl=64 id=5 iplen=56 ]
RCVD (0.5300s) ICMP [1.1.1.1 > 10.0.0.1 Echo reply (type=0/code=0) id=1 seq=1] IP [ttl=64 id=5 iplen=28 ]
";
    let all: Vec<_> = reading(text).recordings.iter().map(counts).collect();
    assert_eq!(all, [[1, 0, 1, 0, 0], [1, 1, 0, 0, 0]]);
}

#[test]
fn modes_of_nping_other_than_icmp_are_refused_with_the_reason() {
    let text = "Starting Nping 0.7.80 ( https://nmap.org/nping ) at 2024-10-22 10:11 UTC\n\
        SENT (0.0321s) TCP 10.0.0.1:52345 > 8.8.8.8:80 S ttl=64 id=1 iplen=40  seq=123 win=1480\n\
        RCVD (0.0400s) TCP 8.8.8.8:80 > 10.0.0.1:52345 SA ttl=51 id=0 iplen=44  seq=9 win=1480\n";
    let error = read("x", text.as_bytes()).unwrap_err();
    assert_eq!(error.line, Some(2));
    assert!(error.message.contains("mode TCP") && error.fix.contains("--icmp"), "{error}");
}

#[test]
fn numbers_of_16_bits_continue_after_65535() {
    let line = |at: &str, seq: u16| {
        format!(
            "SENT ({at}s) ICMP [a > b Echo request (type=8/code=0) id=1 seq={seq}] IP [iplen=28 ]\n"
        )
    };
    let text = format!("{}{}", line("1.0", 65535), line("2.0", 0));
    let answered =
        "RCVD (2.5s) ICMP [b > a Echo reply (type=0/code=0) id=1 seq=0] IP [iplen=28 ]\n";
    let delays = one(&format!("{text}{answered}"));
    assert_eq!((counts(&delays)[..2].to_vec(), delays.probes[1].number), (vec![2, 1], 65536));
}
