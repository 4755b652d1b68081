//! Tests of the reader for the output of programs that measure the time to open a connection.

use super::{counts, one, reading};

#[test]
fn lines_of_each_program_give_delays_and_losses() {
    let texts = [
        // httping and similar programs
        "Connected to 8.8.8.8:443, seq=1, time=12.3 ms\nConnected to 8.8.8.8:443, seq=3, time=14 ms\n",
        // tcping by E. Fulkerson
        "\nProbing 8.8.8.8:443/tcp - Port is open - time=12.300ms \n\
         Probing 8.8.8.8:443/tcp - No response - time=2001.123ms \n\
         Probing 8.8.8.8:443/tcp - Port is open - time=14.000ms \n\n\
         Ping statistics for 8.8.8.8:443\n     3 probes sent. \n\
         \x20    2 successful, 1 failed.  (33.33% fail)\n\
         Approximate trip times in milli-seconds:\n     Minimum = 12ms, Maximum = 14ms, Average = 13ms\n",
        // tcping by P. Jamshidi
        "TCPinging 8.8.8.8 on port 443\nReply from 8.8.8.8 on port 443 TCP_conn=1 time=12.300 ms\n\
         No reply from 8.8.8.8 on port 443 TCP_conn=2\n\
         Reply from 8.8.8.8 on port 443 TCP_conn=3 time=14.000 ms\n",
        // tcping in Go
        "Ping tcp://8.8.8.8:443(8.8.8.8:443) connected - time=12.3ms dns=0s\n\
         Ping tcp://8.8.8.8:443(8.8.8.8:443) timeout\n\
         Ping tcp://8.8.8.8:443(8.8.8.8:443) connected - time=14ms dns=0s\n",
        // tcping, a script that calls tcptraceroute
        "seq 0: tcp response from dns.google (8.8.8.8) [open]  12.300 ms\n\
         seq 1: no response (timeout)\nseq 2: tcp response from dns.google (8.8.8.8) [open]  14.0 ms\n",
        // paping
        "Connecting to 8.8.8.8 on TCP 443:\n\nConnected to 8.8.8.8: time=12.30ms protocol=TCP port=443\n\
         Connection timed out\nConnected to 8.8.8.8: time=14.00ms protocol=TCP port=443\n",
        // psping
        "Connecting to 8.8.8.8:443: from 10.0.0.1:52345: 12.30ms\n\
         Connecting to 8.8.8.8:443: from 10.0.0.1:52346: This operation returned because the timeout \
         period expired.\nConnecting to 8.8.8.8:443: from 10.0.0.1:52347: 14.00ms\n",
    ];
    for text in texts {
        let reading = reading(text);
        assert!(reading.malformed.is_empty(), "{:?}\n{text}", reading.malformed);
        let delays = &reading.recordings[0];
        assert_eq!(delays.format, "connects (tcping)", "{text}");
        assert_eq!(counts(delays)[..3], [3, 2, 1], "{text}");
        assert_eq!(delays.probes[0].rtt.unwrap().as_nanos(), 12_300_000, "{text}");
        assert!(delays.probes[1].rtt.is_none(), "{text}");
    }
}

#[test]
fn refused_connections_are_left_out_with_a_note() {
    let delays = one("Probing 8.8.8.8:443/tcp - Port is open - time=12.300ms\n\
                      Probing 8.8.8.8:443/tcp - Port is closed - time=2.300ms\n");
    assert_eq!(counts(&delays)[..3], [1, 1, 0]);
    assert!(delays.notes.iter().any(|note| note == "1 refused connection is left out"));
}

#[test]
fn a_refused_connection_with_a_number_is_not_lost() {
    let delays = one("Connected to 8.8.8.8:443, seq=1, time=12.3 ms\n\
                      Connected to 8.8.8.8:443, seq=2: connection refused\n\
                      Connected to 8.8.8.8:443, seq=3, time=14 ms\n");
    assert_eq!(counts(&delays)[..3], [2, 2, 0]);
    assert_eq!(delays.probes[1].number, 3);
}

#[test]
fn failures_of_httping_are_lost_probes() {
    let title = "PING a.example:80 (/):\n";
    let reply = "connected to 10.0.0.1:80 (358 bytes), seq=0 time=12.30 ms\n";
    let end = |connects: u64| {
        format!(
            "--- http://a.example/ ping statistics ---\n\
             {connects} connects, 1 ok, 66.67% failed, time 3000ms\n\
             round-trip min/avg/max = 12.3/12.3/12.3 ms\n"
        )
    };
    for failure in [
        "connect time out",
        "problem connecting to host: Network is unreachable",
        "timeout while receiving reply-headers from host",
        "could not connect",
    ] {
        let reading = reading(&format!("{title}{reply}{failure}\n{failure}\n{}", end(3)));
        assert!(reading.malformed.is_empty(), "{:?}", reading.malformed);
        assert_eq!(counts(&reading.recordings[0])[..3], [3, 1, 2], "{failure}");
    }
    let delays = one(&format!("{title}{reply}{}", end(3)));
    assert_eq!(counts(&delays)[..3], [3, 1, 2]);
    assert!(delays.notes.iter().any(|note| note.starts_with("the statistics count 3 probes")));
}
