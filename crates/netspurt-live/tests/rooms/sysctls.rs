//! Tests of the kernel's settings for each profile (a named configuration of TCP).

use std::collections::BTreeMap;

use netspurt::plan::{KernelProfile, KernelTcp};
use netspurt::units::Duration;
use netspurt_live::kernel::sysctls;

/// Returns the values of the settings that this kernel has. The keys are the names of the settings.
fn values(tcp: &KernelTcp) -> BTreeMap<&'static str, String> {
    sysctls(tcp).into_iter().collect()
}

/// Checks that settings have the expected values. Settings that this kernel does not have are not
/// checked, because a run does not set them either.
fn check(tcp: &KernelTcp, expected: &[(&str, &str)]) {
    let values = values(tcp);
    for (name, value) in expected {
        if let Some(found) = values.get(name) {
            assert_eq!(found, value, "{name} of {:?}", tcp.profile);
        }
    }
}

#[test]
fn reno_profiles_turn_newer_mechanisms_off_and_the_default_profile_turns_them_on() {
    const OLD: &[(&str, &str)] = &[
        ("tcp_sack", "0"),
        ("tcp_dsack", "0"),
        ("tcp_timestamps", "0"),
        ("tcp_window_scaling", "0"),
        ("tcp_ecn", "2"),
        ("tcp_recovery", "0"),
        ("tcp_early_retrans", "0"),
        ("tcp_frto", "0"),
        ("tcp_moderate_rcvbuf", "0"),
        ("tcp_reordering", "3"),
    ];
    const NEW: &[(&str, &str)] = &[
        ("tcp_sack", "1"),
        ("tcp_dsack", "1"),
        ("tcp_timestamps", "1"),
        ("tcp_window_scaling", "1"),
        ("tcp_ecn", "2"),
        ("tcp_recovery", "1"),
        ("tcp_early_retrans", "3"),
        ("tcp_frto", "2"),
        ("tcp_moderate_rcvbuf", "1"),
        ("tcp_reordering", "3"),
    ];
    check(&KernelTcp::of(KernelProfile::Reno1998), OLD);
    check(&KernelTcp::of(KernelProfile::Reno2005), OLD);
    check(&KernelTcp::of(KernelProfile::LinuxDefault), NEW);
}

#[test]
fn settings_that_no_profile_changes_have_the_same_values_for_all_profiles() {
    for profile in [KernelProfile::Reno1998, KernelProfile::Reno2005, KernelProfile::LinuxDefault] {
        check(
            &KernelTcp::of(profile),
            &[
                ("tcp_no_metrics_save", "1"),
                ("tcp_slow_start_after_idle", "1"),
                ("tcp_mtu_probing", "0"),
                ("tcp_syn_retries", "6"),
                ("tcp_synack_retries", "5"),
                ("tcp_retries2", "15"),
                ("tcp_max_reordering", "300"),
                ("tcp_rto_min_us", "200000"),
                ("tcp_rto_max_ms", "120000"),
            ],
        );
    }
}

#[test]
fn a_switch_changes_only_its_own_sysctls() {
    let base = KernelTcp::of(KernelProfile::LinuxDefault);
    for (tcp, changed) in [
        (KernelTcp { sack: false, ..base }, &["tcp_dsack", "tcp_sack"][..]),
        (KernelTcp { timestamps: false, ..base }, &["tcp_timestamps"]),
        (KernelTcp { ecn: true, ..base }, &["tcp_ecn"]),
        (KernelTcp { rack: false, ..base }, &["tcp_recovery"]),
        (KernelTcp { tlp: false, ..base }, &["tcp_early_retrans"]),
        (KernelTcp { frto: false, ..base }, &["tcp_frto"]),
        (KernelTcp { dup_thresh: 7, ..base }, &["tcp_reordering"]),
        (KernelTcp { rto_min: Duration::from_millis(50), ..base }, &["tcp_rto_min_us"]),
        (
            KernelTcp { receive_buffer_bytes: Some(30_000), ..base },
            &["tcp_moderate_rcvbuf", "tcp_rmem"],
        ),
        (
            KernelTcp { window_scaling: false, ..base },
            &["tcp_moderate_rcvbuf", "tcp_window_scaling"],
        ),
        // These switches set options of routes and sockets, and change no sysctl.
        (KernelTcp { nagle: false, quick_acks: true, initial_window_segs: 3, ..base }, &[]),
    ] {
        let (before, after) = (values(&base), values(&tcp));
        let names: Vec<_> = before.keys().filter(|name| before[*name] != after[*name]).collect();
        let known: Vec<_> = changed.iter().filter(|name| before.contains_key(**name)).collect();
        assert_eq!(names, known, "{tcp:?}");
    }
}

#[test]
fn the_receive_buffer_is_twice_the_given_size_and_never_grows() {
    let base = KernelTcp::of(KernelProfile::Reno2005);
    for (asked, expected) in [
        (None, "4096 131072 6291456"),
        (Some(8192), "4096 16384 16384"),
        (Some(4_000_000), "4096 8000000 8000000"),
        (Some(u32::MAX), "4096 4294967295 4294967295"),
    ] {
        check(&KernelTcp { receive_buffer_bytes: asked, ..base }, &[("tcp_rmem", expected)]);
    }
}

#[test]
fn each_sysctl_appears_once_and_its_value_consists_of_numbers() {
    let all = sysctls(&KernelTcp::of(KernelProfile::LinuxDefault));
    let names: std::collections::BTreeSet<_> = all.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), all.len());
    for (name, value) in &all {
        assert!(name.starts_with("tcp_"), "{name}");
        assert!(value.split(' ').all(|word| word.parse::<u64>().is_ok()), "{name}={value}");
    }
}
