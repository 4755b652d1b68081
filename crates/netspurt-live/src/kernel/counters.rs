//! Reads the TCP counters of a host's kernel. The counters begin at zero when the host's namespace
//! is made.

use std::collections::BTreeMap;
use std::{fs, io};

/// The names in the group `Tcp` that are not counters.
const NO_COUNTERS: [&str; 5] = ["RtoAlgorithm", "RtoMin", "RtoMax", "MaxConn", "CurrEstab"];

/// Returns the counters that are not zero in the calling thread's namespace. The keys are the names
/// that `nstat` uses, such as `TcpRetransSegs` and `TcpExtTCPLossProbes`.
///
/// # Errors
/// When the counters cannot be read.
pub fn tcp_counters() -> io::Result<BTreeMap<String, u64>> {
    let mut all = BTreeMap::new();
    for file in ["snmp", "netstat"] {
        all.extend(parse(&fs::read_to_string(format!("/proc/thread-self/net/{file}"))?));
    }
    Ok(all)
}

/// Reads the counters of TCP that are not zero from the text of a file. The file consists of
/// groups. Each group has a line of names and a line of values.
fn parse(text: &str) -> BTreeMap<String, u64> {
    let mut lines = text.lines();
    let mut found = BTreeMap::new();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let Some((group, names)) = names.split_once(':') else { continue };
        let values = values.split_once(':').map_or("", |(_, values)| values);
        if group != "Tcp" && group != "TcpExt" {
            continue;
        }
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            let count = value.parse().unwrap_or(0);
            if count > 0 && !NO_COUNTERS.contains(&name) {
                found.insert(format!("{group}{name}"), count);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nonzero_counters_of_tcp_are_kept() {
        let text = "Ip: Forwarding InReceives\nIp: 1 7\n\
            Tcp: RtoAlgorithm MaxConn OutSegs RetransSegs InErrs\nTcp: 1 -1 20 3 0\n\
            TcpExt: TCPLossProbes TCPTimeouts\nTcpExt: 2 0\n";
        let expected = [("TcpExtTCPLossProbes", 2), ("TcpOutSegs", 20), ("TcpRetransSegs", 3)];
        assert_eq!(parse(text), expected.map(|(name, count)| (name.to_owned(), count)).into());
    }

    #[test]
    fn this_machine_has_counters_that_can_be_read() {
        assert!(tcp_counters().is_ok());
    }
}
