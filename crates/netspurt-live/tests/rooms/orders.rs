//! Tests of orders, and of the errors for bad orders. An order is a JSON text that tells a process
//! what to carry out: a live run, or a task of the probing process.

use netspurt::units::Duration;
use netspurt_live::exec::Programs;
use netspurt_live::probe::{
    CaptureTask, HopsTask, Pace, ProbeKind, ProbeLengths, ProbingOrder, ProbingTask, ServeTask,
    Service,
};
use netspurt_live::sandbox::Wire;
use netspurt_live::worker::RunOrder;
use serde_json::{Value, json};

/// The order of a live run.
fn run_order() -> Value {
    json!({
        "parent": 7, "folder": "/tmp/run", "source": "mine.toml", "scenario": "stop = \"1 s\"",
        "code": { "mine.py": "class Mine: pass" }, "budget_ns": 5_000_000, "spin_ns": 60_000, "wire": "tun", "offload": true,
        "programs": { "command": ["ping", "-c", "3"], "server": null },
    })
}

/// Returns `order` with one value changed. If `key` begins with `-`, the value is removed instead.
fn changed(mut order: Value, key: &str, value: Value) -> Value {
    match key.strip_prefix('-') {
        Some(key) => drop(order.as_object_mut().unwrap().remove(key)),
        None => order[key] = value,
    }
    order
}

#[test]
fn an_order_of_a_run_has_every_field_as_it_was_written() {
    let order = RunOrder::read(&run_order().to_string()).unwrap();
    let expected = RunOrder {
        parent: 7,
        folder: "/tmp/run".into(),
        source: "mine.toml".into(),
        scenario: "stop = \"1 s\"".into(),
        code: [("mine.py".to_owned(), "class Mine: pass".to_owned())].into(),
        budget_ns: 5_000_000,
        spin_ns: 60_000,
        wire: Wire::Tun,
        offload: true,
        programs: Some(Programs {
            command: ["ping", "-c", "3"].map(str::to_owned).to_vec(),
            server: None,
        }),
    };
    assert_eq!(order, expected);
    let read_back = RunOrder::read(&serde_json::to_string(&order).unwrap()).unwrap();
    assert_eq!(read_back, order, "a written order is read unchanged");
}

#[test]
fn an_order_of_a_run_may_have_no_programs() {
    for order in [
        changed(run_order(), "programs", Value::Null),
        changed(run_order(), "-programs", Value::Null),
    ] {
        assert_eq!(RunOrder::read(&order.to_string()).unwrap().programs, None);
    }
}

#[test]
fn the_error_for_a_bad_order_of_a_run_names_the_fault() {
    for (key, value, says) in [
        ("-parent", Value::Null, "missing field `parent`"),
        ("-scenario", Value::Null, "missing field `scenario`"),
        ("-wire", Value::Null, "missing field `wire`"),
        ("-code", Value::Null, "missing field `code`"),
        ("parent", json!(-1), "invalid value: integer `-1`"),
        ("parent", json!("7"), "invalid type: string \"7\""),
        ("budget_ns", json!(0.5), "floating point `0.5`"),
        ("budget_ns", Value::Null, "invalid type: null"),
        ("wire", json!("tap"), "unknown variant `tap`, expected `veth` or `tun`"),
        ("offload", json!("offload"), "expected a boolean"),
        ("programs", json!({ "command": ["a"], "servr": "b" }), "unknown field `servr`"),
        ("programs", json!({ "server": "b" }), "missing field `command`"),
        ("programs", json!({ "command": "ls -l", "server": null }), "expected a sequence"),
        ("budget", json!(3), "unknown field `budget`"),
    ] {
        let text = changed(run_order(), key, value).to_string();
        let error = RunOrder::read(&text).unwrap_err();
        assert!(error.starts_with("the order of a live run: "), "{error}");
        assert!(error.contains(says), "{key}: {error}");
    }
}

#[test]
fn an_error_says_why_a_text_is_not_an_order() {
    for (text, says) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("veth offload", "expected value at line 1 column 1"),
        ("{\"parent\": 7,\n \"folder\": }", "line 2 column 12"),
        ("[]", "expected struct RunOrder"),
    ] {
        let error = RunOrder::read(text).unwrap_err();
        assert!(error.contains(says), "{text}: {error}");
        assert!(error.starts_with("the order of a live run: "), "{error}");
    }
    let twice = run_order().to_string().replacen('{', "{\"parent\":8,", 1);
    assert!(RunOrder::read(&twice).unwrap_err().contains("duplicate field `parent`"));
}

fn target() -> Value {
    json!({ "host": "far", "address": "10.0.0.2", "port": 7, "kind": "udp" })
}

/// A task of the probing process: a series of echo probes.
fn echo_probes() -> Value {
    json!({
        "kind": "echo_probes", "target": target(), "count": 512, "span_ns": null,
        "timeout_ns": 30_000_000_000_u64, "lengths": { "rule": "rfc889" },
        "pace": { "rule": "immediate" }, "seed": 889, "calibrate": 500, "out": "line.jsonl",
        "rotate_echo_probes": null, "rotate_ns": null,
    })
}

/// Reads an order with this task.
fn read(task: &Value) -> Result<ProbingTask, String> {
    let order = json!({ "parent": 3, "task": task }).to_string();
    ProbingOrder::read(&order).map(|order| order.task).map_err(|error| error.to_string())
}

#[test]
fn each_task_of_the_probing_process_is_read() {
    let ProbingTask::EchoProbes(task) = read(&echo_probes()).unwrap() else { panic!() };
    assert_eq!((task.target.kind, task.target.port), (ProbeKind::Udp, 7));
    assert_eq!((task.count, task.span_ns), (Some(512), None));
    assert_eq!(Duration::from_nanos(task.timeout_ns), Duration::from_secs(30));
    assert_eq!((task.lengths, task.pace), (ProbeLengths::Rfc889, Pace::Immediate));
    let hops = json!({
        "kind": "hops", "target": target(), "most": 30, "count": 5, "octets": 60,
        "timeout_ns": 2_000_000_000_u64, "seed": 1, "calibrate": 0, "out": null,
    });
    let ProbingTask::Hops(HopsTask { most, count, octets, out, .. }) = read(&hops).unwrap() else {
        panic!()
    };
    assert_eq!((most, count, octets, out), (30, 5, 60, None));
    let serve = json!({ "kind": "serve", "service": "sink", "address": "::1", "port": 0 });
    let address = "::1".parse().unwrap();
    let expected = ServeTask { service: Service::Sink, address, port: 0 };
    assert_eq!(read(&serve).unwrap(), ProbingTask::Serve(expected));
    let capture = json!({ "kind": "capture", "address": "::1", "port": 80, "out": "c.pcapng" });
    let expected = CaptureTask { address, port: 80, out: "c.pcapng".into() };
    assert_eq!(read(&capture).unwrap(), ProbingTask::Capture(expected));
}

#[test]
fn each_rule_of_lengths_and_of_pace_is_read() {
    for (lengths, expected) in [
        (json!({ "rule": "rfc889" }), ProbeLengths::Rfc889),
        (
            json!({ "rule": "uniform", "low": 40, "high": 256 }),
            ProbeLengths::Uniform { low: 40, high: 256 },
        ),
        (json!({ "rule": "fixed", "octets": 64 }), ProbeLengths::Fixed { octets: 64 }),
        (json!({ "rule": "bursts", "each": 8 }), ProbeLengths::Bursts { each: 8 }),
    ] {
        let task = read(&changed(echo_probes(), "lengths", lengths.clone())).unwrap();
        let ProbingTask::EchoProbes(task) = task else { panic!() };
        assert_eq!(task.lengths, expected);
        assert_eq!(
            serde_json::to_value(task.lengths).unwrap(),
            lengths,
            "the headers of data files have the rule in the same form"
        );
    }
    for (pace, expected, gap) in [
        (json!({ "rule": "immediate" }), "immediate", None),
        (json!({ "rule": "every", "gap_ns": 5_000_000 }), "every", Some(5_000_000)),
        (json!({ "rule": "poisson", "gap_ns": 9 }), "poisson", Some(9)),
    ] {
        let task = read(&changed(echo_probes(), "pace", pace)).unwrap();
        let ProbingTask::EchoProbes(task) = task else { panic!() };
        assert_eq!((task.pace.name(), task.pace.gap_ns()), (expected, gap));
    }
}

#[test]
fn the_error_for_a_bad_order_of_a_probe_names_the_fault() {
    for (key, value, says) in [
        ("kind", json!("volcano"), "unknown variant `volcano`"),
        ("-kind", Value::Null, "missing field `kind`"),
        ("-target", Value::Null, "missing field `target`"),
        ("target", json!("10.0.0.2"), "invalid type: string \"10.0.0.2\""),
        ("count", json!(-1), "invalid value"),
        ("-timeout_ns", Value::Null, "missing field `timeout_ns`"),
        ("timeout", json!(30), "unknown field `timeout`"),
        ("lengths", json!({ "rule": "fixed" }), "missing field `octets`"),
        ("lengths", json!({ "rule": "fixed", "octets": 70_000 }), "invalid value: integer `70000`"),
        ("lengths", json!({ "rule": "uniform", "low": 60, "high": 59 }), "from 60 to 59 octets"),
        ("lengths", json!({ "rule": "bursts", "each": 0 }), "needs at least one probe"),
        ("lengths", json!({ "rule": "zipf" }), "unknown variant `zipf`"),
        ("lengths", json!({ "rule": "fixed", "octets": 60, "low": 3 }), "unknown field `low`"),
        ("pace", json!({ "rule": "every" }), "missing field `gap_ns`"),
        ("pace", json!("immediate"), "invalid type: string"),
        ("rotate", json!(3), "unknown field `rotate`"),
    ] {
        let error = read(&changed(echo_probes(), key, value)).unwrap_err();
        assert!(error.starts_with("the order to the probing process: "), "{error}");
        assert!(error.contains(says), "{key}: {error}");
    }
    let error_of_target = |key: &str, value: Value| {
        let task = changed(echo_probes(), "target", changed(target(), key, value));
        read(&task).unwrap_err()
    };
    assert!(error_of_target("address", json!("far")).contains("IP address"));
    assert!(error_of_target("port", json!(65_536)).contains("65536"));
    assert!(error_of_target("kind", json!("sctp")).contains("unknown variant `sctp`"));
    assert!(error_of_target("hots", json!("far")).contains("unknown field `hots`"));
}

#[test]
fn a_probing_order_has_only_a_parent_and_a_task() {
    let task = json!({ "kind": "serve", "service": "echo", "address": "127.0.0.1", "port": 7 });
    for (order, says) in [
        (json!({ "task": task }), "missing field `parent`"),
        (json!({ "parent": 3 }), "missing field `task`"),
        (json!({ "parent": 3, "task": task, "out": "x" }), "unknown field `out`"),
        (json!([3, 4, 5]), "invalid"),
    ] {
        let error = ProbingOrder::read(&order.to_string()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
