//! From the flows of a scenario to connections and their applications.

use crate::app::{Bulk, Requests, Task};
use crate::clock::Clock;
use crate::rto::Ns2Config;
use crate::tcp::{AckPolicy, NsConfig, NsVariant, RfcConfig, TcpConfig};
use crate::units::{ByteCount, Duration, SegmentCount, Time};
use crate::wire::{IPV4_HEADER_BYTES, TCP_HEADER_BYTES};

use super::error::Problem;
use super::flow_spec::{
    AckWord, ClockTable, ClockWord, DelayedAckTable, EndpointWord, Family, FlowSpec, Profile,
    RecoveryWord, RequestsTable, RtoTable, TcpSpec,
};
use super::quantity::{Amount, WordOr};
use super::rfc_switches::{rfc_connection, spell_out};

/// Segments in a window at most: what is in flight lies in memory.
const WINDOW_MAX_SEGS: u32 = 1_000_000;

/// Octets in a window at most (RFC 7323 §2.3).
const WINDOW_MAX_BYTES: u64 = 1 << 30;

/// Octets of IPv4 and TCP headers without options.
pub(super) const HEADER_BYTES: u16 = IPV4_HEADER_BYTES + TCP_HEADER_BYTES;

impl Profile {
    /// The configuration of a byte-sequenced profile.
    fn base(self) -> Option<RfcConfig> {
        match self {
            Profile::Ns2 => None,
            Profile::Reno1998 => Some(RfcConfig::reno_1998()),
            Profile::Reno2005 => Some(RfcConfig::reno_2005()),
            Profile::Rfc2026 => Some(RfcConfig::rfc_2026()),
            Profile::Linux6 | Profile::LinuxDefault => Some(RfcConfig::linux_6()),
        }
    }

    /// The profile's switches, every one.
    pub(super) fn switches(self) -> TcpSpec {
        match self.base() {
            Some(config) => spell_out(&config),
            // The defaults of ns-2.35, with useHeaders_ off, so that a packet has the size it
            // says.
            None => TcpSpec {
                recovery: Some(RecoveryWord::Tahoe),
                initial_window: Some(SegmentCount(2)),
                receive_window: Some(SegmentCount(20)),
                packet_size: Some(ByteCount(1000)),
                limited_transmit: Some(true),
                bugfix: Some(true),
                acks: Some(WordOr::Word(AckWord::EverySegment)),
                clock: Some(WordOr::Table(ClockTable {
                    tick: Duration::from_millis(10),
                    phase: None,
                })),
                rto: Some(RtoTable {
                    initial: Some(Duration::from_secs(3)),
                    min: Some(Duration::from_millis(200)),
                    max: Some(Duration::from_secs(60)),
                    ..RtoTable::default()
                }),
                ..TcpSpec::default()
            },
        }
    }
}

impl TcpSpec {
    /// These switches, and those of `base` for the rest; a table is taken whole, but for `rto`'s.
    pub(super) fn over(self, base: TcpSpec) -> TcpSpec {
        let table = |spec| toml::Table::try_from(spec).expect("plain data");
        let (mut merged, own) = (table(base), table(self));
        if own.get("congestion").is_some_and(|law| Some(law) != merged.get("congestion")) {
            // Another law has another slow start.
            merged.remove("abc_limit");
            merged.remove("slow_start_exit");
            merged.remove("fast_convergence");
        }
        for (key, value) in own {
            match (merged.get_mut(&key), value) {
                (Some(toml::Value::Table(under)), toml::Value::Table(over)) if key == "rto" => {
                    if over.contains_key("estimator")
                        && over.get("estimator") != under.get("estimator")
                    {
                        // Another law has other bounds.
                        under.retain(|key, _| key == "sampling" || key == "restart");
                    }
                    under.extend(over);
                }
                (_, value) => {
                    merged.insert(key, value);
                }
            }
        }
        let mut spec: TcpSpec = merged.try_into().expect("both were switches");
        spec.clock = spec.clock.map(with_phase);
        spec.timer_clock = spec.timer_clock.map(with_phase);
        spec
    }
}

/// What ns-2.35 draws as the phase of its first sender with `ns-random 1`, in ticks: the second
/// output of MRG32k3a with seed 1.
const NS2_PHASE: (u64, u64) = (555_880_716, 1_000_000_000);

/// Spells the default phase out.
fn with_phase(clock: WordOr<ClockWord, ClockTable>) -> WordOr<ClockWord, ClockTable> {
    match clock {
        WordOr::Table(ClockTable { tick, phase: None }) => {
            let nanos = u128::from(tick.as_nanos()) * u128::from(NS2_PHASE.0);
            let phase = u64::try_from(nanos / u128::from(NS2_PHASE.1)).unwrap_or(0);
            WordOr::Table(ClockTable { tick, phase: Some(Duration::from_nanos(phase)) })
        }
        given => given,
    }
}

/// A connection as `family` carries it: its packets are no larger, and so carry less.
pub(super) fn carried(name: &str, tcp: TcpConfig, family: Family) -> Result<TcpConfig, Problem> {
    let more = family.more_bytes();
    match tcp {
        TcpConfig::Rfc(config) => {
            let mss = config.mss.checked_sub(more).filter(|mss| *mss > 0).ok_or_else(|| {
                let message = "no room for a header of version 6";
                problem(name, "packet_size", message.to_owned()).fix("at least `61 B`")
            })?;
            let ip_header_bytes = config.ip_header_bytes + more;
            Ok(RfcConfig { mss, ip_header_bytes, ..*config }.into())
        }
        TcpConfig::Ns(_) if family == Family::Ipv6 => {
            let message = "ns-2's senders count packets, which have no addresses";
            Err(Problem::at(["flows", name, "family"], message).fix("another profile, or `ipv4`"))
        }
        TcpConfig::Ns(_) => Ok(tcp),
    }
}

impl FlowSpec {
    /// Puts in what the profile says and the file does not.
    pub(super) fn fill_in(&mut self) {
        let tcp = std::mem::take(&mut self.tcp);
        if self.ends() == [EndpointWord::Kernel; 2] {
            self.tcp = tcp.over(self.profile.kernel_switches());
            return;
        }
        self.tcp = tcp.over(self.profile.switches());
        let planned = connection("", self.profile, &self.tcp);
        if let (Some(_), Ok(TcpConfig::Rfc(config))) = (self.profile.base(), planned) {
            self.tcp = spell_out(&config);
        }
    }

    /// Whose TCP is at the two ends.
    pub(super) fn ends(&self) -> [EndpointWord; 2] {
        self.endpoint.each().map(|word| *word)
    }

    /// The node that the flow numbered `i` of the group starts from.
    pub(super) fn source(&self, i: u32) -> String {
        self.from.replace("{i}", &i.to_string())
    }

    /// The node that it goes to.
    pub(super) fn sink(&self, i: u32) -> String {
        self.to.replace("{i}", &i.to_string())
    }
}

/// A mistake in the `tcp` table of flow `name`.
pub(super) fn problem(name: &str, key: &str, message: impl Into<String>) -> Problem {
    Problem::at(["flows", name, "tcp", key], message)
}

/// The connection of flow `name`, whose switches are filled in.
pub(super) fn connection(
    name: &str,
    profile: Profile,
    tcp: &TcpSpec,
) -> Result<TcpConfig, Problem> {
    match profile.base() {
        Some(base) => rfc_connection(name, tcp, &base),
        None => ns_connection(name, tcp),
    }
}

/// What only byte-sequenced connections have.
fn foreign_to_ns(tcp: &TcpSpec) -> Option<String> {
    let known = [
        "recovery",
        "initial_window",
        "receive_window",
        "packet_size",
        "limited_transmit",
        "bugfix",
        "acks",
        "clock",
        "rto",
    ];
    let given = toml::Table::try_from(tcp.clone()).expect("plain data");
    given.keys().find(|key| !known.contains(&key.as_str())).cloned()
}

fn ns_connection(name: &str, tcp: &TcpSpec) -> Result<TcpConfig, Problem> {
    if let Some(key) = foreign_to_ns(tcp) {
        let message = format!("ns-2's senders have no `{key}`");
        return Err(problem(name, &key, message).fix("give the flow another `profile`"));
    }
    let missing = |key: &str| problem(name, key, format!("the profile leaves `{key}` open"));
    let segments = |key: &str, count: Option<SegmentCount>| {
        let count = count.ok_or_else(|| missing(key))?.0;
        match u32::try_from(count) {
            Ok(0) => Err(problem(name, key, "a window of 0 segments sends nothing")
                .fix("at least `1 segment`")),
            Ok(count @ ..=WINDOW_MAX_SEGS) => Ok(count),
            _ => Err(problem(name, key, format!("a window of {count} segments is too large"))
                .fix(format!("at most `{WINDOW_MAX_SEGS} segments`"))),
        }
    };
    let packet_bytes = packet_bytes(name, tcp.packet_size.ok_or_else(|| missing("packet_size"))?)?;
    let receive_window_segs = segments("receive_window", tcp.receive_window)?;
    let smss = packet_bytes - HEADER_BYTES;
    if u64::from(receive_window_segs) * u64::from(smss) > WINDOW_MAX_BYTES {
        let message = "a window of more than 2^30 octets, which TCP cannot offer";
        let fix = format!("at most `{} segments` of {smss} B", WINDOW_MAX_BYTES / u64::from(smss));
        return Err(problem(name, "receive_window", message)
            .also(["flows", name, "tcp", "packet_size"])
            .fix(fix));
    }
    let clock = clock(name, "clock", tcp.clock.as_ref().ok_or_else(|| missing("clock"))?)?;
    Ok(TcpConfig::Ns(NsConfig {
        packet_bytes,
        header_bytes: HEADER_BYTES,
        initial_window_segs: segments("initial_window", tcp.initial_window)?,
        receive_window_segs,
        variant: variant(name, tcp.recovery.ok_or_else(|| missing("recovery"))?)?,
        limited_transmit: tcp.limited_transmit.ok_or_else(|| missing("limited_transmit"))?,
        bugfix: tcp.bugfix.ok_or_else(|| missing("bugfix"))?,
        acks: match tcp.acks.as_ref().ok_or_else(|| missing("acks"))? {
            WordOr::Word(AckWord::EverySegment) => AckPolicy::EverySegment,
            WordOr::Table(DelayedAckTable { delayed, at_most: None }) => {
                AckPolicy::Delayed(*delayed)
            }
            WordOr::Table(_) => {
                return Err(problem(name, "acks", "ns-2's sinks have no `at_most`")
                    .fix("leave `at_most` out"));
            }
        },
        clock,
        rto: rto(name, tcp.rto.ok_or_else(|| missing("rto"))?, clock)?,
    }))
}

pub(super) fn packet_bytes(name: &str, size: ByteCount) -> Result<u16, Problem> {
    u16::try_from(size.0).ok().filter(|bytes| *bytes > HEADER_BYTES).ok_or_else(|| {
        problem(name, "packet_size", format!("no packet is {size} long"))
            .fix("41 B to 65535 B: 40 B of headers and a payload")
    })
}

fn variant(name: &str, word: RecoveryWord) -> Result<NsVariant, Problem> {
    Ok(match word {
        RecoveryWord::Tahoe => NsVariant::Tahoe,
        RecoveryWord::Reno => NsVariant::Reno,
        RecoveryWord::Newreno => NsVariant::NewReno,
        RecoveryWord::Sack => NsVariant::Sack,
        RecoveryWord::Fack => NsVariant::Fack,
        RecoveryWord::Rack => {
            return Err(problem(name, "recovery", "ns-2's senders have no `rack`")
                .fix("give the flow another `profile`"));
        }
    })
}

pub(super) fn clock(
    name: &str,
    key: &str,
    spec: &WordOr<ClockWord, ClockTable>,
) -> Result<Clock, Problem> {
    let ClockTable { tick, phase } = match spec {
        WordOr::Word(ClockWord::Exact) => return Ok(Clock::EXACT),
        WordOr::Word(ClockWord::LinuxHz250) => return Ok(Clock::LINUX_HZ250),
        WordOr::Table(table) => table,
    };
    let wrong = |part: &str, message: &str| Problem::at(["flows", name, "tcp", key, part], message);
    Clock::ticking(*tick, phase.unwrap_or_default()).ok_or_else(|| {
        if tick.is_zero() {
            wrong("tick", "a clock with a tick of nothing")
                .fix(format!("write `{key} = \"exact\"`"))
        } else {
            wrong("phase", "the phase is not within the tick")
                .fix(format!("below the tick of {tick}"))
        }
    })
}

fn rto(name: &str, table: RtoTable, clock: Clock) -> Result<Ns2Config, Problem> {
    if table.estimator.is_some() || table.sampling.is_some() || table.restart.is_some() {
        return Err(problem(name, "rto", "ns-2's senders have a timer of their own")
            .fix("only `initial`, `min` and `max`, or another `profile`"));
    }
    let RtoTable { initial: Some(initial), min: Some(min), max: Some(max), .. } = table else {
        return Err(problem(name, "rto", "the profile leaves `rto` open"));
    };
    let wrong =
        |key: &str, message: String| Problem::at(["flows", name, "tcp", "rto", key], message);
    for (key, value) in [("initial", initial), ("max", max)] {
        if value.is_zero() {
            return Err(wrong(key, "a timer that fires at once".into()).fix("above zero"));
        }
    }
    if min > max {
        let message = format!("the least timer, {min}, is above the greatest, {max}");
        return Err(wrong("min", message)
            .also(["flows", name, "tcp", "rto", "max"])
            .fix("`min` at most `max`"));
    }
    let tick = clock.tick().unwrap_or(Duration::from_nanos(1));
    Ok(Ns2Config { tick, initial, min, max })
}

/// What the applications of the flow numbered `i` in its group do.
pub(super) fn task(
    name: &str,
    spec: &FlowSpec,
    smss: u16,
    i: u32,
    stop: Duration,
) -> Result<Task, Problem> {
    let start = spec.start + spec.every * u64::from(i);
    if start >= stop {
        return Err(too_late(name, spec, i, stop));
    }
    let octets = match spec.send {
        Amount::Unlimited => None,
        Amount::Bytes(bytes) => Some(bytes.0),
        Amount::Count(segments) => Some(segments.0.saturating_mul(u64::from(smss))),
    };
    if octets == Some(0) {
        return Err(Problem::at(["flows", name, "send"], "a flow that sends nothing")
            .fix("at least `1 segment` or `1 B`"));
    }
    let (start, pause) = (Time::ZERO + start, spec.pause);
    let WordOr::Table(RequestsTable { reply, requests, think, serve }) = spec.app else {
        return Ok(Task::Bulk(Bulk { start, pause, octets }));
    };
    let Some(request_bytes) = octets else {
        return Err(Problem::at(["flows", name, "send"], "a request without an end")
            .also(["flows", name, "app"])
            .fix("how long each request is, as in `send = \"200 B\"`"));
    };
    let each = u128::from(request_bytes.max(reply.0));
    if reply.0 == 0 || each * u128::from(requests.0) > MOST_BYTES {
        let message = match reply.0 {
            0 => "a reply of nothing",
            _ => "more octets than a run can carry",
        };
        return Err(Problem::at(["flows", name, "app", "reply"], message).fix("as in `20 kB`"));
    }
    Ok(Task::Requests(Requests {
        start,
        pause,
        request_bytes,
        reply_bytes: reply.0,
        count: requests.small(),
        think,
        serve,
    }))
}

/// Octets of all requests of a flow, or of all their replies, at most.
const MOST_BYTES: u128 = 1 << 60;

/// What is wrong where the flow numbered `i` in its group starts when the run has ended.
fn too_late(name: &str, spec: &FlowSpec, i: u32, stop: Duration) -> Problem {
    if i == 0 {
        let message = format!("`{name}` starts when the run has ended");
        return Problem::at(["flows", name, "start"], message)
            .also(["stop"])
            .fix(format!("before the `stop` of {stop}"));
    }
    let start = spec.start + spec.every * u64::from(i);
    let message = format!("`{name}.{i}` would start at {start}, when the run has ended");
    Problem::at(["flows", name, "every"], message)
        .also(["flows", name, "count"])
        .also(["flows", name, "start"])
        .also(["stop"])
        .fix(format!("room for {i} of the {} before the `stop` of {stop}", spec.count.0))
}
