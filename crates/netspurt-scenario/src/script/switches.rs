//! Converts a script's option lines and shell commands into the configuration of its connection and
//! its host. A profile is a named configuration of TCP, and a switch is a named setting of TCP. An
//! option line `--fails_with` names a change of a switch. With this change, the script must fail. A
//! script is a test in packetdrill's notation.

use netspurt::place::Place;
use netspurt::tcp::{RfcConfig, TcpConfig};

use crate::scenario::{SwitchError, tcp_config};

use super::change::{Change, SwitchSetting};
use super::document::Script;
use super::error::ScriptError;
use super::host::SocketHost;
use super::runner::run;
use super::sysctl::{LINUX, MEMORY, is_ignored};

impl Script {
    /// The configuration of the script's connection. If `profile` is given, it replaces the
    /// script's profile. `changes` override the script's switches.
    ///
    /// # Errors
    /// When the profile is unknown or is `ns-2`, or when a switch is unknown or has no effect. Also
    /// when a switch or `--mss` has an invalid value. The error names the wrong line of the script,
    /// or else the wrong value of `profile` or `changes`.
    ///
    /// ```
    /// use netspurt_scenario::script::Script;
    /// let text = "--profile=rfc-2026\n--set=dup_thresh=2\n0 socket(..., SOCK_STREAM, 0) = 3";
    /// let script = Script::parse("a.pkt", text)?;
    /// assert_eq!(script.config(None, &[])?.dup_thresh, 2);
    /// let wrong = Script::parse("b.pkt", &text.replace("thresh", "trhesh"))?;
    /// assert_eq!(wrong.config(None, &[]).unwrap_err().place.unwrap().line, 2);
    /// # Ok::<(), netspurt_scenario::script::ScriptError>(())
    /// ```
    pub fn config(
        &self,
        profile: Option<&str>,
        changes: &[SwitchSetting],
    ) -> Result<RfcConfig, ScriptError> {
        let blame_profile = |mistake| match profile {
            None => self.blame("--profile", mistake),
            Some(name) => self.blame_outside("profile", name, mistake),
        };
        let mss = self.options.mss.map(|mss| format!("\"{} B\"", u32::from(mss) + 40));
        let named =
            profile.or(self.options.profile.as_deref()).unwrap_or(self.options.dialect.profile());
        let counts = self.options.set.iter().chain(changes).rfind(|set| set.path == MEMORY);
        let counts = counts.map_or(named == LINUX, |set| set.value == "true");
        let setup = self.setup.iter().filter_map(|change| match change {
            Change::Switch(set) => Some(set).filter(|set| !is_ignored(set, named, counts)),
            Change::Host(_) => None,
        });
        let own: Vec<&SwitchSetting> = setup.chain(&self.options.set).chain(changes).collect();
        let mut switches: Vec<(&str, &str)> = Vec::new();
        switches.extend(mss.as_ref().map(|size| ("packet_size", size.as_str())));
        let before = switches.len();
        switches.extend(own.iter().map(|set| (set.path.as_str(), set.value.as_str())));
        match tcp_config(named, &switches) {
            Ok(TcpConfig::Rfc(config)) => {
                Ok(RfcConfig { merged_mss: self.options.merged_mss, ..*config })
            }
            Ok(TcpConfig::Ns(_)) => {
                let message = "scripts cannot test ns-2's senders, which count packets".to_owned();
                let fix = "use another profile, as in `--profile=rfc-2026`".to_owned();
                Err(blame_profile(SwitchError { switch: None, message, fix }))
            }
            Err(mistake) => Err(match mistake.switch {
                None => blame_profile(mistake),
                Some(nth) if nth < before => self.blame("--mss", mistake),
                Some(nth) => self.blame_setting(own[nth - before], mistake),
            }),
        }
    }

    /// The host that plays the script: its connection has the configuration of
    /// [`config`](Self::config).
    ///
    /// # Errors
    /// For the same reasons as [`config`](Self::config).
    pub fn host(
        &self,
        profile: Option<&str>,
        changes: &[SwitchSetting],
    ) -> Result<SocketHost, ScriptError> {
        let mut host = SocketHost::new(&self.config(profile, changes)?);
        host.follow(self.options.dialect);
        for change in &self.setup {
            if let Change::Host(change) = change {
                host.apply(change);
            }
        }
        Ok(host)
    }

    /// Checks that each `--fails_with` change is valid.
    ///
    /// # Errors
    /// For the same reasons as [`config`](Self::config). The error for a wrong change names the
    /// line of the change.
    pub fn check_changes(&self) -> Result<(), ScriptError> {
        let changes = self.options.fails_with.iter();
        changes.map(core::slice::from_ref).try_for_each(|one| self.config(None, one).map(|_| ()))
    }

    /// The `--fails_with` changes that do not make the script fail. The script is played with each
    /// change alone.
    ///
    /// # Errors
    /// For the same reasons as [`config`](Self::config).
    ///
    /// ```
    /// use netspurt_scenario::script::Script;
    /// let text = "--fails_with=dup_thresh=2\n0 socket(..., SOCK_STREAM, 0) = 3";
    /// let script = Script::parse("a.pkt", text)?;
    /// assert_eq!(script.ineffective_changes()?[0].path, "dup_thresh");
    /// # Ok::<(), netspurt_scenario::script::ScriptError>(())
    /// ```
    pub fn ineffective_changes(&self) -> Result<Vec<&SwitchSetting>, ScriptError> {
        let mut found = Vec::new();
        for change in &self.options.fails_with {
            let mut host = self.host(None, core::slice::from_ref(change))?;
            if run(self, &mut host).is_ok() {
                found.push(change);
            }
        }
        Ok(found)
    }

    /// The error for a mistake in the option line that starts with `option`.
    fn blame(&self, option: &str, mistake: SwitchError) -> ScriptError {
        let line = self.lines.iter().position(|line| line.trim_start().starts_with(option));
        let prefix = format!("{option}=");
        match line {
            Some(at) => self.in_line(at + 1, &prefix, mistake),
            None => ScriptError::placeless(&self.name, mistake.message, mistake.fix),
        }
    }

    fn blame_setting(&self, set: &SwitchSetting, mistake: SwitchError) -> ScriptError {
        if set.line == 0 {
            return self.blame_outside(&set.path, &set.value, mistake);
        }
        let prefix = format!("{}=", set.path);
        self.in_line(set.line, &prefix, mistake)
    }

    /// The error for a mistake after the text `prefix` in a line of this script.
    fn in_line(&self, line: usize, prefix: &str, mistake: SwitchError) -> ScriptError {
        let text = line.checked_sub(1).and_then(|line| self.lines.get(line));
        let text = text.cloned().unwrap_or_default();
        let at = text.find(prefix).map_or(0, |at| at + prefix.len());
        let (before, value) = text.split_at(at);
        let (column, width) = (before.chars().count() + 1, value.chars().count().max(1));
        let place = Some(Place { line, column, text, width });
        let SwitchError { message, fix, .. } = mistake;
        ScriptError { message, fix, file: self.name.clone(), place }
    }

    fn blame_outside(&self, path: &str, value: &str, mistake: SwitchError) -> ScriptError {
        let file = format!("{} with {path} = {value}", self.name);
        ScriptError::placeless(&file, mistake.message, mistake.fix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::ScriptDialect;

    /// The error for a script with these options and changes.
    fn mistake(options: &str, changes: &[(&str, &str)]) -> String {
        let text = format!("{options}\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3");
        let script =
            Script::parse_with(ScriptDialect::Strict, "a.pkt", &text, &mut |_| None).unwrap();
        let changes: Vec<SwitchSetting> = changes
            .iter()
            .map(|(path, value)| SwitchSetting {
                path: (*path).to_owned(),
                value: (*value).to_owned(),
                line: 0,
            })
            .collect();
        script.config(None, &changes).unwrap_err().to_string()
    }

    #[test]
    fn a_wrong_switch_is_shown_in_its_line() {
        let message = mistake("--mss=1000\n--set=tlp=true\n--set=rto.min=\"1 x\"", &[]);
        assert!(message.contains("--> a.pkt:3:15"), "{message}");
        assert!(message.contains("--set=rto.min=\"1 x\""), "{message}");
    }

    #[test]
    fn if_a_change_from_outside_is_wrong_the_error_shows_the_script_and_the_change() {
        let message = mistake("--set=tlp=true", &[("tpl", "false")]);
        assert!(message.starts_with("unknown key `tpl`"), "{message}");
        assert!(message.contains("--> a.pkt with tpl = false"), "{message}");
        assert!(message.contains("did you mean `tlp`?"), "{message}");
    }

    #[test]
    fn mistakes_in_profiles_and_segment_sizes_are_shown_in_their_lines() {
        let message = mistake("--title=t\n--profile=rfc-2062", &[]);
        assert!(message.contains("--> a.pkt:2:11"), "{message}");
        assert!(mistake("--profile=ns-2", &[]).contains("count packets"));
        assert!(mistake("--mss=12", &[]).contains("--> a.pkt:1:7"));
    }
}
