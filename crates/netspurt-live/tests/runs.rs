//! Tests of the kernel's TCP over emulated links. If the machine has no namespaces, a test is
//! skipped and prints the reason.

mod worker;

use netspurt::record::{Data, Table};
use worker::{Folder, finish, real_time, start};

/// RFC 2416's experiment as a scenario for live runs.
const RFC2416: &str = include_str!("../../../python/netspurt/shelf/scenarios/live/rfc2416.toml");
/// The times of the ACKs in this experiment, measured with the kernel's TCP and another emulator.
const MEASURED: &str = include_str!("../../../authorities/linux/rfc2416-acks.csv");

const LOSSY: &str = r#"
stop = "4 s"
seed = 7
[links]
wire = { between = ["a", "b"], rate = "5 Mbit/s", delay = "10 ms", queue = "8 packets", loss = [{ probability = 0.03 }, "none"] }
[flows.transfer]
from     = "a"
to       = "b"
endpoint = "kernel"
profile  = "linux-default"
send     = "300 kB"
[record]
spy = ["a", "b"]
"#;

fn numbers<'a>(table: &'a Table, name: &str) -> &'a [i64] {
    let Some(Data::I64(values)) = table.column(name) else { panic!("{name}") };
    values
}

fn texts(table: &Table, name: &str) -> Vec<String> {
    let Some(Data::Text { codes, texts }) = table.column(name) else { panic!("{name}") };
    codes.iter().map(|code| texts[*code as usize].clone()).collect()
}

/// The rows of a table `segments` for one node and one direction. Each row is a time in seconds, a
/// kind, and a packet number.
fn seen(table: &Table, node: &str, way: &str) -> Vec<(f64, String, i64)> {
    let (nodes, ways) = (texts(table, "node"), texts(table, "way"));
    let (kinds, packets) = (texts(table, "kind"), numbers(table, "packet"));
    let rows = numbers(table, "t_ns").iter().enumerate();
    rows.filter(|(row, _)| nodes[*row] == node && ways[*row] == way)
        .map(|(row, t_ns)| (*t_ns as f64 / 1e9, kinds[row].clone(), packets[row]))
        .collect()
}

/// The ACKs in the table [`MEASURED`] for an initial window of `window` segments. For each ACK:
/// its kind, its packet, and the seconds since the first data packet.
fn measured(window: &str) -> Vec<(String, i64, f64)> {
    let rows = MEASURED.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    rows.filter(|row| row[0] == window)
        .map(|row| {
            let kind = if row[1] == "dup" { "dupack" } else { "ack" };
            (kind.to_owned(), row[2].parse().unwrap(), row[3].parse().unwrap())
        })
        .collect()
}

#[test]
fn on_the_kernels_tcp_the_acks_of_rfc_2416_arrive_at_the_measured_times() {
    real_time(|| {
        let runs = [("1", 7), ("4", 4)].map(|(window, lost)| {
            let folder = Folder::new();
            let text = RFC2416.replace("\"4 segments\"", &format!("\"{window} segments\""));
            (window, lost, start(&text, &folder.0, None), folder)
        });
        for (window, lost, child, folder) in runs {
            let Some(()) = finish(child) else { return };
            let segments = folder.table("segments");
            let sent = seen(&segments, "source", "out");
            let first = sent.iter().find(|row| row.1 == "data").unwrap().0;
            let acks = seen(&segments, "source", "in");
            let acks: Vec<_> =
                acks.iter().filter(|row| row.1.ends_with("ack") && row.0 > first).collect();
            let expected = measured(window);
            assert!(expected.len() >= 6 && acks.len() >= expected.len());
            for ((kind, packet, at), got) in expected.iter().zip(&acks) {
                assert_eq!(
                    (&got.1, got.2),
                    (kind, *packet),
                    "initial window {window}, after {at} s"
                );
                let off = got.0 - first - at;
                assert!(
                    off.abs() <= 0.005,
                    "window {window}: {kind} {packet} differs by {off:+.4} s"
                );
            }
            let drops = folder.table("drops");
            assert_eq!(numbers(&drops, "packet")[0], lost, "window {window}");
            let retransmitted = sent.iter().find(|row| row.1 == "retransmission").unwrap();
            assert_eq!(retransmitted.2, lost, "window {window}");
        }
    });
}

#[test]
fn a_replay_of_the_real_arrivals_in_virtual_time_has_the_same_drops() {
    real_time(|| {
        let folder = Folder::new();
        let Some(()) = finish(start(LOSSY, &folder.0, None)) else { return };
        let report = folder.report();
        assert!(report["replayed"]["drops"].as_u64().unwrap() >= 3, "{report:#}");
        assert_eq!(report["replayed"]["same"], true);
        assert_eq!(report["packets"]["strange"], 0, "no wrong checksums, no stray packets");
        let flows = folder.table("flows");
        assert_eq!(numbers(&flows, "delivered_bytes"), [300_000]);
        assert_eq!(numbers(&flows, "acked_bytes"), [300_000]);
        let lost = numbers(&folder.table("links"), "lost").iter().sum::<i64>()
            + numbers(&folder.table("links"), "dropped").iter().sum::<i64>();
        let retransmitted: i64 = numbers(&folder.table("retransmissions"), "sent").iter().sum();
        assert!(retransmitted >= lost, "{retransmitted} retransmissions for {lost} lost");
    });
}

#[test]
fn an_ordinary_user_can_carry_out_a_live_run() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can become another user");
        return;
    }
    let folder = Folder::new();
    let run = std::panic::catch_unwind(|| start(LOSSY, &folder.0, Some(65_534)));
    let Ok(run) = run else {
        eprintln!("SKIPPED: user 65534 may not read the program");
        return;
    };
    let Some(()) = finish(run) else { return };
    let report = folder.report();
    assert_eq!((&report["replayed"]["same"], &report["real_time"]), (&true.into(), &false.into()));
    assert_eq!(numbers(&folder.table("flows"), "delivered_bytes"), [300_000]);
}

#[test]
fn a_run_fails_and_names_the_congestion_control_that_the_kernel_lacks() {
    let folder = Folder::new();
    let text = LOSSY.replace("[record]", "tcp = { congestion = \"westwood\" }\n[record]");
    let output = start(&text, &folder.0, None).wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if stderr.starts_with("no namespaces") {
        return eprintln!("SKIPPED: {}", stderr.trim());
    }
    assert!(stderr.contains("flow `transfer`") && stderr.contains("westwood"), "{stderr}");
    assert!(!output.status.success() && !folder.0.join("live.json").exists());
}

/// Twelve transfers, which start 20 ms apart, over a link that loses, duplicates and reorders
/// packets.
const ROUGH: &str = r#"
stop = "8 s"
seed = 11
[links]
wire = { between = ["a", "b"], rate = "20 Mbit/s", delay = "10 ms", queue = "60 packets", order = "overtaking", loss = { probability = 0.01 }, duplicate = { probability = 0.01, after = "3 ms" }, reorder = { probability = 0.02, by = "4 ms" } }
[flows.transfer]
from     = "a"
to       = "b"
endpoint = ENDS
family   = "FAMILY"
profile  = "linux-6"
send     = "60 kB"
count    = 12
every    = "20 ms"
[record]
tables  = ["drops"]
capture = false
"#;

/// Checks that each transfer of [`ROUGH`] is complete. The text `ends` says which of the two ends
/// run the kernel's TCP.
fn every_octet_arrives_between(ends: &str, family: &str) {
    let folder = Folder::new();
    let text = ROUGH.replace("ENDS", ends).replace("FAMILY", family);
    let Some(()) = finish(start(&text, &folder.0, None)) else { return };
    let (report, which) = (folder.report(), format!("{ends}, {family}"));
    assert_eq!(report["packets"]["damaged"], 0, "{which}");
    assert_eq!(report["packets"]["strange"], 0, "{which}: no wrong checksums, no stray packets");
    assert_eq!(report["failures"], serde_json::json!([]), "{which}");
    assert_eq!(report["replayed"]["same"], true, "{which}");
    let source = report["flows"]["transfer.0"]["from"].as_str().unwrap();
    assert_eq!(source.starts_with("[2001:db8:"), family == "ipv6", "{source}");
    let flows = folder.table("flows");
    assert_eq!(numbers(&flows, "delivered_bytes"), [60_000; 12], "{which}");
    assert_eq!(numbers(&flows, "acked_bytes"), [60_000; 12], "{which}");
    let lost = numbers(&folder.table("links"), "lost").iter().sum::<i64>();
    let duplicates = numbers(&flows, "duplicates").iter().sum::<i64>();
    assert!(lost > 0 && duplicates > 0, "{which}: lost packets {lost}, duplicates {duplicates}");
}

#[test]
fn the_model_sends_every_octet_to_the_kernel_over_a_rough_link() {
    real_time(|| {
        for family in ["ipv4", "ipv6"] {
            every_octet_arrives_between(r#"["model", "kernel"]"#, family);
        }
    });
}

#[test]
fn the_kernel_sends_every_octet_to_the_model_over_a_rough_link() {
    real_time(|| {
        for family in ["ipv4", "ipv6"] {
            every_octet_arrives_between(r#"["kernel", "model"]"#, family);
        }
    });
}

#[test]
fn the_kernels_tcp_uses_ipv6_and_a_capture_has_the_ipv6_packets() {
    real_time(|| {
        let folder = Folder::new();
        let text = LOSSY.replace("endpoint =", "family = \"ipv6\"\nendpoint =");
        let Some(()) = finish(start(&text, &folder.0, None)) else { return };
        let report = folder.report();
        assert_eq!(
            (&report["replayed"]["same"], &report["packets"]["strange"]),
            (&true.into(), &0.into())
        );
        assert_eq!(numbers(&folder.table("flows"), "delivered_bytes"), [300_000]);
        let segments = folder.table("segments");
        let Some(Data::U16(lengths)) = segments.column("len_bytes") else { panic!() };
        let largest = lengths.iter().max().copied();
        assert_eq!(largest, Some(1500 - 60 - 12), "an MTU minus the headers and the timestamps");
        let capture = std::fs::read(folder.0.join("a.pcapng")).unwrap();
        let source: [u8; 16] = "2001:db8::1".parse::<std::net::Ipv6Addr>().unwrap().octets();
        let packets = capture.windows(16).filter(|octets| *octets == source).count();
        assert!(packets > 300_000 / 1428, "{packets}");
    });
}

/// A shadow is a timer that gets the samples of a run, but does not influence the run. Here its
/// algorithm is Linux's, and it gets the round trips of the packets.
#[test]
fn the_rto_of_a_linux_shadow_stays_close_to_the_kernels_rto() {
    real_time(|| {
        let folder = Folder::new();
        let algorithms = "shadows = [\"linux:jiffy=4ms\", \"fixed:rto=50ms\"]";
        let text = LOSSY.replace("spy = [\"a\", \"b\"]", algorithms);
        let Some(()) = finish(start(&text, &folder.0, None)) else { return };
        let shadows = folder.table("shadows");
        let (algorithms, rto) = (texts(&shadows, "estimator"), numbers(&shadows, "rto_ns"));
        assert!(algorithms.len() > 200, "{}", algorithms.len());
        let Some(Data::OptionalI64(kernel)) = shadows.column("sender_rto_ns") else { panic!() };
        let rows = algorithms.iter().zip(rto).zip(kernel.iter());
        let mut off: Vec<i64> = rows
            .filter(|((algorithm, _), kernel)| algorithm.starts_with("linux") && kernel.is_some())
            .map(|((_, rto), kernel)| (rto - kernel.unwrap()).abs() / 1_000_000)
            .collect();
        off.sort_unstable();
        // The kernel's RTO is read only every 10 ms. The RTO changes within a few ms when the queue
        // fills, so the two RTOs differ a little.
        assert!(
            off[off.len() / 2] <= 8,
            "the median is {} ms, of {} differences",
            off[off.len() / 2],
            off.len()
        );
    });
}
