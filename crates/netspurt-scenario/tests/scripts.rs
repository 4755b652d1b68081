//! Tests of the scripts in this repository and of the page that explains their notation. A script
//! tests a TCP: it says what a peer sends, and what the TCP must answer.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use netspurt::segment::{Flags, SackBlock, SackBlocks, Segment, SynOptions};
use netspurt::tcp::RfcConfig;
use netspurt::units::{Duration, Time};
use netspurt_scenario::script::{
    Call, CallOutcome, CallResult, EventTime, Info, InfoField, Script, ScriptAction, ScriptEvent,
    ScriptPacket, Subject, SwitchSetting, Unreachable, run,
};

/// The folder of the crate `netspurt`, which has the folder `scripts`.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../netspurt").canonicalize().unwrap()
}

/// Returns the files in the folders below `scripts`. Each folder is for one mechanism.
fn files() -> Vec<PathBuf> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let folders = entries(&root().join("scripts"));
    let mut found: Vec<PathBuf> = folders.iter().flat_map(|folder| entries(folder)).collect();
    found.sort();
    found
}

/// Reads all scripts of the repository.
fn scripts() -> Vec<Script> {
    let read = |path: &PathBuf| {
        assert_eq!(path.extension().unwrap(), "pkt", "{}", path.display());
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let text = fs::read_to_string(path).unwrap();
        Script::parse(&name, &text).unwrap_or_else(|error| panic!("{error}"))
    };
    files().iter().map(read).collect()
}

#[test]
fn every_script_has_its_options_and_expects_a_packet() {
    let scripts = scripts();
    assert!(scripts.len() >= 120);
    let mut titles = BTreeSet::new();
    for Script { name, options, events, .. } in &scripts {
        assert!(
            !options.title.is_empty() && titles.insert(&options.title),
            "{name}: the title is empty or repeated"
        );
        // A source is an RFC, an Internet-Draft, or authors and a year.
        let year = |word: &str| word.parse::<u16>().is_ok_and(|year| (1980..2030).contains(&year));
        let source = |clause: &String| {
            clause.starts_with("RFC ")
                || clause.starts_with("draft-")
                || clause.split(' ').any(year)
        };
        let cited = options.clauses.iter().all(source);
        assert!(
            cited && !options.clauses.is_empty(),
            "{name}: no clause, or a clause without a source"
        );
        assert!(options.profile.is_some(), "{name}: no profile");
        assert!(!options.fails_with.is_empty(), "{name}: no `--fails_with`");
        for change in &options.fails_with {
            let same = |set: &SwitchSetting| set.path == change.path && set.value == change.value;
            assert!(
                !options.set.iter().any(same),
                "{name}:{}: this change equals a `--set`",
                change.line
            );
        }
        let sends = |action: &ScriptAction| matches!(action, ScriptAction::Outbound(_));
        assert!(
            events.iter().any(|event| sends(&event.action)),
            "{name}: the script expects no packet"
        );
    }
}

/// Returns the configuration of the script's connection, and one configuration for each change with
/// which the script must fail. A configuration is `None` if its options contradict each other.
fn configs(script: &Script) -> Vec<Option<RfcConfig>> {
    let alone = script.options.fails_with.iter().map(std::slice::from_ref);
    std::iter::once(&[][..]).chain(alone).map(|change| script.config(None, change).ok()).collect()
}

#[test]
fn no_script_sets_a_switch_to_the_value_that_its_profile_has() {
    for script in scripts() {
        let with_all = configs(&script);
        for nth in 0..script.options.set.len() {
            let mut without = script.clone();
            let set = without.options.set.remove(nth);
            assert!(
                configs(&without) != with_all,
                "{}:{}: this `--set` changes nothing",
                script.name,
                set.line
            );
        }
        let mut without = script.clone();
        let mss = without.options.mss.take();
        assert!(
            mss.is_none() || configs(&without) != with_all,
            "{}: `--mss` changes nothing",
            script.name
        );
    }
}

/// Plays the script with `changes` against netspurt's connection. Returns the failure as text.
fn play(script: &Script, changes: &[SwitchSetting]) -> Result<(), String> {
    let mut host = script.host(None, changes).unwrap_or_else(|error| panic!("{error}"));
    run(script, &mut host).map(|_| ()).map_err(|failure| failure.to_string())
}

#[test]
fn our_connection_passes_every_script_with_no_tolerance() {
    let exact = |mut script: Script| {
        script.options.tolerance.least = Duration::ZERO;
        script
    };
    let scripts = scripts().into_iter().map(exact);
    let failures: Vec<String> = scripts.filter_map(|script| play(&script, &[]).err()).collect();
    assert!(failures.is_empty(), "{} scripts fail\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn each_change_that_a_script_names_makes_the_script_fail() {
    let mut found = Vec::new();
    for script in scripts() {
        let changes = script.ineffective_changes().unwrap_or_else(|error| panic!("{error}"));
        found.extend(changes.iter().map(|change| format!("{}:{}", script.name, change.line)));
    }
    assert!(found.is_empty(), "the scripts pass in spite of these changes:\n{}", found.join("\n"));
}

/// A subject (a TCP under test) that sends exactly what its script expects. It ignores assertions.
struct ScriptedSubject {
    /// The packets to send. The first value of an entry is the number of all calls, inbound packets
    /// and ICMP errors before the packet. The second value is the instant of the packet.
    lines: VecDeque<(usize, Time, ScriptPacket)>,
    /// The results of calls. A call that blocks also has the instant at which it returns.
    results: VecDeque<(CallOutcome, Option<Time>)>,
    blocked: Option<(Time, CallOutcome)>,
    /// The number of calls, inbound packets and ICMP errors so far.
    heard: usize,
    peer_isn: u32,
}

const OWN_ISN: u32 = 0xffff_ff00;

impl ScriptedSubject {
    fn of(script: &Script) -> Self {
        let (mut lines, mut results, mut heard) = (VecDeque::new(), VecDeque::new(), 0);
        let mut now = Time::ZERO;
        for event in &script.events {
            let before = now;
            let end = match event.time {
                EventTime::Lasting(_, end) => Some(Time::ZERO + end),
                EventTime::AfterLasting(_, end) => Some(before + end),
                _ => None,
            };
            now = match event.time {
                EventTime::Any => now,
                EventTime::At(at) | EventTime::Between(at, _) | EventTime::Lasting(at, _) => {
                    Time::ZERO + at
                }
                EventTime::After(after)
                | EventTime::AfterBetween(after, _)
                | EventTime::AfterLasting(after, _) => now + after,
            };
            match &event.action {
                ScriptAction::Outbound(packet) => lines.push_back((heard, now, packet.clone())),
                ScriptAction::Inbound(_) | ScriptAction::Unreachable(_) => heard += 1,
                ScriptAction::Call { expected, .. } => {
                    heard += 1;
                    let value = expected.value.unwrap_or(0);
                    let out = expected.out.clone();
                    results.push_back((CallOutcome { value, errno: expected.errno, out }, end));
                }
                ScriptAction::Check(_) | ScriptAction::Change(_) => {}
            }
        }
        Self { lines, results, blocked: None, heard: 0, peer_isn: 0 }
    }

    fn segment(&self, packet: &ScriptPacket) -> Segment {
        let mut segment = Segment {
            seq: packet.seq.wrapping_add(OWN_ISN),
            ack: packet.ack.unwrap_or(0).wrapping_add(self.peer_isn),
            len: packet.len,
            window: packet.window.unwrap_or(1234),
            flags: packet.flags,
            ecn: packet.ecn.map(|mark| mark.codepoint()).unwrap_or_default(),
            ..Segment::default()
        };
        let options = packet.options.clone().unwrap_or_default();
        let (mss, window_scale, sack) = (options.mss, options.window_scale, options.sack_permitted);
        segment.set_syn_options(SynOptions { mss, window_scale, sack });
        if !options.sack.is_empty() {
            let mut blocks = SackBlocks::default();
            for block in &options.sack {
                let wire = |edge: u32| edge.wrapping_add(self.peer_isn);
                blocks.add(SackBlock { left: wire(block.left), right: wire(block.right) });
            }
            segment.set_sack(&blocks);
        }
        if let Some(mut stamps) = options.timestamps {
            stamps.val = stamps.val.wrapping_add(77);
            segment.set_timestamps(stamps);
        }
        segment
    }
}

impl Subject for ScriptedSubject {
    fn call(&mut self, _: Time, _: &Call) -> CallResult {
        self.heard += 1;
        match self.results.pop_front().expect("one result for each call") {
            (outcome, None) => CallResult::Returned(outcome),
            (outcome, Some(end)) => {
                self.blocked = Some((end, outcome));
                CallResult::Blocks
            }
        }
    }

    fn returned(&mut self, now: Time) -> Option<CallOutcome> {
        self.blocked.take_if(|(end, _)| *end <= now).map(|(_, outcome)| outcome)
    }

    fn unreachable(&mut self, _: Time, _: &Unreachable) -> Result<(), String> {
        self.heard += 1;
        Ok(())
    }

    fn inject(&mut self, _: Time, segment: &Segment) {
        // A later SYN does not change the initial sequence number.
        if segment.flags.has(Flags::SYN) && self.peer_isn == 0 {
            self.peer_isn = segment.seq;
        }
        self.heard += 1;
    }

    fn next_wakeup(&self) -> Option<Time> {
        let line = self.lines.front().filter(|(heard, ..)| *heard <= self.heard);
        let end = self.blocked.as_ref().map(|(end, _)| *end);
        line.map(|(_, at, _)| *at).into_iter().chain(end).min()
    }

    fn poll(&mut self, now: Time) -> Option<(Time, Segment)> {
        let (heard, at, _) = self.lines.front()?;
        if *heard > self.heard || *at > now {
            return None;
        }
        let (_, at, packet) = self.lines.pop_front()?;
        Some((at, self.segment(&packet)))
    }

    fn info(&self, _: Time) -> Info {
        Info::default()
    }
}

/// Returns the script without its assertions and with no tolerance.
fn without_checks(mut script: Script) -> Script {
    script.options.tolerance.least = Duration::ZERO;
    for event in &mut script.events {
        if let ScriptAction::Check(assertions) = &mut event.action {
            assertions.clear();
        }
    }
    script
}

#[test]
fn a_subject_that_sends_what_a_script_expects_passes_the_script() {
    for script in scripts().into_iter().map(without_checks) {
        let transcript = run(&script, &mut ScriptedSubject::of(&script));
        let transcript = transcript.unwrap_or_else(|failure| panic!("{failure}"));
        let counts = |wanted: &dyn Fn(&ScriptEvent) -> bool| {
            script.events.iter().filter(|event| wanted(event)).count()
        };
        let events = counts(&|event| !matches!(event.action, ScriptAction::Check(_)));
        // If a call blocks, its return is a separate entry.
        let blocks = counts(&|event| {
            matches!(event.time, EventTime::Lasting(..) | EventTime::AfterLasting(..))
        });
        assert_eq!(transcript.len(), events + blocks, "{}", script.name);
    }
}

#[test]
fn a_script_fails_if_one_of_its_packets_is_omitted_or_changed_or_delayed() {
    for script in scripts().into_iter().map(without_checks) {
        for line in 0..ScriptedSubject::of(&script).lines.len() {
            let mut forgetful = ScriptedSubject::of(&script);
            forgetful.lines.remove(line);
            let mut wrong = ScriptedSubject::of(&script);
            wrong.lines[line].2.seq += 1;
            let mut late = ScriptedSubject::of(&script);
            late.lines.iter_mut().skip(line).for_each(|l| l.1 += Duration::from_secs(1));
            // A SYN may have any sequence number, so a change of this number is no mistake.
            let syn = wrong.lines[line].2.flags.has(Flags::SYN);
            assert!(run(&script, &mut forgetful).is_err(), "{}: packet {line}", script.name);
            assert!(syn || run(&script, &mut wrong).is_err(), "{}: packet {line}", script.name);
            assert!(run(&script, &mut late).is_err(), "{}: packet {line}", script.name);
        }
    }
}

#[test]
fn every_written_packet_is_read_back_unchanged() {
    for script in scripts() {
        for event in &script.events {
            let (ScriptAction::Inbound(packet) | ScriptAction::Outbound(packet)) = &event.action
            else {
                continue;
            };
            let mark = if matches!(event.action, ScriptAction::Inbound(_)) { '<' } else { '>' };
            let again = Script::parse("again", &format!("0 {mark} {packet}")).unwrap();
            assert_eq!(again.events[0].action, event.action, "{}:{}", script.name, event.line);
        }
    }
}

#[test]
fn each_example_on_the_notation_page_passes_but_fails_with_each_of_its_changes() {
    let page = fs::read_to_string(root().join("../../docs/scripts.md")).unwrap();
    let mut blocks = page.split("```pkt\n").skip(1).peekable();
    assert!(blocks.peek().is_some());
    for block in blocks {
        let (text, _) = block.split_once("```").unwrap();
        let script = Script::parse("docs/scripts.md", text);
        let script = script.unwrap_or_else(|error| panic!("{error}"));
        play(&script, &[]).unwrap_or_else(|failure| panic!("{failure}"));
        for change in &script.options.fails_with {
            assert!(play(&script, std::slice::from_ref(change)).is_err(), "{change:?}");
        }
    }
}

#[test]
fn a_connection_provides_the_fields_that_the_notation_page_names() {
    let page = fs::read_to_string(root().join("../../docs/scripts.md")).unwrap();
    let (_, list) = page.split_once("\nThe fields are\n`").unwrap();
    let (list, _) = list.split_once('`').unwrap();
    let text = "0 socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
+0 connect(3, ..., ...) = -1 EINPROGRESS
+0 > S 0:0(0) <...>
+0.1 < S. 0:0(0) ack 1 win 65535 <mss 1000>
+0 > . 1:1(0) ack 1";
    let script = Script::parse("a.pkt", text).unwrap();
    let mut host = script.host(Some("linux-6"), &[]).unwrap();
    run(&script, &mut host).unwrap_or_else(|failure| panic!("{failure}"));
    let info = host.info(Time::ZERO + Duration::from_millis(100));
    assert!(list.split_whitespace().count() >= 35);
    for name in list.split_whitespace() {
        let field = InfoField::ALL.iter().find(|(known, _)| *known == name);
        let (_, field) = field.unwrap_or_else(|| panic!("there is no field `{name}`"));
        assert!(info.get(*field).is_some(), "{name}");
    }
}

#[test]
fn the_table_of_scripts_names_every_script_and_no_other() {
    let text = fs::read_to_string(root().join("../../VALIDATION.md")).unwrap();
    let (_, section) = text.split_once("\n## Scripts of the connection\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let mut documented = Vec::new();
    for row in section.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cell = row.split(" | ").nth(2).unwrap();
        documented.extend(cell.split(", ").map(|name| name.trim_matches('`').to_owned()));
    }
    documented.sort();
    let name = |script: Script| {
        script.name.trim_start_matches("scripts/").trim_end_matches(".pkt").to_owned()
    };
    let mut existing: Vec<String> = scripts().into_iter().map(name).collect();
    existing.sort();
    assert_eq!(documented, existing);
}

#[test]
fn everything_that_the_notation_page_lists_as_unsupported_is_an_error() {
    let page = fs::read_to_string(root().join("../../docs/scripts.md")).unwrap();
    let (_, table) = page.split_once("## What is not supported").unwrap();
    let mut rows = 0;
    for row in table.lines().filter(|row| row.starts_with("| `")) {
        let cells: Vec<&str> = row.split(" | ").collect();
        // In Markdown, a code span that contains a backtick begins with two backticks and a blank,
        // and ends with a blank and two backticks.
        let cell = cells[0].trim_start_matches("| ");
        let double = cell.strip_prefix("`` ").and_then(|cell| cell.strip_suffix(" ``"));
        let text = double.unwrap_or(cell.trim_matches('`'));
        let message = cells[1].trim_end_matches(" |");
        let error = Script::parse("docs/scripts.md", text).expect_err(text);
        assert!(error.message.contains(message), "{text}\n{error}");
        rows += 1;
    }
    assert!(rows >= 8);
}
