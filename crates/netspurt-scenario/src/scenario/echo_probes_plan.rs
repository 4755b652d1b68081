//! Plans the series of echo probes of a scenario. An echo probe is a request to an echo host.

use netspurt::app::EchoProbePlan;
use netspurt::rng::Stream;
use netspurt::units::{ByteCount, Time};

use super::echo_probes_spec::{EchoProbesSpec, LengthRange, LengthRule};
use super::error::Problem;
use super::quantity::ListOr;
use super::spec::Spec;
use super::tree::entry;

/// The plan of the series of echo probes called `name`.
pub(super) fn echo_probes(
    name: &str,
    table: &EchoProbesSpec,
    spec: &Spec,
) -> Result<EchoProbePlan, Problem> {
    let problem = |key: &str, message: String| Problem::at(["echo_probes", name, key], message);
    if table.timeout.is_zero() {
        return Err(
            problem("timeout", "`timeout` cannot be zero".into()).fix("write a value above zero")
        );
    }
    if table.start >= spec.stop {
        return Err(problem(
            "start",
            format!("`{name}` would not start before the end of the run"),
        )
        .also(["stop"])
        .fix(format!("write a start before the `stop` of {}", spec.stop)));
    }
    Ok(EchoProbePlan {
        start: Time::ZERO + table.start,
        sizes_bytes: lengths(name, table, spec.seed.0)?,
        count: table.count.small(),
        timeout: table.timeout,
        pause: table.gap,
    })
}

fn lengths(name: &str, table: &EchoProbesSpec, seed: u64) -> Result<Vec<u16>, Problem> {
    let problem = |message: String| Problem::at(["echo_probes", name, "lengths"], message);
    let range = match &table.lengths {
        ListOr::List(sizes) if sizes.is_empty() => {
            return Err(problem("`lengths` is empty".into())
                .fix("write at least one length, as in [\"64 B\"]"));
        }
        ListOr::List(sizes) => {
            let each = sizes.iter().enumerate();
            return each.map(|(n, size)| length(name, &entry(n), *size)).collect();
        }
        ListOr::Table(range) => range,
    };
    let LengthRange { from, to, step, rule } = *range;
    let (from, to) = (length(name, "from", from)?, length(name, "to", to)?);
    if from > to || step.0 == 0 {
        let mistake = if from > to { "`from` is above `to`" } else { "`step` is zero" };
        return Err(problem(mistake.into())
            .fix("write a `from` that is not above `to`, and a `step` above zero"));
    }
    let step = usize::try_from(step.0).unwrap_or(usize::MAX);
    let all: Vec<u16> = (from..=to).step_by(step).collect();
    if rule == LengthRule::InTurn {
        return Ok(all);
    }
    // The name of the random stream contains a former word for echo probes. The name must stay,
    // because a stream with another name would draw other lengths from the same seed.
    let mut stream = Stream::named(seed, &format!("volleys.{name}/lengths"));
    Ok((0..table.count.small()).map(|_| all[draw(&mut stream, all.len())]).collect())
}

/// Draws one of `count` indexes. The probability of each index differs from 1/`count` by less than
/// 2⁻⁶⁴.
fn draw(stream: &mut Stream, count: usize) -> usize {
    let place = (u128::from(stream.bits()) * count as u128) >> 64;
    usize::try_from(place).unwrap_or(0)
}

/// Checks the length `size` and returns it as a number of octets. `step` is the key or the index of
/// this length below `lengths`, for the error message.
fn length(name: &str, step: &str, size: ByteCount) -> Result<u16, Problem> {
    u16::try_from(size.0).ok().filter(|bytes| *bytes >= EchoProbePlan::HEADER_BYTES).ok_or_else(
        || {
            Problem::at(
                ["echo_probes", name, "lengths", step],
                format!("a request cannot be {size} long"),
            )
            .fix("write 28 B to 65535 B: the headers have 28 B")
        },
    )
}
