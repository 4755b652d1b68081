//! The switches (named settings of TCP) of a single connection that belongs to no scenario.

use core::fmt;
use core::ops::Range;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as WordError, StrDeserializer};
use toml_edit::{DocumentMut, Value};

use netspurt::tcp::TcpConfig;

use super::document::set;
use super::flow_plan::connection;
use super::form::read;
use super::profile::Profile;
use super::reword::reword;
use super::switch::TcpSpec;
use super::tree::{TreeNode, dotted, keys, path_to};

/// A mistake in a profile or in the switches that override its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchError {
    /// The index of the wrong switch; `None` if the profile is wrong.
    pub switch: Option<usize>,
    /// The mistake.
    pub message: String,
    /// The fix; may be empty.
    pub fix: String,
}

impl fmt::Display for SwitchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        if self.fix.is_empty() { Ok(()) } else { write!(f, ": {}", self.fix) }
    }
}

impl std::error::Error for SwitchError {}

/// The configuration of a connection with the profile called `profile`. `switches` override the
/// profile's values. Each switch is given by its dotted path below `[flows.NAME.tcp]` and by its
/// value. A value that is not TOML is taken as text. If two switches have the same path, the later
/// switch applies.
///
/// # Errors
/// For the same reasons as a scenario file with this profile and these switches.
///
/// ```
/// use netspurt_scenario::scenario::tcp_config;
/// use netspurt::tcp::TcpConfig;
/// let switches = [("recovery", "\"sack\""), ("rto.min", "\"200 ms\"")];
/// assert!(matches!(tcp_config("rfc-2026", &switches), Ok(TcpConfig::Rfc(_))));
/// let slip = tcp_config("rfc-2026", &[("tlp", "true"), ("rto.mni", "\"1 s\"")]).unwrap_err();
/// assert_eq!((slip.switch, slip.fix.as_str()), (Some(1), "did you mean `min`?"));
/// ```
pub fn tcp_config(profile: &str, switches: &[(&str, &str)]) -> Result<TcpConfig, SwitchError> {
    let profile = read_profile(profile)?;
    let tcp = read_switches(switches)?;
    connection("", profile, &tcp).map_err(|problem| {
        // The first three keys of a path are `flows`, the flow's name, and `tcp`.
        let mut paths = core::iter::once(&problem.path).chain(&problem.also);
        let switch =
            paths.find_map(|path| last_contributing(switches, path.get(3..).unwrap_or_default()));
        SwitchError { switch, message: problem.message, fix: problem.fix }
    })
}

fn read_profile(name: &str) -> Result<Profile, SwitchError> {
    let word: StrDeserializer<'_, WordError> = name.into_deserializer();
    Profile::deserialize(word).map_err(|error| {
        let (message, fix) = reword(&error.to_string(), name);
        SwitchError { switch: None, message, fix }
    })
}

/// Reads switches. Each one is a path and a value, written as for [`tcp_config`].
pub(super) fn read_switches(switches: &[(&str, &str)]) -> Result<TcpSpec, SwitchError> {
    let mut document = DocumentMut::new();
    for (nth, (path, value)) in switches.iter().enumerate() {
        let value = value.parse::<Value>().unwrap_or_else(|_| Value::from(*value));
        let keys = keys(path);
        let done = if keys.is_empty() {
            Err("not a path of keys joined by dots".to_owned())
        } else {
            set(document.as_table_mut(), &keys, value)
                .map_err(|depth| format!("`{}` is not a table", dotted(&keys[..=depth])))
        };
        done.map_err(|message| SwitchError { switch: Some(nth), message, fix: String::new() })?;
    }
    let text = document.to_string();
    read(&text).map_err(|error| {
        let span: Range<usize> = error.span.unwrap_or(0..0);
        let tree =
            toml_edit::Document::parse(text.as_str()).expect("`document` has written this text");
        let path = path_to(TreeNode::Table(tree.as_table()), &span);
        let written = text.get(span).unwrap_or_default();
        let (message, fix) = reword(&error.message, written);
        SwitchError { switch: last_contributing(switches, &path), message, fix }
    })
}

/// The last of the switches that contribute to the mistake at `path`.
fn last_contributing(switches: &[(&str, &str)], path: &[String]) -> Option<usize> {
    switches.iter().rposition(|(set, _)| {
        let set = keys(set);
        set.starts_with(path) || path.starts_with(&set)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error for a profile with these switches.
    fn slip(profile: &str, switches: &[(&str, &str)]) -> SwitchError {
        tcp_config(profile, switches).unwrap_err()
    }

    #[test]
    fn if_a_switch_is_set_twice_the_later_value_applies() {
        let given = [("dup_thresh", "5"), ("tlp", "false"), ("dup_thresh", "4")];
        let Ok(TcpConfig::Rfc(config)) = tcp_config("linux-6", &given) else { panic!() };
        assert_eq!((config.dup_thresh, config.tlp), (4, false));
    }

    #[test]
    fn the_plain_profile_differs_from_the_profile_of_2026_only_in_these_switches() {
        let changes = [
            ("recovery", "newreno"),
            ("limited_transmit", "false"),
            ("early_retransmit", "false"),
            ("prr", "false"),
            ("tlp", "false"),
            ("frto", "false"),
            ("eifel", "false"),
            ("congestion", "reno"),
            ("nagle", "false"),
            ("acks", "every segment"),
            ("initial_window", "10 segments"),
            ("rto.min", "1 s"),
        ];
        assert_eq!(tcp_config("plain", &[]), tcp_config("rfc-2026", &changes));
    }

    #[test]
    fn the_error_gives_the_index_of_the_switch_with_the_mistake() {
        let unknown = slip("rfc-2026", &[("tlp", "true"), ("tpl", "true")]);
        assert_eq!((unknown.switch, unknown.fix.as_str()), (Some(1), "did you mean `tlp`?"));
        let unit = slip("rfc-2026", &[("rto.min", "\"1 x\""), ("tlp", "true")]);
        assert_eq!(unit.switch, Some(0));
        let never = slip("rfc-2026", &[("tlp", "true"), ("rto.min", "2h"), ("sack", "true")]);
        assert_eq!(never.switch, Some(1));
        assert!(never.message.contains("is above `max`"));
        let table = slip("rfc-2026", &[("tlp", "true"), ("tlp.deep", "1")]);
        assert_eq!((table.switch, table.message.as_str()), (Some(1), "`tlp` is not a table"));
    }

    #[test]
    fn an_unknown_profile_and_a_switch_that_the_profile_lacks_are_errors() {
        let wrong = slip("rfc-2062", &[]);
        assert_eq!((wrong.switch, wrong.fix.as_str()), (None, "did you mean `rfc-2026`?"));
        let foreign = slip("ns-2", &[("tlp", "true")]);
        assert_eq!(foreign.message, "ns-2's senders have no `tlp`");
    }
}
