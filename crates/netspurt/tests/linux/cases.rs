//! The cases that were measured on a Linux kernel, played to our connection. In each case, a remote
//! end sends segments over one connection, and the case returns numbers with names.
//! `authorities/linux/kernel_cases.py` has the cases for the kernel.

use std::collections::BTreeMap;

use netspurt::tcp::{Phase, RfcConfig};
use netspurt::units::Duration;

use super::peer::{FULL, Flow, Out, Packet, micros, ms, us};

/// The numbers that a case gives, by name.
pub type Answers = BTreeMap<String, u64>;
/// A function that plays a case. Its argument is the phase of the clock: how far the jiffies had
/// advanced at the start.
pub type Case = Box<dyn Fn(Duration) -> Answers>;

/// A segment of `len` octets.
fn data(len: u64) -> Out<'static> {
    Out { len, ..Out::default() }
}

/// A segment of `len` octets with PSH.
fn pushed(len: u64) -> Out<'static> {
    Out { push: true, ..data(len) }
}

/// Our connection with the profile `linux-6`.
fn plain(phase: Duration) -> Flow {
    Flow::new(phase, |_| {})
}

/// Our connection with the profile `linux-6`, but without tail loss probes.
fn without_probes(phase: Duration) -> Flow {
    Flow::new(phase, |config| config.tlp = false)
}

fn answers<const N: usize>(pairs: [(&str, u64); N]) -> Answers {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Sends segments at intervals of `gap`, each with `len` octets. `segments` is their number.
/// Returns a number for each segment. If no ACK came within 4 ms, the number is 0. Otherwise it is
/// the highest acknowledgment number that came.
fn stream(flow: &mut Flow, segments: usize, gap: Duration, len: u64) -> Vec<u64> {
    (0..segments)
        .map(|_| {
            flow.send(data(len));
            let acks = flow.quiet(ms(4));
            flow.pass(gap - ms(4));
            acks.iter().map(|packet| packet.ack).max().unwrap_or(0)
        })
        .collect()
}

/// Sends so many segments that no quick ACK is left, and then waits for the time `rest`. Quick ACKs
/// are the ACKs that Linux sends without a delay at the start of a connection.
fn settle(flow: &mut Flow, rest: Duration) {
    stream(flow, 30, ms(5), FULL);
    flow.quiet(rest);
}

/// Returns the number of segments before the first segment without an ACK.
fn quick_count(acks: &[u64]) -> usize {
    acks.iter().position(|ack| *ack == 0).unwrap_or(acks.len())
}

/// Counts the quick ACKs, and then the segments per ACK.
fn quick(mut flow: Flow) -> Answers {
    let acks = stream(&mut flow, 30, ms(5), FULL);
    let count = quick_count(&acks);
    let later = &acks[count..];
    let every = later.len() / later.iter().filter(|ack| **ack > 0).count().max(1);
    answers([("acks_at_once", count as u64), ("then_every", every as u64)])
}

/// Sends more segments after the quick ACKs, to an application that reads at once. The ACK of a
/// full segment is delayed. The ACK of a short segment, or of a segment with PSH, is not delayed.
fn delayed(phase: Duration) -> Answers {
    let mut flow = plain(phase);
    flow.accept(ms(0));
    settle(&mut flow, ms(100));
    let mut wait = |out| {
        let sent = flow.send(out);
        let wait = flow.get().t - sent;
        flow.quiet(ms(100));
        micros(wait)
    };
    let full = wait(data(FULL));
    answers([("full_us", full), ("short_us", wait(data(100))), ("pushed_us", wait(pushed(FULL)))])
}

/// Sends a short segment and a segment with PSH to an application that does not read. Both ACKs are
/// delayed.
fn delayed_unread(phase: Duration) -> Answers {
    let mut flow = plain(phase);
    flow.conn.read_by_hand();
    flow.accept(ms(0));
    settle(&mut flow, ms(100));
    let mut wait = |out| {
        let sent = flow.send(out);
        let wait = flow.get().t - sent;
        flow.quiet(ms(100));
        micros(wait)
    };
    answers([("short_us", wait(data(100))), ("pushed_us", wait(pushed(FULL)))])
}

/// Sends segments at intervals of `gap`, so that the timer for delayed ACKs adapts.
fn adapting(phase: Duration, gap: Duration) -> Answers {
    let mut flow = plain(phase);
    flow.accept(ms(150));
    settle(&mut flow, ms(150));
    let mut found = Answers::new();
    for n in 1..9 {
        let sent = flow.send(data(FULL));
        found.insert(format!("ato_{n}_us"), micros(flow.info().receiving.ack_wait));
        let acks = flow.quiet(gap);
        found.insert(format!("ack_{n}_us"), acks.first().map_or(0, |ack| micros(ack.t - sent)));
    }
    found
}

/// Sends each segment after the timer for delayed ACKs fired for the previous segment. Each time
/// that this timer fires, the next delay is twice as long, up to a limit.
fn inflating(phase: Duration) -> Answers {
    let mut flow = plain(phase);
    flow.accept(ms(400));
    settle(&mut flow, ms(250));
    let mut found = Answers::new();
    for n in 1..6 {
        let sent = flow.send(data(FULL));
        let wait = flow.get().t - sent;
        found.insert(format!("ack_{n}_us"), micros(wait));
        flow.quiet(ms(250) - wait);
    }
    found
}

/// Sends four requests. Our application answers only the first two.
fn interactive(phase: Duration) -> Answers {
    let mut flow = plain(phase);
    flow.accept(ms(0));
    let mut found = Answers::new();
    for n in 1..3 {
        flow.send(pushed(100));
        flow.write(100);
        found.insert(format!("answer_{n}_packets"), flow.quiet(ms(10)).len() as u64);
        flow.rcv += 100;
        flow.send(Out::default());
        flow.quiet(ms(10));
    }
    for n in 1..3 {
        let sent = flow.send(pushed(100));
        found.insert(format!("unanswered_{n}_us"), micros(flow.get().t - sent));
        flow.quiet(ms(20));
    }
    found
}

/// Sends the first segment again after the quick ACKs. Our connection then begins to send quick
/// ACKs again.
fn duplicate(phase: Duration) -> Answers {
    let mut flow = plain(phase);
    flow.accept(ms(0));
    settle(&mut flow, ms(100));
    flow.send(Out { seq: Some(1), ..data(FULL) });
    let reported = flow.get().first_block == Some((1, 1 + FULL));
    let acks = stream(&mut flow, 30, ms(5), FULL);
    answers([("reported", reported.into()), ("acks_at_once", quick_count(&acks) as u64)])
}

/// Waits for the next segment and its first `count` retransmissions. Returns the times between
/// these transmissions.
fn gaps(flow: &mut Flow, count: usize) -> Answers {
    let mut last = flow.get();
    let gap = |n: usize| {
        let copy = flow.get();
        let gap = copy.t - last.t;
        last = copy;
        (format!("gap_{n}_us"), micros(gap))
    };
    (1..=count).map(gap).collect()
}

/// Our connection sends a short segment, and the remote end never acknowledges it. Measures the
/// gaps between the transmissions.
fn black(mut flow: Flow) -> Answers {
    // The remote end answers the SYN after 100 µs, because its answer also took some time in the
    // measurement on the kernel.
    flow.connect(us(100));
    let rto = micros(flow.info().rto.rto);
    flow.pass(ms(10));
    flow.write(100);
    let mut found = gaps(&mut flow, 5);
    found.insert("rto_us".to_owned(), rto);
    found
}

/// The remote end does not answer the SYN of our connection. Measures the gaps between the SYNs.
fn syn(phase: Duration) -> Answers {
    let mut flow = plain(phase);
    flow.open();
    gaps(&mut flow, 6)
}

/// The remote end does not answer the SYN-ACK of our connection. Measures the gaps between the
/// SYN-ACKs.
fn syn_ack(phase: Duration) -> Answers {
    let mut flow = plain(phase);
    let first = flow.ask();
    let mut last = first;
    let mut found = Answers::new();
    for n in 1..4 {
        let copy = flow.get();
        found.insert(format!("gap_{n}_us"), micros(copy.t - last.t));
        last = copy;
    }
    found
}

/// The RTO in microseconds, and cwnd in segments.
fn rto_and_cwnd(flow: &Flow) -> Answers {
    let info = flow.info();
    answers([("rto_us", micros(info.rto.rto)), ("cwnd", info.cwnd / info.smss)])
}

/// The remote end answers nothing after a handshake of 400 ms.
fn after_handshake(phase: Duration) -> Answers {
    let mut flow = without_probes(phase);
    flow.connect(ms(400));
    let mut found = rto_and_cwnd(&flow);
    flow.write(100);
    let first = flow.get();
    found.insert("gap_us".to_owned(), micros(flow.get().t - first.t));
    found
}

/// The remote end ignores `drops` SYNs, and answers the next SYN after `rtt`. If `echo` is true,
/// the answer echoes the timestamp of this SYN. Otherwise the answer has no timestamps.
fn late_syn_ack(phase: Duration, rtt: Duration, drops: usize, echo: bool) -> Answers {
    let mut flow = plain(phase);
    flow.stamps = echo;
    flow.open();
    let mut first = flow.get();
    for _ in 0..drops {
        first = flow.get();
    }
    flow.pass(rtt);
    flow.quiet(ms(1));
    flow.answer_syn(Some(first.tsval));
    rto_and_cwnd(&flow)
}

/// The remote end closes its receive window. Measures when window probes come, and how long they
/// are.
fn zero_window(phase: Duration) -> Answers {
    let mut flow = plain(phase);
    flow.connect(us(100));
    flow.send(Out { closed: true, ..Out::default() });
    let mut last = flow.now;
    flow.write(100);
    let mut found = Answers::new();
    for n in 1..4 {
        let probe = flow.get();
        found.insert(format!("gap_{n}_us"), micros(probe.t - last));
        found.insert(format!("probe_{n}_octets"), probe.len);
        flow.send(Out { closed: true, ..Out::default() });
        last = probe.t;
    }
    found
}

/// Our connection sends two segments, 50 ms apart, and the remote end acknowledges only the first
/// segment. The time from this ACK to the retransmission shows from which instant the timer counts.
fn restart(phase: Duration) -> Answers {
    let mut flow = without_probes(phase);
    flow.connect(ms(100));
    flow.write(FULL);
    flow.quiet(ms(50));
    flow.write(FULL);
    flow.quiet(ms(50));
    let acked = flow.send(Out { ack: Some(1 + FULL), ..Out::default() });
    answers([("gap_us", micros(flow.get().t - acked))])
}

/// Counts the segments that leave before any ACK.
fn initial_window(phase: Duration) -> Answers {
    let mut flow = plain(phase);
    flow.connect(ms(20));
    flow.write(60 * FULL);
    answers([("segments", flow.quiet(ms(20)).len() as u64)])
}

/// Our connection sends segments, and the remote end answers none. A tail loss probe comes, and
/// then a timeout.
fn probe(phase: Duration, segments: u64) -> Answers {
    let mut flow = plain(phase);
    flow.connect(ms(300));
    flow.write(segments * FULL);
    let sent: Vec<Packet> = (0..segments).map(|_| flow.get()).collect();
    let last = sent[sent.len() - 1];
    let copy = flow.get();
    let rto = micros(flow.info().rto.rto);
    let after = flow.get();
    answers([
        ("probe_us", micros(copy.t - last.t)),
        ("probes_last", (copy.seq == last.seq).into()),
        ("rto_us", rto),
        ("timeout_us", micros(after.t - copy.t)),
        ("retransmissions_first", (after.seq == 1).into()),
    ])
}

/// Our connection sends five segments. For each number in the list `upto`, the remote end then
/// reports by SACK the segments from the second up to this number. Returns the time from the last
/// report to the next packet of our connection, and that packet.
///
/// The reports come 202 ms after the segments. In the measurement on the kernel, the remote end
/// waited for 200 ms, and was about 2 ms late.
fn reports(phase: Duration, upto: &[u64]) -> (u64, Packet) {
    let mut flow = plain(phase);
    flow.connect(ms(202));
    flow.write(5 * FULL);
    flow.quiet(ms(0));
    flow.pass(ms(202));
    let mut reported = flow.now;
    for n in upto {
        let block = [(1 + FULL, 1 + n * FULL)];
        reported = flow.send(Out { ack: Some(1), sack: &block, ..Out::default() });
    }
    let again = flow.get();
    (micros(again.t - reported), again)
}

/// The remote end reports only the second of five segments. Our connection retransmits the first
/// segment a little more than a quarter of the round trip later.
fn reordering(phase: Duration) -> Answers {
    let (wait, again) = reports(phase, &[2]);
    // A quarter of the round trip of 202 ms is 50.5 ms.
    let beyond = wait - 50_500;
    answers([("beyond_a_quarter_us", beyond), ("retransmissions_first", (again.seq == 1).into())])
}

/// The remote end acknowledges the originals after a timeout. They were late, and the timeout was
/// spurious.
fn spurious(phase: Duration, stamps: bool) -> Answers {
    let mut flow = without_probes(phase);
    flow.stamps = stamps;
    flow.connect(ms(30));
    let full = if stamps { FULL } else { FULL + 12 };
    flow.write(30 * full);
    let sent: Vec<Packet> = (0..10).map(|_| flow.get()).collect();
    flow.get();
    let cwnd = |flow: &Flow| flow.info().cwnd / flow.info().smss;
    let mut found = answers([("lost_cwnd", cwnd(&flow))]);
    let mut new = 0;
    for n in 1..4 {
        let echo = Some(sent[n - 1].tsval);
        flow.send(Out { ack: Some(1 + n as u64 * full), echo, ..Out::default() });
        new += flow.quiet(ms(4)).iter().filter(|packet| packet.seq > sent[9].seq).count() as u64;
        let phase = match flow.info().phase {
            Phase::Open => 0,
            Phase::Loss => 4,
            other => panic!("{other:?}"),
        };
        found.insert(format!("ack_{n}_ca_state"), phase);
        found.insert(format!("ack_{n}_cwnd"), cwnd(&flow));
        found.insert(format!("ack_{n}_new_segments"), new);
    }
    found.insert("backoff".to_owned(), flow.info().rto.backoff.ilog2().into());
    found
}

/// The remote end acknowledges the last transmission of a segment after two timeouts. Reads whether
/// the backoff has ended.
fn fresh_sample(phase: Duration, stamps: bool) -> Answers {
    let mut flow = without_probes(phase);
    flow.stamps = stamps;
    flow.connect(ms(30));
    flow.write(100);
    let copy = (0..3).map(|_| flow.get()).last().unwrap();
    flow.pass(ms(30));
    flow.send(Out { ack: Some(101), echo: Some(copy.tsval), ..Out::default() });
    let info = flow.info();
    answers([("backoff", info.rto.backoff.ilog2().into()), ("rto_us", micros(info.rto.rto))])
}

/// The round trips of the case `estimator`, in milliseconds.
const TRIPS: [u64; 28] = [
    50, 50, 50, 50, 50, 50, 120, 50, 50, 200, 200, 200, 50, 50, 50, 50, 50, 50, 20, 20, 20, 20,
    400, 400, 30, 30, 30, 30,
];

/// The remote end acknowledges single segments after the times of [`TRIPS`]. Reads the RTO and the
/// smoothed round trip after each ACK.
fn estimator(phase: Duration) -> Answers {
    let mut flow = plain(phase);
    flow.connect(ms(50));
    let mut found = Answers::new();
    for (n, trip) in TRIPS.into_iter().enumerate() {
        flow.write(100);
        let sent = flow.get();
        flow.rcv += 100;
        flow.quiet(ms(trip));
        flow.send(Out { echo: Some(sent.tsval), ..Out::default() });
        let rto = flow.info().rto;
        found.insert(format!("rto_{}_us", n + 1), micros(rto.rto));
        found.insert(format!("rtt_{}_us", n + 1), micros(rto.srtt.unwrap()));
    }
    found
}

/// Segments 1 and 5 of ten are missing, and the remote end reports the other segments one by one.
/// After each report, the result has the numbers of the segments that our connection sent, two
/// digits each.
fn recovery(phase: Duration) -> Answers {
    let mut flow = plain(phase);
    flow.connect(ms(50));
    flow.write(40 * FULL);
    flow.quiet(ms(50));
    let edge = |n: u64| 1 + n * FULL;
    let mut found = Answers::new();
    for arrived in [2, 3, 4, 6, 7, 8, 9, 10] {
        let low = (edge(1), edge(arrived.min(4)));
        let blocks = [(edge(5), edge(arrived)), low];
        let sack = if arrived <= 4 { &blocks[1..] } else { &blocks[..] };
        flow.send(Out { ack: Some(1), sack, ..Out::default() });
        let code = flow
            .quiet(ms(3))
            .iter()
            .fold(0, |code, packet| code * 100 + (packet.seq - 1) / FULL + 1);
        found.insert(format!("after_{arrived}"), code);
    }
    let info = flow.info();
    found.insert("cwnd".to_owned(), info.cwnd / info.smss);
    found.insert("ssthresh".to_owned(), info.ssthresh / info.smss);
    found
}

/// Reads the information on our connection after a handshake and one round trip, of 50 ms each.
fn told(phase: Duration) -> Answers {
    let mut flow = plain(phase);
    flow.connect(ms(50));
    flow.write(FULL);
    flow.quiet(ms(50));
    flow.send(Out { ack: Some(1 + FULL), ..Out::default() });
    flow.rcv = 1 + FULL;
    flow.send(data(FULL));
    let info = flow.info();
    answers([
        ("rto", micros(info.rto.rto)),
        ("ato", micros(info.receiving.ack_wait)),
        ("snd_mss", info.smss),
        ("rcv_mss", info.receiving.peer_smss),
        ("snd_cwnd", info.cwnd / info.smss),
    ])
}

/// Gives our connection a small receive buffer.
fn small_buffer(config: &mut RfcConfig) {
    // Linux doubles the value 12000 of `SO_RCVBUF`.
    config.receive_buffer_bytes = 12_000;
    config.receive_memory_bytes = Some(24_000);
}

/// The cases that are played, each with its name in `authorities/linux/measured.csv`.
pub fn all() -> Vec<(&'static str, Case)> {
    fn case(run: impl Fn(Duration) -> Answers + 'static) -> Case {
        Box::new(run)
    }
    let passive = |phase, change: fn(&mut RfcConfig)| {
        let mut flow = Flow::new(phase, change);
        flow.accept(ms(0));
        flow
    };
    vec![
        ("quick_passive", case(move |phase| quick(passive(phase, |_| {})))),
        (
            "quick_active",
            case(|phase| {
                let mut flow = plain(phase);
                flow.connect(ms(0));
                quick(flow)
            }),
        ),
        ("quick_small_buffer", case(move |phase| quick(passive(phase, small_buffer)))),
        (
            "quick_short_segments",
            case(move |phase| {
                let acks = stream(&mut passive(phase, |_| {}), 30, ms(5), 600);
                answers([("acks_at_once", quick_count(&acks) as u64)])
            }),
        ),
        ("delayed", case(delayed)),
        ("delayed_unread", case(delayed_unread)),
        ("adapting_10", case(|phase| adapting(phase, ms(10)))),
        ("adapting_30", case(|phase| adapting(phase, ms(30)))),
        ("adapting_60", case(|phase| adapting(phase, ms(60)))),
        ("adapting_100", case(|phase| adapting(phase, ms(100)))),
        ("inflating", case(inflating)),
        ("interactive", case(interactive)),
        ("duplicate", case(duplicate)),
        ("black", case(|phase| black(plain(phase)))),
        ("black_timers", case(|phase| black(without_probes(phase)))),
        ("syn", case(syn)),
        ("syn_ack", case(syn_ack)),
        ("syn_late_echo", case(|phase| late_syn_ack(phase, ms(1200), 0, true))),
        ("syn_late", case(|phase| late_syn_ack(phase, ms(1200), 0, false))),
        ("syn_lost_once_echo", case(|phase| late_syn_ack(phase, ms(0), 1, true))),
        ("syn_lost_once", case(|phase| late_syn_ack(phase, ms(0), 1, false))),
        ("syn_lost_twice_echo", case(|phase| late_syn_ack(phase, ms(0), 2, true))),
        ("syn_lost_twice", case(|phase| late_syn_ack(phase, ms(0), 2, false))),
        ("zero_window", case(zero_window)),
        ("restart", case(restart)),
        ("initial_window", case(initial_window)),
        ("probe_of_one", case(|phase| probe(phase, 1))),
        ("probe_of_three", case(|phase| probe(phase, 3))),
        ("reordering", case(reordering)),
        ("three_reports", case(|phase| answers([("wait_us", reports(phase, &[2, 3, 4]).0)]))),
        ("estimator", case(estimator)),
        ("recovery", case(recovery)),
        ("told", case(told)),
        ("after_handshake", case(after_handshake)),
        ("spurious_stamps", case(|phase| spurious(phase, true))),
        ("spurious_sack", case(|phase| spurious(phase, false))),
        ("fresh_sample_stamps", case(|phase| fresh_sample(phase, true))),
        ("fresh_sample", case(|phase| fresh_sample(phase, false))),
    ]
}
