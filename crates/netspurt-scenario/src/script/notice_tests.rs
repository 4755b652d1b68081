//! Scripts (tests in packetdrill's notation) that test the error queue, the buffers of messages,
//! and `epoll`.

use super::{Script, run};

/// The lines of a script in which the socket 3, with `SO_ZEROCOPY`, opens a connection.
const OPEN: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0 setsockopt(3, SOL_SOCKET, SO_ZEROCOPY, [1], 4) = 0
0...0.1 connect(3, ..., ...) = 0
0 > S 0:0(0) <...>
0.1 < S. 0:0(0) ack 1 win 65535 <mss 1000>
0.1 > . 1:1(0) ack 1
";

/// Plays the lines `OPEN` and then the lines `text`. Returns the message of a mistake or a failure.
fn play(text: &str) -> Result<(), String> {
    let text = format!("--title=t\n--profile=plain\n{OPEN}{text}");
    let script = Script::parse("notice.pkt", &text).map_err(|error| error.to_string())?;
    let played = run(&script, &mut script.host(None, &[]).unwrap());
    played.map(|_| ()).map_err(|failure| failure.to_string())
}

/// Returns a call that must read a notice with this `control` message.
fn reading(control: &str) -> String {
    format!(
        "+0 recvmsg(3, {{msg_iov(1)=[{{..., 0}}], msg_flags=MSG_ERRQUEUE, msg_control=[{control}]}}, MSG_ERRQUEUE) = 0\n"
    )
}

/// A call whose octets are acknowledged after 0.1 s.
const SENT: &str = "0.1 send(3, ..., 1000, MSG_ZEROCOPY) = 1000
0.1 > P. 1:1001(1000) ack 1
0.2 < . 1:1(0) ack 1001 win 65535
";

#[test]
fn the_level_sol_ip_and_the_type_ip_recverr_each_have_a_second_name() {
    let data = "{ee_errno=0, ee_origin=SO_EE_ORIGIN_ZEROCOPY, ee_type=0, ee_code=SO_EE_CODE_ZEROCOPY_COPIED, ee_info=0, ee_data=0}";
    for (level, kind) in [("SOL_IP", "IP_RECVERR"), ("CMSG_LEVEL_IP", "CMSG_TYPE_RECVERR")] {
        let control = format!("{{cmsg_level={level}, cmsg_type={kind}, cmsg_data={data}}}");
        play(&format!("{SENT}{}", reading(&control))).unwrap();
        let other = control.replace("ee_data=0", "ee_data=1");
        let report = play(&format!("{SENT}{}", reading(&other))).unwrap_err();
        assert!(report.contains("ee_info=0, ee_data=0}]"), "{report}");
    }
}

#[test]
fn an_unsupported_control_message_is_reported_with_its_place() {
    let ee = "{ee_errno=0, ee_origin=SO_EE_ORIGIN_ZEROCOPY}";
    let long = format!("{{cmsg_level=SOL_IP, cmsg_type=IP_RECVERR, cmsg_data={ee}}}");
    for (control, message) in [
        (long.replace("IP_RECVERR", "IP_TTL"), "other control messages are not supported"),
        (long.replace("SOL_IP", "SOL_UDP"), "unknown level of control messages `SOL_UDP`"),
        (long.replace("ORIGIN_ZEROCOPY", "ORIGIN_ICMP"), "expected a whole number"),
        (long.replace("SO_EE_ORIGIN_ZEROCOPY", "2"), "expected a notice of completed calls"),
        (long.replace("ee_errno", "ee_error"), "unknown field of a notice `ee_error`"),
        ("{cmsg_level=SOL_IP, cmsg_type=IP_RECVERR}".to_owned(), "expected `cmsg_data`"),
        (
            "{cmsg_level=SOL_SOCKET, cmsg_type=SCM_TIMESTAMPING, cmsg_data={scm_sec=0}}".to_owned(),
            "or a notice of the error queue",
        ),
    ] {
        let error = play(&reading(&control)).unwrap_err();
        assert!(error.contains(message) && error.contains("notice.pkt:"), "{control}\n{error}");
    }
    let flags = reading(&long).replace("msg_flags=MSG_ERRQUEUE", "msg_flags=MSG_OOB");
    assert!(play(&flags).unwrap_err().contains("write `MSG_ERRQUEUE`"));
}

#[test]
fn timestamps_of_arrivals_are_not_supported() {
    let set =
        |bits: &str| format!("+0 setsockopt(3, SOL_SOCKET, SO_TIMESTAMPING, [{bits}], 4) = 0");
    assert!(play(&set("SOF_TIMESTAMPING_RX_SOFTWARE")).unwrap_err().contains("expected a value"));
    assert!(play(&set("8")).unwrap_err().contains("SO_TIMESTAMPING with 0x8"));
    play(&set("SOF_TIMESTAMPING_TX_ACK | SOF_TIMESTAMPING_SOFTWARE")).unwrap();
}

#[test]
fn the_packet_that_comes_with_a_timestamp_cannot_be_read() {
    let text = "0.1 setsockopt(3, SOL_SOCKET, SO_TIMESTAMPING, [SOF_TIMESTAMPING_TX_ACK], 4) = 0
0.1 write(3, ..., 1000) = 1000
0.1 > P. 1:1001(1000) ack 1
0.2 < . 1:1(0) ack 1001 win 65535
0.2 recv(3, ..., BYTES, MSG_ERRQUEUE) = 0";
    play(&text.replace("BYTES", "0")).unwrap();
    let report = play(&text.replace("BYTES", "9")).unwrap_err();
    assert!(report.contains("the packet that comes with a timestamp"), "{report}");
    play(&text.replace("BYTES", "9").replace("TX_ACK]", "TX_ACK|SOF_TIMESTAMPING_OPT_TSONLY]"))
        .unwrap();
}

#[test]
fn a_message_has_1024_buffers_at_most() {
    let sending = |count: usize, result: &str| {
        let pieces = vec!["{..., 1}"; count].join(", ");
        play(&format!("+0 sendmsg(3, {{msg_iov({count})=[{pieces}]}}, 0) = {result}"))
    };
    sending(1024, "1024").unwrap();
    sending(1025, "-1 EMSGSIZE").unwrap();
}

#[test]
fn an_exclusive_watch_can_neither_be_modified_nor_be_one_shot() {
    play(
        "+0 epoll_create(1) = 4
+0 epoll_ctl(4, EPOLL_CTL_ADD, 3, {events=EPOLLOUT|EPOLLEXCLUSIVE|EPOLLONESHOT, fd=3}) = -1 EINVAL
+0 epoll_ctl(4, EPOLL_CTL_ADD, 3, {events=EPOLLOUT|EPOLLEXCLUSIVE, fd=3}) = 0
+0 epoll_ctl(4, EPOLL_CTL_MOD, 3, {events=EPOLLOUT, fd=3}) = -1 EINVAL
+0 epoll_ctl(4, EPOLL_CTL_DEL, 3, {events=0, fd=3}) = 0
+0 epoll_ctl(4, EPOLL_CTL_ADD, 3, {events=EPOLLOUT, fd=3}) = 0
+0 epoll_ctl(4, EPOLL_CTL_MOD, 3, {events=EPOLLOUT|EPOLLEXCLUSIVE, fd=3}) = -1 EINVAL",
    )
    .unwrap();
}

#[test]
fn a_one_shot_watch_reports_one_error_and_then_nothing_until_it_is_modified() {
    play(&format!(
        "+0 epoll_create(1) = 4
+0 epoll_ctl(4, EPOLL_CTL_ADD, 3, {{events=EPOLLIN|EPOLLONESHOT, fd=3}}) = 0
{SENT}0.2 epoll_wait(4, {{events=EPOLLERR, fd=3}}, 1, 0) = 1
0.2 epoll_wait(4, {{events=0, ptr=0}}, 1, 0) = 0
0.2 epoll_ctl(4, EPOLL_CTL_MOD, 3, {{events=EPOLLIN, fd=3}}) = 0
0.2 epoll_wait(4, {{events=EPOLLERR, fd=3}}, 1, 0) = 1
0.2 epoll_wait(4, {{events=EPOLLERR, fd=3}}, 1, 0) = 1
0.2 recv(3, ..., 0, MSG_ERRQUEUE) = 0
0.2 epoll_wait(4, {{events=0, ptr=0}}, 1, 0) = 0"
    ))
    .unwrap();
}
