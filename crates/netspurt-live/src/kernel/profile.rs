//! The kernel's TCP settings for each profile (a named set of TCP mechanisms). Every value that
//! influences a run is set and reported.

use std::fs;

use netspurt::plan::KernelTcp;

/// The values under `/proc/sys/net/ipv4` for the configuration `tcp`.
///
/// Each host has its own values, because every host has a namespace of its own. Values that no
/// switch of a profile sets, such as `tcp_no_metrics_save`, are the same for all hosts. Values that
/// this kernel does not have are left out.
pub fn sysctls(tcp: &KernelTcp) -> Vec<(&'static str, String)> {
    let flag = |on: bool| u8::from(on).to_string();
    let number = |value: u32| value.to_string();
    let mut all = vec![
        ("tcp_sack", flag(tcp.sack)),
        ("tcp_dsack", flag(tcp.sack)),
        ("tcp_timestamps", flag(tcp.timestamps)),
        ("tcp_window_scaling", flag(tcp.window_scaling)),
        // With the value 1, a host asks for ECN. With the value 2, a host uses ECN only if the peer
        // asks.
        ("tcp_ecn", number(if tcp.ecn { 1 } else { 2 })),
        ("tcp_recovery", flag(tcp.rack)),
        // The value 3 switches on tail loss probes.
        ("tcp_early_retrans", number(if tcp.tlp { 3 } else { 0 })),
        ("tcp_frto", number(if tcp.frto { 2 } else { 0 })),
        ("tcp_no_metrics_save", flag(true)),
        ("tcp_slow_start_after_idle", flag(true)),
        ("tcp_mtu_probing", number(0)),
        ("tcp_reordering", number(tcp.dup_thresh)),
        ("tcp_max_reordering", number(300)),
        ("tcp_syn_retries", number(6)),
        ("tcp_synack_retries", number(5)),
        ("tcp_retries2", number(15)),
        // A buffer whose size the scenario sets does not grow.
        ("tcp_moderate_rcvbuf", flag(tcp.window_scaling && tcp.receive_buffer_bytes.is_none())),
        ("tcp_rmem", receive_memory(tcp)),
        ("tcp_wmem", "4096 16384 4194304".to_owned()),
        // The value is in microseconds. Older kernels do not have this sysctl.
        ("tcp_rto_min_us", (tcp.rto_min.as_nanos() / 1000).to_string()),
        ("tcp_rto_max_ms", number(120_000)),
    ];
    all.retain(|(name, _)| fs::exists(format!("/proc/sys/net/ipv4/{name}")).unwrap_or(false));
    all
}

/// Returns the minimum, the initial and the maximum size of the receive buffer. The kernel can
/// advertise at least half of a buffer as its receive window. The exact share depends on the
/// packets. So the buffer has twice the size that the scenario sets, and
/// [`clamp`](super::socket::clamp) limits the window to the scenario's size.
fn receive_memory(tcp: &KernelTcp) -> String {
    match tcp.receive_buffer_bytes.map(|bytes| bytes.saturating_mul(2)) {
        Some(fixed) => format!("4096 {fixed} {fixed}"),
        None => "4096 131072 6291456".to_owned(),
    }
}
