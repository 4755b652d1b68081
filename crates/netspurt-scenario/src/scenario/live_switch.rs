//! Live switches. A switch is a named setting of a TCP connection. A switch is live if its change
//! affects an open connection.

use core::fmt;

use netspurt::tcp::RfcConfig;

use super::switch::TcpSpec;
use super::switches::{SwitchError, read_switches};

/// A new value of a switch of an open connection.
///
/// ```
/// use netspurt_scenario::scenario::LiveSwitch;
/// use netspurt::tcp::RfcConfig;
/// let mut config = RfcConfig::linux_6();
/// LiveSwitch::of("retries", "7")?.unwrap().apply(&mut config);
/// assert_eq!(config.retries, 7);
/// assert_eq!(LiveSwitch::of("dup_thresh", "7")?, None);
/// # Ok::<(), netspurt_scenario::scenario::SwitchError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveSwitch {
    /// The switch and its value, as they are written.
    written: String,
    /// The switch and its value as settings of a scenario. No other switch is set.
    spec: TcpSpec,
}

impl LiveSwitch {
    /// The new `value` of the switch at `path`, both written as for
    /// [`tcp_config`](super::tcp_config). `None` if a change of the switch does not affect an open
    /// connection.
    ///
    /// # Errors
    /// When there is no such switch, or when it cannot have this value.
    pub fn of(path: &str, value: &str) -> Result<Option<Self>, SwitchError> {
        let spec = read_switches(&[(path, value)])?;
        let live = spec.given().all(|(switch, _)| switch.is_live());
        Ok(live.then(|| Self { written: format!("{path} = {value}"), spec }))
    }

    /// Sets the switch in `config`.
    ///
    /// # Panics
    /// When `config` refuses the value. This cannot happen, because every configuration accepts
    /// every value of a live switch.
    pub fn apply(&self, config: &mut RfcConfig) {
        for (switch, value) in self.spec.given() {
            switch.write(config, value).expect("live switches have no values that are refused");
        }
    }
}

impl fmt::Display for LiveSwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::switch::{Switch, THEMES};

    fn live_switches() -> impl Iterator<Item = &'static Switch> {
        THEMES.iter().flat_map(|(_, switches)| switches.iter()).filter(|switch| switch.is_live())
    }

    #[test]
    fn the_value_of_a_live_switch_is_checked_as_in_a_scenario() {
        let refused = |path, value| LiveSwitch::of(path, value).unwrap_err().message;
        assert!(refused("send.packet_segs_min", "0").contains("0"));
        assert!(refused("tpl", "true").contains("tpl"));
        assert!(refused("frto", "2").contains("2"));
    }

    #[test]
    fn each_live_switch_is_one_field_of_the_configuration() {
        let mut keys: Vec<_> = live_switches().map(|switch| switch.key).collect();
        keys.sort_unstable();
        let expected =
            ["cwnd.idle_restart", "dsack", "frto", "retries", "send.packet_segs_min", "tlp"];
        assert_eq!(keys, expected);
        assert!(live_switches().all(|switch| switch.is_a_field_of::<RfcConfig>()));
    }
}
