//! From settings over a profile to the configuration of a sender, and back to every switch.

use crate::rto::EstimatorConfig;
use crate::tcp::{NsConfig, RfcConfig, Sampling};
use crate::wire::{BARE_HEADER_BYTES, TIMESTAMPS_BYTES};

use super::super::error::Problem;
use super::super::kernel_config::KernelTcp;
use super::definition::{Configured, Refusal, Switch};
use super::spec::TcpSpec;
use super::value::SwitchValue;
use super::windows::WINDOW_MAX_BYTES;
use super::words::Words;

/// Every switch of a configuration.
pub fn spell_out<C: Configured>(config: &C) -> TcpSpec {
    TcpSpec::of_all(|switch| switch.read(config))
}

/// A mistake in the switch `key` of flow `name`.
fn problem(name: &str, key: &str, message: impl Into<String>) -> Problem {
    let mut problem = Problem::at(["flows", name, "tcp"], message);
    problem.path.extend(key.split('.').map(str::to_owned));
    problem
}

/// The same mistake, to which the switch `key` contributes as well.
fn also(mut problem: Problem, name: &str, key: &str) -> Problem {
    let path = ["flows", name, "tcp"].into_iter().chain(key.split('.'));
    problem.also.push(path.map(str::to_owned).collect());
    problem
}

/// Applies the settings to `config`, in the order of the definitions. `foreign` returns the mistake
/// for a switch that such configurations do not have.
fn set<C: Configured>(
    name: &str,
    config: &mut C,
    spec: &TcpSpec,
    foreign: impl Fn(&Switch) -> Option<[String; 2]>,
) -> Result<(), Problem> {
    for (switch, value) in spec.given() {
        let checked = match foreign(switch).filter(|_| !switch.is_of::<C>()) {
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

/// The most octets of headers and options in a packet of ns-2.
const NS_HEADERS_BYTES: u16 = 50;

/// The ns-2 sender of flow `name`, with its settings applied.
pub fn ns(name: &str, spec: &TcpSpec) -> Result<NsConfig, Problem> {
    let mut config = NsConfig::default();
    set(name, &mut config, spec, |switch| {
        let message = format!("ns-2's senders have no `{}`", switch.key);
        Some([message, "give the flow another `profile`".to_owned()])
    })?;
    if config.headers_on_top && config.packet_bytes > u16::MAX - NS_HEADERS_BYTES {
        let message = "the packet has no room for the headers that come on top";
        let problem = also(problem(name, "packet_size", message), name, "headers_on_top");
        return Err(problem.fix(format!("write at most `{} B`", u16::MAX - NS_HEADERS_BYTES)));
    }
    let smss = u64::from(config.smss());
    if u64::from(config.receive_window_segs) * smss > WINDOW_MAX_BYTES {
        let message = "TCP cannot offer a window of more than 2^30 octets";
        let fix = format!("write at most `{} segments` of {smss} B", WINDOW_MAX_BYTES / smss);
        return Err(also(problem(name, "receive_window", message), name, "packet_size").fix(fix));
    }
    for (key, time) in [("rto.initial", config.rto.initial), ("rto.max", config.rto.max)] {
        if time.is_zero() {
            return Err(problem(name, key, "a timer of zero would fire at once")
                .fix("write a value above zero"));
        }
    }
    let (min, max) = (config.rto.min, config.rto.max);
    if min > max {
        let message = format!("the minimum timer, {min}, is above the maximum timer, {max}");
        let problem = also(problem(name, "rto.min", message), name, "rto.max");
        return Err(problem.fix("write a `min` that is not above `max`"));
    }
    Ok(config)
}

/// The byte-sequenced connection of flow `name`: `base` with its settings applied.
pub fn rfc(name: &str, base: &RfcConfig, spec: &TcpSpec) -> Result<RfcConfig, Problem> {
    let mut config = *base;
    said_twice(name, spec)?;
    set(name, &mut config, spec, |switch| {
        let message = format!("`{}` is a switch of ns-2's senders", switch.key);
        let fix = match switch.key {
            "receive_window" => "with this profile the window is `receive_buffer`",
            "bugfix" => "with this profile NewReno's `recover` is always on",
            _ => "leave it out, or give the flow the profile `ns-2`",
        };
        Some([message, fix.to_owned()])
    })?;
    timer_stands(name, &config, spec)?;
    contradiction(name, &config).map_or(Ok(config), Err)
}

/// The configuration of the kernel for flow `name`, over `base`. With `alone` both ends are the
/// kernel's, so a switch that the kernel does not have is an error.
pub fn kernel(
    name: &str,
    base: &KernelTcp,
    spec: &TcpSpec,
    alone: bool,
) -> Result<KernelTcp, Problem> {
    /// Switches that apply to a model at the other end, and not to the kernel.
    const OF_THE_SENDER: [&str; 2] = ["dup_thresh", "rto.min"];
    if let (true, Some(SwitchValue::Table(_))) = (alone, spec.get("acks")) {
        let message = "the kernel itself decides how it delays ACKs";
        return Err(
            problem(name, "acks", message).fix("write `\"every segment\"`, or leave `acks` out")
        );
    }
    let mut config = *base;
    let spec = if alone { spec } else { &spec.without(&OF_THE_SENDER) };
    set(name, &mut config, spec, |switch| {
        let message = format!("the kernel has no switch `{}`", switch.key);
        let fix = match switch.place() {
            (Some("rto"), _) => {
                "the kernel's timer has only the switch `min`; set any other timer as a `shim`"
            }
            (_, "sfr") => {
                "a shim provides it: write `shim = \"sfr\"`, or a pair of values for one end"
            }
            _ => "leave it out, or make one end a `model`",
        };
        alone.then(|| [message, fix.to_owned()])
    })?;
    Ok(config)
}

/// The switches for the bounds of the timer.
const BOUNDS: [&str; 3] = ["rto.initial", "rto.min", "rto.max"];

/// The mistake of a timer's bound that is set both in the estimator's text and by a switch.
fn said_twice(name: &str, spec: &TcpSpec) -> Result<(), Problem> {
    let Some(text) = spec.get("rto.estimator").and_then(SwitchValue::text) else { return Ok(()) };
    let named = EstimatorConfig::bounds_in(text).unwrap_or_default();
    for (key, named) in BOUNDS.into_iter().zip(named) {
        if named && spec.get(key).is_some() {
            let message = format!("`{key}` is also a constant in the text of `rto.estimator`");
            let problem = also(problem(name, key, message), name, "rto.estimator");
            return Err(problem.fix("leave one of them out"));
        }
    }
    Ok(())
}

/// Whether the timer's constants are consistent.
fn timer_stands(name: &str, config: &RfcConfig, spec: &TcpSpec) -> Result<(), Problem> {
    let Err(slip) = config.rto.check() else { return Ok(()) };
    let given: Vec<&str> =
        ["rto.estimator"].into_iter().chain(BOUNDS).filter(|key| spec.get(key).is_some()).collect();
    let first = given.iter().find(|key| **key == format!("rto.{}", slip.key)).or(given.first());
    let blamed = problem(name, first.copied().unwrap_or("rto"), slip.message).fix(slip.fix);
    Err(given.iter().fold(blamed, |problem, key| also(problem, name, key)))
}

/// Mistakes of flow `name`: switches that contradict each other.
fn contradiction(name: &str, config: &RfcConfig) -> Option<Problem> {
    if config.recovery.needs_sack() && !config.sack {
        let word = config.recovery.word();
        let message = format!("`recovery = \"{word}\"` needs SACK, which is off");
        let fix = "write `recovery = \"newreno\"`, or leave `sack` on";
        return Some(also(problem(name, "sack", message), name, "recovery").fix(fix));
    }
    if config.sampling == Sampling::Timestamps && !config.timestamps {
        let message = "`rto.sampling` uses time stamps, which are off";
        let fix = "write `timestamps = true`, or `sampling = \"each-ack\"`";
        return Some(also(problem(name, "rto.sampling", message), name, "timestamps").fix(fix));
    }
    if config.receive_rules.autotuning && !config.receive_rules.counts_memory {
        let message = "`receive.autotuning` has no effect without `receive.counts_memory`";
        let problem = problem(name, "receive.autotuning", message);
        let fix = "write `receive.counts_memory = true`, too, or leave `receive.autotuning` out";
        return Some(also(problem, name, "receive.counts_memory").fix(fix));
    }
    if config.timestamps && config.mss <= TIMESTAMPS_BYTES {
        let (size, least) =
            (config.mss + BARE_HEADER_BYTES, BARE_HEADER_BYTES + TIMESTAMPS_BYTES + 1);
        let message = format!("a packet of {size} B has no room for time stamps and a payload");
        let problem = also(problem(name, "packet_size", message), name, "timestamps");
        return Some(problem.fix(format!("write at least {least} B, or `timestamps = false`")));
    }
    None
}
