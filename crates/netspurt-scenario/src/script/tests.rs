//! Tests of reading scripts and of playing them against a simple connection under test.

mod expressions;

use std::collections::VecDeque;

use proptest::prelude::*;

use netspurt::segment::{Ecn, Flags, SackBlock, SackBlocks, Segment, SynOptions, Timestamps};
use netspurt::units::{Duration, Time};

use super::*;

const LOCAL_ISN: u32 = 5_000_000;

fn parse(text: &str) -> Script {
    let script = Script::parse_with(ScriptDialect::Strict, "t.pkt", text, &mut |_| None);
    script.unwrap_or_else(|error| panic!("{error}"))
}

fn wrong(text: &str) -> ScriptError {
    Script::parse_with(ScriptDialect::Strict, "t.pkt", text, &mut |_| None).expect_err(text)
}

/// A connection under test that sends given packets.
#[derive(Default)]
struct Actor {
    /// For each segment that arrives, in order: the segments to send then.
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

const HANDSHAKE: &str = "\
0 < S 0:0(0) win 65535 <mss 1460,sackOK>
+0 > S. 0:0(0) ack 1 <mss 1460,sackOK>
+0.1 < . 1:1(0) ack 1 win 65535
";

fn server(timed: impl IntoIterator<Item = (Time, Segment)>) -> Actor {
    let replies = VecDeque::from([vec![syn_ack(0xffff_fc00)]]);
    Actor { replies, timed: timed.into_iter().collect(), ..Actor::default() }
}

fn fails(script: &str, mut actor: Actor) -> ScriptFailure {
    *run(&parse(script), &mut actor).expect_err("the script must fail")
}

#[test]
fn a_connection_that_follows_its_script_passes_and_the_transcript_lists_the_events() {
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
fn a_packet_that_differs_is_shown_with_the_differences_and_the_transcript() {
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
fn an_offset_after_a_time_range_or_a_star_counts_from_the_instant_of_the_packet() {
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
fn a_packet_that_is_not_in_the_script_fails_the_script_if_it_is_due_before_the_end() {
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
fn a_call_that_blocks_must_return_at_the_end_that_the_script_gives() {
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
fn timestamps_are_compared_relative_to_the_first_one_and_an_echo_is_converted_back() {
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
fn packets_of_one_instant_are_compared_with_the_offset_of_the_first_of_them() {
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
fn sack_blocks_options_and_marks_reach_the_connection_and_are_compared() {
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
fn psh_is_compared_only_if_the_script_writes_it_and_ece_is_always_compared() {
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

#[test]
fn option_lines_are_read() {
    let script = parse(
        "--title=a timeout doubles the timer // why\n--clause=RFC 6298 §5.5\n--profile=rfc-2026\n\
         --set=acks={ delayed = \"40 ms\" }\n--set=rto.min=\"1 s\"\n--fails_with=karn=false\n\
         --fails_with=rto.backoff=\"a // b\"\n--tolerance_usecs=0\n--mss=1000\n0 close(3) = 0",
    );
    let options = script.options;
    assert_eq!(options.title, "a timeout doubles the timer");
    assert_eq!((options.clauses.len(), options.mss), (1, Some(1000)));
    assert_eq!(options.tolerance.least, Duration::ZERO);
    assert_eq!(
        (options.set[1].path.as_str(), options.set[1].value.as_str()),
        ("rto.min", "\"1 s\"")
    );
    assert_eq!(options.fails_with[1].value, "\"a // b\"");
    let usual = ScriptOptions::of(ScriptDialect::Strict).tolerance;
    assert_eq!(usual.at(Duration::from_secs(9)), Duration::from_micros(4000));
}

/// A script, the line and column of its mistake, and parts of the message and of the fix.
type Case = (&'static str, usize, usize, &'static str, &'static str);

const MISTAKES: &[Case] = &[
    ("", 1, 1, "the script has no event", "as in"),
    ("--titel=x\n0 close(3) = 0", 1, 3, "unknown option `titel`", "`title`"),
    ("--title=x\n--mtu=1\n0 close(3) = 0", 2, 3, "only packetdrill's dialect", "remove `--title=`"),
    ("--set=rto.min=1 s\n0 close(3) = 0", 1, 15, "`1 s` is not a TOML value", "quotes"),
    ("--mss=99999\n0 close(3) = 0", 1, 7, "`99999` is too large", "up to"),
    ("--mss=1k\n0 close(3) = 0", 1, 7, "`1k` is not a whole number", "up to"),
    ("--set=sack=true\n--set=sack=true\n", 2, 3, "is already set", "once"),
    ("0 close(3) = 0\n--title=x", 2, 1, "comes after an event", "top"),
    ("0 `ls`", 1, 3, "shell commands are not supported", "--set=path=value"),
    ("`sysctl -q net.ipv4.tcp_sack=0`", 1, 1, "shell commands", "--set=sack=false"),
    ("x", 1, 1, "expected a time, found `x`", "+0.1"),
    ("0.0000000001 close(3) = 0", 1, 1, "more than nine decimals", "nine"),
    ("0.2~0.1 > . 1:1(0) ack 1", 1, 1, "ends before it starts", "first"),
    ("0.2~+0.1 > . 1:1(0) ack 1", 1, 1, "only one of the two times", "both"),
    ("1 close(3) = 0\n0.5 close(3) = 0", 2, 1, "earlier than the previous event", "1 s or later"),
    ("* < . 1:1(0) ack 1 win 1", 1, 1, "only an expected packet", "one time"),
    ("0...1 < . 1:1(0) ack 1 win 1", 1, 1, "only a call", "one time"),
    ("0 < . 1:1(0) ack 1", 1, 5, "an inbound packet needs a window", "win"),
    ("0 < . 1:1(0) win 5 ack 1", 1, 20, "expected the end of the line", "one event"),
    ("0 < X 1:1(0)", 1, 5, "unknown flag `X`", "S F R"),
    ("0 < SS 1:1(0)", 1, 6, "the flag `S` is repeated", "once"),
    ("0 > . 1:5(3)", 1, 7, "3 bytes from 1 end at 4", "`1:4(3)`"),
    ("0 > . 1:1(0) akc 3", 1, 14, "unknown field `akc`", "`ack`"),
    ("0 > S 0:0(0) ack 1", 1, 14, "needs the flag `.`", "add `.`"),
    ("0 > S 0:0(0) <FO abcd>", 1, 15, "`FO` of Fast Open is not supported", "remove it"),
    ("0 > . 0:0(0) <mss 1460>", 1, 15, "only a SYN carries `mss`", "add `S`"),
    ("0 > S 0:0(0) <wscale 256>", 1, 22, "256 is too large", "at most 255"),
    ("0 > S 0:0(0) <mss 1 sackOK>", 1, 21, "expected `,` or `>`", "between"),
    ("0 > . 0:0(0) <sack 1:2 3:4 5:6 7:8 9:10>", 1, 36, "four SACK blocks", "remove"),
    ("0 > . 0:0(0) <sack 1:2 3:4 5:6 7:8,TS val 1 ecr 2>", 1, 15, "three SACK blocks", "`TS`"),
    ("0 < S 0:0(0) win 1 <...>", 1, 21, "must list its options", "write them"),
    ("0 > [ect2] . 1:1(0)", 1, 6, "unknown ECN codepoint `ect2`", "`ect0`"),
    ("0 < [ect01] . 1:1(0) win 1", 1, 6, "stands for two codepoints", "`ect0`"),
    ("0 < icmp unreachable frag_needed", 1, 22, "unknown code of `icmp", "host_unreachable"),
    ("0 < icmp echo_reply", 1, 10, "`echo_reply` is not supported", "icmp unreachable"),
    ("0 < icmp unreachable net_unknown [1]", 1, 36, "expected `:`", "quote the packet"),
    ("0 > icmp unreachable", 1, 5, "`icmp` packets are not supported", "TCP"),
    ("0 > udp (100)", 1, 5, "`udp` packets are not supported", "TCP"),
    ("0 select(1) = 1", 1, 3, "`select` is not supported", "`poll`"),
    ("0 poll([{fd=4}], 1, 0) = 1", 1, 9, "expected a socket and its events", "events=POLLIN"),
    ("0 raed(3, ..., 1) = 1", 1, 3, "unknown call `raed`", "`read`"),
    ("0 read(3, ..., 1", 1, 7, "this parenthesis is not closed", "add `)`"),
    ("0 read(3, 4, 1) = 1", 1, 11, "expected `...`, found `4`", "`...`"),
    ("0 read(3) = 1", 1, 3, "`read` does not take 1 arguments", "read(4, ..., 1000)"),
    ("0 close(3)", 1, 11, "expected `=`", "= ?"),
    ("0 close(3) = -1", 1, 14, "needs the name of an error", "-1 EAGAIN"),
    ("0 close(3) = -1 EPIP", 1, 17, "unknown error `EPIP`", "`EPIPE`"),
    ("0 socket(..., SOCK_DGRAM, 0) = 3", 1, 15, "expected `SOCK_STREAM`", "only TCP"),
    (
        "0 setsockopt(3, SOL_TCP, SO_SNDBUF, [1], 4) = 0",
        1,
        17,
        "SO_SNDBUF is not an option of this level",
        "`SOL_SOCKET`",
    ),
    (
        "0 setsockopt(3, SOL_TCP, TCP_NODELY, [1], 4) = 0",
        1,
        26,
        "unknown socket option `TCP_NODELY`",
        "`TCP_NODELAY`",
    ),
    ("0 %{ assert tcpi_snd_cwmd == 1 }%", 1, 13, "unknown field", "`tcpi_snd_cwnd`"),
    ("0 %{ assert 1 = 1 }%", 1, 15, "`=` is not a comparison", "`==`"),
    ("0 %{ assert 1 2 }%", 1, 15, "expected an operator", "a new line"),
    ("0 %{ import os }%", 1, 6, "`import` is not a statement", "assert"),
    ("0 %{ \\ss }%", 1, 6, "expected a statement, found `\\`", "assert"),
    ("0 %{ print 1 }%", 1, 12, "expected `(`", "print(tcpi_rtt)"),
    ("0 %{ x += 1 }%", 1, 8, "`x` is not set", "x = "),
    ("0 %{ assert 1, '5 % %d' % 1 }%", 1, 16, "a `%` is not part of `%d`", "no other `%`"),
    ("0 %{ assert 1, '%d %d' % 1 }%", 1, 16, "2 `%d`, but 1 values follow", "each value"),
    ("0 %{ }%", 1, 3, "has no statement", "as in"),
    ("0 %{ assert 1", 1, 3, "this code block does not end", "}%"),
    ("0 /* close", 1, 3, "this comment does not end", "*/"),
];

#[test]
fn the_error_for_each_mistake_has_its_place_and_its_fix() {
    for (text, line, column, message, fix) in MISTAKES {
        let error = wrong(text);
        let place = error.place.as_ref().expect(text);
        assert_eq!((place.line, place.column), (*line, *column), "{text}\n{error}");
        assert!(error.message.contains(message), "{text}\n{error}");
        assert!(error.fix.contains(fix), "{text}\n{error}");
    }
    let shown = wrong("0 close(3) = 0\n\t0.1 colse(3) = 0").to_string();
    assert_eq!(
        shown,
        "unknown call `colse`\n   --> t.pkt:2:6\n 2 | \t0.1 colse(3) = 0\n   | \t    ^^^^^ did you mean `close`?"
    );
}

#[test]
fn calls_are_read_and_written() {
    let calls = [
        "socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP)",
        "bind(3, ..., ...)",
        "listen(3, 1)",
        "connect(3, ..., ...)",
        "send(4, ..., 10, MSG_DONTWAIT|MSG_MORE)",
        "recv(4, ..., 10, MSG_DONTWAIT)",
        "shutdown(4, SHUT_RDWR)",
        "fcntl(3, F_GETFL)",
        "fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK)",
    ];
    for call in calls {
        let script = parse(&format!("0 {call} = 0x2 (flags O_RDWR)"));
        let ScriptAction::Call { call: read, expected } = &script.events[0].action else {
            panic!()
        };
        assert_eq!(read.to_string(), call);
        assert_eq!(expected.value, Some(2));
    }
    let values = [
        ("SOL_TCP, TCP_CONGESTION, \"cubic\", 5", OptionValue::Text("cubic".to_owned())),
        (
            "SOL_SOCKET, SO_LINGER, {onoff=1, linger=5}, 8",
            OptionValue::Linger { on: true, seconds: 5 },
        ),
        ("IPPROTO_TCP, TCP_USER_TIMEOUT, [3000], 4", OptionValue::Number(3000)),
    ];
    for (text, wanted) in values {
        let script = parse(&format!("0 setsockopt(3, {text}) = 0"));
        let ScriptAction::Call { call: Call::SetOption { value, .. }, .. } =
            &script.events[0].action
        else {
            panic!()
        };
        assert_eq!(*value, wanted);
    }
}

fn sample() -> String {
    format!(
        "--title=a sample\n--set=acks={{ delayed = \"40 ms\" }}\n/* two\nlines */ {HANDSHAKE}\
         +0...0.2 accept(3, ..., ...) = 4 // four\n\
         0.3~0.4 > [ect01] P. 1:1001(1000) ack 1 <nop,nop,TS val 1 ecr 2>\n\
         * > F. 1001:1001(0) ack 1 win 5 <...>\n\
         +1 setsockopt(4, SOL_TCP, TCP_CONGESTION, \"reno\", 4) = 0\n\
         +0 %{{ assert tcpi_snd_cwnd == (10 - 1), \"why\"; assert not tcpi_rto < -1 }}%\n"
    )
}

fn options() -> impl Strategy<Value = (bool, PacketOptions)> {
    let stamps = prop::option::of((any::<u32>(), any::<u32>()));
    let blocks = prop::collection::vec((any::<u32>(), any::<u32>()), 0..=3);
    let syn = (any::<bool>(), prop::option::of(any::<u16>()), prop::option::of(0..15_u8));
    (syn, any::<bool>(), stamps, blocks).prop_map(|((syn, mss, shift), sack_ok, stamps, blocks)| {
        let timestamps = stamps.map(|(val, ecr)| Timestamps { val, ecr });
        let block = |(left, right)| SackBlock { left, right };
        let sack = blocks.into_iter().map(block).collect();
        let none = PacketOptions::default();
        let with_syn =
            PacketOptions { mss, window_scale: shift, sack_permitted: sack_ok, timestamps, ..none };
        let without = PacketOptions { timestamps, sack, ..PacketOptions::default() };
        (syn, if syn { with_syn } else { without })
    })
}

fn packets() -> impl Strategy<Value = ScriptPacket> {
    let ecn = prop::option::of(prop::sample::select(EcnMark::ALL.map(|(_, mark)| mark).to_vec()));
    let numbers = (any::<u8>(), any::<u32>(), any::<u16>(), any::<u32>());
    let any_options = prop::option::weighted(0.9, options());
    (ecn, numbers, prop::option::of(any::<u16>()), any_options).prop_map(
        |(ecn, (bits, seq, len, ack), window, options)| {
            let syn = options.as_ref().is_some_and(|(syn, _)| *syn);
            let bits = bits & 0xdd | u8::from(syn) << 1;
            let flags = Flags(bits);
            let ack = flags.has(Flags::ACK).then_some(ack);
            ScriptPacket { ecn, flags, seq, len, ack, window, options: options.map(|(_, o)| o) }
        },
    )
}

proptest! {
    #[test]
    fn a_written_packet_is_read_back_unchanged(packet in packets()) {
        let script = Script::parse("p.pkt", &format!("+0.1 > {packet}"));
        let script = script.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(&script.events[0].action, &ScriptAction::Outbound(packet));
    }

    #[test]
    fn random_text_is_read_or_refused_with_a_place(text in "\\PC{0,80}") {
        if let Err(error) = Script::parse("r.pkt", &text) {
            prop_assert!(error.place.is_some() && !error.to_string().is_empty());
        }
    }

    #[test]
    fn a_mutated_script_is_read_or_refused_with_a_place(
        cuts in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..6_usize, "[ -~\n\u{e9}]{0,3}|%\\{|\\}%|<|\\(|0\\.|/\\*"),
            1..4,
        )
    ) {
        let mut text = sample();
        for (place, length, insert) in cuts {
            let characters: Vec<char> = text.chars().collect();
            let start = place.index(characters.len() + 1);
            let end = (start + length).min(characters.len());
            let (head, tail) = (&characters[..start], &characters[end..]);
            text = head.iter().copied().chain(insert.chars()).chain(tail.iter().copied()).collect();
        }
        if let Err(error) = Script::parse("m.pkt", &text) {
            let lines = text.lines().count().max(1) + 1;
            let place = error.place.clone().expect("every mistake has its place");
            prop_assert!(place.line >= 1 && place.line <= lines && place.column >= 1);
            prop_assert!(!error.fix.is_empty(), "{}", error);
        }
    }
}

#[test]
fn the_sample_is_a_valid_script() {
    assert_eq!(parse(&sample()).events.len(), 8);
}
