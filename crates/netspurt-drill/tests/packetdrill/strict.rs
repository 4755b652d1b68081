//! Translates our own scripts into scripts that packetdrill can run. Our scripts are in the strict
//! dialect, which `docs/scripts.md` describes.

use netspurt_scenario::script::{Script, ScriptDialect};

/// Option lines of our own dialect. packetdrill does not know them, or gives them another meaning
/// (`--mss`).
const OWN_OPTIONS: [&str; 6] =
    ["--title=", "--clause=", "--profile=", "--set=", "--fails_with=", "--mss="];

/// The command that sets a send buffer large enough for all writes of strict scripts.
const ROOM: &str = "`sysctl -q net.ipv4.tcp_wmem=\"4096 67108864 67108864\"`";

/// Translates a script of ours for packetdrill, line by line. Also returns the script's profile and
/// switches as the value of `--so_flags`.
pub fn translated(name: &str, text: &str) -> (String, String) {
    let script = Script::parse_with(ScriptDialect::Strict, name, text, &mut |_| None);
    let options = script.unwrap_or_else(|error| panic!("{error}")).options;
    let mut flags = vec![options.profile.unwrap_or_else(|| "rfc-2026".to_owned())];
    flags.extend(options.mss.map(|mss| format!("packet_size=\"{} B\"", u32::from(mss) + 40)));
    flags.extend(options.set.iter().map(|set| format!("{}={}", set.path, set.value)));
    let (mut lines, mut is_head) = (Vec::new(), true);
    for line in text.lines() {
        let starts = line.trim_start();
        if OWN_OPTIONS.iter().any(|option| starts.starts_with(option)) {
            lines.push(String::new());
            continue;
        }
        // packetdrill does not accept a tolerance of zero.
        let line = line.replace("--tolerance_usecs=0", "--tolerance_usecs=1");
        let is_event = starts.starts_with(|c: char| c.is_ascii_digit() || c == '+');
        if is_head && is_event {
            is_head = false;
            // `ROOM` goes into the line of the first event, so that all lines keep their numbers.
            lines.push(format!("{ROOM} {}", noted(&padded(&line))));
            continue;
        }
        lines.push(noted(&padded(&line)));
    }
    (lines.join("\n"), flags.join(";"))
}

/// Adds a note in parentheses after the error in the line of a call, because packetdrill requires
/// a note there.
fn noted(line: &str) -> String {
    let code = line.split("//").next().unwrap_or_default().trim_end();
    let error = code.rsplit_once("= -1 E").map(|(_, name)| name);
    match error.filter(|name| name.chars().all(|c| c.is_ascii_uppercase())) {
        Some(_) => format!("{code} (note)"),
        None => line.to_owned(),
    }
}

/// Puts the TCP options in the line of a packet into Linux's order and adds Linux's padding,
/// because packetdrill compares the order and the padding.
fn padded(line: &str) -> String {
    let code = line.split("//").next().unwrap_or_default();
    let inside = || {
        let (start, end) = (code.rfind('<')?, code.rfind('>')?);
        let options = code.get(start + 1..end)?;
        options.starts_with(|c: char| c.is_ascii_alphabetic()).then_some((start, end, options))
    };
    let Some((start, end, options)) = inside() else { return line.to_owned() };
    let all: Vec<&str> = options.split(',').map(str::trim).collect();
    let find = |name: &str| all.iter().copied().find(|option| option.starts_with(name));
    let (stamps, permitted) = (find("TS "), find("sackOK"));
    let mut laid: Vec<&str> = find("mss ").into_iter().collect();
    if stamps.is_some() != permitted.is_some() {
        laid.extend(["nop", "nop"]);
    }
    laid.extend(permitted.into_iter().chain(stamps));
    if let Some(scale) = find("wscale ") {
        laid.extend(["nop", scale]);
    }
    if let Some(blocks) = find("sack ") {
        laid.extend(["nop", "nop", blocks]);
    }
    format!("{}<{}>{}", &line[..start], laid.join(","), &line[end + 1..])
}

#[test]
fn tcp_options_get_linuxs_order_and_padding() {
    for (ours, linuxs) in [
        ("+0 < S 0:0(0) win 9 <mss 1000, sackOK>", "+0 < S 0:0(0) win 9 <mss 1000,nop,nop,sackOK>"),
        (
            "+0 > S 0:0(0) <mss 1460, sackOK, TS val 1 ecr 0, wscale 8> // <why>",
            "+0 > S 0:0(0) <mss 1460,sackOK,TS val 1 ecr 0,nop,wscale 8> // <why>",
        ),
        ("+0 > . 1:1(0) ack 1 <sack 3:4 1:2>", "+0 > . 1:1(0) ack 1 <nop,nop,sack 3:4 1:2>"),
        ("+0 > . 1:1(0) ack 1 <...>", "+0 > . 1:1(0) ack 1 <...>"),
        ("+0 %{ assert 1 < x }%", "+0 %{ assert 1 < x }%"),
    ] {
        assert_eq!(padded(ours), linuxs);
    }
}

#[test]
fn a_call_that_fails_gets_a_note_unless_it_has_one() {
    assert_eq!(
        noted("+0 read(4, ..., 1) = -1 EAGAIN // why"),
        "+0 read(4, ..., 1) = -1 EAGAIN (note)"
    );
    for line in ["+0 read(4, ..., 1) = -1 EAGAIN (why)", "+0 close(4) = 0"] {
        assert_eq!(noted(line), line);
    }
}

#[test]
fn the_profile_the_mss_and_the_switches_of_a_script_become_flags() {
    let text =
        "--title=t\n--profile=plain\n--set=tlp=true\n--mss=1000\n0 close(3) = 0\n+1 close(3) = 0";
    let (script, flags) = translated("t.pkt", text);
    assert_eq!(flags, "plain;packet_size=\"1040 B\";tlp=true");
    assert_eq!(script.lines().count(), text.lines().count());
    assert!(script.lines().nth(4).unwrap().ends_with("` 0 close(3) = 0"), "{script}");
}
