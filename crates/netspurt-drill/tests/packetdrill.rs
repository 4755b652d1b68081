//! packetdrill's own scripts, judged twice: by packetdrill, which loads our host, and by our own player.
//!
//! The environment variable `NETSPURT_PACKETDRILL` names a checkout of packetdrill in which its program
//! is built. The two may differ for two reasons, which `difference` knows and VALIDATION.md explains.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use netspurt::script::{Script, ScriptDialect, run};

/// Seconds that a script may take, of which it needs a tenth.
const LONGEST_S: &str = "60";

/// The options with which packetdrill's own `run_all.py` plays scripts over IPv4.
const OPTIONS: [&str; 9] = [
    "--ip_version=ipv4",
    "--local_ip=192.168.0.1",
    "--gateway_ip=192.168.0.1",
    "--netmask_ip=255.255.0.0",
    "--remote_ip=192.0.2.1",
    "--define=TFO_COOKIE=3021b9d889017eeb",
    "--define=CODE=host_unreachable",
    "--define=CMSG_LEVEL_IP=SOL_IP",
    "--define=CMSG_TYPE_RECVERR=IP_RECVERR",
];

/// packetdrill's program and the folder of its scripts about TCP; `None`, said aloud, where there are none.
fn packetdrill() -> Option<(PathBuf, PathBuf)> {
    let Some(checkout) = std::env::var_os("NETSPURT_PACKETDRILL") else {
        eprintln!(
            "SKIPPED: set NETSPURT_PACKETDRILL to a checkout of github.com/google/packetdrill, built"
        );
        return None;
    };
    let folder = Path::new(&checkout).join("gtests/net");
    let program = folder.join("packetdrill/packetdrill");
    assert!(program.is_file(), "{} is not there: build it", program.display());
    Some((program, folder.join("tcp")))
}

/// Our library, which cargo has built with this test.
fn library() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let file = own.with_file_name("libnetspurt_drill.so");
    assert!(file.is_file(), "{} is not there", file.display());
    file
}

/// The `*.pkt` files in `folder` and below it.
fn scripts(folder: &Path) -> Vec<PathBuf> {
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

/// A verdict in one word, and what was said of it.
type Verdict = (&'static str, String);

/// Our own player's verdict.
fn own(path: &Path) -> Verdict {
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

/// packetdrill's verdict on our host.
fn packetdrills(program: &Path, path: &Path, more: &[&str]) -> Verdict {
    let library = library();
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", LONGEST_S]).arg(program).args(OPTIONS).args(more);
    command.arg(format!("--so_filename={}", library.display())).arg(path.file_name().unwrap());
    command.env("LD_PRELOAD", &library).current_dir(path.parent().unwrap());
    let output = command.output().expect("`timeout` of the coreutils");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let word = if said.contains("netspurt refuses: ") {
        "refused"
    } else if output.status.success() {
        "passes"
    } else {
        "fails"
    };
    (word, said)
}

/// Why packetdrill's verdict may differ from our player's: the kind of the difference.
fn difference(program: &Path, path: &Path, own: &str, other: &str) -> Option<&'static str> {
    match (own, other) {
        // Our player refuses a script for the name of a mechanism. packetdrill plays it up to where the
        // mechanism is missing.
        ("refused", "fails") => Some("mechanism"),
        // packetdrill compares PSH in every packet, our player where the script writes it. Nothing but
        // PSH differs if the script passes with warnings of packets, all of which are about PSH.
        ("passes", "fails") => {
            let (word, said) = packetdrills(program, path, &["--non_fatal=packet"]);
            let mut warnings = said.lines().filter(|line| line.contains(" handling packet: "));
            let psh = warnings.all(|line| line.contains("live packet field tcp_psh: "));
            (word == "passes" && psh).then_some("psh")
        }
        _ => None,
    }
}

/// How often each verdict was given.
fn counts(words: impl Iterator<Item = &'static str>) -> String {
    let mut counts = BTreeMap::new();
    words.for_each(|word| *counts.entry(word).or_insert(0) += 1);
    let shown = counts.iter().map(|(word, count)| format!("{count} {word}"));
    shown.collect::<Vec<_>>().join(", ")
}

#[test]
fn packetdrill_and_our_player_agree_but_for_mechanisms_and_psh() {
    let Some((program, folder)) = packetdrill() else { return };
    let (mut verdicts, mut unexplained) = (Vec::new(), String::new());
    for path in scripts(&folder) {
        let name = path.strip_prefix(&folder).unwrap().with_extension("").display().to_string();
        let ((own, why), (other, other_why)) = (own(&path), packetdrills(&program, &path, &[]));
        verdicts.push((own, other));
        if own == other {
            continue;
        }
        let kind = difference(&program, &path, own, other);
        eprintln!("{name}: our player {own}, packetdrill {other}: {}", kind.unwrap_or("?"));
        if kind.is_none() {
            unexplained += &format!("\n{name} {own} {other}\n{why}\n{other_why}");
        }
    }
    eprintln!("our player:  {}", counts(verdicts.iter().map(|(own, _)| *own)));
    eprintln!("packetdrill: {}", counts(verdicts.iter().map(|(_, other)| *other)));
    assert!(unexplained.is_empty(), "nothing explains these differences:\n{unexplained}");
}
