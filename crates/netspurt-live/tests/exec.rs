//! Tests with unmodified programs at the two ends of a path. If the machine has no namespaces or
//! lacks a program, a test is skipped and prints the reason.

mod worker;

use std::fs;

use netspurt::record::{Data, Table};
use worker::{Folder, finish, has, start, start_programs};

const PATH: &str = r#"
stop = "20 s"
seed = 3
[links]
wire = { between = ["client", "server"], rate = "5 Mbit/s", delay = "10 ms", queue = "100 packets", loss = ["none", { probability = 0.05 }] }
[flows.web]
from     = "client"
to       = "server"
app      = "programs"
endpoint = "kernel"
profile  = "linux-default"
[record]
spy = ["client", "server"]
snap = "65535 B"
"#;

/// A column of whole numbers; -1 for a missing value.
fn numbers(table: &Table, name: &str) -> Vec<i64> {
    match table.column(name) {
        Some(Data::I64(values)) => values.clone(),
        Some(Data::OptionalI64(values)) => values.iter().map(|value| value.unwrap_or(-1)).collect(),
        _ => panic!("no whole numbers called {name}"),
    }
}

/// The octets of a file that a server offers.
fn page() -> Vec<u8> {
    (0..72_000_u32).map(|n| (n % 251) as u8).collect()
}

/// Checks a run in which curl fetches a page from Python's server. If `user` is given, the run
/// belongs to the user with this number.
fn fetches_a_page(user: Option<u32>) {
    if !has("python3") || !has("curl") {
        return;
    }
    let folder = Folder::new();
    fs::write(folder.0.join("page"), page()).unwrap();
    let place = folder.0.display();
    let server = format!("exec python3 -m http.server 8000 -d {place}");
    let got = format!("{place}/got");
    let command = ["curl", "-s", "-S", "-o", &got, "http://server:8000/page"];
    let run = start_programs(PATH, &folder.0, &command, Some(&server), user);
    let Some(()) = finish(run) else { return };
    let report = folder.report();
    assert_eq!(report["programs"]["status"], 0, "{report:#}");
    assert_eq!(fs::read(got).unwrap(), page(), "every octet");
    assert_eq!(report["replayed"]["same"], true);
    assert_eq!(
        (&report["packets"]["strange"], &report["packets"]["damaged"]),
        (&0.into(), &0.into())
    );
    let connections = folder.table("connections");
    assert_eq!(connections.rows(), 1);
    assert!(numbers(&connections, "from_bytes")[0] > 72_000, "the page and its header");
    let (asked, complete) = (numbers(&connections, "syn_ns"), numbers(&connections, "complete_ns"));
    // 72 kB at 5 Mbit/s take 115 ms, and two round trips take 40 ms.
    assert!(complete[0] - asked[0] > 155_000_000, "{connections:?}");
    let flows = folder.table("flows");
    assert_eq!(flows.rows(), 2, "one row for each direction");
    assert!(numbers(&flows, "sent")[1] >= 50, "the server sends the page");
    let lost = numbers(&folder.table("links"), "lost").iter().sum::<i64>();
    let retransmitted: i64 = numbers(&folder.table("retransmissions"), "sent").iter().sum();
    assert!(
        lost > 0 && retransmitted >= lost,
        "packets: {lost} lost, {retransmitted} retransmitted"
    );
    assert!(folder.table("cwnd").rows() > 3, "the kernel reports the programs' connections");
    assert!(folder.0.join("client.pcapng").metadata().unwrap().len() > 72_000);
}

#[test]
fn an_unmodified_client_finds_an_unmodified_server_by_its_name() {
    fetches_a_page(None);
}

#[test]
fn an_ordinary_user_can_run_an_unmodified_client_and_server() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can become another user");
        return;
    }
    let readable = std::panic::catch_unwind(|| fetches_a_page(Some(65_534)));
    if let Err(why) = readable {
        let message = why.downcast_ref::<String>().cloned().unwrap_or_default();
        assert!(
            message.contains("PermissionDenied") || message.contains("Permission denied"),
            "{message}"
        );
        eprintln!("SKIPPED: user 65534 may not read the program");
    }
}

#[test]
fn packets_outside_of_connections_cross_the_path_and_are_counted() {
    if !has("ping") {
        return;
    }
    let folder = Folder::new();
    let quiet = PATH.replace("0.05", "0.0");
    let command = ["ping", "-q", "-c", "3", "-i", "0.2", "10.0.0.2"];
    let Some(()) = finish(start_programs(&quiet, &folder.0, &command, None, None)) else { return };
    let report = folder.report();
    assert_eq!(report["programs"]["status"], 0, "{report:#}");
    assert_eq!(report["programs"]["other_packets"], 6, "three packets per direction");
    let segments = folder.table("segments");
    let Some(Data::Text { codes, texts }) = segments.column("kind") else { panic!("kind") };
    assert_eq!(codes.iter().filter(|code| texts[**code as usize] == "other").count(), 12);
}

#[test]
fn the_report_of_a_run_has_the_exit_status_of_the_command() {
    let status = |command: &[&str], stop: &str| {
        let folder = Folder::new();
        let text = PATH.replace("20 s", stop);
        let run = start_programs(&text, &folder.0, command, None, None);
        finish(run).map(|()| folder.report()["programs"]["status"].as_i64().unwrap())
    };
    let Some(seven) = status(&["sh", "-c", "exit 7"], "20 s") else { return };
    assert_eq!(seven, 7);
    assert_eq!(status(&["sh", "-c", "kill -9 $$"], "20 s"), Some(137));
    assert_eq!(status(&["no-such-program"], "20 s"), Some(127));
    assert_eq!(status(&["sleep", "60"], "1 s"), Some(124), "the command ends with the scenario");
}

#[test]
fn a_run_fails_if_its_flow_needs_programs_and_none_are_given() {
    let folder = Folder::new();
    let output = start(PATH, &folder.0, None).wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && stderr.contains("netspurt live exec"), "{stderr}");
}
