//! Surrogate recordings for Python: invented recordings of delays whose statistics equal a row of a
//! printed table.

use std::sync::Arc;

use netspurt::surrogate::{DelayByLength, Lengths, Losses, Row, Structure};
use netspurt::units::Duration;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::delays::PyDelays;

/// Makes a recording that has the statistics of a row in a printed table. `mean_ns` is the mean
/// delay, and `cov` is the standard deviation of the delays divided by their mean. `lengths` is a
/// rule for the lengths of the probes, and the numbers of the rule (see `lengths_of`). `line` has
/// pairs: a length in octets, and the delay in nanoseconds of a probe with this length. `burst` is
/// the number of consecutive losses. If `burst` is 0 or 1, losses are independent. `glitches` is
/// the number of series of long delays that are added. This number has an effect only if
/// `structure` is `glitches`.
#[pyfunction]
#[pyo3(signature = (structure, seed, *, name, probes, mean_ns, cov, lost, burst, lengths, line, glitches))]
#[expect(clippy::too_many_arguments, reason = "one keyword for each field of a row")]
pub fn surrogate(
    py: Python<'_>,
    structure: &str,
    seed: u64,
    name: String,
    probes: u32,
    mean_ns: u64,
    cov: f64,
    lost: u32,
    burst: u32,
    lengths: (String, Vec<u32>),
    line: Vec<(u32, u64)>,
    glitches: u32,
) -> PyResult<PyDelays> {
    let Some(structure) = Structure::named(structure) else {
        let names = Structure::ALL.map(Structure::name).join(", ");
        let message = format!("no structure is called {structure:?}; the structures are {names}");
        return Err(refused(message));
    };
    let points: Vec<_> = line.iter().map(|&(at, ns)| (at, Duration::from_nanos(ns))).collect();
    let row = Row {
        name,
        probes,
        mean: Duration::from_nanos(mean_ns),
        cov,
        lost,
        losses: if burst > 1 { Losses::Bursts(burst) } else { Losses::Independent },
        lengths: lengths_of(&lengths.0, &lengths.1)?,
        line: DelayByLength::through(&points),
        glitches,
        ..Row::default()
    };
    let made = py.detach(|| row.surrogate(structure, seed)).map_err(refused)?;
    Ok(PyDelays(Arc::new(made)))
}

fn refused(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Returns the rule of lengths with this name and these numbers. `same` has one number: the length
/// of all probes. `uniform` has two numbers: each length is drawn between them. `clamped` also has
/// two numbers: each length is drawn from 0 to the second number, and a length below the first
/// number is replaced by the first number. `runs` has four numbers, for two series of probes that
/// alternate: for each series, the length and the number of its probes.
fn lengths_of(rule: &str, numbers: &[u32]) -> PyResult<Lengths> {
    match (rule, numbers) {
        ("same", &[octets]) => Ok(Lengths::Same(octets)),
        ("clamped", &[lowest, highest]) => Ok(Lengths::Clamped { lowest, highest }),
        ("uniform", &[lowest, highest]) => Ok(Lengths::Uniform { lowest, highest }),
        ("runs", &[a, n, b, m]) => Ok(Lengths::Runs { first: (a, n), then: (b, m) }),
        _ => Err(refused(format!(
            "the rule `{rule}` of lengths cannot have the numbers {numbers:?}"
        ))),
    }
}
