//! From a script's option lines to the connection it asks for.

use crate::scenario::{SwitchError, tcp_config};
use crate::tcp::{RfcConfig, TcpConfig};

use super::document::{Script, Setting};
use super::error::ScriptError;
use super::host::Host;
use super::runner::run;

/// The profile of a script that names none.
const PROFILE: &str = "rfc-2026";

impl Script {
    /// The connection that the script asks for, with another `profile` where one is given, and
    /// with `changes` over its own switches. A change's line is 0 where the script does not hold
    /// it.
    ///
    /// # Errors
    /// A switch that there is not, or that means nothing, with the line that sets it.
    ///
    /// ```
    /// use netspurt::script::Script;
    /// let text = "--profile=rfc-2026\n--set=dup_thresh=2\n0 socket(..., SOCK_STREAM, 0) = 3";
    /// let script = Script::parse("a.pkt", text)?;
    /// assert_eq!(script.config(None, &[])?.dup_thresh, 2);
    /// let wrong = Script::parse("b.pkt", &text.replace("thresh", "trhesh"))?;
    /// assert_eq!(wrong.config(None, &[]).unwrap_err().place.unwrap().line, 2);
    /// # Ok::<(), netspurt::script::ScriptError>(())
    /// ```
    pub fn config(
        &self,
        profile: Option<&str>,
        changes: &[Setting],
    ) -> Result<RfcConfig, ScriptError> {
        let blame_profile = |slip| match profile {
            None => self.blame("--profile", slip),
            Some(name) => self.blame_outside("profile", name, slip),
        };
        let mss = self.options.mss.map(|mss| format!("\"{} B\"", u32::from(mss) + 40));
        let own: Vec<&Setting> = self.options.set.iter().chain(changes).collect();
        let mut switches: Vec<(&str, &str)> = Vec::new();
        switches.extend(mss.as_ref().map(|size| ("packet_size", size.as_str())));
        let before = switches.len();
        switches.extend(own.iter().map(|set| (set.path.as_str(), set.value.as_str())));
        let named = profile.or(self.options.profile.as_deref()).unwrap_or(PROFILE);
        match tcp_config(named, &switches) {
            Ok(TcpConfig::Rfc(config)) => Ok(*config),
            Ok(TcpConfig::Ns(_)) => {
                let message = "ns-2's senders have no handshake and count packets".to_owned();
                let fix = "another profile, as in `--profile=rfc-2026`".to_owned();
                Err(blame_profile(SwitchError { switch: None, message, fix }))
            }
            Err(slip) => Err(match slip.switch {
                None => blame_profile(slip),
                Some(nth) if nth < before => self.blame("--mss", slip),
                Some(nth) => self.blame_setting(own[nth - before], slip),
            }),
        }
    }

    /// Whether each change that the script says it fails with is one.
    ///
    /// # Errors
    /// A change that there is not, or that means nothing, with its line.
    pub fn check_changes(&self) -> Result<(), ScriptError> {
        let changes = self.options.fails_with.iter();
        changes.map(core::slice::from_ref).try_for_each(|one| self.config(None, one).map(|_| ()))
    }

    /// The changes that the script says it fails with, and does not: each is played alone.
    ///
    /// # Errors
    /// A change that there is not, or that means nothing.
    ///
    /// ```
    /// use netspurt::script::Script;
    /// let text = "--fails_with=dup_thresh=2\n0 socket(..., SOCK_STREAM, 0) = 3";
    /// let script = Script::parse("a.pkt", text)?;
    /// assert_eq!(script.idle_changes()?[0].path, "dup_thresh");
    /// # Ok::<(), netspurt::script::ScriptError>(())
    /// ```
    pub fn idle_changes(&self) -> Result<Vec<&Setting>, ScriptError> {
        let mut idle = Vec::new();
        for change in &self.options.fails_with {
            let config = self.config(None, core::slice::from_ref(change))?;
            if run(self, &mut Host::new(&config)).is_ok() {
                idle.push(change);
            }
        }
        Ok(idle)
    }

    /// The mistake `slip` at the option line that starts with `option`.
    fn blame(&self, option: &str, slip: SwitchError) -> ScriptError {
        let line = self.lines.iter().position(|line| line.trim_start().starts_with(option));
        let behind = format!("{option}=");
        match line {
            Some(at) => ScriptError::in_line(self, at + 1, &behind, slip.message, slip.fix),
            None => ScriptError::placeless(&self.name, slip.message, slip.fix),
        }
    }

    fn blame_setting(&self, set: &Setting, slip: SwitchError) -> ScriptError {
        if set.line == 0 {
            return self.blame_outside(&set.path, &set.value, slip);
        }
        let behind = format!("{}=", set.path);
        ScriptError::in_line(self, set.line, &behind, slip.message, slip.fix)
    }

    fn blame_outside(&self, path: &str, value: &str, slip: SwitchError) -> ScriptError {
        let file = format!("{} with {path} = {value}", self.name);
        ScriptError::placeless(&file, slip.message, slip.fix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slip(options: &str, changes: &[(&str, &str)]) -> String {
        let text = format!("{options}\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3");
        let script = Script::parse("a.pkt", &text).unwrap();
        let changes: Vec<Setting> = changes
            .iter()
            .map(|(path, value)| Setting {
                path: (*path).to_owned(),
                value: (*value).to_owned(),
                line: 0,
            })
            .collect();
        script.config(None, &changes).unwrap_err().to_string()
    }

    #[test]
    fn a_switch_that_is_wrong_is_shown_in_its_line() {
        let shown = slip("--mss=1000\n--set=tlp=true\n--set=rto.min=\"1 x\"", &[]);
        assert!(shown.contains("--> a.pkt:3:15"), "{shown}");
        assert!(shown.contains("--set=rto.min=\"1 x\""), "{shown}");
    }

    #[test]
    fn a_change_from_outside_is_shown_behind_the_name() {
        let shown = slip("--set=tlp=true", &[("tpl", "false")]);
        assert!(shown.starts_with("unknown key `tpl`"), "{shown}");
        assert!(shown.contains("--> a.pkt with tpl = false"), "{shown}");
        assert!(shown.contains("did you mean `tlp`?"), "{shown}");
    }

    #[test]
    fn profiles_and_segment_sizes_are_shown_in_their_lines_too() {
        let shown = slip("--title=t\n--profile=rfc-2062", &[]);
        assert!(shown.contains("--> a.pkt:2:11"), "{shown}");
        assert!(slip("--profile=ns-2", &[]).contains("count packets"));
        assert!(slip("--mss=65535", &[]).contains("--> a.pkt:1:7"));
    }
}
