//! Tests of playing scripts. The connection under test sends only the segments that a test gives
//! it. A script is a test in packetdrill's notation.

mod expressions;
mod reading;

use std::collections::VecDeque;

use netspurt::segment::{Ecn, Flags, SackBlock, SackBlocks, Segment, SynOptions, Timestamps};
use netspurt::units::{Duration, Time};

use super::*;

/// The initial sequence number of the connection under test.
const LOCAL_ISN: u32 = 5_000_000;

fn parse(text: &str) -> Script {
    let script = Script::parse_with(ScriptDialect::Strict, "t.pkt", text, &mut |_| None);
    script.unwrap_or_else(|error| panic!("{error}"))
}

/// The error for a script that cannot be read.
fn wrong(text: &str) -> ScriptError {
    Script::parse_with(ScriptDialect::Strict, "t.pkt", text, &mut |_| None).expect_err(text)
}

/// A connection under test that sends given packets.
#[derive(Default)]
struct Actor {
    /// For each segment that arrives, in order: the segments to send in answer.
    replies: VecDeque<Vec<Segment>>,
    /// The segments to send at given instants.
    timed: VecDeque<(Time, Segment)>,
    /// The results of the next calls.
    calls: VecDeque<CallResult>,
    /// When a blocking call returns, and its result.
    returns: Option<(Time, CallOutcome)>,
    info: Info,
    out: VecDeque<(Time, Segment)>,
    /// The segments that have arrived.
    heard: Vec<(Time, Segment)>,
}

impl Subject for Actor {
    fn call(&mut self, _: Time, _: &Call) -> CallResult {
        self.calls.pop_front().unwrap_or(CallResult::Returned(CallOutcome::returned(0)))
    }

    fn returned(&mut self, now: Time) -> Option<CallOutcome> {
        self.returns.take_if(|(at, _)| *at <= now).map(|(_, outcome)| outcome)
    }

    fn inject(&mut self, now: Time, segment: &Segment) {
        self.heard.push((now, *segment));
        let replies = self.replies.pop_front().unwrap_or_default();
        self.out.extend(replies.into_iter().map(|reply| (now, reply)));
    }

    fn next_wakeup(&self) -> Option<Time> {
        let returns = self.returns.as_ref().map(|(at, _)| *at);
        self.timed.front().map(|(at, _)| *at).into_iter().chain(returns).min()
    }

    fn poll(&mut self, now: Time) -> Option<(Time, Segment)> {
        while self.timed.front().is_some_and(|(at, _)| *at <= now) {
            self.out.extend(self.timed.pop_front());
        }
        self.out.pop_front()
    }

    fn info(&self, _: Time) -> Info {
        self.info.clone()
    }
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// A SYN-ACK for a SYN with the sequence number `irs`.
fn syn_ack(irs: u32) -> Segment {
    let flags = Flags::SYN.with(Flags::ACK);
    let ack = irs.wrapping_add(1);
    let mut segment = Segment { seq: LOCAL_ISN, ack, flags, window: 65535, ..Segment::default() };
    segment.set_syn_options(SynOptions { mss: Some(1460), window_scale: None, sack: true });
    segment
}

/// Returns a segment of `len` bytes from the relative number `seq`, with an ACK of the script's
/// SYN.
fn data(seq: u32, len: u16) -> Segment {
    let ack = 0xffff_fc00_u32.wrapping_add(1);
    let (seq, flags) = (LOCAL_ISN + seq, Flags::ACK);
    Segment { seq, ack, len, flags, window: 65535, ..Segment::default() }
}

/// The lines of a script in which the remote end opens a connection.
const HANDSHAKE: &str = "\
0 < S 0:0(0) win 65535 <mss 1460,sackOK>
+0 > S. 0:0(0) ack 1 <mss 1460,sackOK>
+0.1 < . 1:1(0) ack 1 win 65535
";

/// A connection that answers the SYN of `HANDSHAKE`, and sends the `timed` segments.
fn server(timed: impl IntoIterator<Item = (Time, Segment)>) -> Actor {
    let replies = VecDeque::from([vec![syn_ack(0xffff_fc00)]]);
    Actor { replies, timed: timed.into_iter().collect(), ..Actor::default() }
}

fn fails(script: &str, mut actor: Actor) -> ScriptFailure {
    *run(&parse(script), &mut actor).expect_err("the script must fail")
}

#[test]
fn a_connection_that_follows_its_script_passes() {
    let script = format!("{HANDSHAKE}+0.2 > . 1:1001(1000) ack 1\n+0 < . 1:1(0) ack 1001 win 100");
    let mut actor = server([(ms(300), data(1, 1000))]);
    let transcript = run(&parse(&script), &mut actor).unwrap_or_else(|failure| panic!("{failure}"));
    let lines: Vec<String> = transcript.iter().map(ToString::to_string).collect();
    assert_eq!(lines[3], "    0.300000 > . 1:1001(1000) ack 1 win 65535");
    assert_eq!(lines.len(), 5);
    let heard: Vec<Time> = actor.heard.iter().map(|(at, _)| *at).collect();
    assert_eq!(heard, [ms(0), ms(100), ms(300)]);
    // On the wire, the ACK number 1001 counts from the host's initial sequence number. The sequence
    // number 1 counts from the remote end's initial sequence number.
    let last = actor.heard[2].1;
    assert_eq!((last.ack, last.seq), (LOCAL_ISN + 1001, 0xffff_fc01));
    assert_eq!((last.size_bytes, actor.heard[0].1.size_bytes), (40, 48));
}

#[test]
fn a_wrong_packet_is_shown_with_its_differences_and_the_transcript() {
    let script = format!("--title=it shows\n{HANDSHAKE}+0.2 > . 1:1001(1000) ack 1");
    let failure = fails(&script, server([(ms(300), data(1001, 1000))]));
    let FailureKind::Packet(differences) = &failure.kind else { panic!("{failure}") };
    assert_eq!(differences.len(), 1);
    assert_eq!(differences[0].to_string(), "seq: expected 1, sent 1001");
    let text = failure.to_string();
    for part in [
        "the script shows: it shows",
        "--> t.pkt:5",
        "5 | +0.2 > . 1:1001(1000) ack 1",
        "expected  0.300000 > . 1:1001(1000) ack 1",
        "actual    0.300000 > . 1001:2001(1000) ack 1 win 65535",
        "transcript:",
        "    0.000000 > S. 0:0(0) ack 1 win 65535 <mss 1460, sackOK>",
    ] {
        assert!(text.contains(part), "{part}\n\n{text}");
    }
}

#[test]
fn an_instant_may_differ_by_the_tolerance_and_no_more() {
    let script = |options: &str| format!("{options}{HANDSHAKE}+0.2 > . 1:1001(1000) ack 1");
    let at = |ns: u64| server([(Time::from_nanos(ns), data(1, 1000))]);
    for ns in [296_000_000, 304_000_000] {
        assert!(run(&parse(&script("")), &mut at(ns)).is_ok());
    }
    assert_eq!(fails(&script(""), at(295_999_999)).kind, FailureKind::Timing);
    let late = fails(&script(""), at(304_000_001));
    assert_eq!(late.kind, FailureKind::Missing);
    assert_eq!(late.actual, "nothing until 0.304000");
    let exact = "--tolerance_usecs=0\n";
    assert!(run(&parse(&script(exact)), &mut at(300_000_000)).is_ok());
    assert_eq!(fails(&script(exact), at(300_000_001)).kind, FailureKind::Missing);
    assert_eq!(fails(&script(exact), at(299_999_999)).kind, FailureKind::Timing);
}

#[test]
fn after_a_time_range_an_offset_counts_from_the_instant_of_the_packet() {
    let two = || server([(ms(350), data(1, 1000)), (ms(450), data(1001, 1000))]);
    for first in ["+0.2~+0.3", "0.3~0.4", "*"] {
        let script =
            format!("{HANDSHAKE}{first} > . 1:1001(1000) ack 1\n+0.1 > . 1001:2001(1000) ack 1");
        run(&parse(&script), &mut two()).unwrap_or_else(|failure| panic!("{failure}"));
    }
    let outside = format!("{HANDSHAKE}+0.1~+0.2 > . 1:1001(1000) ack 1");
    assert_eq!(fails(&outside, two()).kind, FailureKind::Missing);
}

#[test]
fn a_script_fails_if_an_unlisted_packet_is_due_before_its_end() {
    let extra = || server([(ms(300), data(1, 1000))]);
    let silent = format!("{HANDSHAKE}+0.2 close(4) = 0");
    assert!(run(&parse(&silent), &mut extra()).is_ok(), "the packet is due at the end, not before");
    let silent = format!("{HANDSHAKE}+0.200001 close(4) = 0");
    let failure = fails(&silent, extra());
    assert_eq!(failure.kind, FailureKind::Unexpected);
    let early = format!("{HANDSHAKE}+0.4 > . 1001:2001(1000) ack 1");
    assert!(matches!(fails(&early, extra()).kind, FailureKind::Packet(_)));
}

#[test]
fn a_call_must_return_the_value_in_the_script() {
    let script = |result: &str| format!("0 write(3, ..., 10) = {result}");
    let actor = |outcome| Actor {
        calls: VecDeque::from([CallResult::Returned(outcome)]),
        ..Actor::default()
    };
    let passes = |result: &str, outcome| run(&parse(&script(result)), &mut actor(outcome)).is_ok();
    assert!(passes("10", CallOutcome::returned(10)));
    assert!(passes("?", CallOutcome::failed("EPIPE")));
    assert!(passes("-1 EAGAIN (Resource temporarily unavailable)", CallOutcome::failed("EAGAIN")));
    assert!(passes("-1 EWOULDBLOCK", CallOutcome::failed("EAGAIN")));
    let failure = fails(&script("10"), actor(CallOutcome::failed("EPIPE")));
    assert_eq!(failure.kind, FailureKind::Returned);
    assert_eq!(failure.actual, "write(3, ..., 10) = -1 EPIPE");
    let written = "0 getsockopt(3, SOL_SOCKET, SO_ERROR, [0], [4]) = 0";
    let out = Some(OptionValue::Number(104));
    let outcome = CallOutcome { out, ..CallOutcome::returned(0) };
    assert_eq!(fails(written, actor(outcome)).kind, FailureKind::Returned);
}

#[test]
fn a_call_that_blocks_must_return_at_the_time_that_the_script_gives() {
    let actor = |at| Actor {
        calls: VecDeque::from([CallResult::Blocks]),
        returns: Some((at, CallOutcome::returned(4))),
        ..Actor::default()
    };
    let script = "0.1...0.3 accept(3, ..., ...) = 4\n+0.5 close(4) = 0";
    assert!(run(&parse(script), &mut actor(ms(300))).is_ok());
    assert_eq!(fails(script, actor(ms(290))).kind, FailureKind::Timing);
    let late = fails(script, actor(ms(400)));
    assert_eq!((late.kind, late.line), (FailureKind::Blocking, 1));
    let last = "0.1...0.3 accept(3, ..., ...) = 4";
    assert!(run(&parse(last), &mut actor(ms(300))).is_ok());
    assert_eq!(fails(last, actor(ms(400))).kind, FailureKind::Blocking);
    let at_once = "0.1 accept(3, ..., ...) = 4";
    let failure = fails(at_once, actor(ms(300)));
    assert_eq!(failure.kind, FailureKind::Blocking);
    assert!(failure.expected.contains("start...end"), "{failure}");
    assert_eq!(fails(script, Actor::default()).kind, FailureKind::Returned);
    let two = "0.1...0.3 accept(3, ..., ...) = 4\n+0.1 close(3) = 0";
    assert_eq!(fails(two, actor(ms(300))).kind, FailureKind::Blocking);
}

#[test]
fn assertions_use_the_fields_that_the_connection_provides() {
    let judge = |text: &str| {
        let mut info = Info::default();
        info.set(InfoField::SndCwnd, 10);
        info.set(InfoField::CaState, 4);
        let script = parse(&format!("0 %{{ {text} }}%"));
        run(&script, &mut Actor { info, ..Actor::default() }).map_err(|failure| failure.actual)
    };
    for holds in [
        "assert tcpi_snd_cwnd == 10",
        "assert tcpi_snd_cwnd * 2 - 1 == 19 and not tcpi_ca_state != TCP_CA_Loss",
        "assert (tcpi_snd_cwnd + 1) / 2 == 5; assert -tcpi_snd_cwnd < 0",
        "assert tcpi_snd_cwnd > 10 or tcpi_snd_cwnd >= 10, tcpi_snd_cwnd\nassert 1 <= 2 # yes",
        "assert (tcpi_snd_cwnd ==\n 10), \"text\"",
        "assert 10 - 4 - 3 == 3 and 2 + 3 * 4 == 14",
        "assert False or True",
        "assert 0 and tcpi_rto or 1",
    ] {
        assert!(judge(holds).is_ok(), "{holds}: {:?}", judge(holds));
    }
    assert_eq!(judge("assert tcpi_snd_cwnd == 9").unwrap_err(), "tcpi_snd_cwnd is 10");
    let message = judge("assert tcpi_snd_cwnd == 9, \"too wide\"").unwrap_err();
    assert_eq!(message, "tcpi_snd_cwnd is 10; too wide");
    let message = judge("assert tcpi_rto == 9").unwrap_err();
    assert_eq!(message, "the connection does not provide tcpi_rto");
    assert_eq!(judge("assert 1 / 0 == 1").unwrap_err(), "the expression divides by zero");
    assert!(judge("assert 9223372036854775807 + 1").unwrap_err().contains("64 bits"));
}

#[test]
fn a_failed_assertion_names_its_own_line() {
    let failure = fails("0 %{\nassert 1 == 1\nassert 1 == 2\n}%", Actor::default());
    assert_eq!((failure.line, failure.text.as_str()), (3, "assert 1 == 2"));
}

#[test]
fn timestamps_are_compared_relative_to_the_first_timestamp() {
    let stamped = |at: u64, seq: u32, val: u32| {
        let mut segment = data(seq, 1000);
        segment.set_timestamps(Timestamps { val, ecr: 7 });
        (ms(at), segment)
    };
    let script = format!(
        "{HANDSHAKE}+0.2 > . 1:1001(1000) ack 1 <TS val 100 ecr 7>\n\
         +0.1 > . 1001:2001(1000) ack 1 <TS val 200 ecr 7>\n\
         +0.1 < . 1:1(0) ack 2001 win 9 <TS val 8 ecr 200>\n\
         +0 < . 1:1(0) ack 2001 win 9 <TS val 8 ecr 150>"
    );
    let mut actor = server([stamped(300, 1, 9100), stamped(403, 1001, 9203)]);
    run(&parse(&script), &mut actor).unwrap_or_else(|failure| panic!("{failure}"));
    let echoes: Vec<u32> =
        actor.heard[2..].iter().map(|(_, s)| s.timestamps().expect("a stamp").ecr).collect();
    assert_eq!(echoes, [9203, 9150]);
    let off = server([stamped(300, 1, 9100), stamped(400, 1001, 9205)]);
    let failure = fails(&script, off);
    assert!(failure.actual.contains("TS val 205 ecr 7"), "{failure}");
    let unknown = format!("{HANDSHAKE}+0 < . 1:1(0) ack 1 win 9 <TS val 8 ecr 150>");
    assert_eq!(fails(&unknown, server([])).kind, FailureKind::Echo);
}

#[test]
fn packets_of_one_instant_share_the_timestamp_offset_of_the_first_packet() {
    let stamped = |seq: u32| {
        let mut segment = data(seq, 1000);
        segment.set_timestamps(Timestamps { val: 9100, ecr: 7 });
        (ms(300), segment)
    };
    let script = format!(
        "{HANDSHAKE}+0.2 > . 1:1001(1000) ack 1 <TS val 100 ecr 7>\n\
         +0 > . 1001:2001(1000) ack 1 <TS val 100 ecr 7>\n\
         +0.1 < . 1:1(0) ack 2001 win 9 <TS val 8 ecr 100>"
    );
    let mut actor = server([stamped(1), stamped(1001)]);
    run(&parse(&script), &mut actor).unwrap_or_else(|failure| panic!("{failure}"));
    let (_, last) = actor.heard.last().expect("an ACK");
    assert_eq!(last.timestamps().expect("a stamp").ecr, 9100);
}

#[test]
fn sack_blocks_and_options_and_marks_reach_the_connection_and_are_compared() {
    let mut ack = data(1, 0);
    let mut blocks = SackBlocks::default();
    blocks.add(SackBlock { left: 0xffff_fc00_u32.wrapping_add(1001), right: 977 });
    ack.set_sack(&blocks);
    ack.ecn = Ecn::ECT1;
    let script = |mark: &str, sack: &str| {
        format!(
            "{HANDSHAKE}+0.1 < [ce] P. 1001:2001(1000) ack 1 win 9 <nop,nop,sack 11:21 31:41>\n\
             +0 > [{mark}] . 1:1(0) ack 1 <nop, nop, sack {sack}>"
        )
    };
    let actor = || {
        let mut actor = server([]);
        actor.replies.extend([vec![], vec![ack]]);
        actor
    };
    let mut one = actor();
    run(&parse(&script("ect01", "1001:2001")), &mut one).unwrap_or_else(|f| panic!("{f}"));
    let heard = one.heard[2].1;
    assert_eq!((heard.ecn, heard.sack().len(), heard.size_bytes), (Ecn::CE, 2, 1060));
    assert_eq!(heard.sack()[1], SackBlock { left: LOCAL_ISN + 31, right: LOCAL_ISN + 41 });
    let field = |script: &str| match fails(script, actor()).kind {
        FailureKind::Packet(differences) => differences[0].field,
        other => panic!("{other:?}"),
    };
    assert_eq!(field(&script("ect0", "1001:2001")), "ECN");
    assert_eq!(field(&script("ect1", "1001:2002")), "options");
}

#[test]
fn psh_is_compared_only_if_the_script_writes_it() {
    let script = |flags: &str| format!("{HANDSHAKE}+0.2 > {flags} 1:1001(1000) ack 1");
    let sent = |flags: Flags| server([(ms(300), Segment { flags, ..data(1, 1000) })]);
    let push = Flags::ACK.with(Flags::PSH);
    assert!(run(&parse(&script(".")), &mut sent(push)).is_ok());
    assert!(run(&parse(&script("P.")), &mut sent(push)).is_ok());
    assert!(run(&parse(&script("P.")), &mut sent(Flags::ACK)).is_err());
    assert!(run(&parse(&script(".")), &mut sent(Flags::ACK.with(Flags::ECE))).is_err());
}

#[test]
fn an_implementation_that_makes_no_progress_is_detected() {
    struct StuckSubject;
    impl Subject for StuckSubject {
        fn call(&mut self, _: Time, _: &Call) -> CallResult {
            CallResult::Blocks
        }
        fn returned(&mut self, _: Time) -> Option<CallOutcome> {
            None
        }
        fn inject(&mut self, _: Time, _: &Segment) {}
        fn next_wakeup(&self) -> Option<Time> {
            Some(Time::ZERO)
        }
        fn poll(&mut self, _: Time) -> Option<(Time, Segment)> {
            None
        }
        fn info(&self, _: Time) -> Info {
            Info::default()
        }
    }
    let failure = run(&parse("1 close(3) = 0"), &mut StuckSubject).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Stuck);
}
