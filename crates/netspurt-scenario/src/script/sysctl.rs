//! Scripts set sysctls of Linux. This file translates them into switches (named settings) of
//! netspurt's connection, and into changes of its host. A script is a test in packetdrill's
//! notation.

use netspurt::units::Duration;

use super::change::{Change, HostChange, SwitchSetting};

/// Sysctls without effect here. They control parts of the kernel that our connection does not have
/// or that scripts cannot change. Examples are Fast Open, syncookies, and segmentation in the
/// network card.
const WITHOUT_EFFECT: [&str; 13] = [
    "tcp_fastopen",
    "tcp_fastopen_key",
    "tcp_fastopen_blackhole_timeout_sec",
    "tcp_syncookies",
    "tcp_tso_win_divisor",
    "tcp_tso_rtt_log",
    "tcp_limit_output_bytes",
    "tcp_no_metrics_save",
    "tcp_pacing_ss_ratio",
    "tcp_pacing_ca_ratio",
    "tcp_ecn_option",
    "tcp_synack_retries",
    "tcp_autocorking",
];

/// The value of the switch `recovery` when `tcp_recovery` switches RACK off.
const NO_RACK: &str = "\"sack\"";

/// Returns the changes that a script makes when it sets the sysctl `name` to `value`.
///
/// # Errors
/// When the sysctl or its value is not supported. The error is the end of a sentence that begins
/// with the sysctl's name.
pub(super) fn changes(name: &str, value: &str, line: usize) -> Result<Vec<Change>, String> {
    let setting = Setting { value, line };
    match name {
        "tcp_sack" => setting.sack(),
        "tcp_dsack" => setting.flag("dsack"),
        "tcp_timestamps" => setting.flag("timestamps"),
        "tcp_window_scaling" => setting.flag("window_scaling"),
        "tcp_frto" => setting.flag("frto"),
        "tcp_early_retrans" => setting.probes(),
        "tcp_slow_start_after_idle" => setting.flag("cwnd.idle_restart"),
        "tcp_moderate_rcvbuf" => setting.flag("receive.autotuning"),
        "tcp_recovery" => {
            let rack = setting.number()? & 1 == 1;
            setting.switch("recovery", if rack { "\"rack\"" } else { NO_RACK })
        }
        "tcp_min_snd_mss" => {
            setting.switch("peer_mss_min", &format!("\"{} B\"", setting.number()?))
        }
        "tcp_min_tso_segs" => {
            setting.switch("send.packet_segs_min", &setting.number()?.to_string())
        }
        "tcp_reordering" => setting.switch("dup_thresh", &setting.number()?.to_string()),
        "tcp_syn_retries" => setting.switch("syn_retries", &setting.number()?.to_string()),
        "tcp_syn_linear_timeouts" => {
            let timer = format!("\"linux:syn_linear_timeouts={}\"", setting.number()?);
            setting.switch("rto.estimator", &timer)
        }
        "tcp_retries2" => setting.switch("retries", &setting.number()?.to_string()),
        "tcp_rto_min_us" => setting.switch("rto.min", &format!("\"{} us\"", setting.number()?)),
        "tcp_rto_max_ms" => setting.switch("rto.max", &format!("\"{} ms\"", setting.number()?)),
        "tcp_congestion_control" => setting.congestion(),
        "tcp_rmem" => {
            let [_, first, most] = setting.three()?;
            let mut changes = setting.switch("receive_buffer", &format!("\"{most} B\""))?;
            let half = (first / 2).clamp(1, 1 << 30);
            changes.extend(setting.switch("receive.first_window", &format!("\"{half} B\""))?);
            changes.extend(setting.switch("receive.autotuning", "true")?);
            Ok(changes)
        }
        "tcp_wmem" => {
            let [_, first, most] = setting.three()?;
            Ok(vec![Change::Host(HostChange::SendBuffer { first, most })])
        }
        "tcp_fin_timeout" => {
            let time = Duration::from_secs(setting.number()?.min(u32::MAX.into()));
            Ok(vec![Change::Host(HostChange::OrphanTime(time))])
        }
        "tcp_notsent_lowat" => Ok(vec![Change::Host(HostChange::UnsentMax(setting.number()?))]),
        "tcp_ecn" => setting.ecn(),
        "tcp_fack" if value == "0" => Ok(Vec::new()),
        "tcp_mtu_probing" if value == "0" => Ok(Vec::new()),
        "tcp_mtu_probing" | "tcp_base_mss" => {
            Err("asks for path MTU probing, which our connection does not have".to_owned())
        }
        name if WITHOUT_EFFECT.contains(&name) => Ok(Vec::new()),
        _ => Err("is not a sysctl that scripts can set here".to_owned()),
    }
}

/// The profile that behaves as Linux 6.18.
pub(super) const LINUX: &str = "linux-6";

/// The name of the switch that makes a receive buffer count its memory. Only a buffer that counts
/// its memory grows.
pub(super) const MEMORY: &str = "receive.counts_memory";

/// Whether a connection ignores the switch that a sysctl sets. There are two cases. Linux 6.18
/// keeps RACK even if `tcp_recovery` switches it off. A buffer that does not count memory does not
/// grow, even if `tcp_rmem` or `tcp_moderate_rcvbuf` asks for it.
pub(super) fn is_ignored(set: &SwitchSetting, profile: &str, counts_memory: bool) -> bool {
    let keeps_rack = profile == LINUX && set.path == "recovery" && set.value == NO_RACK;
    keeps_rack || (!counts_memory && set.path == "receive.autotuning" && set.value == "true")
}

/// The value of a sysctl, and the line of the script that sets it.
struct Setting<'a> {
    value: &'a str,
    line: usize,
}

impl Setting<'_> {
    fn number(&self) -> Result<u64, String> {
        let wrong = || format!("needs a whole number, not `{}`", self.value);
        self.value.trim().parse().map_err(|_| wrong())
    }

    fn three(&self) -> Result<[u64; 3], String> {
        let wrong = || format!("needs three whole numbers, not `{}`", self.value);
        let numbers: Result<Vec<u64>, _> = self.value.split_whitespace().map(str::parse).collect();
        numbers.ok().and_then(|numbers| numbers.try_into().ok()).ok_or_else(wrong)
    }

    fn switch(&self, path: &str, value: &str) -> Result<Vec<Change>, String> {
        let (path, value) = (path.to_owned(), value.to_owned());
        Ok(vec![Change::Switch(SwitchSetting { path, value, line: self.line })])
    }

    /// Turns the switch `path` off if the value is 0, and on otherwise.
    fn flag(&self, path: &str) -> Result<Vec<Change>, String> {
        let on = self.number()? != 0;
        self.switch(path, if on { "true" } else { "false" })
    }

    /// Switches SACK on or off. Without SACK, RACK and tail loss probes are also off.
    fn sack(&self) -> Result<Vec<Change>, String> {
        let mut changes = self.flag("sack")?;
        if self.number()? == 0 {
            changes.extend(self.switch("recovery", "\"newreno\"")?);
            changes.extend(self.switch("tlp", "false")?);
        }
        Ok(changes)
    }

    /// Switches tail loss probes on or off. Linux sends them with the values 3 and 4 only
    /// (`tcp_schedule_loss_probe`).
    fn probes(&self) -> Result<Vec<Change>, String> {
        match self.number()? {
            value @ 0..=4 => self.switch("tlp", if value < 3 { "false" } else { "true" }),
            value => Err(format!("needs a number from 0 to 4, not `{value}`")),
        }
    }

    fn ecn(&self) -> Result<Vec<Change>, String> {
        let mode = self.number()?;
        if mode > 2 {
            return Err(format!(
                "with the value `{mode}` asks for accurate ECN, which is not supported"
            ));
        }
        let mut changes = self.flag("ecn")?;
        changes.push(Change::Host(HostChange::EcnIfAsked(mode == 2)));
        Ok(changes)
    }

    fn congestion(&self) -> Result<Vec<Change>, String> {
        match self.value {
            "reno" | "cubic" | "bbr" | "westwood" => {
                self.switch("congestion", &format!("\"{}\"", self.value))
            }
            other => Err(format!("names the algorithm `{other}`, which scripts cannot use here")),
        }
    }
}
