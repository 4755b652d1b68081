//! Makes connections and their applications from the flows of a scenario. A flow with a `count`
//! above 1 is a group: it stands for this number of flows. A flow has a profile (a named
//! configuration of TCP), and may override the profile's values with switches (named settings of
//! TCP).

use netspurt::app::{Bulk, PlannedRequest, RequestPlan, Task};
use netspurt::ids::Side;
use netspurt::plan::PlannedEnd;
use netspurt::rng::Stream;
use netspurt::tcp::{RfcConfig, TcpConfig};
use netspurt::units::{Duration, Time};

use super::error::Problem;
use super::flow_spec::{EndpointWord, Family, FlowSpec, RequestsTable};
use super::kernel::{KernelRole, kernel_tcp};
use super::profile::Profile;
use super::quantity::{Amount, WordOr};
use super::switch::{self, TcpSpec, all_switches};

/// Adapts the configuration of a connection to the IP version `family`. An IPv6 packet has the same
/// size as an IPv4 packet but a longer header, so it carries fewer octets of payload.
fn carried(name: &str, tcp: TcpConfig, family: Family) -> Result<TcpConfig, Problem> {
    let more = family.more_bytes();
    match tcp {
        TcpConfig::Rfc(config) => {
            let mss = config.mss.checked_sub(more).filter(|mss| *mss > 0).ok_or_else(|| {
                let message = "the packet has no room for payload after an IPv6 header";
                Problem::at(["flows", name, "tcp", "packet_size"], message)
                    .fix("write at least `61 B`")
            })?;
            let ip_header_bytes = config.ip_header_bytes + more;
            Ok(RfcConfig { mss, ip_header_bytes, ..*config }.into())
        }
        TcpConfig::Ns(_) if family == Family::Ipv6 => {
            let message = "ns-2's senders have no IP version, because they only count packets";
            Err(Problem::at(["flows", name, "family"], message)
                .fix("choose another profile, or write `ipv4`"))
        }
        TcpConfig::Ns(_) => Ok(tcp),
    }
}

impl FlowSpec {
    /// Writes the profile's values into the switches that the file does not set. If the switches
    /// are inconsistent, nothing is written. The function `connection` or `kernel_tcp` reports this
    /// mistake when the flow is planned.
    pub(super) fn fill_in(&mut self) {
        let spelled_out = if self.ends() == [EndpointWord::Kernel; 2] {
            let planned =
                kernel_tcp("", self.profile, &self.tcp, self.family, KernelRole::BothEnds);
            planned.map(|config| all_switches(&config))
        } else {
            connection("", self.profile, &self.tcp).map(|config| match config {
                TcpConfig::Ns(config) => all_switches(&*config),
                TcpConfig::Rfc(config) => all_switches(&*config),
            })
        };
        if let Ok(tcp) = spelled_out {
            self.tcp = tcp;
        }
    }

    /// The kind of TCP at each of the two ends.
    pub(super) fn ends(&self) -> [EndpointWord; 2] {
        self.endpoint.each().map(|word| *word)
    }

    /// The node that opens flow number `i` of the group.
    pub(super) fn source(&self, i: u32) -> String {
        self.from.replace("{i}", &i.to_string())
    }

    /// The node at the other end of flow number `i` of the group.
    pub(super) fn sink(&self, i: u32) -> String {
        self.to.replace("{i}", &i.to_string())
    }
}

/// Returns the configuration of flow `name`'s connection: `profile` with the switches `tcp`
/// applied.
pub(super) fn connection(
    name: &str,
    profile: Profile,
    tcp: &TcpSpec,
) -> Result<TcpConfig, Problem> {
    match profile.rfc() {
        Some(base) => switch::rfc(name, &base, tcp).map(TcpConfig::from),
        None => switch::ns(name, tcp).map(TcpConfig::from),
    }
}

/// The TCP at the end of flow `name` on this `side`. `word` names the kind of TCP.
pub(super) fn planned_end(
    name: &str,
    flow: &FlowSpec,
    word: EndpointWord,
    side: Side,
) -> Result<PlannedEnd, Problem> {
    if word == EndpointWord::Kernel {
        let part = KernelRole::of(flow, side);
        let tcp = kernel_tcp(name, flow.profile, &flow.tcp, flow.family, part)?;
        return Ok(PlannedEnd::Kernel(tcp));
    }
    model_end(name, flow).map(PlannedEnd::Model)
}

/// The simulator's TCP at an end of flow `name`, with the flow's profile and switches.
pub(super) fn model_end(name: &str, flow: &FlowSpec) -> Result<TcpConfig, Problem> {
    if flow.profile == Profile::LinuxDefault {
        let problem = Problem::at(
            ["flows", name, "profile"],
            "`linux-default` is the profile of the running kernel, which a simulation does not have",
        );
        return Err(problem.fix("write `linux-6`, or `endpoint = \"kernel\"` for a live run"));
    }
    let tcp = connection(name, flow.profile, &flow.tcp)?;
    carried(name, tcp, flow.family)
}

/// The start of flow number `i` of a group, in a run that ends at `stop` and has this `seed`.
pub(super) fn start(
    name: &str,
    spec: &FlowSpec,
    i: u32,
    (stop, seed): (Duration, u64),
) -> Result<Time, Problem> {
    let start = spec.start + spec.every * u64::from(i);
    if start >= stop || start + spec.spread > stop {
        return Err(too_late(name, spec, i, stop));
    }
    let share = Stream::named(seed, &format!("flows.{name}.{i}/start")).uniform();
    Ok(Time::ZERO + start + fraction_of(spec.spread, share))
}

/// Returns the fraction `share` of `span`; `share` is from 0 to less than 1.
#[expect(clippy::cast_precision_loss, reason = "a random instant need not be exact")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the share is from 0 to 1"
)]
fn fraction_of(span: Duration, share: f64) -> Duration {
    Duration::from_nanos((span.as_nanos() as f64 * share) as u64)
}

/// The task of the applications. All flows of a group have the same task. The start in the task is
/// the group's `start`, without `every` and `spread`.
pub(super) fn task(name: &str, spec: &FlowSpec, smss: u16) -> Result<Task, Problem> {
    let octets = match spec.send {
        Amount::Unlimited => None,
        Amount::Bytes(bytes) => Some(bytes.0),
        Amount::Count(segments) => Some(segments.0.saturating_mul(u64::from(smss))),
    };
    if octets == Some(0) {
        return Err(Problem::at(["flows", name, "send"], "the flow sends nothing")
            .fix("write at least `1 segment` or `1 B`"));
    }
    let (start, pause) = (Time::ZERO + spec.start, spec.pause);
    let WordOr::Table(RequestsTable { reply, requests, think, serve }) = spec.app else {
        return Ok(Task::Bulk(Bulk { start, pause, octets }));
    };
    let Some(request_bytes) = octets else {
        return Err(Problem::at(["flows", name, "send"], "a request cannot be unlimited")
            .also(["flows", name, "app"])
            .fix("write the length of each request, as in `send = \"200 B\"`"));
    };
    let each = u128::from(request_bytes.max(reply.0));
    if reply.0 == 0 || each * u128::from(requests.0) > BYTES_MAX {
        let message = match reply.0 {
            0 => "the reply is empty",
            _ => "the requests or the replies have more than 2^60 octets",
        };
        return Err(Problem::at(["flows", name, "app", "reply"], message)
            .fix("write a length such as `20 kB`"));
    }
    Ok(Task::Requests(RequestPlan {
        start,
        pause,
        each: PlannedRequest { request_bytes, reply_bytes: reply.0, think, serve },
        count: requests.small(),
        later: None,
    }))
}

/// The maximum for the octets of all requests of a flow, and for the octets of all its replies.
const BYTES_MAX: u128 = 1 << 60;

/// The problem that flow number `i` of a group would not start, or might not start, before the end
/// of the run.
fn too_late(name: &str, spec: &FlowSpec, i: u32, stop: Duration) -> Problem {
    if i == 0 && spec.start < stop {
        let latest = spec.start + spec.spread;
        let message = format!("`{name}` may start as late as {latest}, but the run ends at {stop}");
        return Problem::at(["flows", name, "spread"], message)
            .also(["flows", name, "start"])
            .also(["stop"])
            .fix(format!("write a spread of at most {}", stop - spec.start));
    }
    if i == 0 {
        let message = format!("`{name}` would not start before the end of the run");
        return Problem::at(["flows", name, "start"], message)
            .also(["stop"])
            .fix(format!("write a start before the `stop` of {stop}"));
    }
    let start = spec.start + spec.every * u64::from(i) + spec.spread;
    let would = if spec.spread.is_zero() { "would start at" } else { "may start as late as" };
    let message = format!("`{name}.{i}` {would} {start}, but the run ends at {stop}");
    Problem::at(["flows", name, "every"], message)
        .also(["flows", name, "count"])
        .also(["flows", name, "spread"])
        .also(["flows", name, "start"])
        .also(["stop"])
        .fix(format!("write a `count` of at most {i}, or start the {} flows sooner", spec.count.0))
}
