//! Tests of echo probes over simulated paths: a prober, an echo host, and a link between them.

use netspurt::app::{Echo, EchoProbe, EchoProbePlan, EchoProbes, Program};
use netspurt::event::{Wanted, What};
use netspurt::ids::{EndId, FlowId};
use netspurt::link::{Delay, Effects, Framing, LinkConfig, Order, Pick, Queue, QueueLimit};
use netspurt::segment::Segment;
use netspurt::sim::{Graph, Routes, World, WorldConfig};
use netspurt::units::{BitRate, Duration, Time};

/// A plan of four echo probes of 256 octets.
fn plan() -> EchoProbePlan {
    EchoProbePlan {
        start: Time::ZERO,
        sizes_bytes: vec![256],
        count: 4,
        timeout: EchoProbePlan::TIMEOUT,
        pause: Duration::ZERO,
    }
}

/// A link with a delay of 20 ms and a rate of 64 kbit/s, at which an octet takes 125 µs.
fn line(effects: Option<Effects>) -> LinkConfig {
    LinkConfig {
        rate: BitRate::new(64_000).unwrap().into(),
        framing: Framing::NONE,
        delay: Delay::constant(Duration::from_millis(20)),
        order: Order::Overtaking,
        mtu: None,
        queue: Queue::DropTail(QueueLimit::Unlimited),
        effects,
        handovers: Vec::new(),
    }
}

/// Simulates `plan` for ten minutes, and returns the simulated network with its hosts. The echo
/// host takes 3 ms for each reply. The link has the effects `on_replies` on the replies.
fn probe(plan: EchoProbePlan, on_replies: Option<Effects>) -> World<Segment, Program> {
    let mut graph = Graph::new(2);
    graph.add_link(0, 1);
    graph.add_link(1, 0);
    let mut world = World::new(WorldConfig {
        routes: Routes::shortest(&graph),
        graph,
        links: vec![line(None), line(on_replies)],
        flows: vec![(
            FlowId(0),
            [
                (Program::EchoProbes(EchoProbes::new(EndId::at(0), plan)), 0),
                (Program::Echo(Echo::new(EndId::at(1), Duration::from_millis(3))), 1),
            ],
        )],
        pairs: vec![],
        observed: vec![],
        wanted: Wanted { rtt: true, ..Wanted::default() },
        population: (),
    });
    world.advance_to(Time::ZERO + Duration::from_secs(600));
    world
}

fn prober(world: &World<Segment, Program>) -> &EchoProbes {
    match world.host(EndId::at(0)) {
        Some(Program::EchoProbes(prober)) => prober,
        _ => unreachable!("the prober comes first"),
    }
}

/// The outcome of an echo probe without a late or a second reply. The times are in microseconds.
fn echo_probe(sent_us: u64, size_bytes: u16, rtt_us: Option<u64>) -> EchoProbe {
    let us = Duration::from_micros;
    let sent = Time::ZERO + us(sent_us);
    EchoProbe { sent, size_bytes, rtt: rtt_us.map(us), late: None, duplicates: 0 }
}

#[test]
fn a_round_trip_includes_the_echo_hosts_time() {
    // The round trip of n octets is 2·(20 ms + n·125 µs) + 3 ms: 53 ms for 40 octets, and 107 ms
    // for 256 octets.
    let mut world = probe(EchoProbePlan { sizes_bytes: vec![40, 256], ..plan() }, None);
    let expected = [
        echo_probe(0, 40, Some(53_000)),
        echo_probe(53_000, 256, Some(107_000)),
        echo_probe(160_000, 40, Some(53_000)),
        echo_probe(213_000, 256, Some(107_000)),
    ];
    assert_eq!(prober(&world).done(), expected);
    let samples: Vec<u64> = world
        .events()
        .drain()
        .map(|event| match event.what {
            What::Rtt { rtt, .. } => rtt.as_nanos() / 1_000_000,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(samples, [53, 107, 53, 107]);
    assert_eq!(world.next_wakeup(), None, "nothing happens after four echo probes");
}

#[test]
fn a_missing_reply_is_given_up_after_thirty_seconds() {
    let loss = Some(Pick::default().nth(vec![2]));
    let world = probe(plan(), Some(Effects { loss, ..Effects::default() }));
    let expected = [
        echo_probe(0, 256, Some(107_000)),
        echo_probe(107_000, 256, None),
        echo_probe(30_107_000, 256, Some(107_000)),
        echo_probe(30_214_000, 256, Some(107_000)),
    ];
    assert_eq!(prober(&world).done(), expected);
}

#[test]
fn a_late_reply_and_a_second_reply_are_recorded_with_their_echo_probe() {
    // The first reply is held for 31 s, which is longer than the give-up time of 30 s. The third
    // reply is duplicated.
    let held = Some((Pick::default().nth(vec![1]), Duration::from_secs(31)));
    let copied = Some((Pick::default().nth(vec![3]), Duration::from_millis(1)));
    let effects = Effects { reorder: held, duplicate: copied, ..Effects::default() };
    let world = probe(EchoProbePlan { pause: Duration::from_secs(1), ..plan() }, Some(effects));
    let prober = prober(&world);
    let rtts: Vec<bool> = prober.done().iter().map(|echo_probe| echo_probe.rtt.is_some()).collect();
    assert_eq!(rtts, [false, true, true, true]);
    let late = Duration::from_millis(31_107);
    assert_eq!(
        prober.done().iter().map(|echo_probe| echo_probe.late).collect::<Vec<_>>(),
        [Some(late), None, None, None]
    );
    assert_eq!(
        prober.done().iter().map(|echo_probe| echo_probe.duplicates).collect::<Vec<_>>(),
        [0, 0, 1, 0]
    );
    // The first echo probe was given up after 30 s, and a pause of 1 s followed.
    assert_eq!(prober.done()[1].sent, Time::ZERO + Duration::from_secs(31));
}
