//! Applies the settings of a flow to the configuration of its profile, and reads all switches back.
//! A switch is a named part of a TCP configuration, and a profile is a set of values for switches.
//! A setting gives a switch another value.

use netspurt::plan::KernelTcp;
use netspurt::rto::EstimatorConfig;
use netspurt::tcp::{NsConfig, RfcConfig, Sampling};
use netspurt::wire::{BARE_HEADER_BYTES, TIMESTAMPS_BYTES};

use super::super::error::Problem;
use super::definition::{Configured, Refusal, Switch};
use super::spec::TcpSpec;
use super::value::SwitchValue;
use super::windows::WINDOW_MAX_BYTES;
use super::words::Words;

/// Returns the values of all switches of a configuration.
pub fn all_switches<C: Configured>(config: &C) -> TcpSpec {
    TcpSpec::of_all(|switch| switch.read(config))
}

/// Makes the error for a mistake in the switch `key` of flow `name`.
fn problem(name: &str, key: &str, message: impl Into<String>) -> Problem {
    let mut problem = Problem::at(["flows", name, "tcp"], message);
    problem.path.extend(key.split('.').map(str::to_owned));
    problem
}

/// Adds the switch `key` to the places of the error, because it contributes to the mistake.
fn with_place(mut problem: Problem, name: &str, key: &str) -> Problem {
    let path = ["flows", name, "tcp"].into_iter().chain(key.split('.'));
    problem.also.push(path.map(str::to_owned).collect());
    problem
}

/// Applies the settings to `config`, in the order of the definitions. The function `foreign` is
/// called for a switch that configurations of the type `C` do not have. `foreign` returns the
/// message and the fix of the error, or `None` if the switch is ignored.
fn set<C: Configured>(
    name: &str,
    config: &mut C,
    spec: &TcpSpec,
    foreign: impl Fn(&Switch) -> Option<[String; 2]>,
) -> Result<(), Problem> {
    for (switch, value) in spec.given() {
        let refused = if switch.is_of::<C>() { None } else { foreign(switch) };
        let checked = match refused {
            Some([message, fix]) => Err(Refusal::new(message, fix)),
            None => switch.write(config, value),
        };
        checked.map_err(|Refusal { part, message, fix }| {
            let mut problem = problem(name, switch.key, message).fix(fix);
            problem.path.extend(part.map(str::to_owned));
            problem
        })?;
    }
    Ok(())
}

/// The maximum number of octets of headers and options in a packet of ns-2.
const NS_HEADERS_BYTES_MAX: u16 = 50;

/// Returns the configuration of flow `name`'s ns-2 sender, with the flow's settings applied.
pub fn ns(name: &str, spec: &TcpSpec) -> Result<NsConfig, Problem> {
    let mut config = NsConfig::default();
    set(name, &mut config, spec, |switch| {
        let message = format!("ns-2's senders have no `{}`", switch.key);
        Some([message, "give the flow another `profile`".to_owned()])
    })?;
    if config.headers_on_top && config.packet_bytes > u16::MAX - NS_HEADERS_BYTES_MAX {
        let message = "with its headers, the packet can be longer than 65535 octets";
        let problem = with_place(problem(name, "packet_size", message), name, "headers_on_top");
        return Err(problem.fix(format!("write at most `{} B`", u16::MAX - NS_HEADERS_BYTES_MAX)));
    }
    let smss = u64::from(config.smss());
    if u64::from(config.receive_window_segs) * smss > WINDOW_MAX_BYTES {
        let message = "TCP cannot offer a receive window of more than 2^30 octets";
        let fix = format!("write at most `{} segments` of {smss} B", WINDOW_MAX_BYTES / smss);
        return Err(
            with_place(problem(name, "receive_window", message), name, "packet_size").fix(fix)
        );
    }
    for (key, time) in [("rto.initial", config.rto.initial), ("rto.max", config.rto.max)] {
        if time.is_zero() {
            return Err(problem(name, key, "a timer with an RTO of zero would fire immediately")
                .fix("write a value above zero"));
        }
    }
    let (min, max) = (config.rto.min, config.rto.max);
    if min > max {
        let message = format!("the minimum RTO, {min}, is above the maximum RTO, {max}");
        let problem = with_place(problem(name, "rto.min", message), name, "rto.max");
        return Err(problem.fix("write a `min` that is not above `max`"));
    }
    Ok(config)
}

/// Returns the configuration of flow `name` for senders that give each octet a sequence number
/// (ns-2's senders number segments). The configuration is `base` with the flow's settings applied.
pub fn rfc(name: &str, base: &RfcConfig, spec: &TcpSpec) -> Result<RfcConfig, Problem> {
    let mut config = *base;
    check_duplicate_bounds(name, spec)?;
    set(name, &mut config, spec, |switch| {
        let message = format!("`{}` is a switch of ns-2's senders", switch.key);
        let fix = match switch.key {
            "receive_window" => "with this profile, set the receive window by `receive_buffer`",
            "bugfix" => "leave it out: with this profile, NewReno's `recover` is always on",
            _ => "leave it out, or give the flow the profile `ns-2`",
        };
        Some([message, fix.to_owned()])
    })?;
    check_timer(name, &config, spec)?;
    contradiction(name, &config).map_or(Ok(config), Err)
}

/// Returns the configuration of the kernel for flow `name`: `base` with the flow's settings
/// applied. With `both_ends`, both endpoints run the kernel's TCP, so a switch that the kernel does
/// not have is an error. Without `both_ends`, the kernel ignores such a switch.
pub fn kernel(
    name: &str,
    base: &KernelTcp,
    spec: &TcpSpec,
    both_ends: bool,
) -> Result<KernelTcp, Problem> {
    /// If one end is simulated, these switches apply only to the simulated end.
    const PEER_SWITCHES: [&str; 2] = ["dup_thresh", "rto.min"];
    if let (true, Some(SwitchValue::Table(_))) = (both_ends, spec.get("acks")) {
        let message = "the kernel itself decides how it delays ACKs";
        return Err(
            problem(name, "acks", message).fix("write `\"every segment\"`, or leave `acks` out")
        );
    }
    let mut config = *base;
    let spec = if both_ends { spec } else { &spec.without(&PEER_SWITCHES) };
    set(name, &mut config, spec, |switch| {
        let message = format!("the kernel has no switch `{}`", switch.key);
        let fix = match switch.place() {
            (Some("rto"), _) => {
                "the kernel's timer has only the switch `min`; set any other timer as a `shim`"
            }
            (_, "sfr") => {
                "a shim provides it: write `shim = \"sfr\"`, or for one end `[\"sfr\", \"off\"]`"
            }
            _ => "leave it out, or make one end a `model`",
        };
        both_ends.then(|| [message, fix.to_owned()])
    })?;
    Ok(config)
}

/// The switches for the initial RTO and the bounds of the RTO.
const BOUNDS: [&str; 3] = ["rto.initial", "rto.min", "rto.max"];

/// Checks that the initial RTO and the bounds of the RTO are not set twice: in the estimator's text,
/// and by a switch.
fn check_duplicate_bounds(name: &str, spec: &TcpSpec) -> Result<(), Problem> {
    let Some(text) = spec.get("rto.estimator").and_then(SwitchValue::text) else { return Ok(()) };
    let set_in_text = EstimatorConfig::bounds_in(text).unwrap_or_default();
    for (key, in_text) in BOUNDS.into_iter().zip(set_in_text) {
        if in_text && spec.get(key).is_some() {
            let message = format!("`{key}` is also a constant in the text of `rto.estimator`");
            let problem = with_place(problem(name, key, message), name, "rto.estimator");
            return Err(problem.fix("leave one of them out"));
        }
    }
    Ok(())
}

/// Checks that the constants of the retransmission timer are consistent.
fn check_timer(name: &str, config: &RfcConfig, spec: &TcpSpec) -> Result<(), Problem> {
    let Err(mistake) = config.rto.check() else { return Ok(()) };
    let given: Vec<&str> =
        ["rto.estimator"].into_iter().chain(BOUNDS).filter(|key| spec.get(key).is_some()).collect();
    let first = given.iter().find(|key| **key == format!("rto.{}", mistake.key)).or(given.first());
    let problem = problem(name, first.copied().unwrap_or("rto"), mistake.message).fix(mistake.fix);
    Err(given.iter().fold(problem, |problem, key| with_place(problem, name, key)))
}

/// Returns the first mistake of flow `name` if two switches contradict each other.
fn contradiction(name: &str, config: &RfcConfig) -> Option<Problem> {
    if config.recovery.needs_sack() && !config.sack {
        let word = config.recovery.word();
        let message = format!("`recovery = \"{word}\"` needs SACK, which is off");
        let fix = "write `recovery = \"newreno\"`, or `sack = true`";
        return Some(with_place(problem(name, "sack", message), name, "recovery").fix(fix));
    }
    if config.sampling == Sampling::Timestamps && !config.timestamps {
        let message = "`rto.sampling = \"timestamps\"` needs timestamps, which are off";
        let fix = "write `timestamps = true`, or `sampling = \"each-ack\"`";
        return Some(
            with_place(problem(name, "rto.sampling", message), name, "timestamps").fix(fix),
        );
    }
    if config.receive_rules.autotuning && !config.receive_rules.counts_memory {
        let message = "`receive.autotuning` has no effect without `receive.counts_memory`";
        let problem = problem(name, "receive.autotuning", message);
        let fix = "also write `receive.counts_memory = true`, or leave `receive.autotuning` out";
        return Some(with_place(problem, name, "receive.counts_memory").fix(fix));
    }
    if config.timestamps && config.mss <= TIMESTAMPS_BYTES {
        let (size, size_min) =
            (config.mss + BARE_HEADER_BYTES, BARE_HEADER_BYTES + TIMESTAMPS_BYTES + 1);
        let message = format!("a packet of {size} B has no room for timestamps and a payload");
        let problem = with_place(problem(name, "packet_size", message), name, "timestamps");
        return Some(problem.fix(format!("write at least {size_min} B, or `timestamps = false`")));
    }
    None
}
