//! Tests of the report on a live run, and of the tables that only live runs have. A shim is a
//! retransmission timer between a host's TCP and the path.

mod outcomes;
mod watching;

use std::collections::BTreeMap;

use netspurt::ids::{EndId, TransmissionId};
use netspurt::record::{Column, Data, FlowProperties, Names, Table};
use netspurt::results::RunContents;
use netspurt::segment::{Cause, Segment};
use netspurt::shim::Retransmission;
use netspurt::units::{Duration, Time};
use serde_json::{Value, json};

use super::report::{
    DeviceReport, EndReport, FlowFailure, LatenessReport, LiveReport, PacketCounts, ProgramsReport,
    Replayed, RouteReport, SocketReport,
};
use super::tables::{log_tables, shims_table};
use crate::drive::{Log, PacketArrival, PacketDelivery};
use crate::lateness::Lateness;
use crate::sandbox::Wire;

fn ms(count: u64) -> Time {
    Time::ZERO + Duration::from_millis(count)
}

/// The report on one end.
fn end_report(route: RouteReport, socket: SocketReport) -> EndReport {
    EndReport {
        flow: "transfer".to_owned(),
        side: "from",
        profile: "reno-2005",
        sysctls: BTreeMap::from([("net.ipv4.tcp_sack".to_owned(), "0".to_owned())]),
        route,
        device: DeviceReport { mtu: 1500, offloads: "off" },
        socket,
        counters: BTreeMap::from([("TcpRetransSegs".to_owned(), 2)]),
    }
}

/// The report on a run with 1000 deliveries, which were 1 to 1000 microseconds late.
fn report(programs: Option<ProgramsReport>) -> LiveReport {
    let late = (1..=1000).map(Duration::from_micros).collect();
    LiveReport {
        valid: true,
        back_end: "TUN".to_owned(),
        wire: Wire::Tun,
        offload: false,
        kernel: "6.1".to_owned(),
        real_time: true,
        budget_ns: 5_000_000,
        lateness: LatenessReport::from(&Lateness::of(late)),
        replayed: Replayed { drops: 3, drops_again: 3, same: true },
        packets: PacketCounts { strange: 1, ..PacketCounts::default() },
        ends: vec![end_report(RouteReport::default(), SocketReport::default())],
        failures: vec![FlowFailure { flow: "web".to_owned(), failure: "refused".to_owned() }],
        programs,
        contents: RunContents {
            stop_ns: 9,
            digest: "d".to_owned(),
            flows_digest: "f".to_owned(),
            tables: [("flows".to_owned(), 1)].into_iter().collect(),
            captures: [("a".to_owned(), "a.pcapng".to_owned())].into_iter().collect(),
            nodes: Default::default(),
            flows: Default::default(),
        },
    }
}

#[test]
fn the_report_has_the_keys_that_its_readers_expect() {
    let json_report = serde_json::to_value(report(None)).unwrap();
    for (key, value) in [
        ("valid", json!(true)),
        ("wire", json!("tun")),
        ("budget_ns", json!(5_000_000)),
        (
            "lateness",
            json!({ "deliveries": 1000, "p50_ns": 500_000, "p99_ns": 990_000, "p999_ns": 999_000,
                    "max_ns": 1_000_000 }),
        ),
        ("replayed", json!({ "drops": 3, "drops_again": 3, "same": true })),
        ("packets", json!({ "strange": 1, "damaged": 0, "missed": 0, "refused": 0 })),
        ("failures", json!([{ "flow": "web", "failure": "refused" }])),
        ("programs", Value::Null),
        ("stop_ns", json!(9)),
        ("tables", json!({ "flows": 1 })),
        ("captures", json!({ "a": "a.pcapng" })),
    ] {
        assert_eq!(json_report[key], value, "{key}");
    }
    assert_eq!(json_report.as_object().unwrap().len(), 20, "{json_report:#}");
}

#[test]
fn the_report_has_the_programs_and_the_exit_status_of_the_command() {
    let programs = ProgramsReport {
        command: vec!["curl".to_owned()],
        server: None,
        status: 124,
        ran: true,
        stopped: true,
        other_packets: 2,
        kernel_told: false,
    };
    assert_eq!(
        serde_json::to_value(report(Some(programs))).unwrap()["programs"],
        json!({ "command": ["curl"], "server": null, "status": 124, "ran": true, "stopped": true,
                "other_packets": 2, "kernel_told": false })
    );
}

#[test]
fn reports_on_ends_use_the_kernels_names_and_leave_out_unset_options() {
    let socket = SocketReport {
        congestion: Some("reno"),
        nodelay: Some(0),
        receive_buffer: Some(65_535),
        window_clamp: Some(24_000),
    };
    let route = RouteReport { initcwnd: Some(3), quickack: 1, congctl: None };
    let json_report = serde_json::to_value(end_report(route, socket)).unwrap();
    let options = json!({ "TCP_CONGESTION": "reno", "TCP_NODELAY": 0, "SO_RCVBUF": 65_535,
                          "TCP_WINDOW_CLAMP": 24_000 });
    assert_eq!(json_report["socket"], options);
    assert_eq!(json_report["route"], json!({ "initcwnd": 3, "quickack": 1 }));
    assert_eq!(json_report["sysctls"], json!({ "net.ipv4.tcp_sack": "0" }));
    let route = RouteReport { congctl: Some("cubic"), ..RouteReport::default() };
    let json_report = serde_json::to_value(end_report(route, SocketReport::default())).unwrap();
    assert_eq!(
        json_report["route"],
        json!({ "initcwnd": null, "quickack": 0, "congctl": "cubic" })
    );
    assert_eq!(json_report["socket"], json!({}), "programs choose their own socket options");
}

#[test]
fn packets_that_this_machine_lost_or_damaged_do_not_count_as_carried() {
    for (packets, carried) in [
        (PacketCounts::default(), true),
        (PacketCounts { strange: 5, ..PacketCounts::default() }, true),
        (PacketCounts { damaged: 1, ..PacketCounts::default() }, false),
        (PacketCounts { missed: 1, ..PacketCounts::default() }, false),
        (PacketCounts { refused: 1, ..PacketCounts::default() }, false),
    ] {
        assert_eq!(packets.all_carried(), carried, "{packets:?}");
    }
    let log = Log { strange: 1, damaged: 2, missed: 3, refused: 4, ..Log::default() };
    let counted = PacketCounts { strange: 1, damaged: 12, missed: 3, refused: 4 };
    assert_eq!(PacketCounts::of(&log, 10), counted, "reads of damaged octets count too");
}

#[test]
fn a_replay_has_the_same_drops_only_if_every_value_is_equal() {
    let table = |ids: &[i64]| Table::new("drops", vec![Column::new("id", Data::I64(ids.to_vec()))]);
    let (one, two) = (table(&[1, 2]), table(&[1, 3]));
    for (live, again, expected) in [
        (Some(&one), Some(&one), (2, 2, true)),
        (Some(&one), Some(&two), (2, 2, false)),
        (Some(&one), None, (2, 0, false)),
        (None, Some(&one), (0, 2, false)),
    ] {
        let Replayed { drops, drops_again, same } = Replayed::of(live, again);
        assert_eq!((drops, drops_again, same), expected);
    }
}

/// The names of a network with the flow `transfer` from node `a` to node `b`.
fn names() -> Names {
    let flow = FlowProperties {
        from: 0,
        to: 1,
        smss: 1000,
        echo_probes: false,
        answers: false,
        messages: [None; 2],
        ipv6: false,
        population: false,
    };
    Names::new(vec!["a".to_owned(), "b".to_owned()], Vec::new(), [("transfer".to_owned(), flow)])
}

/// Returns a column as whole numbers. A missing value becomes -1, and a text becomes its code.
fn column(table: &Table, name: &str) -> Vec<i64> {
    match table.column(name) {
        Some(Data::I64(values)) => values.clone(),
        Some(Data::U64(values)) => values.iter().map(|value| value.cast_signed()).collect(),
        Some(Data::Tag { codes, .. }) => codes.iter().map(|code| i64::from(*code)).collect(),
        Some(Data::OptionalI64(values)) => values.iter().map(|value| value.unwrap_or(-1)).collect(),
        Some(Data::U32(values)) => values.iter().map(|value| i64::from(*value)).collect(),
        Some(Data::Bool(values)) => values.iter().map(|value| i64::from(*value)).collect(),
        _ => panic!("no whole numbers called {name}"),
    }
}

#[test]
fn arrivals_and_deliveries_have_instants_in_logical_time_and_in_real_time() {
    let id = TransmissionId::of_packet(EndId::at(1), 4);
    let segment = Segment { id, dest: EndId::at(0), ..Segment::default() };
    let log = Log {
        arrivals: vec![PacketArrival { at: ms(5), stamped: ms(4), segment }],
        deliveries: vec![PacketDelivery { id, end: EndId::at(0), due: ms(9), actual: ms(11) }],
        ..Log::default()
    };
    let [arrivals, deliveries] = log_tables(&names(), &log);
    assert_eq!((&*arrivals.name, &*deliveries.name), ("arrivals", "deliveries"));
    assert_eq!(column(&arrivals, "t_ns"), [5_000_000]);
    assert_eq!(column(&arrivals, "stamped_ns"), [4_000_000]);
    assert_eq!(column(&deliveries, "t_ns"), [9_000_000]);
    assert_eq!(column(&deliveries, "actual_ns"), [11_000_000]);
    for table in [&arrivals, &deliveries] {
        assert_eq!(column(table, "id"), [id.bits().cast_signed()]);
        assert_eq!(column(table, "direction"), [1], "the sender was the second end");
    }
    let empty = log_tables(&names(), &Log::default());
    assert!(empty.iter().all(|table| table.rows() == 0));
}

#[test]
fn the_table_of_shims_exists_only_if_a_shim_retransmitted() {
    assert!(shims_table(&names(), &[]).is_none());
    let id = TransmissionId::of_packet(EndId::at(0), 2);
    let again = Retransmission {
        at: ms(90),
        armed: ms(30),
        id,
        left: 1001,
        len: 1000,
        cause: Cause::Shim,
        backoff: 2,
    };
    let table = shims_table(&names(), &[(EndId::at(0), again)]).unwrap();
    for (name, value) in [
        ("t_ns", 90_000_000),
        ("armed_ns", 30_000_000),
        ("seq", 1001),
        ("backoff", 2),
        ("direction", 0),
    ] {
        assert_eq!(column(&table, name), [value], "{name}");
    }
}
