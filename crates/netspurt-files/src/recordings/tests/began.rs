//! Tests of the start times of recordings.

use super::one;

/// When the recording of a text began: nanoseconds since 1970, and whether this is a local time.
fn began(text: &str) -> Option<(i64, bool)> {
    one(text).began.map(|began| (began.unix_ns, began.local))
}

#[test]
fn stamps_that_count_from_1970_show_when_the_first_probe_left() {
    let ping = "PING a (10.0.0.1) 56(84) bytes of data.\n\
        [1729591872.500000] 64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=500 ms\n";
    let fping = "[1729591872.50000] a : [0], 64 bytes, 500 ms (500 avg, 0% loss)\n";
    let table = "timestamp,rtt_ms\n1729591872,500\n";
    let irtt = "{\"version\":{},\"config\":{\"params\":{\"length\":0,\"interval\":1000}},\"stats\":{},\
        \"round_trips\":[{\"seqno\":0,\"lost\":\"false\",\"delay\":{\"rtt\":500},\"timestamps\":\
        {\"client\":{\"send\":{\"wall\":1729591872000000000,\"monotonic\":77}}}}]}";
    let probe = "{\"netspurt\":\"probe\",\"version\":1,\"part\":1,\"began\":{\"raw_ns\":1000,\
        \"unix_ns\":1729591872000000000}}\n\
        {\"echo_probe\":1,\"octets\":40,\"raw_ns\":1000,\"rtt_ns\":40000000,\"by\":\"kernel\"}\n\
        {\"end\":\"complete\"}\n";
    for text in [ping, fping, table, irtt, probe] {
        assert_eq!(began(text), Some((1_729_591_872_000_000_000, false)), "{text}");
    }
}

#[test]
fn without_times_that_count_from_1970_there_is_no_start_time() {
    assert_eq!(began("sent,rtt_ms\n0.5,20\n1.5,20\n"), None);
    assert_eq!(began("sent,rtt_ms\n86400,20\n86401,20\n"), None);
    assert_eq!(
        began(
            "PING a (10.0.0.1) 56(84) bytes of data.\n\
        64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=500 ms\n"
        ),
        None
    );
}

#[test]
fn times_without_a_zone_are_local() {
    let text = "Host Information\n1,,-\n2,a,10.0.0.1\nSample Information\n\
        2024-10-22 10:11:12,1.21,24.35\n";
    assert_eq!(began(text), Some((1_729_591_872_000_000_000, true)));
    assert_eq!(began(&text.replace("12,1", "12Z,1")), Some((1_729_591_872_000_000_000, false)));
}

#[test]
fn iso_stamps_of_fping_give_the_start_time() {
    let lines = |first: &str, second: &str| {
        format!(
            "[{first}] a : [0], 64 bytes, 12.3 ms (12.3 avg, 0% loss)\n\
                 [{second}] a : [1], timed out (12.3 avg, 50% loss)\n"
        )
    };
    for (first, second, local) in [
        ("2024-10-22T10:11:12+0000", "2024-10-22T10:11:13+0000", false),
        ("2024-10-22 10:11:12", "2024-10-22 10:11:13", true),
    ] {
        let delays = one(&lines(first, second));
        assert_eq!((delays.sent(), delays.lost()), (2, 1), "{first}");
        let began = delays.began.map(|began| (began.unix_ns, began.local));
        assert_eq!(began, Some((1_729_591_871_987_700_000, local)), "{first}");
    }
}
