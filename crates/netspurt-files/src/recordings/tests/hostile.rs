//! Tests that no bytes make a reader panic.

use std::ops::Range;

use proptest::prelude::*;

use crate::recordings::{Format, Hints, read, read_as};

/// Short files in the formats of many tools.
const SAMPLES: [&str; 22] = [
    "PING a (10.0.0.1) 56(84) bytes of data.\n[1700000000.02] 64 bytes from a: icmp_seq=65535 ttl=64 time=20.5 ms (DUP!)\nno answer yet for icmp_seq=2\n--- a ping statistics ---\n8 packets transmitted, 3 received, 62% packet loss, time 7ms\n",
    "PING a (10.0.0.1): 56 data bytes\n64 bytes from 10.0.0.1: seq=0 ttl=42 time<1 ms\nRequest timeout for icmp_seq 1\n",
    "Pinging ::1 with 32 bytes of data:\r\nReply from ::1: time<1ms \r\nRequest timed out.\r\n    Packets: Sent = 2, Received = 1, Lost = 1 (50% loss),\r\n",
    "[1700000000.1] a : [0], 64 bytes, 0.03 ms (0.03 avg, 0% loss)\na : [1], timed out (0.03 avg, 50% loss)\na : 1.5 - 2\na : xmt/rcv/%loss = 2/1/50%\n",
    "x 0 33000\nh 0 10.0.0.1\np 0 366 33000\nd 0 a.example\nx 1 65535\np 1 12\n",
    "{\"resp\":{\"host\":\"a\",\"seq\":0,\"size\":64,\"rtt\":0.5}}\n{\"summary\":{\"host\":\"a\",\"xmt\":3}}\n",
    "{\"config\":{\"params\":{\"length\":60}},\"stats\":{\"packets_sent\":2},\"round_trips\":[{\"seqno\":1,\"lost\":\"false\",\"timestamps\":{\"client\":{\"send\":{\"wall\":5}}},\"delay\":{\"rtt\":7}}]}",
    "{\"type\":\"ping\",\"msm_id\":1,\"prb_id\":2,\"timestamp\":100,\"sent\":3,\"rcvd\":2,\"size\":64,\"result\":[{\"rtt\":20.5},{\"x\":\"*\"},{\"late\":1,\"rtt\":9}]}",
    "{\"type\":\"ping\",\"dst\":\"a\",\"ping_sent\":4,\"responses\":[{\"seq\":2,\"rtt\":21.5,\"tx\":{\"sec\":102,\"usec\":5}}]}",
    "{\"intervals\":[{\"streams\":[{\"socket\":5,\"end\":1.0,\"rtt\":12565}]}]}",
    "{\"TCPInfo\":{\"RTT\":12565,\"MinRTT\":9,\"ElapsedTime\":7}}\n{\"Timestamp\":\"2019-07-01T00:00:12.092Z\",\"Attributes\":[null,null,\"AQAAAAAGeACI4wc=\"]}",
    "1700000000.5\nESTAB 0 0 10.0.0.1:22 10.0.0.2:5555\n\t cubic rto:204 rtt:12.565/7 minrtt:3.1\n",
    "{\"qlog_version\":\"0.3\",\"traces\":[{\"events\":[{\"time\":4,\"name\":\"recovery:metrics_updated\",\"data\":{\"latest_rtt\":2}}]}]}",
    "Host Information\n1,,-\nSample Information\n2025-11-26 17:36:26Z,1.21,24.35\n",
    "timestamp;seq;rtt_ms;lost\n1700000000,1;20,5;0\n2023-11-14 22:13:21+01:00;65000;*;1\n",
    "1694477135.68\t1\t44.5\n1694477135.83\t2\t-1\n",
    "Tue Oct 22 10:11:12 2024 20.5\nTue Oct 22 10:11:13.5 2024 False\n",
    "[Tue Oct 22 10:11:12 2024] a : [0], 64 bytes, 0.03 ms (0.03 avg, 0% loss)\n[22/Oct/2024:10:11:13 +0200] a : [1], 64 bytes, 0.03 ms\n",
    "Oct 22 23:59:59 64 bytes from a: icmp_seq=1 ttl=64 time=20.10 ms\nTue Oct 22 10:11:12 AM CEST 2024: 64 bytes from a: icmp_seq=2 ttl=64 time=21.53 ms\n",
    "Tue, 22 Oct 2024 10:11:12 +0200,20.5\n20241022T101112Z,error\n22-Oct-2024 10:11:12,>1000\n",
    "[2024-10-22 10:11:13 +0200] 20.5\n[2024-10-22 10:11:12 +0200] 20.5\n",
    "{\"x_values\":[0.0,0.2],\"results\":{\"Ping (ms) ICMP\":[20.5,null],\"Ping (ms) UDP\":[1,2]},\"raw_values\":{\"Ping (ms) UDP\":[{\"seq\":1,\"t\":5.5,\"val\":7.5}]}}",
];

/// Reads bytes in the format that their contents show, and then in each format.
fn survives(bytes: &[u8]) {
    let _ = read("x", bytes);
    for format in Format::ALL {
        let _ = read_as("x", bytes, &Hints { format: Some(*format), ..Hints::default() });
    }
}

#[test]
fn each_example_file_is_read_without_error() {
    for sample in SAMPLES {
        assert!(
            read("x", sample.as_bytes()).is_ok(),
            "{sample}: {:?}",
            read("x", sample.as_bytes())
        );
    }
}

/// The output of a loop that prints the time and then runs ping with one probe.
const ROUNDS: &str = "1700000000\nPING a (10.0.0.1) 56(84) bytes of data.\n64 bytes from a: icmp_seq=1 ttl=64 time=1.5 ms\n--- a ping statistics ---\n1 packets transmitted, 1 received, 0% packet loss, time 0ms\n1700000009\nPING a (10.0.0.1) 56(84) bytes of data.\n--- a ping statistics ---\n1 packets transmitted, 0 received, 100% packet loss, time 0ms\n1700000018\nPING a (10.0.0.1) 56(84) bytes of data.\n64 bytes from a: icmp_seq=1 ttl=64 time=1.5 ms\n";

/// Returns the range of bytes of each whole number in a text.
fn whole_numbers(text: &str) -> Vec<Range<usize>> {
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let begins = (0..text.len()).filter(|at| is_digit(*at) && (*at == 0 || !is_digit(at - 1)));
    begins.map(|begin| begin..(begin..).find(|at| !is_digit(*at)).unwrap()).collect()
}

#[test]
fn a_whole_number_at_the_limit_of_its_type_causes_no_panic() {
    for text in SAMPLES.into_iter().chain([ROUNDS]) {
        for place in whole_numbers(text) {
            for limit in [u64::MAX, u64::MAX - 1, i64::MAX as u64, u64::from(u32::MAX)] {
                let mut changed = text.to_owned();
                changed.replace_range(place.clone(), &limit.to_string());
                survives(changed.as_bytes());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_bytes_cause_no_panic(
        head in prop::sample::select(vec![&b""[..], b"PAR1", b"\x0a\x0d\x0d\x0a", b"\xd4\xc3\xb2\xa1", b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08", b"\xff\xfe", b"{", b"PING "]),
        tail in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        survives(&[head, &tail].concat());
    }

    #[test]
    fn changed_example_files_cause_no_panic(
        which in 0..SAMPLES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..8),
    ) {
        let mut bytes = SAMPLES[which].as_bytes().to_vec();
        for (place, octet, what) in changes {
            let at = place.index(bytes.len());
            match what {
                0 => bytes[at] = octet,
                1 => bytes.insert(at, b'0' + octet % 10),
                2 => bytes.truncate(at.max(1)),
                _ => {
                    let copy = bytes[at..].to_vec();
                    bytes.extend(copy);
                }
            }
        }
        survives(&bytes);
    }
}
