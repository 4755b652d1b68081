//! Plays scripts in packetdrill's dialect with netspurt's own player.

use std::fs;
use std::path::{Path, PathBuf};

use netspurt_scenario::script::{Script, ScriptDialect, run};

/// The result in one word, and the text of the error or the failure. The text is empty if the
/// script passes.
pub type Verdict = (&'static str, String);

/// Returns the `*.pkt` files in `folder` and below it, sorted by path.
pub fn scripts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(scripts(&path));
        } else if path.extension().is_some_and(|ending| ending == "pkt") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns the name of a script in lists: its path below `folder`, without the ending.
pub fn name(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap().with_extension("").display().to_string()
}

/// Plays a script with netspurt's own player and the profile `linux-6`, and returns the verdict.
pub fn play(path: &Path) -> Verdict {
    let (name, text) = (path.display().to_string(), fs::read_to_string(path).unwrap());
    let folder = path.parent().unwrap();
    let mut files = |file: &str| fs::read_to_string(folder.join(file)).ok();
    let script = Script::parse_with(ScriptDialect::of(&text), &name, &text, &mut files);
    let host = script.and_then(|script| Ok((script.host(Some("linux-6"), &[])?, script)));
    match host {
        Err(error) => ("refused", error.to_string()),
        Ok((mut host, script)) => match run(&script, &mut host) {
            Ok(_) => ("passes", String::new()),
            Err(failure) => ("fails", failure.to_string()),
        },
    }
}
