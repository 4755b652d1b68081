//! Tests of the definitions of switches (named settings of TCP), and of everything that is
//! generated from them. `CHAIN` is a small scenario that the tests change.

use netspurt::plan::KernelTcp;
use netspurt::tcp::{NsConfig, RfcConfig, TcpConfig};

use crate::scenario::profile::Profile;
use crate::scenario::switch::{
    self, Switch, SwitchKind, SwitchValue, Words, Written, all_switches,
};

use super::*;

/// All switches.
fn all() -> impl Iterator<Item = &'static Switch> {
    switch::THEMES.iter().flat_map(|(_, switches)| switches.iter())
}

/// Values other than `value`. Some of them contradict the rest of a configuration.
fn others(kind: &SwitchKind, value: &SwitchValue) -> Vec<SwitchValue> {
    let words = kind.words().into_iter().map(|known| SwitchValue::Word(known.word));
    let parts = || {
        let example = |part: &switch::SwitchPart| match part.kind {
            SwitchKind::Number { min, .. } => (part.key, SwitchValue::Number(min + 7)),
            SwitchKind::Flag => (part.key, SwitchValue::Flag(true)),
            _ => (part.key, SwitchValue::Word(part.kind.words()[1].word)),
        };
        kind.parts().iter().map(example).collect()
    };
    let found: Vec<SwitchValue> = match (kind, value) {
        (SwitchKind::Flag, _) => vec![SwitchValue::Flag(!value.flag())],
        (SwitchKind::Number { min, max, .. }, SwitchValue::Number(n)) => {
            [(n + 1).min(*max), n.saturating_sub(1).max(*min)].map(SwitchValue::Number).into()
        }
        (SwitchKind::Timer, _) => {
            ["rfc793", "mills:g=3"].map(|text| SwitchValue::Text(text.into())).into()
        }
        (SwitchKind::WordOr(..), _) => words.chain([SwitchValue::Table(parts())]).collect(),
        _ => words.collect(),
    };
    found.into_iter().filter(|other| other != value).collect()
}

/// The text of a value in a scenario.
fn text(switch: &Switch, value: &SwitchValue) -> String {
    toml::Value::try_from(Written(&switch.kind, value)).unwrap().to_string()
}

/// Changes one switch of `config` at a time. For each change, returns the switch, the changed
/// configuration, and the new value as text.
fn changed(config: &RfcConfig) -> Vec<(&'static str, RfcConfig, String)> {
    let mut changes = Vec::new();
    for switch in all() {
        let Some(value) = switch.read(config) else { continue };
        for other in others(&switch.kind, &value) {
            let mut changed = *config;
            if switch.write(&mut changed, &other).is_ok() {
                assert_eq!(switch.read(&changed), Some(other.clone()), "{}", switch.key);
                changes.push((switch.key, changed, text(switch, &other)));
            }
        }
    }
    changes
}

#[test]
fn other_values_of_each_switch_are_written_and_read_back_unchanged() {
    for profile in [Profile::Rfc2026, Profile::Plain, Profile::Linux6, Profile::Reno1998] {
        for (key, changed, text) in changed(&profile.rfc().unwrap()) {
            match tcp_config(profile.word(), &[(key, &text)]) {
                Ok(TcpConfig::Rfc(read)) => assert_eq!(*read, changed, "{key} = {text}"),
                Ok(TcpConfig::Ns(_)) => panic!("{key}: the configuration of an ns-2 sender"),
                // Only these switches may contradict another switch.
                Err(slip) => assert!(
                    ["recovery", "sack", "timestamps", "rto.sampling", "receive.autotuning"]
                        .contains(&key)
                        || key.starts_with("rto.") && slip.message.contains("is above"),
                    "{key} = {text}: {slip}"
                ),
            }
        }
    }
}

/// The fields of a configuration and their values, as `{:#?}` lists them.
fn fields(config: &RfcConfig) -> Vec<(String, String)> {
    let shown = format!("{config:#?}");
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in shown.lines() {
        match line.strip_prefix("    ").filter(|rest| rest.starts_with(char::is_alphabetic)) {
            Some(rest) => {
                let (name, value) = rest.split_once(": ").expect("a field and its value");
                fields.push((name.to_owned(), value.to_owned()));
            }
            None => fields.last_mut().map_or((), |(_, value)| value.push_str(line)),
        }
    }
    fields
}

#[test]
fn all_but_four_fields_of_a_configuration_have_a_switch() {
    let base = RfcConfig::rfc_2026();
    let mut left: Vec<String> = fields(&base).into_iter().map(|(name, _)| name).collect();
    assert!(left.len() > 40, "{left:?}");
    for (_, changed, _) in changed(&base) {
        for ((name, before), (_, after)) in fields(&base).iter().zip(&fields(&changed)) {
            if before != after {
                left.retain(|known| known != name);
            }
        }
    }
    let others = "the IP version sets `ip_header_bytes`, scripts set the others";
    assert_eq!(left, ["iss", "ip_header_bytes", "merged_mss", "receive_memory_bytes"], "{others}");
}

#[test]
fn the_switches_of_a_profile_convert_every_other_profile_to_this_profile() {
    let spelled = |config: &RfcConfig| RfcConfig {
        initial_window_segs: u32::try_from(switch::initial_segs(config)).unwrap(),
        initial_window_bytes: None,
        ..*config
    };
    let profiles =
        || Profile::WORDS.iter().filter_map(|(profile, word, _)| Some((profile.rfc()?, word)));
    assert_eq!(profiles().count(), 6);
    for (from, _) in profiles() {
        for (to, word) in profiles() {
            assert_eq!(switch::rfc("", &from, &all_switches(&to)).unwrap(), spelled(&to), "{word}");
        }
    }
    let ns = NsConfig::default();
    assert_eq!(switch::ns("", &all_switches(&ns)), Ok(ns));
    for (profile, ..) in Profile::WORDS {
        let Some(asked) = profile.kernel() else { continue };
        let base = KernelTcp { profile: asked.profile, ..Profile::Reno1998.kernel().unwrap() };
        assert_eq!(switch::kernel("", &base, &all_switches(&asked), true), Ok(asked));
    }
}

#[test]
fn the_schema_has_each_switch_with_its_line_of_documentation() {
    let schema = schema();
    let tcp = &schema["$defs"]["TcpSpec"];
    for switch in all() {
        let place = format!("/properties/{}", switch.key.replace('.', "/properties/"));
        let found = tcp.pointer(&place).unwrap_or_else(|| panic!("{}", switch.key));
        assert_eq!(found["description"], switch.doc);
        for word in switch.kind.words() {
            assert!(found.to_string().contains(&format!("\"{}\"", word.word)), "{found}");
        }
    }
    let keys = |table: &serde_json::Value| table["properties"].as_object().unwrap().len();
    let tables: Vec<_> = all().filter_map(|switch| switch.place().0).collect();
    let nested = tables.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!(keys(tcp) - nested + tables.len(), all().count());
}

/// [`CHAIN`] with the profile `rfc-2026`, an exact clock, and these settings.
fn timer(values: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    let base = [("flows.x.profile", "rfc-2026"), ("flows.x.tcp", "{ clock = \"exact\" }")];
    chain().with(&[&base[..], values].concat())
}

#[test]
fn a_resolved_scenario_has_the_bounds_of_an_estimator_as_switches() {
    let text = "rfc6298:alpha=1/16,min=20ms";
    let scenario = timer(&[("flows.x.tcp.rto.estimator", text)]).unwrap();
    let resolved = scenario.resolved();
    for line in ["estimator = \"rfc6298:alpha=1/16\"", "min = \"20 ms\"", "max = \"60 s\""] {
        assert!(resolved.contains(line), "{line} is missing in\n{resolved}");
    }
    let again = Scenario::parse("resolved", &resolved).unwrap();
    assert_eq!(again.resolved(), resolved);
    assert_eq!(run(&again).digest(), run(&scenario).digest());
    let split = [("flows.x.tcp.rto", "{ estimator = \"rfc6298:alpha=1/16\", min = \"20 ms\" }")];
    assert_eq!(timer(&split).unwrap().resolved(), resolved);
    let plain = timer(&[("flows.x.tcp.rto.min", "20 ms")]).unwrap();
    assert_ne!(run(&plain).digest(), run(&scenario).digest(), "the gain changes the results");
}

#[test]
fn a_resolved_estimator_has_a_jiffy_only_if_the_clock_of_the_timers_has_another_tick() {
    let linux = chain().with(&[("flows.x.tcp", "{}"), ("flows.x.profile", "linux-6")]).unwrap();
    let line = |scenario: &Scenario| {
        let resolved = scenario.resolved();
        let again = Scenario::parse("resolved", &resolved).unwrap();
        assert_eq!(again.resolved(), resolved);
        resolved.lines().find(|line| line.starts_with("estimator")).unwrap().to_owned()
    };
    assert_eq!(line(&linux), "estimator = \"linux\"");
    let exact = linux.with(&[("flows.x.tcp.timer_clock", "exact")]).unwrap();
    assert_eq!(
        line(&exact),
        "estimator = \"linux:jiffy=4ms\"",
        "the estimator keeps the jiffies of the profile"
    );
    let fine = linux.with(&[("flows.x.tcp.rto.estimator", "linux:jiffy=1ms")]).unwrap();
    assert_eq!(line(&fine), "estimator = \"linux:jiffy=1ms\"");
}

#[test]
fn a_sweep_varies_the_constants_of_a_timer() {
    let values = "[\"rfc6298:min=20ms\", \"rfc6298:min=20ms,alpha=1/16\", \"mills:falling=7/8\"]";
    let text = format!(
        "{}\n[sweep]\nover.timer = {{ path = \"flows.x.tcp.rto.estimator\", values = {values} }}",
        CHAIN.replace("tcp  = { recovery = \"reno\" }", "profile = \"rfc-2026\"")
    );
    let sweep = Scenario::parse("x.toml", &text).unwrap().sweep().unwrap();
    let labels: Vec<String> = sweep.all_labels()[0].iter().map(ToString::to_string).collect();
    assert_eq!(labels, ["rfc6298:min=20ms", "rfc6298:min=20ms,alpha=1/16", "mills:falling=7/8"]);
    let digests: Vec<String> =
        (0..3).map(|case| run(&sweep.scenario(case).unwrap()).digest()).collect();
    assert_ne!(digests[0], digests[1]);
    let wrong = Scenario::parse("x.toml", &text.replace("alpha", "alhpa")).unwrap_err();
    assert_eq!((&*wrong.message, &*wrong.fix), ("no key `alhpa`", "did you mean `alpha`?"));
    assert_eq!(wrong.key, "sweep.over.timer.values[1]");
}

#[test]
fn an_error_in_the_switches_of_a_timer_names_its_place() {
    let slip = |line: &str| {
        let flow = format!("profile = \"rfc-2026\"\n{line}");
        let text = CHAIN.replace("tcp  = { recovery = \"reno\" }", &flow);
        Scenario::parse("x.toml", &text).unwrap_err()
    };
    let error = slip("tcp.rto.estimator = \"linus\"");
    assert_eq!(
        (&*error.message, &*error.fix),
        ("no timer is called `linus`", "did you mean `linux`?")
    );
    assert_eq!(error.place.unwrap().text, "tcp.rto.estimator = \"linus\"");
    let error = slip("tcp.rto = { estimator = \"linux:rto_min=50\" }");
    assert!(error.message.starts_with("`rto_min` cannot be `50`"), "{error}");
    assert_eq!(error.key, "flows.x.tcp.rto.estimator");
    let error = slip("tcp.rto = { estimator = \"linux:rto_min=50ms\", min = \"1 s\" }");
    assert!(error.message.contains("`rto.min` is also a constant in the text"), "{error}");
    assert_eq!(error.key, "flows.x.tcp.rto.min");
    let error = slip("tcp.rto = { max = \"500 ms\" }");
    assert!(error.message.contains("is above `max`"), "{error}");
    assert_eq!(error.key, "flows.x.tcp.rto.max", "the file has `max` but no `min`");
    let error = slip("tcp.rto = { estimator = \"fixed\", min = \"1 s\" }");
    assert_eq!(error.message, "`fixed` has no `min`");
    assert_eq!(error.key, "flows.x.tcp.rto.min");
}

#[test]
fn the_error_for_a_wrong_value_or_key_says_what_to_write() {
    for [value, message, fix] in [
        ["{ tlp = 1 }", "wrong type: integer `1`", "write `true` or `false`"],
        ["{ tlp = \"yes\" }", "wrong type: string \"yes\"", "write `true` or `false`"],
        [
            "{ dup_thresh = \"3\" }",
            "wrong type: string \"3\"",
            "write a whole number from 1 to 4294967295",
        ],
        ["{ dup_thresh = 0 }", "`0` is out of range", "from 1 to 4294967295"],
        ["{ dup_thresh = 3.5 }", "wrong type: floating point `3.5`", "a whole number"],
        ["{ quick_acks = 3 }", "`3` has no unit", "write `3 segments`"],
        ["{ undo = 4015 }", "`4015` is not a word", "\"rfc4015\", \"prior\", in quotes"],
        [
            "{ acks = true }",
            "wrong type: boolean `true`",
            "\"every segment\", or a table with `delayed`",
        ],
        ["{ acks = \"never\" }", "`never` is not known here", "known here: every segment"],
        ["{ acks = {} }", "the key `delayed` is missing", "add `delayed = ...`"],
        ["{ acks = { dleayed = \"1 s\" } }", "unknown key `dleayed`", "did you mean `delayed`?"],
        ["{ clock = { tick = \"0 s\" } }", "`0 s` is out of range", "at least `1 ns`"],
        ["{ rto = \"linux\" }", "wrong type: string \"linux\"", "the switch `rto.estimator`"],
        ["{ rto = { mni = \"1 s\" } }", "unknown key `mni`", "did you mean `min`?"],
        ["{ sfr = { factor = 2.25 } }", "2.25 is between two steps", "in steps of 0.5"],
        ["{ sfr = { factor = 1e300 } }", "1e300 is out of range", "from 0.5 to 1000"],
        ["{ cwnd = { idel_decay = true } }", "unknown key `idel_decay`", "`idle_decay`"],
    ] {
        let flow = format!("profile = \"rfc-2026\"\ntcp = {value}");
        let text = CHAIN.replace("tcp  = { recovery = \"reno\" }", &flow);
        let error = Scenario::parse("x.toml", &text).expect_err(value);
        assert!(error.message.contains(message) && error.fix.contains(fix), "{value}: {error}");
        assert!(error.key.starts_with("flows.x.tcp.") && error.place.is_some(), "{value}: {error}");
    }
}

#[test]
fn a_receive_window_has_at_most_2_to_the_power_of_30_octets() {
    let with = |segs: u32| {
        let tcp = format!("{{ packet_size = \"2088 B\", receive_window = \"{segs} segments\" }}");
        chain().with(&[("flows.x.tcp", &tcp), ("flows.x.profile", "ns-2")])
    };
    assert!(with(1 << 19).is_ok());
    let error = with((1 << 19) + 1).unwrap_err().to_string();
    assert!(error.contains("write at most `524288 segments` of 2048 B"), "{error}");
}
