use netspurt::app::*;
use netspurt::clock::Clock;
use netspurt::event::*;
use netspurt::link::*;
use netspurt::rto::Ns2Config;
use netspurt::segment::Segment;
use netspurt::sim::*;
use netspurt::tcp::*;
use netspurt::units::*;
fn world(rec: Recovery, iw: u32, lt: bool) -> World<Segment, Endpoint> {
    let ms = Duration::from_millis;
    let config = TcpConfig {
        packet_bytes: 1000,
        header_bytes: 40,
        initial_window_segs: iw,
        receive_window_segs: 20,
        recovery: rec,
        limited_transmit: lt,
        bugfix: true,
        acks: AckPolicy::EverySegment,
        clock: Clock::ticking(ms(10), Duration::from_nanos(5558807)).unwrap(),
        rto: Ns2Config { tick: ms(10), initial: ms(3000), min: ms(200), max: ms(60_000) },
    };
    let mut graph = Graph::new(4);
    let mut links = vec![];
    for (i, (r, d, q)) in
        [(100_000_000, 0, 100), (1_544_000, 25, 100), (9600, 150, 3)].into_iter().enumerate()
    {
        for (a, b) in [(i, i + 1), (i + 1, i)] {
            graph.add_link(a as u32, b as u32);
            links.push(LinkConfig {
                rate: BitRate::new(r).unwrap(),
                framing: Framing::NONE,
                delay: Delay::constant(ms(d)),
                order: Order::Fifo,
                queue: QueueLimit::Packets(q),
                effects: None,
            });
        }
    }
    let routes = Routes::shortest(&graph);
    World::new(WorldConfig {
        graph,
        routes,
        links,
        endpoints: vec![
            (
                Endpoint::new(
                    Connection::new(0, &config),
                    Some(Bulk { start: Time::ZERO, octets: None }),
                ),
                0,
            ),
            (Endpoint::new(Connection::new(1, &config), None), 3),
        ],
        observed: vec![0],
        wanted: Wanted { seen: true, drops: true, rtt: true, rto: true, ..Wanted::default() },
    })
}
fn rows(rec: Recovery, iw: u32, lt: bool) -> Vec<(u64, String, u64, u64)> {
    let mut w = world(rec, iw, lt);
    let until = Time::ZERO + Duration::from_secs(240);
    let mut rows = vec![];
    let mut rtt = 0;
    let mut acked = 0;
    loop {
        let a = w.advance_to(until);
        for e in w.events().drain() {
            let us = (e.at.as_nanos() + 500) / 1000;
            match e.what {
                What::Seen { way: Way::Out, frame, .. } => rows.push((
                    us,
                    if frame.cause.get().is_some() { "resend" } else { "send" }.to_string(),
                    frame.packet_number().unwrap(),
                    0,
                )),
                What::Seen { way: Way::In, frame, .. } => {
                    let n = (frame.ack as u64 - 1) / 960;
                    rows.push((us, if n > acked { "ack" } else { "dupack" }.into(), n, 0));
                    acked = acked.max(n);
                }
                What::Dropped { frame, .. } => {
                    rows.push((us, "drop".into(), frame.packet_number().unwrap(), 0))
                }
                What::Rtt { rtt: r, .. } => {
                    rtt = r.as_nanos() / 10_000_000;
                }
                What::Rto { state, .. } if state.fired => rows.push((us, "timeout".into(), 0, 0)),
                _ => {}
            }
            if let Some(l) = rows.last_mut()
                && l.0 == us
            {
                l.3 = rtt
            }
        }
        if a == Advance::Reached {
            break;
        }
    }
    let rank = |e: &str| match e {
        "timeout" => 0,
        "ack" | "dupack" => 1,
        "send" | "resend" => 2,
        _ => 3,
    };
    rows.sort_by_key(|r| (r.0 / 10, rank(&r.1)));
    rows
}
#[test]
fn traces() {
    let mut bad = 0;
    for (name, rec) in [
        ("tahoe", Recovery::Tahoe),
        ("reno", Recovery::Reno),
        ("newreno", Recovery::NewReno),
        ("sack", Recovery::Sack),
        ("fack", Recovery::Fack),
    ] {
        for iw in [1, 4] {
            for lt in [0, 1] {
                let mine = rows(rec, iw, lt == 1);
                let text = std::fs::read_to_string(format!(
                    "../../authorities/ns2/rfc2416/{name}-iw{iw}-lt{lt}.csv"
                ))
                .unwrap();
                let theirs: Vec<(u64, String, u64, u64)> = text
                    .lines()
                    .skip(1)
                    .map(|l| {
                        let f: Vec<&str> = l.split(',').collect();
                        (
                            f[0].parse().unwrap(),
                            f[1].into(),
                            f[2].parse().unwrap(),
                            f[3].parse().unwrap(),
                        )
                    })
                    .collect();
                let key = |r: &(u64, String, u64, u64)| (r.1.clone(), r.2);
                let first = mine
                    .iter()
                    .zip(&theirs)
                    .position(|(a, b)| key(a) != key(b) || a.0.abs_diff(b.0) > 5);
                let rtt = mine.iter().zip(&theirs).position(|(a, b)| a.3 != b.3 && a.1 != "drop");
                println!(
                    "{name} iw{iw} lt{lt}: {} {} first difference {:?} rtt {:?}",
                    mine.len(),
                    theirs.len(),
                    first,
                    rtt
                );
                if let Some(i) = first {
                    bad += 1;
                    for k in i.saturating_sub(3)..(i + 4).min(mine.len()).min(theirs.len()) {
                        println!("   {:?}   {:?}", mine[k], theirs[k]);
                    }
                } else if mine.len() != theirs.len() {
                    bad += 1
                }
            }
        }
    }
    assert_eq!(bad, 0);
}
