//! Tests of reading scripts, and of the errors for mistakes in them. A script is a test in
//! packetdrill's notation.

use proptest::prelude::*;

use super::*;

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

#[test]
fn blanks_may_stand_around_the_dots_between_the_start_and_the_end_of_a_call() {
    let event = |time: &str| {
        let text = format!("0 socket(..., SOCK_STREAM, 0) = 3\n{time} connect(3, ..., ...) = 0");
        parse(&text).events.remove(1)
    };
    let lasting = EventTime::Lasting(Duration::from_millis(500), Duration::from_secs(2));
    assert_eq!(event("0.5...2").time, lasting);
    for time in ["0.5 ...2", "0.5... 2", "0.5 ... 2"] {
        assert_eq!(event(time), event("0.5...2"), "{time}");
    }
}

#[test]
fn a_byte_order_mark_before_the_text_changes_nothing() {
    let text = "--title=x\n--mss=65495\n0 socket(..., SOCK_STREAM, 0) = 3\n";
    let [plain, marked] = [text.to_owned(), format!("\u{feff}{text}")].map(|text| parse(&text));
    assert_eq!(marked.options.dialect, ScriptDialect::Strict);
    assert_eq!(marked.options.mss, Some(65_495));
    assert_eq!((marked.events.len(), marked.lines), (plain.events.len(), plain.lines));
    let error = Script::parse("x.pkt", "\u{feff}x").unwrap_err().to_string();
    assert!(error.starts_with("expected a time, found `x`\n   --> x.pkt:1:1\n"), "{error}");
}

/// A script, the line and column of its mistake, and parts of the message and of the fix.
type Case = (&'static str, usize, usize, &'static str, &'static str);

const MISTAKES: &[Case] = &[
    ("", 1, 1, "the script has no event", "as in"),
    ("--titel=x\n0 close(3) = 0", 1, 3, "unknown option `titel`", "`title`"),
    ("--title=x\n--mtu=1\n0 close(3) = 0", 2, 3, "only packetdrill's dialect", "remove `--title=`"),
    ("--set=rto.min=1 s\n0 close(3) = 0", 1, 15, "`1 s` is not a TOML value", "quotes"),
    ("--title=x\n--mss=65496\n0 close(3) = 0", 2, 7, "`65496` is too large", "up to 65495"),
    ("--title=x\n--mss=0\n0 close(3) = 0", 2, 7, "a segment size of 0", "from 1, as in"),
    ("--mss=1k\n0 close(3) = 0", 1, 7, "`1k` is not a whole number", "up to"),
    ("--set=sack=true\n--set=sack=true\n", 2, 3, "is already set", "once"),
    ("0 close(3) = 0\n--title=x", 2, 1, "comes after an event", "top"),
    ("0 `ls`", 1, 3, "shell commands are not supported", "--set=path=value"),
    ("`sysctl -q net.ipv4.tcp_sack=0`", 1, 1, "shell commands", "--set=sack=false"),
    ("x", 1, 1, "expected a time, found `x`", "+0.1"),
    ("soon close(3) = 0", 1, 1, "expected a time, found `soon`", "+0.1"),
    ("0 socket(..., SOCK_STREAM, IPPROTO_UDP) = 3", 1, 28, "expected `IPPROTO_TCP`", "only TCP"),
    ("0 sendto(3, ..., 1, 0, ..., ..., 0) = 1", 1, 3, "of `sendto` cannot be 7", "sendto(4"),
    ("0 poll([{fd=4, events=POLLIN}], 1) = 1", 1, 3, "of `poll` cannot be 2", "poll([{fd=4"),
    ("0 epoll_wait(5, {fd=4}, 1, 0, 0) = 1", 1, 3, "of `epoll_wait` cannot be 5", "epoll_wait(5"),
    ("0 fcntl(3, F_GETFL, 1) = 0", 1, 3, "of `fcntl` cannot be 3", "fcntl(3, F_GETFL)"),
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
    ("0 > . 1:5(3)", 1, 7, "a packet of 3 bytes that begins at 1 ends at 4", "`1:4(3)`"),
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
    ("0 read(3) = 1", 1, 3, "arguments of `read` cannot be 1", "read(4, ..., 1000)"),
    ("0 close(3)", 1, 11, "expected `=`", "= ?"),
    ("0 close(3) = -1", 1, 14, "needs the name of an error", "-1 EAGAIN"),
    ("0 close(3) = 5 EPIPE", 1, 16, "only the result -1 can have the name", "remove the name"),
    ("0 close(3) = ? EPIPE", 1, 16, "only the result -1 can have the name", "remove the name"),
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
    ("0 %{ assert 1, '%d %d' % 1 }%", 1, 16, "2 `%d`, but the number of values is 1", "each value"),
    ("0 %{ }%", 1, 3, "has no statement", "as in"),
    ("0 %{ assert 1", 1, 3, "this code block does not end", "}%"),
    ("0 /* close", 1, 3, "this comment does not end", "*/"),
];

#[test]
fn each_mistake_is_reported_with_its_place_and_its_fix() {
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

/// A script with most parts of the notation.
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

/// Random options of a packet, and whether they are the options of a SYN.
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
