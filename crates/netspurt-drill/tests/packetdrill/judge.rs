//! Plays scripts on our simulated host with packetdrill, and reads packetdrill's verdicts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::player::Verdict;

/// The maximum number of seconds that a script may take. Most scripts take some milliseconds.
const LONGEST_S: &str = "60";

/// The maximum number of lines of a script in which the PSH flag may differ.
const FLIPS_MAX: usize = 100;

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

/// packetdrill's program, and our library, which cargo builds with this test.
pub struct Judge {
    program: PathBuf,
    library: PathBuf,
}

impl Judge {
    /// Returns the judge that uses the checkout named by `NETSPURT_PACKETDRILL`, and the folder of
    /// scripts in the checkout. If the variable is not set, prints a message and returns `None`.
    pub fn find() -> Option<(Self, PathBuf)> {
        let Some(checkout) = std::env::var_os("NETSPURT_PACKETDRILL") else {
            eprintln!(
                "SKIPPED: build a checkout of github.com/google/packetdrill, and set NETSPURT_PACKETDRILL to its folder"
            );
            return None;
        };
        let folder = Path::new(&checkout).join("gtests/net");
        let program = folder.join("packetdrill/packetdrill");
        assert!(
            program.is_file(),
            "{} is missing: run `./configure` and `make` in its folder",
            program.display()
        );
        let library = std::env::current_exe().unwrap().with_file_name("libnetspurt_drill.so");
        assert!(
            library.is_file(),
            "{} is missing: run the tests of netspurt-drill with cargo, which builds it",
            library.display()
        );
        Some((Self { program, library }, folder))
    }

    /// The verdict on a script, which is played in `folder` with these `--so_flags`.
    pub fn judge(&self, script: &Path, folder: &Path, flags: &str) -> Verdict {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", LONGEST_S]).arg(&self.program).args(OPTIONS);
        command.arg(format!("--so_filename={}", self.library.display()));
        command.arg(format!("--so_flags={flags}")).arg(script);
        command.env("LD_PRELOAD", &self.library).current_dir(folder);
        let output = command.output().expect("`timeout` of the coreutils is installed");
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

    /// Changes the expected PSH flags of a script to the PSH flags that our host sends. Returns the
    /// verdict on the changed script, and the number of changed lines. All other expectations stay
    /// as they are written.
    pub fn judge_but_psh(&self, text: &str, folder: &Path, flags: &str) -> (Verdict, usize) {
        // Tests run at the same time, so each needs a file of its own.
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("netspurt-drill-{}-{number}.pkt", std::process::id());
        let place = std::env::temp_dir().join(name);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut flips = 0;
        let verdict = loop {
            fs::write(&place, lines.join("\n") + "\n").unwrap();
            let (word, said) = self.judge(&place, folder, flags);
            let Some((line, has_psh)) = psh_complaint(&said).filter(|_| flips < FLIPS_MAX) else {
                break (word, said);
            };
            lines[line - 1] = with_psh(&lines[line - 1], has_psh);
            flips += 1;
        };
        fs::remove_file(&place).unwrap();
        (verdict, flips)
    }
}

/// The line of the packet that failed because of PSH, and whether the packet had PSH.
fn psh_complaint(said: &str) -> Option<(usize, bool)> {
    let (before, after) =
        said.split_once(": error handling packet: live packet field tcp_psh: ")?;
    let line = before.rsplit(':').next()?.parse().ok()?;
    Some((line, after.contains("actual: 1 ")))
}

/// Returns the line of an outbound packet with the flag PSH if `psh` is true, else without it.
fn with_psh(line: &str, psh: bool) -> String {
    let direction = line.find('>').expect("an outbound packet") + 1;
    let mark = line[direction..].find(']').map_or(direction, |at| direction + at + 1);
    let start = mark + line[mark..].len() - line[mark..].trim_start().len();
    let length = line[start..].find(char::is_whitespace).expect("numbers after the flags");
    let (bare, rest) =
        (line[start..start + length].replace(['P', '-'], ""), &line[start + length..]);
    let at = bare.find(['.', 'E', 'W']).unwrap_or(bare.len());
    let letters = match psh {
        true => format!("{}P{}", &bare[..at], &bare[at..]),
        false if bare.is_empty() => "-".to_owned(),
        false => bare,
    };
    format!("{}{letters}{rest}", &line[..start])
}

#[test]
fn psh_is_added_to_the_flags_of_a_line_and_removed_from_them() {
    for (bare, psh) in [
        ("+0 > . 1:2(1) ack 1", "+0 > P. 1:2(1) ack 1"),
        ("+0 > [ect0] F. 1:2(1) ack 1 <nop>", "+0 > [ect0] FP. 1:2(1) ack 1 <nop>"),
        ("+0 > - 1:2(1)", "+0 > P 1:2(1)"),
    ] {
        assert_eq!((with_psh(bare, true), with_psh(psh, false)), (psh.to_owned(), bare.to_owned()));
    }
    let said = "a.pkt:12: error handling packet: live packet field tcp_psh: expected: 1 (0x1) vs actual: 0 (0x0)";
    assert_eq!(psh_complaint(said), Some((12, false)));
}
