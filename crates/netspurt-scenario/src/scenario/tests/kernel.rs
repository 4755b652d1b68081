//! Tests of flows that have an end with the kernel's TCP, of applications that pause, and of IPv6.
//! `CHAIN` is a small scenario that the tests change. The model is the simulator's TCP. A shim is a
//! retransmission timer between the kernel's TCP and the path.

use netspurt::ids::FlowId;
use netspurt::plan::{KernelProfile, NetworkEnd};
use netspurt::record::Names;
use netspurt::units::{Duration, Time};

use super::*;

/// The line of [`CHAIN`] that tests replace.
const TCP: &str = "tcp  = { recovery = \"reno\" }";

/// Reads [`CHAIN`] with other `lines` in its flow.
fn with(lines: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse("x.toml", &CHAIN.replace(TCP, lines))
}

/// The lines of a flow with a mistake, and parts of the error's message and fix.
const MISTAKES: &[[&str; 3]] = &[
    ["endpoint = \"kernel\"", "the kernel does not have this profile", "`linux-default`"],
    [
        "profile = \"linux-default\"",
        "`linux-default` is the profile of the running kernel, which a simulation does not have",
        "`linux-6`",
    ],
    ["endpoint = \"kernal\"", "`kernal` is not known here", "did you mean `kernel`?"],
    [
        "endpoint = \"kernel\"\nprofile = \"reno-1998\"\ntcp = { prr = true }",
        "the kernel has no switch `prr`",
        "leave it out",
    ],
    [
        "endpoint = \"kernel\"\nprofile = \"reno-1998\"\ntcp = { sfr = { factor = 3.0 } }",
        "the kernel has no switch `sfr`",
        "`shim = \"sfr\"`",
    ],
    [
        "endpoint = \"kernel\"\nprofile = \"reno-1998\"\ntcp = { packet_size = \"100 B\" }",
        "cannot use packets of 100 B",
        "128 B",
    ],
    [
        "endpoint = \"kernel\"\nprofile = \"reno-1998\"\ntcp = { initial_window = \"0 segments\" }",
        "`0 segments` is out of range",
        "from `1 segment`",
    ],
    [
        "endpoint = \"kernel\"\nprofile = \"reno-1998\"\ntcp = { initial_window = \"1001 segments\" }",
        "`1001 segments` is out of range for the kernel",
        "from `1 segment` to `1000 segments`",
    ],
    [
        "endpoint = \"kernel\"\nprofile = \"reno-1998\"\ntcp = { receive_buffer = \"4095 B\" }",
        "`4095 B` is out of range for the kernel",
        "from `4096 B`",
    ],
    [
        "endpoint = \"kernel\"\nprofile = \"reno-1998\"\ntcp = { acks = { delayed = \"9 ms\" } }",
        "the kernel itself decides how it delays ACKs",
        "`\"every segment\"`",
    ],
    ["endpoint = [\"model\", \"kernel\"]", "the kernel does not have this profile", "`reno-2005`"],
    [
        "endpoint = \"kernel\"\nprofile = \"reno-1998\"\ntcp = { rto = { max = \"3 s\" } }",
        "the kernel has no switch `rto.max`",
        "has only the switch `min`; set any other timer as a `shim`",
    ],
    [
        "endpoint = \"kernel\"\nprofile = \"reno-1998\"\ntcp = { rto = { min = \"0 s\" } }",
        "`0 s` is out of range for the kernel",
        "from `1 us` to `120 s`",
    ],
    [
        "endpoint = \"kernel\"\nprofile = \"reno-1998\"\ntcp = { dup_thresh = 301 }",
        "`301` is out of range for the kernel",
        "from 1 to 300",
    ],
    [
        "endpoint = \"kernel\"\nprofile = \"reno-1998\"\nshim = \"linx\"",
        "no timer is called `linx`",
        "did you mean `linux`?",
    ],
    [
        "endpoint = [\"kernel\", \"model\"]\nprofile = \"reno-1998\"\nshim = \"sfr\"",
        "a shim works only at an end that uses the kernel's TCP",
        "`\"off\"` for this end",
    ],
    [
        "app = \"programs\"",
        "programs need the kernel's TCP at both ends",
        "`endpoint = \"kernel\"`",
    ],
    [
        "app = \"programs\"\nendpoint = \"kernel\"\nprofile = \"reno-1998\"\ncount = 2",
        "only one pair of hosts can run programs",
        "leave `count` out",
    ],
];

#[test]
fn each_mistake_about_the_kernel_is_reported_with_its_fix() {
    for [lines, says, fix] in MISTAKES {
        let error = with(lines).expect_err(lines);
        assert!(error.message.contains(says) && error.fix.contains(fix), "{lines}: {error}");
        assert!(error.place.is_some(), "{error}");
    }
}

#[test]
fn the_switches_of_a_kernel_flow_are_written_and_read_back() {
    let text = "endpoint = \"kernel\"\nprofile = \"linux-default\"\ntcp = { sack = false }";
    let scenario = with(text).unwrap();
    assert_eq!(scenario.kernel_flow(), Some("x"));
    let again = Scenario::parse("again", &scenario.resolved()).unwrap();
    assert_eq!(again.resolved(), scenario.resolved());
    let network = again.network();
    let (NetworkEnd::Kernel(end), 0) = &network.ends[0] else { panic!("{:?}", network.ends[0]) };
    let tcp = end.tcp;
    assert_eq!((tcp.profile, tcp.initial_window_segs), (KernelProfile::LinuxDefault, 10));
    assert!(!tcp.sack && tcp.timestamps && tcp.rack);
    assert_eq!(end.task.octets(), [Some(20 * 1448), Some(0)]);
    assert!(!end.listens);
}

#[test]
fn one_end_may_use_the_kernel_while_the_other_end_uses_the_model() {
    let text = "endpoint = [\"model\", \"kernel\"]\nprofile = \"linux-6\"";
    let network = with(text).unwrap().network();
    assert!(matches!(network.ends[0].0, NetworkEnd::Model(_)));
    assert!(matches!(network.ends[1].0, NetworkEnd::Kernel(_)));
}

#[test]
fn a_list_of_shims_gives_each_end_its_own_setting() {
    let text = "endpoint = \"kernel\"\nprofile = \"reno-1998\"\nshim = [\"sfr\", \"off\"]";
    let network = with(text).unwrap().network();
    let (NetworkEnd::Kernel(from), _) = &network.ends[0] else { panic!() };
    let (NetworkEnd::Kernel(to), _) = &network.ends[1] else { panic!() };
    assert!(from.shim.is_some() && to.shim.is_none());
}

#[test]
fn the_flow_of_programs_comes_last_and_its_connections_are_numbered() {
    let more = "[echo_probes.z]\nfrom = \"a\"\nto = \"b\"\nlengths = [\"40 B\"]\ncount = 1";
    let text = "app = \"programs\"\nendpoint = \"kernel\"\nprofile = \"linux-default\"";
    let scenario = Scenario::parse("x", &format!("{}\n{more}", CHAIN.replace(TCP, text))).unwrap();
    assert_eq!(scenario.programs_flow(), Some("x"));
    let names = scenario.network().names;
    let flows: Vec<&str> = names.flow_names.iter().map(String::as_str).collect();
    assert_eq!(flows, ["z", "x"]);
    let connections = [0, 1].map(|n| names.name(names.connection(FlowId(1), n).unwrap()));
    assert_eq!(connections, ["x.0", "x.1"]);
}

#[test]
fn programs_run_at_the_outer_nodes_or_at_the_named_nodes() {
    let wires = "stop = \"1 s\"\n[path]\nnodes = [\"a\", \"b\", \"c\"]\nlinks = [{ rate = \"1 Mbit/s\" }, { rate = \"1 Mbit/s\" }]";
    let ends = |side, peer| {
        let scenario = Scenario::for_programs("x", wires, vec![], &[], &[], [side, peer]);
        scenario.map(|scenario| {
            let Names { nodes, flows, .. } = scenario.network().names;
            [flows[0].from, flows[0].to].map(|node| nodes[node as usize].clone())
        })
    };
    assert_eq!(ends(None, None).unwrap(), ["a", "c"]);
    assert_eq!(ends(Some("c"), None).unwrap(), ["c", "a"]);
    assert_eq!(ends(Some("b"), Some("a")).unwrap(), ["b", "a"]);
    assert!(ends(Some("b"), None).unwrap_err().message.contains("not clear"));
}

#[test]
fn in_a_scenario_for_programs_keys_are_removed_before_values_are_set() {
    let wire =
        "stop = \"1 s\"\nlinks.w = { between = [\"a\", \"b\"], rate = \"1 Mbit/s\", slots = {} }";
    let handovers = [("links.w.handovers", "[{ at = \"500 ms\" }]")];
    let read = |unset: &[&str], values: &[(&str, &str)]| {
        Scenario::for_programs("x", wire, vec![], unset, values, [None, None])
    };
    let both = read(&[], &handovers).unwrap_err();
    assert!(both.message.contains("slots cannot have `handovers`"), "{}", both.message);
    assert!(read(&["links.w.slots"], &handovers).is_ok());
    let unknown = read(&["links.w.slot"], &[]).unwrap_err();
    assert!(unknown.message.contains("has no `links.w.slot` to remove"), "{}", unknown.message);
}

#[test]
#[should_panic(expected = "cannot be simulated")]
fn a_flow_with_the_kernels_tcp_at_an_end_cannot_be_simulated() {
    with("endpoint = \"kernel\"\nprofile = \"reno-1998\"").unwrap().simulate();
}

#[test]
fn a_pause_begins_when_the_connection_opens_and_ends_when_the_application_writes() {
    let written = |profile: &str| {
        let text = format!("profile = \"{profile}\"\nstart = \"1 s\"\npause = \"1.5 s\"");
        let results = run(&with(&text).unwrap());
        let Some(netspurt::record::Data::OptionalI64(start)) =
            results.table("flows").unwrap().column("start_ns")
        else {
            panic!()
        };
        Time::from_nanos(start.at(0).unwrap().cast_unsigned())
    };
    // With the profile `ns-2`, a connection is open from its start. With `reno-1998`, it begins
    // with a handshake. The SYN and the SYN-ACK have 44 octets each. Each of them crosses lines of
    // 9600 bit/s and of 10 Mbit/s, with a propagation delay of 150 ms.
    let opened = Time::ZERO + Duration::from_secs(1);
    assert_eq!(written("ns-2"), opened + Duration::from_millis(1500));
    let octets = Duration::from_nanos(2 * (44 * 8 * 100 + 36_666_666));
    let handshake = Duration::from_millis(300) + octets;
    assert_eq!(written("reno-1998"), opened + handshake + Duration::from_millis(1500));
}

#[test]
fn ipv6_packets_carry_twenty_octets_less_than_ipv4_packets() {
    let smss = |text: &str| {
        let network = with(text).unwrap().network();
        let ends = netspurt::record::flow_addresses(&network.names).next().unwrap();
        assert_eq!(ends.map(|end| end.is_ipv6()), [text.contains("ipv6"); 2], "{text}");
        network.names.flows[0].smss
    };
    for text in [
        "profile = \"linux-6\"",
        "profile = \"linux-6\"\nendpoint = \"kernel\"",
        "profile = \"linux-6\"\nendpoint = [\"model\", \"kernel\"]",
    ] {
        let six = format!("{text}\nfamily = \"ipv6\"");
        assert_eq!((smss(text), smss(&six)), (1448, 1428), "{text}");
        let resolved = with(&six).unwrap().resolved();
        assert_eq!(Scenario::parse("again", &resolved).unwrap().resolved(), resolved);
    }
    for [lines, says, fix] in [
        ["family = \"ipv6\"", "have no IP version", "another profile"],
        [
            "family = \"ipv6\"\nprofile = \"linux-6\"\nendpoint = \"kernel\"\ntcp = { packet_size = \"1000 B\" }",
            "cannot use packets of 1000 B",
            "1280 B",
        ],
        [
            "family = \"ipv6\"\nprofile = \"linux-6\"\ntcp = { packet_size = \"60 B\" }",
            "no room for payload after an IPv6 header",
            "61 B",
        ],
    ] {
        let error = with(lines).expect_err(lines);
        assert!(error.message.contains(says) && error.fix.contains(fix), "{lines}: {error}");
    }
    let narrow = CHAIN.replace(TCP, "profile = \"linux-6\"\nfamily = \"ipv6\"");
    let narrow = narrow.replace("delay = \"150 ms\"", "mtu = \"600 B\"");
    let cut = Scenario::parse("x.toml", &narrow).unwrap_err();
    assert!(cut.message.contains("link `modem` fragments packets") && cut.place.is_some(), "{cut}");
    let dropped = narrow.replace("mtu = \"600 B\"", "mtu = \"600 B\", too_big = \"drop\"");
    Scenario::parse("x.toml", &dropped).unwrap();
}

#[test]
fn a_sweep_reports_where_an_end_uses_the_kernels_tcp() {
    let kernel = CHAIN.replace(TCP, "profile = \"linux-6\"\nendpoint = \"kernel\"");
    let model = CHAIN.replace(TCP, "profile = \"linux-6\"");
    let over = |words: &str| {
        format!("[sweep]\nover.end = {{ path = \"flows.x.endpoint\", values = {words} }}")
    };
    let other = "[flows.y]\nfrom = \"a\"\nto = \"b\"\nprofile = \"linux-6\"\n";
    let sweep = |text: &str| Scenario::parse("x.toml", text).unwrap().sweep().unwrap();
    let web = "[populations.w]\nfrom = \"a\"\nto = \"b\"\narrivals = \"every:1 s\"\n\
               send = \"1 kB\"\nprofile = \"linux-6\"\n";
    for text in [
        format!("{kernel}[sweep]\nseeds = 2"),
        format!("{model}{web}endpoint = \"kernel\"\n[sweep]\nseeds = 2"),
        format!("{model}{}", over("[\"model\", \"kernel\"]")),
        format!("{model}{}", over("[[\"model\", \"kernel\"]]")),
        format!("{model}[sweep.over.end.sets.k]\n\"flows.x.endpoint\" = \"kernel\""),
        format!(
            "{model}[sweep.over.end.sets.k]\n\"flows.x\" = {{ from = \"a\", to = \"c\", \
             profile = \"linux-6\", endpoint = \"kernel\" }}"
        ),
        // The axis varies another flow.
        format!("{kernel}{other}{}", over("[\"model\"]").replace("flows.x", "flows.y")),
        // Only one of the axis' points varies the flow.
        format!(
            "{kernel}[sweep.over.end.sets]\na = {{ \"flows.x.endpoint\" = \"model\" }}\nb = {{}}"
        ),
    ] {
        let sweep = sweep(&text);
        let error = sweep.kernel().expect(&text);
        assert!(error.message.contains("virtual time"), "{error}");
        assert!(error.fix.contains("sweep --live") && error.place.is_some(), "{error}");
        let last = sweep.cases() - 1;
        assert!(sweep.combination(last).unwrap().simulate(1).is_err(), "{text}");
    }
    assert!(sweep(&format!("{kernel}{}", over("[\"model\"]"))).kernel().is_none());
    assert!(sweep(&format!("{model}{web}[sweep]\nseeds = 2")).kernel().is_none());
    let node = "[sweep.over.n.sets.k]\n\"links.spare\" = { between = [\"a\", \"kernel\"], \
                rate = \"1 Mbit/s\", delay = \"1 ms\", queue = \"9 packets\" }";
    assert!(sweep(&format!("{model}{node}")).kernel().is_none(), "`kernel` is a node here");
}

#[test]
fn the_kernels_tcp_ignores_the_congestion_switch_if_it_only_receives_from_a_model() {
    let algorithms = |ends: &str, app: &str| {
        let lines = format!(
            "endpoint = {ends}\nprofile = \"reno-2005\"\ntcp = {{ congestion = \"westwood\" }}{app}"
        );
        let text = CHAIN.replace(TCP, &lines).replace("20 segments", "200 B");
        let ends = Scenario::parse("x.toml", &text).unwrap().network().ends;
        let of_kernel = |(end, _): (NetworkEnd, u32)| match end {
            NetworkEnd::Kernel(end) => Some(end.tcp.congestion),
            _ => None,
        };
        ends.into_iter().filter_map(of_kernel).collect::<Vec<_>>()
    };
    let replies = "\napp = { reply = \"9 kB\" }";
    assert_eq!(algorithms("[\"model\", \"kernel\"]", ""), ["reno"]);
    assert_eq!(algorithms("[\"kernel\", \"model\"]", ""), ["westwood"]);
    assert_eq!(algorithms("[\"model\", \"kernel\"]", replies), ["westwood"]);
    assert_eq!(algorithms("\"kernel\"", ""), ["westwood"; 2]);
}
