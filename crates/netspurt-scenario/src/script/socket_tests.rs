//! Scripts in packetdrill's dialect that test socket options, the sysctl `tcp_rmem`, and what
//! becomes of a connection when its ends close.

use super::{Script, run};

/// A connection with the socket 4 to a server whose MSS is 1000 bytes. The round trip is 100 ms.
const OPEN: &str = "--set=timestamps=false
--tolerance_percent=0
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 4
+0...0.1 connect(4, ..., ...) = 0
+0 > S 0:0(0) <...>
+.1 < S. 0:0(0) ack 1 win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 0>
+0 > . 1:1(0) ack 1
";

/// Plays the lines `OPEN` and then the lines `rest`.
fn passes(rest: &str) {
    let script = Script::parse("s.pkt", &format!("{OPEN}{rest}"));
    let script = script.unwrap_or_else(|error| panic!("{error}"));
    let played = run(&script, &mut script.host(None, &[]).unwrap());
    played.unwrap_or_else(|report| panic!("{report}"));
}

#[test]
fn keep_alive_settings_begin_with_the_values_of_linux_and_can_be_changed() {
    let get =
        |name: &str, value: u32| format!("+0 getsockopt(4, SOL_TCP, {name}, [{value}], [4]) = 0\n");
    let names = ["TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT"];
    let told: Vec<String> =
        names.iter().zip([7200, 75, 9]).map(|(name, value)| get(name, value)).collect();
    passes(&told.concat());
    let set = "+0 setsockopt(4, SOL_TCP, TCP_KEEPINTVL, [76], 4) = 0\n";
    passes(&format!("{set}{}", get("TCP_KEEPINTVL", 76)));
}

#[test]
fn after_a_close_a_connection_waits_60_seconds_for_the_fin_of_its_peer() {
    // A timer of 60 s may fire 2 s late (Linux's timer wheel).
    let closed = "+0 close(4) = 0\n+0 > F. 1:1(0) ack 1\n+.1 < . 1:1(0) ack 2 win 65535\n";
    passes(&format!("{closed}+59.9 < F. 1:1(0) ack 2 win 65535\n+0 > . 2:2(0) ack 2"));
    passes(&format!("{closed}+63 < F. 1:1(0) ack 2 win 65535\n+0 > R 2:2(0)"));
}

#[test]
fn a_syn_with_a_later_number_replaces_a_connection_in_time_wait() {
    let script = "--set=timestamps=false
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
+0 close(4) = 0
+0 > F. 1:1(0) ack 1
+.1 < F. 1:1(0) ack 2 win 65535
+0 > . 2:2(0) ack 2
+1 < S 1000:1000(0) win 65535 <mss 1000>
+0 > S. 65539:65539(0) ack 1001 <...>
+.1 < . 1001:1001(0) ack 65540 win 65535
+0 accept(3, ..., ...) = 5
";
    // The first sequence number of the new connection is 2^16 + 1 above the last sequence number of
    // the old connection (`tcp_timewait_state_process`).
    let script = Script::parse("s.pkt", script).unwrap_or_else(|error| panic!("{error}"));
    let played = run(&script, &mut script.host(None, &[]).unwrap());
    played.unwrap_or_else(|report| panic!("{report}"));
}

#[test]
fn if_both_ends_close_at_the_same_time_both_pass_through_the_state_closing() {
    passes(
        "+0 close(4) = 0
+0 > F. 1:1(0) ack 1
+.1 < F. 1:1(0) ack 1 win 65535
+0 > . 2:2(0) ack 2
+0 %{ assert tcpi_state == 11 }%",
    );
}

#[test]
fn the_first_window_is_half_of_the_receive_buffer_that_the_sysctl_tcp_rmem_sets() {
    // Half of the buffer of 40,000 bytes has room for 13 segments of 1460 bytes, which are 18,980
    // bytes.
    let script = "`sysctl -q net.ipv4.tcp_rmem=\"4096 40000 6291456\"`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 4
+0...0.1 connect(4, ..., ...) = 0
+0 > S 0:0(0) win 18980 <...>
+.1 < S. 0:0(0) ack 1 win 65535 <mss 1000>
+0 > . 1:1(0) ack 1
";
    let script = Script::parse("s.pkt", script).unwrap_or_else(|error| panic!("{error}"));
    let played = run(&script, &mut script.host(None, &[]).unwrap());
    played.unwrap_or_else(|report| panic!("{report}"));
}
