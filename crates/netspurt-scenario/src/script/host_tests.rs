//! Scripts that test the sockets of the host on which scripts are played. A script is a test in
//! packetdrill's notation.

use super::{FailureKind, Script, run};

/// Plays a script whose connection has no options except the MSS. Returns the kind and the text of
/// a failure.
fn play(text: &str) -> Result<(), (FailureKind, String)> {
    let options = "--set=timestamps=false\n--set=recovery=\"newreno\"\n--set=sack=false\n--set=window_scaling=false\n";
    let script = Script::parse("host.pkt", &format!("--title=t\n{options}{text}")).unwrap();
    let played = run(&script, &mut script.host(None, &[]).unwrap());
    played.map(|_| ()).map_err(|failure| (failure.kind.clone(), failure.to_string()))
}

fn passes(text: &str) {
    play(text).unwrap_or_else(|(_, report)| panic!("{report}"));
}

/// The lines of a script in which the socket 3 opens a connection. The peer's MSS is 1000 bytes.
const OPEN: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0...0.1 connect(3, ..., ...) = 0
0 > S 0:0(0) <mss 1460>
0.1 < S. 0:0(0) ack 1 win 65535 <mss 1000>
0.1 > . 1:1(0) ack 1
";

#[test]
fn the_call_connect_blocks_until_the_handshake_is_over() {
    passes(&format!("{OPEN}+0 connect(3, ..., ...) = -1 EISCONN"));
}

#[test]
fn a_negative_user_timeout_is_refused() {
    let set = "setsockopt(3, SOL_TCP, TCP_USER_TIMEOUT";
    passes(&format!("{OPEN}+0 {set}, [-1], 4) = -1 EINVAL\n+0 {set}, [5000], 4) = 0"));
}

#[test]
fn the_send_buffer_size_of_a_listening_socket_applies_to_the_next_connection() {
    passes(
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0 bind(3, ..., ...) = 0
0 listen(3, 1) = 0
0 setsockopt(3, SOL_SOCKET, SO_SNDBUF, [9000], 4) = 0
0.1 < S 0:0(0) win 65535 <mss 1000>
0.1 > S. 0:0(0) ack 1 <mss 1460>
0.2 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
+0 getsockopt(4, SOL_SOCKET, SO_SNDBUF, [18000], [4]) = 0",
    );
}

#[test]
fn a_nonblocking_connect_reports_its_result_later() {
    let begin = "0 socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
0 connect(3, ..., ...) = -1 EINPROGRESS
0 > S 0:0(0) <...>
0 connect(3, ..., ...) = -1 EALREADY
0 write(3, ..., 10) = -1 EAGAIN
0 fcntl(3, F_GETFL) = 0x802
";
    passes(&format!(
        "{begin}0.1 < R. 0:0(0) ack 1 win 0\n+0 connect(3, ..., ...) = -1 ECONNREFUSED"
    ));
    passes(&format!(
        "{begin}0.1 < R. 0:0(0) ack 1 win 0
+0 getsockopt(3, SOL_SOCKET, SO_ERROR, [111], [4]) = 0
+0 getsockopt(3, SOL_SOCKET, SO_ERROR, [0], [4]) = 0
+0 write(3, ..., 10) = -1 EPIPE"
    ));
    // A reset that does not acknowledge the SYN is ignored (RFC 9293 §3.10.7.3).
    passes(&format!("{begin}0.1 < R. 0:0(0) ack 2 win 0\n+0 connect(3, ..., ...) = -1 EALREADY"));
}

#[test]
fn the_call_accept_blocks_until_a_connection_opens_and_the_call_read_until_data_arrives() {
    passes(
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
0 bind(3, ..., ...) = 0
0 listen(3, 1) = 0
0...0.2 accept(3, ..., ...) = 4
0.1 < S 0:0(0) win 65535 <mss 1000>
0.1 > S. 0:0(0) ack 1 <mss 1460>
0.2 < . 1:1(0) ack 1 win 65535
0.2...0.3 read(4, ..., 5000) = 1000
0.3 < . 1:1001(1000) ack 1 win 65535
0.34 > . 1:1(0) ack 1001
0.34 recv(4, ..., 10, MSG_DONTWAIT) = -1 EAGAIN
0.34...0.4 read(4, ..., 5000) = 0
0.4 < F. 1001:1001(0) ack 1 win 65535
0.4 > . 1:1(0) ack 1002
0.4 read(3, ..., 10) = -1 ENOTCONN
0.4 close(3) = 0
0.4 close(3) = -1 EBADF
0.4 close(4) = 0
0.4 > F. 1:1(0) ack 1002",
    );
}

#[test]
fn the_call_ioctl_counts_octets_that_are_unacknowledged_or_unsent_or_unread() {
    passes(&format!(
        "{OPEN}+0 write(3, ..., 20000) = 20000
+0 ioctl(3, SIOCOUTQ, [20000]) = 0
+0 ioctl(3, SIOCOUTQNSD, [10000]) = 0
+0 getsockopt(3, SOL_TCP, TCP_MAXSEG, [1000], [4]) = 0
+0 > . 1:1001(1000) ack 1"
    ));
    passes(&format!(
        "{OPEN}+0 < . 1:1001(1000) ack 1 win 65535
+0 ioctl(3, SIOCINQ, [1000]) = 0
+0 read(3, ..., 400) = 400
+0 ioctl(3, SIOCINQ, [600]) = 0"
    ));
}

#[test]
fn the_call_close_sends_a_reset_if_data_is_unread_or_the_linger_time_is_0() {
    let unread = "+0 < . 1:1001(1000) ack 1 win 65535\n+0 close(3) = 0\n+0 > R. 1:1(0) ack 1001";
    passes(&format!("{OPEN}{unread}"));
    passes(&format!(
        "{OPEN}+0 setsockopt(3, SOL_SOCKET, SO_LINGER, {{onoff=1, linger=0}}, 8) = 0
+0 close(3) = 0
+0 > R. 1:1(0) ack 1"
    ));
}

#[test]
fn the_maximum_segment_size_has_the_bounds_of_linux() {
    // `tcp_sock_set_maxseg` accepts only 0 and values from `TCP_MIN_MSS` to `MAX_TCP_WINDOW`. A
    // value above the MSS of the interface has no effect.
    for (value, result, mss) in [
        (87, "-1 EINVAL", 1460),
        (88, "0", 88),
        (32_767, "0", 1460),
        (32_768, "-1 EINVAL", 1460),
        (-1, "-1 EINVAL", 1460),
    ] {
        passes(&format!(
            "0 socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
0 setsockopt(3, SOL_TCP, TCP_MAXSEG, [{value}], 4) = {result}
0 connect(3, ..., ...) = -1 EINPROGRESS
0 > S 0:0(0) <mss {mss}>"
        ));
    }
    passes(
        "0 socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
0 setsockopt(3, SOL_TCP, TCP_MAXSEG, [900], 4) = 0
0 setsockopt(3, SOL_TCP, TCP_MAXSEG, [0], 4) = 0
0 connect(3, ..., ...) = -1 EINPROGRESS
0 > S 0:0(0) <mss 1460>",
    );
}

#[test]
fn options_that_were_set_before_the_opening_apply_to_the_connection() {
    passes(
        "0 socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
0 setsockopt(3, SOL_TCP, TCP_MAXSEG, [900], 4) = 0
0 setsockopt(3, SOL_SOCKET, SO_RCVBUF, [5000], 4) = 0
0 setsockopt(3, SOL_TCP, TCP_SYNCNT, [1], 4) = 0
0 setsockopt(3, SOL_TCP, TCP_CONGESTION, \"reno\", 4) = 0
0 connect(3, ..., ...) = -1 EINPROGRESS
0 > S 0:0(0) win 5000 <mss 900>
1 > S 0:0(0) win 5000 <mss 900>
3.1 connect(3, ..., ...) = -1 ETIMEDOUT",
    );
}

#[test]
fn the_flag_msg_more_delays_a_short_segment_until_more_data_is_written() {
    passes(&format!(
        "{OPEN}+0 setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0
+0 send(3, ..., 100, MSG_MORE) = 100
+0.1 send(3, ..., 100, 0) = 100
+0 > . 1:201(200) ack 1"
    ));
}

#[test]
fn the_error_for_an_unsupported_call_or_option_says_what_is_not_supported() {
    for (call, word) in [
        ("setsockopt(3, SOL_SOCKET, SO_MAX_PACING_RATE, [1000], 4) = 0", "SO_MAX_PACING_RATE"),
        ("setsockopt(3, SOL_TCP, TCP_CONGESTION, \"vegas\", 4) = 0", "vegas"),
        ("setsockopt(3, SOL_SOCKET, SO_RCVBUF, [1000], 4) = 0", "SO_RCVBUF"),
        ("getsockopt(3, SOL_TCP, TCP_WINDOW_CLAMP, [0], [4]) = 0", "TCP_WINDOW_CLAMP"),
        ("setsockopt(3, SOL_TCP, TCP_RTO_MIN_US, [9], 4) = 0", "not supported: TCP_RTO_MIN_US"),
        ("setsockopt(3, SOL_SOCKET, SO_SNDBUF, [9000], 4) = 0", "without a send buffer"),
        ("getsockopt(3, SOL_SOCKET, SO_SNDBUF, [0], [4]) = 0", "a send buffer without a limit"),
        ("listen(3, 1) = 0", "a second connection"),
    ] {
        let (kind, report) = play(&format!("{OPEN}+0 {call}")).unwrap_err();
        assert_eq!(kind, FailureKind::NotSupported, "{call}");
        assert!(report.contains(word), "{report}");
    }
}

#[test]
fn recovery_begins_despite_a_sack_block_that_begins_below_the_acknowledgment() {
    // A fuzz target found this case. In an ACK, a real receiver reports by SACK only octets that
    // this ACK does not acknowledge. The only exception is a D-SACK block, which is the first block
    // (RFC 2883).
    let text = "--title=t
--profile=linux-6
--set=rto.reneging_hurries=false
--set=timestamps=false
0 socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
+0 connect(3, ..., ...) = -1 EINPROGRESS
+0 > S 0:0(0) <...>
+0.1 < S. 0:0(0) ack 1 win 65535 <mss 1000,nop,nop,sackOK>
+0 > . 1:1(0) ack 1
+0 write(3, ..., 10000) = 10000
+0 > . 1:1001(1000) ack 1
+0 > . 1001:2001(1000) ack 1
+0 > . 2001:3001(1000) ack 1
+0 > . 3001:4001(1000) ack 1
+0 > . 4001:5001(1000) ack 1
+0 > . 5001:6001(1000) ack 1
+0 > . 6001:7001(1000) ack 1
+0 > . 7001:8001(1000) ack 1
+0 > . 8001:9001(1000) ack 1
+0 > P. 9001:10001(1000) ack 1
+0.1 < . 1:1(0) ack 2001 win 65535 <nop,nop,sack 5001:9001 1001:3001>
+0 %{ assert tcpi_ca_state == TCP_CA_Recovery }%";
    let script = Script::parse("hostile.pkt", text).unwrap();
    run(&script, &mut script.host(None, &[]).unwrap()).unwrap_or_else(|error| panic!("{error}"));
}
