//! Tests of the tables of a run, and of the files in its folder.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::app::{EchoProbePlan, EchoProbes, Exchange};
use crate::event::{Event, Events, Wanted, What};
use crate::ids::{EndId, FlowId, Side};
use crate::record::{
    Capturing, Column, Data, EchoProbeSum, FlowProperties, FlowSum, Names, Recorder, Table,
    write_table,
};
use crate::rto::EstimatorConfig;
use crate::stage::Stage;
use crate::units::{Duration, Time};

/// A flow from node 0 to node 1. If `answers` is true, one end answers requests. If `echo_probes`
/// is true, the flow is a series of echo probes.
fn flow(name: &str, answers: bool, echo_probes: bool) -> (String, FlowProperties) {
    let properties = FlowProperties {
        from: 0,
        to: 1,
        smss: 1000,
        echo_probes,
        answers,
        messages: [None; 2],
        ipv6: false,
        population: false,
    };
    (name.to_owned(), properties)
}

/// The names of a run with two nodes and these flows.
fn names(flows: Vec<(String, FlowProperties)>) -> Names {
    Names::new(["a", "b/c"].map(str::to_owned).to_vec(), Vec::new(), flows)
}

/// Returns a run of these flows that has ended. Flow 0 had one round-trip sample, at 30 ms.
fn ended(flows: Vec<(String, FlowProperties)>) -> EndedRun {
    let mut recorder = Recorder::new(names(flows));
    let at = Time::ZERO + Duration::from_millis(30);
    let (sent, rtt) = (Time::ZERO, Duration::from_millis(30));
    recorder.take(&Event { at, what: What::Rtt { end: EndId::at(0), sent, rtt } });
    let sums = recorder.names().senders().map(|end| (end, FlowSum::default())).collect();
    EndedRun {
        recorder,
        wanted: Wanted { rtt: true, seen: true, ..Wanted::default() },
        spurious: Vec::new(),
        sums,
        links: Vec::new(),
        echo_probes: vec![EchoProbeSum { flow: 1, number: 1, ..EchoProbeSum::default() }],
        populations: None,
        requests: vec![(0, vec![Exchange { asked: Time::ZERO, began: None, complete: None }])],
        programs: None,
        shadows: Vec::new(),
        more: Vec::new(),
        captured: Capturing { nodes: vec![0, 1], snap_bytes: None },
        real_hosts: false,
        stop: Time::ZERO + Duration::from_secs(2),
    }
}

fn table_names(results: &Results) -> Vec<&str> {
    results.tables().iter().map(|table| &*table.name).collect()
}

/// The tables of the packets that were seen at nodes.
const SEEN: [&str; 3] = ["segments", "sack_blocks", "syns"];

#[test]
fn a_run_has_the_tables_that_its_flows_and_events_need() {
    let sums = ["flows", "retransmissions", "links"];
    let plain = ended(vec![flow("f", false, false)]).finish();
    assert_eq!(table_names(&plain), [&sums[..], &SEEN, &["rtt"]].concat());
    let asking = ended(vec![flow("f", true, false), flow("p", false, true)]).finish();
    let with_flows = [&sums[..], &["echo_probes", "requests"], &SEEN, &["rtt"]].concat();
    assert_eq!(table_names(&asking), with_flows);
    assert_eq!(asking.table("flows").unwrap().rows(), 2, "a row for each sender of TCP");
    assert_eq!(asking.table("requests").unwrap().rows(), 1);
    assert_eq!(asking.table("echo_probes").unwrap().rows(), 1);
}

/// A shadow is a timer algorithm that gets the samples of a run, but does not influence the run.
#[test]
fn the_table_shadows_comes_after_the_recorded_tables_and_before_additional_tables() {
    let shadows = vec![EstimatorConfig::parse("rfc6298").unwrap()];
    let more = vec![Table::new("arrivals", vec![Column::new("t_ns", Data::I64(vec![1]))])];
    let run = EndedRun { shadows, more, ..ended(vec![flow("f", false, false)]) };
    let results = run.finish();
    assert_eq!(table_names(&results)[6..], ["rtt", "shadows", "arrivals"]);
    assert_eq!(
        results.table("shadows").unwrap().rows(),
        1,
        "one sample gives one row for the one timer"
    );
    let fewer = results.clone().without("arrivals");
    assert_eq!(table_names(&fewer)[6..], ["rtt", "shadows"]);
    assert_ne!(fewer.digest(), results.digest());
    assert_eq!(fewer.flows_digest(), results.flows_digest());
}

/// The user runs the programs, and they choose their own ports. Here flow 1 belongs to programs.
#[test]
fn flows_of_programs_have_no_requests_and_no_addresses_from_the_scenario() {
    let flows = || vec![flow("own", false, false), flow("web", true, false)];
    let run = EndedRun { programs: Some(FlowId(1)), ..ended(flows()) };
    let results = run.finish();
    assert!(results.table("requests").is_none());
    assert_eq!(results.contents().flows.keys().collect::<Vec<_>>(), ["own"]);
    let known = ended(flows()).finish();
    assert!(known.table("requests").is_some());
    assert_eq!(known.contents().flows.keys().collect::<Vec<_>>(), ["own", "web"]);
}

#[test]
fn the_contents_of_a_run_have_its_rows_files_and_addresses() {
    let flows = vec![flow("f", false, false), flow("p", false, true)];
    let contents = ended(flows).finish().contents();
    assert_eq!(contents.stop_ns, 2_000_000_000);
    assert_eq!(contents.tables["rtt"], 1);
    assert_eq!(contents.captures["b/c"], "b_c.pcapng");
    assert_eq!(contents.nodes["a"].to_string(), "10.0.0.1");
    assert_eq!(contents.flows.len(), 1, "echo probes have no ports");
    let FlowSockets { from, to } = contents.flows["f"];
    assert_eq!(
        (from.to_string(), to.to_string()),
        ("10.0.0.1:10000".into(), "10.0.0.2:5001".into())
    );
}

#[test]
fn nodes_with_similar_names_have_separate_files() {
    for (nodes, files) in [
        (&["a", "b"][..], &["a", "b"][..]),
        (&["x/y", "x y", "x_y"], &["x_y", "x_y-1", "x_y-2"]),
        // Without a check, the second and the third node would have the same file name.
        (&["x/y", "x y", "x_y-1"], &["x_y", "x_y-1", "x_y-1-2"]),
        (&["x_y-1", "x/y", "x y"], &["x_y-1", "x_y", "x_y-2"]),
        (&["..", ".", "/"], &["node", "node-1", "_"]),
        (&[".hidden", "hidden"], &["hidden", "hidden-1"]),
        (&["Zürich", "東京"], &["Zürich", "東京"]),
    ] {
        let found: Vec<String> = capture_files(nodes.iter().copied()).into_values().collect();
        let files: Vec<String> = files.iter().map(|file| format!("{file}.pcapng")).collect();
        assert_eq!(found, files, "{nodes:?}");
    }
}

proptest! {
    #[test]
    fn each_capture_has_a_file_of_its_own_inside_the_folder(
        nodes in proptest::collection::hash_set("[./ _a1-]{0,4}", 0..8)
    ) {
        let files = capture_files(nodes.iter().map(String::as_str));
        prop_assert_eq!(files.len(), nodes.len());
        let names: std::collections::HashSet<_> = files.values().collect();
        prop_assert_eq!(names.len(), nodes.len());
        for name in names {
            prop_assert!(!name.contains('/') && !name.starts_with('.') && name.ends_with(".pcapng"));
        }
    }
}

type Files = Rc<RefCell<BTreeMap<String, Vec<u8>>>>;

/// A folder in memory. Writing to the file that `full` names fails, as on a full disk.
#[derive(Default)]
struct MemoryFolder {
    files: Files,
    full: Option<&'static str>,
}

struct MemoryFile {
    name: String,
    octets: Vec<u8>,
    full: bool,
}

impl Write for MemoryFile {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        if self.full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        // One call accepts at most 100 octets, because a file need not accept all octets of a call.
        let count = octets.len().min(100);
        self.octets.extend(&octets[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Folder for MemoryFolder {
    type File = MemoryFile;

    fn create(&mut self, name: &str) -> io::Result<MemoryFile> {
        if self.files.borrow().contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let full = self.full == Some(name);
        Ok(MemoryFile { name: name.to_owned(), octets: Vec::new(), full })
    }

    fn finish(&mut self, file: MemoryFile) -> io::Result<()> {
        self.files.borrow_mut().insert(file.name, file.octets);
        Ok(())
    }
}

const IDENTITY: RunIdentity<'_> = RunIdentity {
    title: "a title",
    source: "mine.toml",
    seed: 7,
    scenario: "stop = \"2 s\"\n",
    algorithms: &[],
};

/// Writes a run of one flow into `folder`.
fn write(folder: MemoryFolder) -> io::Result<()> {
    let results = ended(vec![flow("f", false, false)]).finish();
    let mut writer = FolderWriter::new(folder);
    writer.tables(&results)?;
    writer.captures(&results)?;
    writer.note("server.log", &b"abc"[..])?;
    writer.end(IDENTITY, &results.contents())
}

#[test]
fn the_manifest_lists_a_file_for_each_table_and_capture() {
    let files = Files::default();
    write(MemoryFolder { files: files.clone(), full: None }).unwrap();
    let files = files.borrow();
    let manifest: Value = serde_json::from_slice(&files[MANIFEST]).unwrap();
    for (key, value) in [
        ("format", Value::from(FORMAT)),
        ("netspurt", env!("CARGO_PKG_VERSION").into()),
        ("title", "a title".into()),
        ("source", "mine.toml".into()),
        ("seed", 7.into()),
        ("stop_ns", 2_000_000_000_u64.into()),
    ] {
        assert_eq!(manifest[key], value, "{key}");
    }
    let noted = manifest["files"].as_object().unwrap();
    let written: Vec<&String> = files.keys().filter(|name| *name != MANIFEST).collect();
    assert_eq!(noted.len(), written.len() + 1, "the existing file is also listed");
    assert!(written.iter().all(|name| noted.contains_key(*name)));
    // The SHA-256 of the octets `abc`, as FIPS 180-2 prints it in appendix B.1.
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(noted["server.log"], abc);
    assert_eq!(files[SCENARIO], IDENTITY.scenario.as_bytes());
    for capture in ["a.pcapng", "b_c.pcapng"] {
        assert_eq!(files[capture][..4], [0x0a, 0x0d, 0x0d, 0x0a], "a pcapng section header");
    }
    let results = ended(vec![flow("f", false, false)]).finish();
    let rtt = results.tables().iter().find(|table| table.name == "rtt").unwrap();
    let mut octets = Vec::new();
    write_table(rtt, &mut octets).unwrap();
    assert_eq!((rtt.rows(), &files["rtt.parquet"]), (1, &octets));
}

#[test]
fn the_manifest_has_the_sha256_of_the_octets_of_an_existing_file() {
    let files = Files::default();
    write(MemoryFolder { files: files.clone(), full: None }).unwrap();
    let octets = files.borrow()["flows.parquet"].clone();
    let fingerprint = |files: &Files| {
        let manifest: Value = serde_json::from_slice(&files.borrow()[MANIFEST]).unwrap();
        manifest["files"]["flows.parquet"].as_str().unwrap().to_owned()
    };
    let noted = Files::default();
    let contents = ended(vec![flow("f", false, false)]).finish().contents();
    let mut writer = FolderWriter::new(MemoryFolder { files: noted.clone(), full: None });
    writer.note("flows.parquet", &octets[..]).unwrap();
    writer.end(IDENTITY, &contents).unwrap();
    assert_eq!(fingerprint(&files), fingerprint(&noted));
}

#[test]
fn the_error_of_a_failed_write_names_the_file() {
    for full in ["flows.parquet", "a.pcapng", SCENARIO, MANIFEST] {
        let files = Files::default();
        let error = write(MemoryFolder { files: files.clone(), full: Some(full) }).unwrap_err();
        assert!(error.to_string().starts_with(&format!("{full}: ")), "{error}");
        if full != "a.pcapng" {
            let reason = io::Error::from(io::ErrorKind::StorageFull);
            assert_eq!(error.to_string(), format!("{full}: {reason}"));
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
        assert!(!files.borrow().contains_key(MANIFEST), "{full}: there is a manifest");
    }
}

#[test]
fn a_run_without_segments_has_no_captures() {
    let run = ended(vec![flow("f", false, false)]);
    let results = EndedRun { wanted: Wanted::default(), ..run }.finish();
    let error = results.write_capture(0, Vec::new()).unwrap_err();
    let message = "the run did not record the segments that a capture needs: add `segments` to \
                   `record.tables`";
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_probe_in_flight_has_a_row_and_does_not_count_as_lost() {
    let plan = EchoProbePlan {
        start: Time::ZERO,
        sizes_bytes: vec![40, 256],
        count: 3,
        timeout: Duration::from_millis(100),
        pause: Duration::ZERO,
    };
    let mut prober = EchoProbes::new(FlowId(3).end(Side::From), plan);
    let mut events = Events::new(Wanted::default());
    assert!(echo_probe_sums(3, &prober).is_empty(), "no probe has left");
    prober.pop(Time::ZERO, &mut events).unwrap();
    let at = Time::ZERO + Duration::from_millis(100);
    while prober.next_wakeup().is_some_and(|due| due <= at) {
        prober.pop(at, &mut events);
    }
    let sums = echo_probe_sums(3, &prober);
    let rows: Vec<_> =
        sums.iter().map(|sum| (sum.flow, sum.number, sum.size_bytes, sum.lost)).collect();
    assert_eq!(rows, [(3, 1, 40, true), (3, 2, 256, false)]);
    assert_eq!((sums[0].rtt, sums[1].rtt), (None, None));
}
