//! Tests of scripts in packetdrill's dialect.

use netspurt::tcp::Recovery;

use super::{FailureKind, Script, ScriptDialect, ScriptError, ScriptFailure, SwitchSetting, run};

/// Reads a script, which may name three files with shell commands.
fn read(text: &str) -> Result<Script, ScriptError> {
    let mut files = |name: &str| {
        let known =
            [("../common/set.sh", FILE), ("common/linux.sh", OTHER), ("loop.sh", ". loop.sh")];
        known.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
    };
    Script::parse_with(ScriptDialect::of(text), "p.pkt", text, &mut files)
}

/// The text of the file `../common/set.sh`; only its sysctls count.
const FILE: &str = "#!/bin/sh\n\
    ip link set dev lo up\n\
    sysctl -q net.ipv4.tcp_timestamps=0 # why\n\
    sysctl -q net.ipv4.tcp_wmem=\"4096 $((64*1024)) 4194304\"\n";

/// The text of the file `common/linux.sh`. It reads another file if the system is Linux.
const OTHER: &str = "U=$(uname)\n\
    if [ \"$U\" = \"FreeBSD\" ] ; then\n. common/bsd.sh\n\
    elif [ \"$U\" = \"Linux\" ] ; then\n. ../common/set.sh\nfi\n";

/// Plays a script and returns the lines of its transcript.
fn play(text: &str) -> Result<Vec<String>, ScriptFailure> {
    let script = read(text).unwrap_or_else(|error| panic!("{error}"));
    let mut host = script.host(None, &[]).unwrap_or_else(|error| panic!("{error}"));
    let played = run(&script, &mut host).map_err(|failure| *failure);
    played.map(|entries| entries.iter().map(ToString::to_string).collect())
}

fn passes(text: &str) -> Vec<String> {
    play(text).unwrap_or_else(|failure| panic!("{failure}"))
}

fn fails(text: &str) -> ScriptFailure {
    play(text).expect_err(text)
}

/// The message of the error for a script that cannot be read.
fn refused(text: &str) -> String {
    read(text).expect_err(text).message
}

/// A connection with the socket 4 to a server whose MSS is 1000 bytes. The round trip is 100 ms.
const OPEN: &str = "`../common/set.sh`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 4
+0...0.1 connect(4, ..., ...) = 0
+0 > S 0:0(0) <...>
+.1 < S. 0:0(0) ack 1 win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 0>
+0 > . 1:1(0) ack 1
";

fn open(rest: &str) -> String {
    format!("{OPEN}{rest}")
}

#[test]
fn a_script_without_a_title_has_packetdrills_dialect_and_the_profile_linux_6() {
    assert_eq!(read("0 close(3) = 0").unwrap().options.dialect, ScriptDialect::Packetdrill);
    assert_eq!(read("--title=t\n0 close(3) = 0").unwrap().options.dialect, ScriptDialect::Strict);
    let config = read("0 close(3) = 0").unwrap().config(None, &[]).unwrap();
    assert_eq!(config, netspurt::tcp::RfcConfig::linux_6());
}

#[test]
fn one_line_may_describe_several_consecutive_segments() {
    let write = "+0 write(4, ..., 4000) = 4000\n";
    passes(&open(&format!("{write}+0 > P. 1:4001(4000) ack 1")));
    passes(&open(&format!("{write}+0 > . 1:1001(1000) ack 1\n+0 > P. 1001:4001(3000) ack 1")));
    let short = fails(&open(&format!("{write}+0 > P. 1:4501(4500) ack 1")));
    assert!(short.actual.contains("1:4001(4000)"), "{short}");
    let cut = fails(&open(&format!("{write}+0 > . 1:501(500) ack 1")));
    assert!(matches!(cut.kind, FailureKind::Packet(_)));
    let one = format!("--strict_segments\n{}", open(&format!("{write}+0 > P. 1:4001(4000) ack 1")));
    assert!(fails(&one).actual.contains("1:1001(1000)"));
}

#[test]
fn a_blocking_call_needs_a_time_range_even_if_it_returns_immediately() {
    let begin = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 4\n";
    let rest = "connect(4, ..., ...) = 0\n+0 > S 0:0(0) <...>\n\
                +0 < S. 0:0(0) ack 1 win 65535 <mss 1000>\n+0 > . 1:1(0) ack 1";
    passes(&format!("{begin}+0...0 {rest}"));
    assert_eq!(fails(&format!("{begin}+0 {rest}")).kind, FailureKind::Blocking);
}

#[test]
fn arriving_packets_may_have_fields_that_are_meaningless_with_their_flags() {
    let write = "+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n";
    let line = "+.1 < . 1:1(0) ack 1001 win 1000 <mss 500,sackOK,wscale 3>\n";
    let sent = "+0 write(4, ..., 1000) = 1000\n+0 > P. 1001:2001(1000) ack 1";
    passes(&open(&format!("{write}{line}{sent}")));
    passes(&open("+0 < R 1:1(0) ack 7 win 0\n+0 write(4, ..., 1) = -1 ECONNRESET"));
    assert!(refused("0 > . 0:0(0) <mss 1460>").contains("only a SYN carries"));
    assert!(refused("0 > R 0:0(0) ack 1").contains("needs the flag `.`"));
}

#[test]
fn an_offset_counts_from_the_actual_instant_of_the_previous_event() {
    // Linux retransmits a SYN after 1.024 s, and again after another 1.024 s.
    let begin = "0 socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
+0 connect(3, ..., ...) = -1 EINPROGRESS
+0 > S 0:0(0) <...>
";
    passes(&format!("{begin}+1.16 > S 0:0(0) <...>"));
    assert_eq!(fails(&format!("{begin}+1.18 > S 0:0(0) <...>")).kind, FailureKind::Timing);
    let exact = format!("--tolerance_percent=0\n{begin}+1.1 > S 0:0(0) <...>");
    assert_eq!(fails(&exact).kind, FailureKind::Timing);
    // Both segments are 26 ms early. If offsets counted from the written time, the second segment
    // would be 52 ms early.
    let options = "--tolerance_percent=0\n--tolerance_usecs=30000\n";
    passes(&format!("{options}{begin}+1.05 > S 0:0(0) <...>\n+1.05 > S 0:0(0) <...>"));
}

#[test]
fn a_line_for_several_segments_has_the_time_of_the_last_segment() {
    let begin = open(
        "+0 write(4, ..., 1000) = 1000
+0 > P. 1:1001(1000) ack 1
+.1 write(4, ..., 1000) = 1000\n+.003 write(4, ..., 1000) = 1000\n",
    );
    passes(&format!("{begin}+.003 < . 1:1(0) ack 1001 win 65535\n+0 > P. 1001:3001(2000) ack 1"));
}

#[test]
fn packets_after_the_last_expected_packet_are_ignored() {
    passes(&open("+0 write(4, ..., 1000) = 1000\n+9 close(4) = 0"));
    let between = open("+0 write(4, ..., 1000) = 1000\n+.1 > F. 1001:1001(0) ack 1");
    assert!(matches!(fails(&between).kind, FailureKind::Packet(_)));
}

#[test]
fn a_script_can_set_switches_by_commands() {
    let config = |text: &str| {
        let script = read(&format!("`{text}`\n0 close(3) = 0")).unwrap();
        script.config(None, &[]).unwrap_or_else(|error| panic!("{error}"))
    };
    assert!(!config("../common/set.sh").timestamps);
    assert!(!config("common/linux.sh").timestamps);
    assert!(
        config("loop.sh").timestamps,
        "a file that includes itself is read only to the maximum depth"
    );
    assert_eq!(config("sysctl -q net.ipv4.tcp_reordering=7 net.ipv4.tcp_dsack=0").dup_thresh, 7);
    assert!(
        !config("a/set_sysctls.py /proc/sys/net/ipv4/tcp_slow_start_after_idle=0")
            .cwnd_rules
            .idle_restart
    );
    assert_eq!(config("ip route change 10.0.0.1 dev tun0 initcwnd 3").initial_window_segs, 3);
    for (time, rto_min) in [("300ms", "300ms"), ("300", "300ms"), ("2s", "2s")] {
        let timer = config(&format!("ip route change 10.0.0.1 dev tun0 rto_min {time}")).rto;
        assert!(format!("{timer}").contains(&format!("rto_min={rto_min},")), "{timer} {time}");
    }
    let hours = read("`ip route change 10.0.0.1 dev tun0 rto_min 5h`\n0 close(3) = 0").unwrap_err();
    assert!(hours.message.contains("`5h` has neither the unit `s` nor"), "{hours}");
    assert!(!config("sysctl -q net.ipv4.tcp_sack=0").sack);
    assert!(config("tc qdisc replace dev tun0 root fq").pacing);
}

#[test]
fn the_sysctl_tcp_rmem_turns_on_autotuning_only_if_the_buffer_counts_memory() {
    let rmem = "`sysctl -q net.ipv4.tcp_rmem=\"4096 540000 15728640\"`\n0 close(3) = 0";
    let script = read(rmem).unwrap();
    assert!(script.config(None, &[]).unwrap().receive_rules.autotuning);
    let fixed = script.config(Some("rfc-2026"), &[]).unwrap();
    assert!(!fixed.receive_rules.autotuning);
    assert_eq!(fixed.receive_buffer_bytes, 15_728_640);
    let set = |path: &str, value: &str| SwitchSetting {
        path: path.to_owned(),
        value: value.to_owned(),
        line: 0,
    };
    let octets = [set("receive.counts_memory", "false")];
    assert!(!script.config(None, &octets).unwrap().receive_rules.autotuning);
    let asked = [set("receive.autotuning", "true")];
    let error = script.config(Some("rfc-2026"), &asked).unwrap_err();
    assert!(error.message.contains("no effect without `receive.counts_memory`"), "{error}");
}

#[test]
fn the_sysctl_tcp_recovery_turns_rack_off_in_the_profile_rfc_2026_but_not_in_linux_6() {
    let script = read("`sysctl -q net.ipv4.tcp_recovery=0`\n0 close(3) = 0").unwrap();
    let recovery = |profile| script.config(profile, &[]).unwrap().recovery;
    assert_eq!(recovery(None), Recovery::Rack);
    assert_eq!(recovery(Some("rfc-2026")), Recovery::Sack);
}

#[test]
fn unsupported_commands_and_sysctls_are_refused_with_a_reason() {
    let refusal = |text: &str| refused(&format!("`{text}`\n0 close(3) = 0"));
    assert!(refusal("rm -rf /").contains("`rm -rf /` is a command that scripts cannot use"));
    assert!(refusal("sysctl net.ipv4.tcp_abc=1").contains("`tcp_abc` is not a sysctl"));
    assert!(refusal("sysctl net.core.somaxconn=1").contains("`net.core.somaxconn`"));
    assert!(refusal("sysctl net.ipv4.tcp_reordering=x").contains("whole number, not `x`"));
    assert!(refusal("./other.sh").contains("no file `./other.sh`"));
    let route = refusal("ip route change 10.0.0.1 dev tun0 initcwnd");
    assert!(route.contains("`initcwnd` has no value"), "{route}");
    let late = refused("0 close(3) = 0\n+0 `sysctl net.ipv4.tcp_sack=0`");
    assert!(late.contains("`sack` cannot change"), "{late}");
    assert!(refused("0 close(3) = 0\n`ls").contains("does not end"));
}

#[test]
fn sysctls_that_linux_reads_immediately_may_come_between_events() {
    // Linux 6.18 passes this script: it sends one retransmission, and no tail loss probe before the
    // retransmission.
    let text = "0 socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
+0 connect(3, ..., ...) = -1 EINPROGRESS
+0 > S 0:0(0) <...>
+.1 < S. 0:0(0) ack 1 win 65535 <mss 1000,nop,nop,sackOK>
+0 > . 1:1(0) ack 1
+0 `sysctl -q net.ipv4.tcp_early_retrans=2 net.ipv4.tcp_retries2=1`
+0 write(3, ..., 2000) = 2000
+0 > P. 1:2001(2000) ack 1
+.3~+.34 > . 1:1001(1000) ack 1
+2 getsockopt(3, SOL_SOCKET, SO_ERROR, [110], [4]) = 0";
    let script = read(text).unwrap();
    run(&script, &mut script.host(None, &[]).unwrap()).unwrap_or_else(|error| panic!("{error}"));
    let live = ["tcp_frto=0", "tcp_dsack=0", "tcp_slow_start_after_idle=0", "tcp_min_tso_segs=1"];
    for sysctl in live.into_iter().chain(["tcp_fin_timeout=5", "tcp_notsent_lowat=1"]) {
        assert!(read(&format!("0 close(3) = 0\n+0 `sysctl net.ipv4.{sysctl}`")).is_ok());
    }
    let wrong = read("0 close(3) = 0\n+0 `sysctl net.ipv4.tcp_early_retrans=5`").unwrap_err();
    assert!(wrong.to_string().contains("a number from 0 to 4, not `5`"), "{wrong}");
}

#[test]
fn a_refusal_names_fast_open_and_not_a_command_in_an_earlier_line() {
    // The first line alone would also be refused. But the error names Fast Open, because no change
    // of the script can replace Fast Open.
    let text = "`nstat`\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
                +0 sendto(3, ..., 10, MSG_FASTOPEN, ..., ...) = 10";
    assert!(refused(text).contains("`MSG_FASTOPEN` asks for Fast Open"));
}

#[test]
fn a_script_is_refused_if_it_names_an_unsupported_mechanism_outside_of_comments() {
    for text in [
        "// MSG_FASTOPEN is not used\n0 close(3) = 0",
        "# MSG_FASTOPEN is not used\n0 close(3) = 0",
        "0 close(3) = 0 // no MSG_FASTOPEN",
        "0 close(3) = 0 # no MSG_FASTOPEN",
        "/* neither MSG_FASTOPEN\nnor TCP_REPAIR */ 0 close(3) = 0",
        "0 /* TCP_ULP */ close(3) = 0 /* splice */",
        "`sysctl -q net.ipv4.tcp_sack=0 # not tcp_mtu_probing`\n0 close(3) = 0",
        "`sysctl -q net.ipv4.tcp_mtu_probing=0`\n0 close(3) = 0",
    ] {
        assert!(read(text).is_ok(), "{text}");
    }
    let probing = refused("`sysctl -q net.ipv4.tcp_mtu_probing=1`\n0 close(3) = 0");
    assert!(probing.contains("asks for path MTU probing"), "{probing}");
    for text in [
        "0 close(3) = 0 /* one */ // two\n+0 sendto(3, ..., 10, MSG_FASTOPEN, ..., ...) = 10",
        "0 open(\"/* # // \", O_RDONLY) = 3 + MSG_FASTOPEN",
        "`ls /tmp/* a#b MSG_FASTOPEN`\n0 close(3) = 0",
    ] {
        assert!(refused(text).contains("`MSG_FASTOPEN` asks for Fast Open"), "{text}");
    }
}

#[test]
fn a_write_blocks_until_a_third_of_the_send_buffer_is_free() {
    let begin = open(
        "+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [21000], 4) = 0
+0 getsockopt(4, SOL_SOCKET, SO_SNDBUF, [42000], [4]) = 0
",
    );
    // A chunk is one buffer of Linux's send queue (`sk_buff`). The first chunk may have 32 000
    // unsent bytes: half of the peer's window, in whole segments. When the chunk has 32 000 bytes,
    // 10 000 of them are already sent. So only 22 000 are unsent, and the chunk takes 10 000 more
    // bytes.
    passes(&format!(
        "{begin}+0...0.2 write(4, ..., 70000) = 70000
+.1 < . 1:1(0) ack 10001 win 65535
+.1 < . 1:1(0) ack 30001 win 65535"
    ));
    let early = format!(
        "{begin}+0...0.1 write(4, ..., 70000) = 70000\n\
        +.1 < . 1:1(0) ack 10001 win 65535"
    );
    assert_eq!(fails(&early).kind, FailureKind::Blocking);
}

#[test]
fn the_call_poll_says_when_a_full_send_buffer_has_room_again() {
    passes(&open(
        "+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [10000], 4) = 0
+0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0 poll([{fd=4, events=POLLOUT|POLLIN, revents=POLLOUT}], 1, 0) = 1
+0 write(4, ..., 90000) = 42000
+0 > P. 1:10001(10000) ack 1
+0 write(4, ..., 1) = -1 EAGAIN (Resource temporarily unavailable)
+0 poll([{fd=4, events=POLLOUT, revents=0}], 1, 0) = 0
+0...0.3 poll([{fd=4, events=POLLOUT, revents=POLLOUT}], 1, 1000) = 1
+.1 < . 1:1(0) ack 10001 win 65535
+.1 < . 1:1(0) ack 30001 win 65535
+.1 < . 1:1(0) ack 40001 win 65535",
    ));
    let waits = open("+0...0.25 poll([{fd=4, events=POLLIN, revents=0}], 1, 250) = 0");
    passes(&waits);
}

#[test]
fn edge_triggered_epoll_reports_an_event_once_and_level_triggered_epoll_repeats_it() {
    passes(&open(
        "+0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0 epoll_create(1) = 9
+0 epoll_ctl(9, EPOLL_CTL_ADD, 4, {events=EPOLLIN|EPOLLET, fd=4}) = 0
+0 epoll_wait(9, {events=0, ptr=0}, 1, 0) = 0
+0 < P. 1:101(100) ack 1 win 65535
+0 epoll_wait(9, {events=EPOLLIN, fd=4}, 1, 0) = 1
+0 epoll_wait(9, {events=0, ptr=0}, 1, 0) = 0
+0 read(4, ..., 40) = 40
+0 epoll_ctl(9, EPOLL_CTL_MOD, 4, {events=EPOLLIN, fd=4}) = 0
+0 epoll_wait(9, {events=EPOLLIN, fd=4}, 1, 0) = 1
+0 epoll_wait(9, {events=EPOLLIN, fd=4}, 1, 0) = 1
+0 epoll_ctl(9, EPOLL_CTL_DEL, 4, {events=0, fd=4}) = 0
+0 epoll_wait(9, {events=0, ptr=0}, 1, 0) = 0
+0 close(9) = 0
+0 epoll_wait(9, {events=0, ptr=0}, 1, 0) = -1 EBADF",
    ));
}

#[test]
fn no_segment_spans_the_end_of_a_call_with_the_flag_msg_eor() {
    passes(&open(
        "+0 setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = 0
+0 send(4, ..., 400, MSG_EOR) = 400
+0 > P. 1:401(400) ack 1
+0 write(4, ..., 9000) = 9000
+0 > P. 401:9401(9000) ack 1
+0 send(4, ..., 400, MSG_EOR) = 400
+0 send(4, ..., 400, MSG_EOR) = 400
+0 write(4, ..., 400) = 400
+.1 < . 1:1(0) ack 9401 win 65535
+0 > P. 9401:9801(400) ack 1
+0 > P. 9801:10201(400) ack 1
+0 > P. 10201:10601(400) ack 1",
    ));
}

#[test]
fn the_call_recvmsg_reports_the_unread_octets_in_a_control_message() {
    passes(&open(
        "+0 setsockopt(4, SOL_TCP, TCP_INQ, [1], 4) = 0
+0 < P. 1:101(100) ack 1 win 65535
+0 > . 1:1(0) ack 101
+0 recv(4, ..., 30, MSG_PEEK) = 30
+0 recvmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 30}], msg_flags=0,
     msg_control=[{cmsg_level=SOL_TCP, cmsg_type=TCP_CM_INQ, cmsg_data=70}]}, 0) = 30
+0 read(4, NULL, 10) = -1 EFAULT (Bad address)
+0 sendmsg(4, {msg_name(...)=..., msg_iov(2)=[{..., 40}, {..., 2}], msg_flags=0}, 0) = 42
+0 > P. 1:43(42) ack 101",
    ));
}

// `tcp_recvmsg_locked` checks whether an acknowledgment is due even if the call takes no data.
#[test]
fn a_call_with_the_flag_msg_peek_sends_an_acknowledgment_that_is_due() {
    passes(&open(
        "+0 setsockopt(4, SOL_TCP, TCP_QUICKACK, [0], 4) = 0
+0 < . 1:1001(1000) ack 1 win 65535
+0 < . 1001:2001(1000) ack 1 win 65535
+.01 recv(4, ..., 3000, MSG_PEEK) = 2000
+0 > . 1:1(0) ack 2001",
    ));
}

// The estimate follows the rule of Linux's `tcp_initialize_rcv_mss`: the MSS within these bounds.
#[test]
fn the_first_estimate_of_the_peers_segment_size_is_88_to_536_octets() {
    for (offered, counted) in [(300, 300), (20, 88), (1460, 536)] {
        let script = format!(
            "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss {offered},nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 257
+0 accept(3, ..., ...) = 4
+0 %{{ assert tcpi_rcv_mss == {counted} }}%"
        );
        passes(&script);
    }
}

// The kernel measures in jiffies how long the sender had data, and how long each limit held the
// sender back. The kernel counts keep-alive probes in `tcpi_probes`.
#[test]
fn busy_time_is_counted_in_jiffies() {
    passes(&open(
        "+0 setsockopt(4, SOL_SOCKET, SO_KEEPALIVE, [1], 4) = 0
+0 setsockopt(4, SOL_TCP, TCP_KEEPIDLE, [1], 4) = 0
+1~+1.1 > . 0:0(0) ack 1
+0 %{ assert tcpi_probes == 1 and tcpi_backoff == 0 }%
+.01 < . 1:1(0) ack 1 win 65535
+0 %{ assert tcpi_probes == 0 and tcpi_delivery_rate_app_limited == 0 }%
+0 write(4, ..., 2000) = 2000
+0 > P. 1:2001(2000) ack 1
+.0131 < . 1:1(0) ack 2001 win 65535
+0 %{ assert tcpi_busy_time == 12000 and tcpi_rwnd_limited == 0 and tcpi_rehash == 0 }%",
    ));
}

#[test]
fn a_connection_without_answers_ends_after_the_user_timeout() {
    let begin = open(
        "+0 setsockopt(4, SOL_TCP, TCP_USER_TIMEOUT, [3000], 4) = 0
+0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0 write(4, ..., 1000) = 1000
",
    );
    passes(&format!("{begin}+3 write(4, ..., 1) = 1\n+1 write(4, ..., 1) = -1 ETIMEDOUT"));
}

#[test]
fn the_host_answers_data_for_a_closed_socket_with_an_rst() {
    passes(&open(
        "+0 close(4) = 0
+0 > F. 1:1(0) ack 1
+.1 < . 1:101(100) ack 2 win 500
+0 > R 2:2(0)",
    ));
}

#[test]
fn variables_keep_their_values_and_the_statement_print_shows_them() {
    let story = passes(
        "0 %{ x = 2; x += 0x10 \\\n ; print(x, 'x=%d %d' % (x, 3)) }%
+0 %{ assert 17 < x <= 18 and max(x, 1) & 2 == 2, 'no' }%",
    );
    assert_eq!(story[0].trim(), "0.000000 print 18 x=18 3");
    let failure = fails("0 %{ x = 2\nassert x == 3, 'x=%d' % x }%");
    assert_eq!((failure.line, failure.actual.as_str()), (2, "x=2"));
}

// Linux 6.18 reports the same numbers.
#[test]
fn the_host_counts_retransmissions_and_arrivals_and_sack_reports() {
    passes(&open(
        "+0 write(4, ..., 3000) = 3000
+0 > P. 1:3001(3000) ack 1
+.2~+.23 > P. 2001:3001(1000) ack 1
+0 %{ assert tcpi_bytes_retrans == 1000 and tcpi_bytes_sent == 4000 and tcpi_pmtu == 1500 }%
+.01 < . 1:1(0) ack 3001 win 65535
+.05 < . 1:1(0) ack 3001 win 65535 <sack 2001:3001,nop,nop>
+0 %{ assert tcpi_dsack_dups == 1 and tcpi_delivered == 5 and tcpi_total_rto == 0 }%
+0 write(4, ..., 100) = 100
+0 > P. 3001:3101(100) ack 1
+.1~+1 > P. 3001:3101(100) ack 1
+.1~+1 > P. 3001:3101(100) ack 1
+0 %{ assert tcpi_total_rto == 1 and tcpi_backoff == 1 }%
+0 < P. 1001:2001(1000) ack 3101 win 65535
+0 < P. 1001:2001(1000) ack 3101 win 65535
+0 < P. 1:1001(1000) ack 3101 win 65535
+0 %{ assert tcpi_rcv_ooopack == 2 and tcpi_data_segs_in == 3 and tcpi_delivered_ce == 0 }%",
    ));
}

#[test]
fn tcp_info_says_how_long_the_sender_was_busy_and_how_long_the_window_limited_it() {
    passes(&open(
        "+.2 %{ assert tcpi_last_data_recv == 200 and tcpi_busy_time == 0 }%
+0 write(4, ..., 1000) = 1000
+.1 < . 1:1(0) ack 1001 win 500
+0 write(4, ..., 1000) = 1000
+.3 %{ assert tcpi_busy_time == 400000 and tcpi_rwnd_limited == 300000, tcpi_busy_time }%",
    ));
}

#[test]
fn a_new_packet_that_a_full_queue_drops_is_kept_and_sent_later() {
    let text = open(
        "+0 write(4, ..., 100) = 100
+0 > P. 1:101(100) ack 1
+.1 < . 1:1(0) ack 101 win 65535
+0 `tc qdisc replace dev tun0 root pfifo limit 0`
+0 write(4, ..., 200) = 200
+.28 %{ assert tcpi_probes == 0 and tcpi_unacked == 0 and tcpi_notsent_bytes == 200 }%
+.1 %{ assert tcpi_probes == 1 and tcpi_unacked == 0 and tcpi_backoff == 0 }%
+.5 %{ assert tcpi_probes == 2 and tcpi_retransmits == 0 }%
+0 `tc qdisc replace dev tun0 root pfifo`
+.4~+.56 > P. 101:301(200) ack 1",
    );
    passes(&text);
    let counted = fails(&format!("--set=send.learns_drops=false\n{text}"));
    assert!(counted.actual.contains("tcpi_unacked is 1"), "{counted}");
}

#[test]
fn a_retransmission_that_a_full_queue_drops_leaves_with_the_next_ack() {
    let text = open(
        "+0 write(4, ..., 2000) = 2000
+0 > P. 1:2001(2000) ack 1
+0 `tc qdisc replace dev tun0 root pfifo limit 0`
+.1 < . 1:1(0) ack 1 win 65535 <sack 1001:2001>
+.05 %{ assert tcpi_ca_state == TCP_CA_Recovery and tcpi_lost == 1 and tcpi_snd_cwnd == 1 }%
+0 %{ assert tcpi_retrans == 0 }%
+0 `tc qdisc replace dev tun0 root pfifo`
+.01 < . 1:1(0) ack 1 win 65535 <sack 1001:2001>
+0 > . 1:1001(1000) ack 1",
    );
    passes(&text);
    let counted = fails(&format!("--set=send.learns_drops=false\n{text}"));
    assert_eq!(counted.actual, "tcpi_retrans is 1");
}

#[test]
fn super_fast_retransmit_tries_again_if_a_full_queue_refused_its_segment() {
    // The timer fires 200 ms (two round trips) after the write, and again 200 ms later.
    passes(
        &open(
            "+0 write(4, ..., 1000) = 1000
+0 > P. 1:1001(1000) ack 1
+.15 `tc qdisc replace dev tun0 root pfifo limit 0`
+.1 `tc qdisc replace dev tun0 root pfifo`
+.15 > P. 1:1001(1000) ack 1",
        )
        .replacen(
            "",
            "--set=sfr={factor=2.0}\n--set=tlp=false\n--set=rto.min=\"2 s\"\n",
            1,
        ),
    );
}

#[test]
fn a_file_that_the_command_dd_made_is_sent_up_to_its_end() {
    passes(&format!(
        "`rm -f /tmp/zeros\ndd bs=1 count=5 if=/dev/zero of=/tmp/zeros status=none`\n{}",
        open(
            "+0 open(\"/tmp/other\", O_RDONLY) = -1 ENOENT
+0 open(\"/tmp/zeros\", O_RDONLY) = 5
+0 sendfile(4, 5, [2], 10) = 3
+0 > P. 1:4(3) ack 1
+.1 < . 1:1(0) ack 4 win 65535
+0 sendfile(4, 5, NULL, 4) = 4
+0 sendfile(4, 5, NULL, 4) = 1
+0 sendfile(4, 5, NULL, 4) = 0
+0 close(5) = 0
+0 sendfile(4, 5, NULL, 4) = -1 EBADF"
        )
    ));
    assert!(refused("`dd if=/etc/passwd of=a`\n0 close(3) = 0").contains("makes no file of zeros"));
}

#[test]
fn an_arriving_packet_counts_as_merged_segments_if_it_is_longer_than_the_scripts_mss() {
    passes(&format!(
        "--mss=1000\n{}",
        open("+0 < P. 1:5001(5000) ack 1 win 65535\n+0 %{ assert tcpi_rcv_mss == 1000 }%")
    ));
}
