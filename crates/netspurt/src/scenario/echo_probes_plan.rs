//! Makes the plans of probers from the echo probes of a scenario.

use crate::app::EchoProbePlan;
use crate::rng::Stream;
use crate::units::{ByteCount, Time};

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
        return Err(problem("timeout", "a give-up time of zero".into()).fix("above zero"));
    }
    if table.start >= spec.stop {
        return Err(problem("start", format!("`{name}` start when the run has ended"))
            .also(["stop"])
            .fix(format!("before the `stop` of {}", spec.stop)));
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
            return Err(problem("`lengths` is empty".into()).fix("at least one, as in [\"64 B\"]"));
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
        return Err(problem("a range without lengths".into())
            .fix("`from` at most `to`, and a `step` above zero"));
    }
    let step = usize::try_from(step.0).unwrap_or(usize::MAX);
    let all: Vec<u16> = (from..=to).step_by(step).collect();
    if rule == LengthRule::InTurn {
        return Ok(all);
    }
    let mut stream = Stream::named(seed, &format!("volleys.{name}/lengths"));
    Ok((0..table.count.small()).map(|_| all[draw(&mut stream, all.len())]).collect())
}

/// Draws one of `count` indexes. All are equally likely to within 2⁻⁴⁸.
fn draw(stream: &mut Stream, count: usize) -> usize {
    let place = (u128::from(stream.bits()) * count as u128) >> 64;
    usize::try_from(place).unwrap_or(0)
}

/// Checks a length; `step` is its place below `lengths` in the file.
fn length(name: &str, step: &str, size: ByteCount) -> Result<u16, Problem> {
    u16::try_from(size.0).ok().filter(|bytes| *bytes >= EchoProbePlan::HEADER_BYTES).ok_or_else(
        || {
            Problem::at(
                ["echo_probes", name, "lengths", step],
                format!("no request is {size} long"),
            )
            .fix("28 B to 65535 B: 28 B of headers, and what is echoed")
        },
    )
}
