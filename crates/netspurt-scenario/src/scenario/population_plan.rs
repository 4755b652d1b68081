//! Plans the populations of a scenario. A population is many connections of one kind that arrive
//! during the run.

use std::sync::Arc;

use netspurt::app::Task;
use netspurt::distribution::{Distribution, DistributionUnit};
use netspurt::ids::Side;
use netspurt::link::Rate;
use netspurt::plan::{ArrivingConnections, ConnectionDistributions, PlannedPopulation};
use netspurt::units::Time;
use netspurt::wire::BARE_HEADER_BYTES;

use super::error::Problem;
use super::expand::node;
use super::flow_plan::planned_end;
use super::flow_spec::Family;
use super::kernel::shims;
use super::population_spec::{LoadSpec, PopulationSpec};
use super::reach::Reach;
use super::spec::Spec;

/// The populations of `spec`, in the order of the file.
pub(super) fn plan_populations(
    spec: &Spec,
    net: &Reach<'_>,
) -> Result<Vec<Arc<PlannedPopulation>>, Problem> {
    let plan = |(name, own): (&String, &PopulationSpec)| {
        // A mistake in the connections' settings is reported below `populations`, and not below
        // `flows`.
        let of_flows = |mut problem: Problem| {
            for path in problem.also.iter_mut().chain([&mut problem.path]) {
                if path.first().is_some_and(|first| first == "flows") {
                    "populations".clone_into(&mut path[0]);
                }
            }
            problem
        };
        plan_population(name, own, spec, net).map(Arc::new).map_err(of_flows)
    };
    let all: Vec<Arc<PlannedPopulation>> =
        spec.populations.iter().map(plan).collect::<Result<_, _>>()?;
    check_real(spec, &all)?;
    Ok(all)
}

/// Checks that a live run can have the population that uses the kernel's TCP. A live run has one
/// pair of hosts, so a second population is an error. Programs beside the population are also an
/// error. A population that uses IPv6 is also an error.
fn check_real(spec: &Spec, all: &[Arc<PlannedPopulation>]) -> Result<(), Problem> {
    let Some(real) = all.iter().find(|population| population.is_real()) else { return Ok(()) };
    let at = |message: &str| Problem::at(["populations", &real.name, "endpoint"], message);
    if let Some(other) = all.iter().find(|other| other.name != real.name) {
        let problem = at("a live run can have only one population");
        return Err(problem
            .also(["populations", &other.name])
            .fix("keep one of them, or use `model`"));
    }
    if let Some((name, _)) = spec.flows.iter().find(|(_, flow)| flow.is_of_programs()) {
        let problem = at("a live run has one pair of hosts: for programs or for a population");
        return Err(problem.also(["flows", name, "app"]).fix("keep one of them"));
    }
    if real.ipv6 {
        let problem = Problem::at(
            ["populations", &real.name, "family"],
            "in a live run the hosts of populations use IPv4 only",
        );
        return Err(problem.fix("leave `family` out"));
    }
    Ok(())
}

/// The tasks of the population's connections that arrive in a run, in the order of arrival.
pub(super) fn kernel_tasks(population: &Arc<PlannedPopulation>) -> Result<Vec<Task>, Problem> {
    let mut arrivals = ArrivingConnections::new(population.clone());
    let mut all = Vec::new();
    while arrivals.next() < Time::NEVER {
        all.push(arrivals.take().1);
        if all.len() > CONNECTIONS_MAX {
            let message = format!("a live run has at most {CONNECTIONS_MAX} connections");
            return Err(Problem::at(["populations", &population.name, "arrivals"], message)
                .also(["stop"])
                .fix("write a lower rate, a lower `most`, or a shorter run"));
        }
    }
    Ok(all)
}

/// The maximum number of connections of a live run. Their sockets are made before the run begins.
const CONNECTIONS_MAX: usize = 4000;

fn plan_population(
    name: &str,
    own: &PopulationSpec,
    spec: &Spec,
    net: &Reach<'_>,
) -> Result<PlannedPopulation, Problem> {
    let place = |key: &str, host: &str| node(net.nodes, host, &["populations", name, key]);
    let (from, to) = (place("from", &own.from)?, place("to", &own.to)?);
    let flow = own.as_flow();
    let end = planned_end(name, &flow, own.endpoint, Side::From)?;
    net.check(["populations", name], (from, to), [end.packet_bytes(); 2])?;
    let ipv6 = own.family == Family::Ipv6;
    if ipv6 {
        net.check_uncut(name, (from, to), end.packet_bytes())?;
    }
    // The octets of TCP options are not subtracted from the payload of a full packet. Therefore
    // senders with different options have the same arrivals.
    let header = BARE_HEADER_BYTES + own.family.more_bytes();
    let sizes = [end.packet_bytes().saturating_sub(header).max(1), header];
    let (drawn, gap) = drawn_at_rate(name, own, ((from, to), sizes), net)?;
    let until = own.until.unwrap_or(spec.stop).min(spec.stop);
    if own.start >= until {
        let message = format!("no connection of `{name}` arrives from {} to {until}", own.start);
        let early = own.until.is_some_and(|until| until < spec.stop);
        let (key, fix) = if early {
            ("until", "write a later time")
        } else {
            ("start", "write an earlier time")
        };
        return Err(Problem::at(["populations", name, key], message).fix(fix));
    }
    Ok(PlannedPopulation {
        name: name.to_owned(),
        from,
        to,
        ipv6,
        end,
        shims: shims(name, &flow)?,
        drawn,
        gap,
        at_once: own.arrivals.trim().starts_with("every"),
        start: Time::ZERO + own.start,
        until: Time::ZERO + until,
        connections_max: own.most.map_or(u64::MAX, |most| most.0),
        seed: spec.seed.0,
    })
}

/// The distributions from which the connections are drawn, and the distribution of the time between
/// two arrivals.
fn drawn_at_rate(
    name: &str,
    own: &PopulationSpec,
    link: ((u32, u32), [u16; 2]),
    net: &Reach<'_>,
) -> Result<(ConnectionDistributions, Distribution), Problem> {
    let Some(load) = &own.load else {
        let gap = gap(name, &own.arrivals)?;
        let rate = gap.mean().map_or(PACKMIME_RATE_MIN, |mean| 1e9 / mean);
        return Ok((distributions(name, own, rate)?, gap));
    };
    // The sizes of PackMime, a model of web traffic, depend slightly on the rate. Therefore the
    // rate is computed again with the new sizes until it no longer changes.
    let mut rate = PACKMIME_RATE_MIN;
    for _ in 0..ROUNDS {
        let drawn = distributions(name, own, rate)?;
        let next = rate_of_load(name, load, &drawn, link, net)?;
        let settled = (next - rate).abs() <= 1e-12 * next;
        rate = next;
        if settled {
            break;
        }
    }
    let gap = gap(name, &with_rate(name, &own.arrivals, rate)?)?;
    Ok((distributions(name, own, rate)?, gap))
}

/// The lowest rate of PackMime, in connections a second.
const PACKMIME_RATE_MIN: f64 = 0.1;
/// The maximum number of times that a rate is computed.
const ROUNDS: u32 = 200;

/// Returns the text of a distribution of sizes. If `text` names PackMime's sizes without a rate,
/// the result has the rate `per_second`.
fn at_rate(text: &str, per_second: f64) -> String {
    if matches!(text.trim(), "packmime-request" | "packmime-reply") {
        return format!("{}:rate={per_second}/s", text.trim());
    }
    text.to_owned()
}

/// The distributions from which the connections are drawn, if `rate` connections arrive a second.
fn distributions(
    name: &str,
    own: &PopulationSpec,
    rate: f64,
) -> Result<ConnectionDistributions, Problem> {
    let read = |key, text, unit| distribution(name, key, text, unit);
    let of_replies = [
        ("serve", own.serve.as_str(), "0 s"),
        ("think", own.think.as_str(), "0 s"),
        ("requests", own.requests.as_str(), "1"),
    ];
    if own.reply.is_none()
        && let Some((key, ..)) = of_replies.into_iter().find(|(_, text, default)| text != default)
    {
        let message = format!("`{key}` applies only to requests");
        let problem = Problem::at(["populations", name, key], message).of_the_key();
        return Err(problem.fix("add `reply`, as in `reply = \"20 kB\"`"));
    }
    let size = |key, text| distribution(name, key, &at_rate(text, rate), DistributionUnit::Octets);
    let reply = own.reply.as_ref().map(|text| size("reply", text));
    Ok(ConnectionDistributions {
        send: size("send", &own.send)?,
        reply: reply.transpose()?,
        serve: read("serve", &own.serve, DistributionUnit::Span)?,
        requests: read("requests", &own.requests, DistributionUnit::Count)?,
        think: read("think", &own.think, DistributionUnit::Span)?,
    })
}

/// Returns the distribution that the value `text` of the key `key` names. If `text` is a list of
/// values that were read from a file, the result is the distribution of these values.
fn distribution(
    name: &str,
    key: &str,
    text: &str,
    unit: DistributionUnit,
) -> Result<Distribution, Problem> {
    let read = match text.strip_prefix("empirical:values=") {
        None => Distribution::parse(text, unit),
        Some(values) => (values.split('|'))
            .map(|value| Ok(Distribution::parse(value, unit)?.mean().unwrap_or_default()))
            .collect::<Result<Vec<f64>, _>>()
            .and_then(|values| Distribution::empirical(values, unit)),
    };
    read.map_err(|slip| Problem::at(["populations", name, key], slip.message).fix(slip.fix))
}

/// The distribution of the time from one arrival to the next.
fn gap(name: &str, arrivals: &str) -> Result<Distribution, Problem> {
    let gap = distribution(name, "arrivals", arrivals, DistributionUnit::Gap)?;
    if gap.mean().is_some_and(|mean| mean < GAP_NS_MIN) {
        let message = format!("more than {} connections arrive a second", 1e9 / GAP_NS_MIN);
        return Err(
            Problem::at(["populations", name, "arrivals"], message).fix("write a lower rate")
        );
    }
    Ok(gap)
}

/// The shortest mean time between two arrivals, in nanoseconds.
const GAP_NS_MIN: f64 = 1e3;

/// Adds the rate `per_second` to `arrivals`, the text of an arrival process without a rate.
fn with_rate(name: &str, arrivals: &str, per_second: f64) -> Result<String, Problem> {
    if matches!(arrivals.trim(), "poisson" | "packmime") {
        return Ok(format!("{}:rate={per_second}/s", arrivals.trim()));
    }
    let message =
        format!("`{arrivals}` cannot be used with `load`, which determines the rate of arrivals");
    Err(Problem::at(["populations", name, "arrivals"], message)
        .also(["populations", name, "load"])
        .fix("write `\"poisson\"` or `\"packmime\"`, without a rate"))
}

/// The number of segments without data that a load counts for one end of a connection. The first
/// segment is in the handshake, the second segment acknowledges the other end's data, and the third
/// segment ends the connection.
const BARE_SEGMENTS: f64 = 3.0;

/// The rate of arrivals, in connections per second, that `load` requires. At this rate, the
/// connections use on average the given share of the link's rate. The load consists of the payload,
/// a header for each segment, and the segments without data. Retransmissions are not counted.
fn rate_of_load(
    name: &str,
    load: &LoadSpec,
    drawn: &ConnectionDistributions,
    ((from, to), [smss, header]): ((u32, u32), [u16; 2]),
    net: &Reach<'_>,
) -> Result<f64, Problem> {
    let at = |key: &str, message: String| Problem::at(["populations", name, key], message);
    let mean = |key: &str, of: &Distribution| {
        of.mean().ok_or_else(|| {
            at(key, "this distribution has no mean, so no `load` can be computed".to_owned())
                .also(["populations", name, "load"])
                .fix("write a distribution with a mean, or `arrivals` with a rate in place of `load`")
        })
    };
    let requests = mean("requests", &drawn.requests)?;
    let forward = mean("send", &drawn.send)?;
    let reverse = drawn.reply.as_ref().map_or(Ok(0.0), |of| mean("reply", of))?;
    let ends = if forward > reverse { (from, to) } else { (to, from) };
    // The last segment of each message is half full on average.
    let payload = forward.max(reverse);
    let segments = payload / f64::from(smss) + 0.5;
    let octets =
        requests * (payload + segments * f64::from(header)) + BARE_SEGMENTS * f64::from(header);
    let path = net.routes.path(net.graph, ends.0, ends.1).unwrap_or_default();
    let crossed = path.iter().map(|link| &net.links[*link as usize].link);
    let Some(link) = crossed.into_iter().find(|link| link.name == load.link) else {
        let mut problem =
            at("load", format!("the connections do not cross a link `{}`", load.link));
        problem.path.push("link".to_owned());
        let names: Vec<&str> = path.iter().map(|l| &*net.links[*l as usize].link.name).collect();
        return Err(problem.fix(format!("they cross {}", names.join(", "))));
    };
    let bits = match &link.config.rate {
        Rate::Constant(rate) => rate.bits_per_second(),
        _ => None,
    };
    let Some(bits) = bits else {
        let message = format!("link `{}` has no constant rate for a `load`", load.link);
        return Err(at("load", message).fix("write `arrivals` with a rate in place of `load`"));
    };
    #[expect(clippy::cast_precision_loss, reason = "rates stay below 2^53")]
    let rate = load.share.0 * bits as f64 / (8.0 * octets);
    Ok(rate)
}
