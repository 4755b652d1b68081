//! Tests of the reader for the text that irtt prints.

use netspurt::delays::HalfDelays;

use super::{counts, one, reading};

/// The output of irtt for five probes. The last probe has no answer, and probe 3 has a duplicate.
const RUN: &str = "\
[Connecting] connecting to 10.9.0.1
[10.9.0.1:2112] [Connected] connection established
seq=0 rtt=69.54ms rd=34.18ms sd=35.37ms ipdv=n/a
seq=1 rtt=1.05s rd=33.44ms sd=1.016s ipdv=4.6ms
seq=3 rtt=588µs rd=294µs sd=-294µs ipdv=2.03ms
DUP! seq=3
seq=2 rtt=63.94ms rd=32.46ms sd=31.48ms ipdv=1.01ms (LATE)
[10.9.0.1:2112] [WaitForPackets] waiting 257.5ms for final packets

                         Min     Mean   Median      Max  Stddev
                         ---     ----   ------      ---  ------
                RTT  61.13ms  67.97ms  66.79ms  85.83ms  4.59ms
         send delay  30.27ms  33.93ms  32.65ms  54.55ms  3.28ms
      receive delay  30.21ms  34.04ms   33.2ms  49.19ms  3.27ms

      IPDV (jitter)   4.84µs   5.18ms   4.05ms  18.16ms  4.09ms
          send IPDV   3.59µs   3.08ms   1.99ms  23.07ms  3.16ms
       receive IPDV    170ns   3.34ms    2.1ms  16.64ms  3.27ms

     send call time   17.8µs    159µs            5.21ms   281µs
        timer error    363ns    565µs            3.37ms   729µs
  server proc. time   6.43µs   9.55µs            42.7µs  3.66µs

                duration: 457.4ms (wait 257.5ms)
   packets sent/received: 5/5 (0.00% loss)
 server packets received: 4/5 (20.00%/0.00% loss up/down)
          *** DUPLICATES: 1 (20.00%)
late (out-of-order) pkts: 1 (20.00%)
     bytes sent/received: 300/300
       send/receive rate: 9.6 Kbps / 9.5 Kbps
           packet length: 60 bytes
             timer stats: 0/5 (0.00%) missed, 1.13% error
";

#[test]
fn the_text_of_irtt_gives_delays_and_the_count_of_probes() {
    let reading = reading(RUN);
    assert!(reading.malformed.is_empty(), "{:?}", reading.malformed);
    let delays = &reading.recordings[0];
    assert_eq!(counts(delays), [5, 4, 1, 0, 1]);
    let rtts: Vec<_> =
        delays.probes.iter().map(|probe| probe.rtt.map(|rtt| rtt.as_nanos())).collect();
    let (longest, late) = (1_050_000_000, 63_940_000);
    assert_eq!(rtts, [Some(69_540_000), Some(longest), Some(late), Some(588_000), None]);
    assert_eq!(delays.one_way[1], HalfDelays::Forward(1_016_000_000));
    assert_eq!(delays.one_way[3], HalfDelays::Forward(-294_000));
    assert_eq!(delays.one_way[4], HalfDelays::Unknown);
    assert_eq!((delays.probes[0].wire_bytes, delays.format.as_str()), (88, "irtt"));
}

#[test]
fn the_interval_is_computed_from_the_duration_and_rounded_to_three_digits() {
    // The duration without the wait is 199.9 ms for four gaps, so a gap is 49.975 ms.
    let delays = one(RUN);
    assert_eq!(delays.probes[4].sent.as_nanos() - delays.probes[0].sent.as_nanos(), 200_000_000);
    assert!(delays.notes.iter().any(|note| note.contains("50 ms, by the statistics line")));
}

#[test]
fn without_statistics_a_note_says_that_later_probes_are_unknown() {
    let cut = RUN.split_once("[10.9.0.1:2112] [Wait").unwrap().0;
    let delays = one(cut);
    assert_eq!(counts(&delays), [4, 4, 0, 0, 1]);
    assert!(delays.notes.iter().any(|note| note.contains("after the last answer")));
    let reading = reading(&format!("{cut}seq=4 rtt=61.2ms rd=30"));
    assert_eq!((reading.malformed.len(), reading.malformed[0].line), (1, 8));
}

#[test]
fn a_note_reports_statistics_that_contradict_the_answers() {
    let note = |text: &str| {
        let notes = one(text).notes;
        notes.iter().find(|note| note.contains("answered probes")).cloned()
    };
    assert_eq!(note(RUN), None);
    let fewer = RUN.replace("seq=1 rtt=1.05s rd=33.44ms sd=1.016s ipdv=4.6ms\n", "");
    let told = note(&fewer).unwrap();
    assert!(
        told.ends_with(
            "4 answered probes, but the text has the answers of 3: the text is incomplete"
        )
    );
    let more = RUN.replace("seq=3 rtt=588µs", "seq=4 rtt=1ms ipdv=1ms\nseq=3 rtt=588µs");
    let told = note(&more).unwrap();
    assert!(told.ends_with("but the text has the answers of 5: the text has other answers, too"));
}

#[test]
fn the_size_of_a_probe_includes_the_ipv6_header_and_spans_of_minutes_are_read() {
    let text = RUN.replace("[10.9.0.1:2112]", "[[fd00::1]:2112]").replace("1.05s", "1m1.05s");
    let delays = one(&text);
    assert_eq!(delays.probes[0].wire_bytes, 108);
    assert_eq!(delays.probes[1].rtt.unwrap().as_nanos(), 61_050_000_000);
}
