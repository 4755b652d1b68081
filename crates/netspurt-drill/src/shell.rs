//! The texts from which the host is made: packetdrill's option `--so_flags`, and the shell commands
//! of a script. The option names a profile, which is a named configuration of TCP. It also names
//! switches, which are named settings of TCP. The commands are read as in `netspurt script`, and
//! are never run.

use std::fs;

use netspurt_scenario::script::{
    HostChange, Script, ScriptAction, ScriptDialect, SocketHost, SwitchSetting,
};

/// The profile of the host if the flags name no profile.
const PROFILE: &str = "linux-6";

/// Everything from which a host is made: its profile, the switches that override values of the
/// profile, and the commands before the first call.
#[derive(Clone, Debug)]
pub struct Setup {
    profile: String,
    set: Vec<SwitchSetting>,
    /// The texts of the commands, one on each line.
    commands: String,
}

impl Setup {
    /// Reads the text of `--so_flags`: a profile and switches with `;` between them, as in
    /// `rfc-2026;tlp=false`. An empty text stands for `linux-6`.
    ///
    /// # Errors
    /// When the profile or a switch is unknown, a value is wrong, or a word after the profile has
    /// no `=`.
    ///
    /// ```
    /// use netspurt_drill::shell::Setup;
    /// assert!(Setup::read("rfc-2026;dup_thresh=2").is_ok());
    /// assert!(Setup::read("rfc-2026;dup_trhesh=2").unwrap_err().contains("did you mean"));
    /// ```
    pub fn read(flags: &str) -> Result<Self, String> {
        let mut words = flags.split(';').map(str::trim).filter(|word| !word.is_empty()).peekable();
        let named = words.next_if(|word| !word.contains('='));
        let setting = |word: &str| {
            let (path, value) = word.split_once('=').ok_or_else(|| {
                format!("`{word}` is not `switch=value`: write --so_flags='linux-6;tlp=false'")
            })?;
            Ok(SwitchSetting { path: path.to_owned(), value: value.to_owned(), line: 0 })
        };
        let set: Result<_, String> = words.map(setting).collect();
        let profile = named.unwrap_or(PROFILE).to_owned();
        let setup = Self { profile, set: set?, commands: String::new() };
        setup.host()?;
        Ok(setup)
    }

    /// Adds a command that comes before the first call.
    ///
    /// # Errors
    /// When scripts cannot use the command here, or our connection does not have the property that
    /// the command sets.
    pub fn command(&mut self, text: &str) -> Result<(), String> {
        let before = self.commands.len();
        self.commands.push_str(text);
        self.commands.push('\n');
        let result = self.host().map(|_| ());
        if result.is_err() {
            self.commands.truncate(before);
        }
        result
    }

    /// Makes the host.
    ///
    /// # Errors
    /// For the same reasons as [`command`](Self::command).
    pub fn host(&self) -> Result<SocketHost, String> {
        let script = parse(&format!("`{}`\n0 close(3) = 0", self.commands))?;
        script.host(Some(&self.profile), &self.set).map_err(|error| error.to_string())
    }
}

/// Reads the changes that a command between events makes to the host.
///
/// # Errors
/// When scripts cannot use the command here, or the command sets a property that cannot change any
/// more.
pub fn changes(text: &str) -> Result<Vec<HostChange>, String> {
    let mut script = parse(&format!("0 `{text}`"))?;
    let actions = script.events.drain(..).map(|event| event.action);
    let changes = actions.filter_map(|action| match action {
        ScriptAction::Change(changes) => Some(changes),
        _ => None,
    });
    Ok(changes.flatten().collect())
}

/// Reads commands as part of a script. Paths of files in the commands are relative to the folder in
/// which packetdrill runs.
fn parse(text: &str) -> Result<Script, String> {
    let mut files = |name: &str| fs::read_to_string(name).ok();
    let script = Script::parse_with(ScriptDialect::Packetdrill, "commands", text, &mut files);
    script.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_set_switches_until_the_first_call() {
        let mut setup = Setup::read("").unwrap();
        setup.command("sysctl -q net.ipv4.tcp_sack=0; ip tcp_metrics flush all").unwrap();
        assert!(setup.command("rm -rf /").unwrap_err().contains("cannot use here"));
        setup.command("/tmp/sysctl_restore_7.sh").unwrap();
        assert!(setup.host().is_ok());
        let drops = changes("tc qdisc replace dev tun0 root pfifo limit 0").unwrap();
        assert_eq!(drops, [HostChange::DropsAll(true)]);
        assert!(changes("sysctl -q net.ipv4.tcp_sack=0").unwrap_err().contains("cannot change"));
    }

    #[test]
    fn flags_name_a_profile_and_switches() {
        assert!(Setup::read("rto.min=\"1 s\"").is_ok());
        assert!(Setup::read("linux-7").unwrap_err().contains("linux-7"));
        assert!(Setup::read("linux-6;tlp").unwrap_err().contains("switch=value"));
    }
}
