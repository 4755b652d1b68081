//! Tests of recordings whose clock was set back, and of tables whose rows are in another order.

use netspurt::delays::Delays;

use super::{counts, one};

/// Whether a note of the recording contains the text `part`.
fn noted(delays: &Delays, part: &str) -> bool {
    delays.notes.iter().any(|note| note.contains(part))
}

/// The times of sending in whole seconds since the first time of sending.
fn seconds(delays: &Delays) -> Vec<u64> {
    delays.probes.iter().map(|probe| probe.sent.as_nanos() / 1_000_000_000).collect()
}

#[test]
fn probes_keep_their_interval_when_daylight_saving_time_ends() {
    // There is a probe each minute. At 03:00, the clock was set to 02:00.
    let hours = [1, 2, 2, 3].into_iter().flat_map(|hour| (0..60).map(move |minute| (hour, minute)));
    let rows: Vec<String> = hours
        .map(|(hour, minute)| format!("2024-10-27 {hour:02}:{minute:02}:00,{}\n", 20 + minute))
        .collect();
    let header = "time,rtt_ms\n";
    let delays = one(&(header.to_owned() + &rows.concat()));
    let expected: Vec<u64> = (0..240).map(|minute| minute * 60).collect();
    assert_eq!(seconds(&delays), expected);
    assert!(noted(&delays, "set back once, before probe 120, by 3600 s"), "{:?}", delays.notes);
    let reversed: String = rows.into_iter().rev().collect();
    let delays = one(&(header.to_owned() + &reversed));
    assert_eq!(seconds(&delays), expected);
    assert!(noted(&delays, "begin with the last probe"), "{:?}", delays.notes);
    assert_eq!(delays.probes[1].rtt.unwrap().as_nanos(), 21_000_000);
}

#[test]
fn a_log_of_ping_keeps_its_interval_after_a_clock_step() {
    let log: String = (0..100)
        .map(|n| {
            let at = 1_700_000_000 + n - if n < 50 { 0 } else { 1800 };
            format!("[{at}.020000] 64 bytes from 1.1.1.1: icmp_seq={n} ttl=56 time=20 ms\n")
        })
        .collect();
    let delays = one(&log);
    assert_eq!(seconds(&delays), (0..100).collect::<Vec<_>>());
    assert!(noted(&delays, "set back once, before probe 50, by 1800 s"), "{:?}", delays.notes);
}

#[test]
fn a_wrong_time_is_computed_again_from_the_times_beside_it() {
    for wrong in ["2024-10-28 10:00:05", "2023-10-26 10:00:05"] {
        let row = |n: u64| match n {
            5 => format!("{wrong},20\n"),
            n => format!("2024-10-26 10:00:{n:02},20\n"),
        };
        let text: String = (0..20).map(row).collect();
        let delays = one(&("time,rtt_ms\n".to_owned() + &text));
        assert_eq!(seconds(&delays), (0..20).collect::<Vec<_>>(), "{wrong}");
        assert!(noted(&delays, "the time of sending of probe 5 does not fit"), "{wrong}");
        assert!(!noted(&delays, "no time of sending"), "{:?}", delays.notes);
    }
}

#[test]
fn rows_that_are_not_in_the_order_of_time_are_sorted() {
    // The replies to the probes 4 and 9 took 3.5 s, so the rows of these probes come after the rows
    // of later probes.
    let order = [0, 1, 2, 3, 5, 6, 7, 4, 8, 10, 11, 12, 9, 13];
    let late = |n: u64| if n == 4 || n == 9 { 3500 } else { 20 };
    let row = |n: &u64| format!("{},{}\n", 1_700_000_000 + n, late(*n));
    let text: String = order.iter().map(row).collect();
    let delays = one(&("sent,rtt_ms\n".to_owned() + &text));
    assert_eq!(seconds(&delays), (0..14).collect::<Vec<_>>());
    assert_eq!(delays.probes[4].rtt.unwrap().as_nanos(), 3_500_000_000);
    assert!(noted(&delays, "not in the order of sending, so they were sorted by time"));
    assert_eq!(counts(&delays)[..3], [14, 14, 0]);
    let shuffled: String = (0..101_u64).map(|n| row(&(n * 37 % 101))).collect();
    let delays = one(&("sent,rtt_ms\n".to_owned() + &shuffled));
    assert_eq!(seconds(&delays), (0..101).collect::<Vec<_>>());
    assert!(noted(&delays, "sorted by time") && !noted(&delays, "set back"));
}
