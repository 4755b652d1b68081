//! Tests of the readers for formats in JSON.

use netspurt::delays::{HalfDelays, Measure, SendTimeSource};

use crate::recordings::read;

use super::{counts, one, reading};

#[test]
fn the_json_of_irtt_gives_losses_and_times_of_sending_and_one_way_delays() {
    let trip = |n: u64, lost: &str, rtt: &str| {
        let sent = 1000 + n * 10_000_000;
        format!(
            r#"{{"seqno":{n},"lost":"{lost}","timestamps":{{"client":{{"send":{{"monotonic":{sent}}}}}}},
            "delay":{{{rtt}}}}}"#
        )
    };
    let trips = [
        trip(0, "false", r#""rtt":76594,"send":-200"#),
        trip(1, "true_up", ""),
        trip(2, "true_down", ""),
        trip(3, "false", r#""rtt":114941"#),
    ];
    let text = format!(
        r#"{{"config":{{"ip_version":"IPv6","params":{{"length":60}}}},
        "stats":{{"packets_sent":5,"packets_received":3,"duplicates":1,"late_packets":2}},
        "round_trips":[{}]}}"#,
        trips.join(",")
    );
    let delays = one(&text);
    assert_eq!(counts(&delays), [5, 2, 3, 0, 1]);
    assert_eq!((delays.probes[3].sent.as_nanos(), delays.probes[0].wire_bytes), (30_000_000, 108));
    assert!(delays.notes.iter().any(|note| note.contains("out of order")));
    let known = [
        HalfDelays::Forward(-200),
        HalfDelays::RequestLost,
        HalfDelays::ReplyLost,
        HalfDelays::Unknown,
    ];
    assert_eq!(delays.one_way[..4], known);
    assert_eq!(delays.one_way.len(), delays.probes.len());
}

#[test]
fn the_results_of_one_atlas_probe_to_one_address_are_one_recording() {
    let text = r#"[
        {"type":"ping","msm_id":1,"prb_id":2,"dst_addr":"10.0.0.1","af":4,"size":48,"timestamp":100,
         "sent":3,"rcvd":2,"dup":1,"result":[{"rtt":20.5},{"rtt":21,"dup":1},{"x":"*"},{"rtt":22.25}]},
        {"type":"ping","msm_id":1,"prb_id":2,"dst_addr":"10.0.0.1","af":4,"size":48,"timestamp":340,
         "sent":3,"rcvd":0,"result":[{"x":"*"},{"late":1,"rtt":1500.5},{"error":"unreachable"},{"x":"*"}]},
        {"type":"ping","msm_id":1,"prb_id":3,"dst_addr":"10.0.0.1","timestamp":"90",
         "sent":"3","rcvd":"2","dup":"1","avg":"58.042"}]"#;
    let reading = reading(text);
    let all: Vec<_> = reading.recordings.iter().map(counts).collect();
    assert_eq!(all, [[6, 3, 3, 1, 1], [3, 2, 1, 0, 1]]);
    let first = &reading.recordings[0];
    assert_eq!(
        (first.probes[3].sent.as_nanos(), first.probes[0].wire_bytes),
        (240_000_000_000, 76)
    );
    assert_eq!(reading.recordings[1].untimed, 2);
}

/// The entry of the late reply has no delay. The probe of this reply counts once, as answered.
#[test]
fn a_late_reply_without_a_delay_does_not_add_another_lost_probe() {
    let text = r#"{"type":"ping","msm_id":1,"prb_id":2,"dst_addr":"10.0.0.1","timestamp":100,
        "sent":3,"rcvd":2,"result":[{"rtt":20.5},{"rtt":22.25},{"x":"*"},{"late":1}]}"#;
    let delays = one(text);
    assert_eq!((counts(&delays), delays.untimed), ([3, 3, 0, 0, 0], 1));
    for received in [0, 1] {
        let result = format!(
            r#""type":"ping","msm_id":1,"prb_id":2,"dst_addr":"10.0.0.1","sent":1,"rcvd":{received}"#
        );
        let alone = format!(
            r#"{{{result},"timestamp":100,"result":[{{"x":"*"}},{{"late":1}}]}}
            {{{result},"timestamp":200,"result":[{{"rtt":20.5}}]}}"#
        );
        let delays = one(&alone);
        assert_eq!((counts(&delays), delays.untimed), ([2, 2, 0, 0, 0], 1), "{received}");
    }
}

#[test]
fn each_hop_of_a_traceroute_is_a_recording() {
    let text = r#"{"type":"traceroute","msm_id":1,"prb_id":2,"dst_addr":"10.0.0.1","timestamp":100,
        "result":[{"hop":1,"result":[{"rtt":1.5},{"x":"*"},{"rtt":1.25}]},
                  {"hop":2,"result":[{"x":"*"},{"x":"*"},{"x":"*"}]}]}"#;
    let reading = reading(text);
    let all: Vec<_> = reading.recordings.iter().map(counts).collect();
    assert_eq!(all, [[3, 2, 1, 0, 0], [3, 0, 3, 0, 0]]);
    assert!(reading.recordings[0].name.ends_with("10.0.0.1, hop 1"));
}

#[test]
fn round_trips_that_a_kernel_has_smoothed_are_marked_as_smoothed() {
    let iperf = r#"{"start":{},"intervals":[
        {"streams":[{"socket":5,"start":0,"end":1.0,"rtt":12565}]},
        {"streams":[{"socket":5,"start":1,"end":2.0,"rtt":38598}]}],
        "end":{"streams":[{"sender":{"socket":5,"min_rtt":3101}}]}}"#;
    let ss = "1700000000.5\nESTAB 0 0 10.0.0.1:22 10.0.0.2:5555\n\
              \t cubic wscale:7,7 rto:204 rtt:12.565/7 ato:40 minrtt:3.101\n\
              1700000001.5\nESTAB 0 0 10.0.0.1:22 10.0.0.2:5555\n\
              \t cubic wscale:7,7 rto:204 rtt:38.598/7 ato:40 minrtt:3.101\n";
    for text in [iperf, ss] {
        let delays = one(text);
        assert_eq!(
            (delays.measure, delays.send_times),
            (Measure::Smoothed, SendTimeSource::Recorded)
        );
        assert_eq!(counts(&delays)[..3], [2, 2, 0]);
        assert_eq!(delays.probes[1].rtt.unwrap().as_nanos(), 38_598_000);
        assert_eq!(delays.probes[1].sent.as_nanos(), 1_000_000_000);
        assert!(delays.notes[1].contains("3.101 ms"), "{:?}", delays.notes);
    }
}

/// Two packets were sent at the same instant, and the second delay was rounded up.
#[test]
fn rounded_delays_do_not_change_the_order_of_sending() {
    let event = |at: &str, rtt: &str| {
        format!(
            r#"{{"time":{at},"name":"recovery:metrics_updated","data":{{"latest_rtt":{rtt}}}}}"#
        )
    };
    let events = [event("40.0000", "20.000"), event("41.0002", "21.001")].join(",");
    let delays = one(&format!(r#"{{"qlog_version":"0.3","traces":[{{"events":[{events}]}}]}}"#));
    let probes: Vec<_> = delays.probes.iter().map(|probe| probe.sent.as_nanos()).collect();
    assert_eq!(probes, [0, 0]);
}

#[test]
fn in_all_three_forms_of_qlog_each_value_of_the_key_latest_rtt_is_a_sample() {
    let event = |at: u32, ms: u32| {
        format!(
            r#"{{"time":{at},"name":"recovery:metrics_updated","data":{{"latest_rtt":{ms},"smoothed_rtt":1}}}}"#
        )
    };
    let list = |at: u32, ms: u32| {
        format!(r#"["{at}","recovery","metrics_updated",{{"latest_rtt":{ms}}}]"#)
    };
    let texts = [
        format!(
            r#"{{"qlog_version":"0.3","traces":[{{"events":[{},{}]}}]}}"#,
            event(40, 20),
            event(90, 30)
        ),
        format!(
            "\u{1e}{{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{{}}}}\n\u{1e}{}\n\u{1e}{}\n",
            event(40, 20),
            event(90, 30)
        ),
        format!(
            r#"{{"qlog_version":"draft-01","traces":[{{"event_fields":["relative_time","CATEGORY","EVENT_TYPE","DATA"],"events":[{},{}]}}]}}"#,
            list(40, 20),
            list(90, 30)
        ),
    ];
    for text in texts {
        let delays = one(&text);
        let probes: Vec<_> = delays
            .probes
            .iter()
            .map(|probe| (probe.sent.as_nanos(), probe.rtt.unwrap().as_nanos()))
            .collect();
        assert_eq!(probes, [(0, 20_000_000), (40_000_000, 30_000_000)], "{text}");
        assert_eq!(delays.measure, Measure::RoundTrip);
    }
}

#[test]
fn pings_of_scamper_and_of_fping_are_read() {
    let scamper = r#"{"type":"cycle-start","id":1}
{"type":"ping","dst":"10.0.0.1","probe_size":84,"ping_sent":4,"wait":1,"responses":[
{"seq":0,"rtt":20.5,"tx":{"sec":100,"usec":5}},{"seq":2,"rtt":21.5,"tx":{"sec":102,"usec":5}},{"seq":2,"rtt":29}]}"#;
    let scamper = scamper.replace("[\n", "[").replace(",\n", ",");
    let delays = one(&scamper);
    assert_eq!(counts(&delays), [4, 2, 2, 0, 1]);
    assert_eq!(delays.probes[2].sent.as_nanos(), 2_000_000_000);
    let fping = "{\"resp\":{\"host\":\"a\",\"seq\":0,\"size\":64,\"rtt\":0.5}}\n\
                 {\"timeout\":{\"host\":\"a\",\"seq\":1}}\n{\"summary\":{\"host\":\"a\",\"xmt\":3,\"rcv\":1}}\n";
    assert_eq!(counts(&one(fping))[..3], [3, 1, 2]);
    // fping does not count the IP header, which has 40 octets in IPv6.
    for (host, octets) in [("a", 84), ("::1", 104)] {
        let text = fping.replace("\"a\"", &format!("{host:?}"));
        assert_eq!(one(&text).probes[0].wire_bytes, octets, "{host}");
    }
}

#[test]
fn the_error_for_json_says_that_the_file_is_cut_off_or_comes_from_an_unknown_tool() {
    for (text, says) in [
        (r#"{"round_trips":[{"seqno":0,"lost":"#, "cut off"),
        (r#"{"name":"x","version":3}"#, "keys are name, version"),
        (r#"{"type":"tracelb","dst":"x"}"#, "traceroute"),
    ] {
        let error = read("x", text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn unsent_packets_and_malformed_entries_of_atlas_are_not_losses() {
    let text = r#"[
        {"type":"ping","msm_id":1,"prb_id":2,"dst_addr":"a","timestamp":100,"sent":3,"rcvd":2,
         "result":[{"rtt":20.5},{"colour":"red"},{"rtt":22.25}]},
        {"type":"ping","msm_id":1,"prb_id":2,"dst_addr":"a","timestamp":340,"sent":0,"rcvd":0,
         "result":[{"error":"no route"}]}]"#;
    let reading = reading(text);
    assert_eq!(counts(&reading.recordings[0])[..3], [2, 2, 0]);
    assert_eq!(reading.malformed.len(), 1);
    assert!(reading.malformed[0].why.contains("entry 2"));
}

/// The count of lines begins with the first line of the file, even if this line is blank.
#[test]
fn the_error_for_malformed_json_names_the_line_of_the_fault() {
    let text = r#"

{
"type":"ping","msm_id":1,"prb_id":2,"dst_addr":"a","timestamp":100,"sent":1,"rcvd":1,
"result":[{"rtt":20.5}]}
{
"type": oops}
"#;
    let reading = reading(text);
    assert_eq!((reading.recordings[0].sent(), reading.malformed.len()), (1, 1));
    let malformed = &reading.malformed[0];
    assert_eq!((malformed.line, malformed.text.as_str()), (7, "\"type\": oops}"));
}

#[test]
fn an_entry_of_irtt_without_a_key_for_its_loss_is_malformed() {
    let text = r#"{"round_trips":[{"seqno":0,"lost":"false","delay":{"rtt":7}},{"seqno":1},
        {"seqno":2,"lost":"maybe"}]}"#;
    let reading = reading(text);
    assert_eq!((reading.recordings[0].sent(), reading.malformed.len()), (1, 2));
}

#[test]
fn snapshots_of_ss_without_a_round_trip_are_reported() {
    let connection = "ESTAB 0 0 10.0.0.1:22 10.0.0.2:5555\n";
    let text = format!(
        "{connection}\t cubic rto:204 rtt:12.5/7 cwnd:10\n{connection}\t cubic rto:1000 cwnd:1\n\
         {connection}\t cubic rto:204 rt"
    );
    let reading = reading(&text);
    let lines: Vec<usize> = reading.malformed.iter().map(|one| one.line).collect();
    assert_eq!((reading.recordings[0].sent(), lines), (1, vec![4, 6]));
}

#[test]
fn raw_values_of_flent_are_probes_and_averages_are_not() {
    let text = r#"{"version":4,"metadata":{},"x_values":[0.0,0.2],
        "results":{"Ping (ms) ICMP":[20,21],"Ping (ms) avg":[20,21],"TCP upload":[1,2]},
        "raw_values":{"Ping (ms) ICMP":[{"seq":1,"t":1700000000.02,"val":20.0},
            {"seq":2,"t":1700000001.021,"val":21.0},{"seq":4,"t":1700000003.5,"val":500}]}}"#;
    let delays = one(text);
    assert_eq!((&*delays.name, &*delays.format), ("x: Ping (ms) ICMP", "Flent"));
    assert_eq!(counts(&delays)[..3], [4, 3, 1]);
    assert_eq!(delays.send_times, SendTimeSource::Recorded);
    let sent = delays.probes[3].sent.as_nanos();
    assert!(sent.abs_diff(3_000_000_000) < 1000, "{sent}");
}

#[test]
fn without_raw_values_the_list_x_values_of_flent_gives_the_instants() {
    let text = r#"{"x_values":[0.0,0.2,0.4,0.6,0.8],
        "results":{"Ping (ms) UDP EF":[null,20.5,null,21.5,null]}}"#;
    let delays = one(text);
    assert_eq!(counts(&delays)[..3], [3, 2, 1]);
    assert_eq!(delays.probes[2].sent.as_nanos(), 400_000_000);
    assert!(delays.notes.iter().any(|note| note.contains("interpolated")));
    let error = read("x", br#"{"x_values":[0],"results":{"TCP upload":[1]}}"#).unwrap_err();
    assert!(error.to_string().contains("its series are TCP upload"), "{error}");
    let error = read("x", br#"{"x_values":[0],"results":{}}"#).unwrap_err();
    assert!(error.to_string().contains("and no other series"), "{error}");
}

#[test]
fn the_error_for_json_without_results_says_so() {
    for text in ["[]", "{}", "[{}]", "[{}, 1]"] {
        let error = read("x", text.as_bytes()).unwrap_err().to_string();
        assert_eq!(error, "x: the JSON has no results: record something first", "{text}");
    }
    let error = read("x", b"[{}, {\"a\": 1}]").unwrap_err().to_string();
    assert!(error.contains("its keys are a:"), "{error}");
    let error = read("x", b"{\"a\": ").unwrap_err().to_string();
    assert!(error.contains("cut off or malformed"), "{error}");
}

#[test]
fn the_reference_time_of_qlog_gives_the_start_of_the_recording() {
    let event = r#"{"time":120,"name":"recovery:metrics_updated","data":{"latest_rtt":20}}"#;
    let began = |common: &str| {
        let trace = format!(r#"{{"common_fields":{{{common}}},"events":[{event}]}}"#);
        let text = format!(r#"{{"qlog_version":"0.3","traces":[{trace}]}}"#);
        one(&text).began.map(|began| began.unix_ns)
    };
    let expected = Some(1_729_591_872_100_000_000);
    for common in [
        r#""time_format":"relative","reference_time":1729591872000"#,
        r#""time_format":"relative","reference_time":"1729591872000""#,
        r#""reference_time":{"clock_type":"system","epoch":"2024-10-22T10:11:12Z"}"#,
    ] {
        assert_eq!(began(common), expected, "{common}");
    }
    let unknown = r#""reference_time":{"clock_type":"monotonic","epoch":"unknown"}"#;
    assert_eq!([began(unknown), began(r#""reference_time":0"#)], [None, None]);
}
