//! Paths over satellites, for Python: when a path has line of sight, and how its delay changes. A
//! leg of a path is the straight line from one station to the next. A pass is a span of time in
//! which all legs of the path have line of sight.

use netspurt_files::orbit::{
    OrbitPath, Satellite, Search, Station, Utc, Vector, path_delays, read_elements,
};
use pyo3::prelude::*;

use crate::array::collected;
use crate::errors::{OrbitError, orbit_error};

/// Adds the classes and functions of this file to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("OrbitError", module.py().get_type::<OrbitError>())?;
    module.add_class::<PyStation>()?;
    module.add_class::<PyOrbitPath>()?;
    module.add_function(wrap_pyfunction!(orbit_satellites, module)?)?;
    module.add_function(wrap_pyfunction!(orbit_station, module)?)?;
    module.add_function(wrap_pyfunction!(utc, module)?)?;
    module.add_function(wrap_pyfunction!(utc_text, module)?)
}

/// A ground site, a relay or a satellite.
#[pyclass(name = "OrbitStation", module = "netspurt._core", frozen)]
pub struct PyStation(Station);

#[pymethods]
impl PyStation {
    #[getter]
    fn name(&self) -> String {
        self.0.name()
    }

    #[getter]
    fn is_ground(&self) -> bool {
        self.0.is_ground()
    }

    /// The catalogue number of a satellite, as it was written.
    #[getter]
    fn catalogue(&self) -> Option<&str> {
        self.satellite().map(|satellite| satellite.elements().catalogue.as_str())
    }

    /// The epoch of a satellite's elements, in nanoseconds since 1970.
    #[getter]
    fn epoch_ns(&self) -> Option<i64> {
        self.satellite().map(|satellite| satellite.elements().epoch.as_nanos())
    }

    /// The greatest and the least height of a satellite above the radius of the equator, in
    /// kilometres.
    #[getter]
    fn heights(&self) -> Option<(f64, f64)> {
        self.satellite().map(|satellite| satellite.elements().heights())
    }

    /// The position at an instant, in kilometres; `at_ns` is nanoseconds since 1970.
    fn position(&self, py: Python<'_>, at_ns: i64) -> PyResult<(f64, f64, f64)> {
        let found = self.0.position(Utc::from_nanos(at_ns));
        found.map(|Vector(parts)| parts.into()).map_err(|error| orbit_error(py, &error))
    }
}

impl PyStation {
    fn satellite(&self) -> Option<&Satellite> {
        match &self.0 {
            Station::Satellite(satellite) => Some(satellite),
            Station::Site(_) | Station::Relay(_) => None,
        }
    }
}

/// Reads the satellites of a text with element sets.
#[pyfunction]
fn orbit_satellites(py: Python<'_>, text: &str, file: &str) -> PyResult<Vec<PyStation>> {
    let sets = read_elements(text, file).map_err(|error| orbit_error(py, &error))?;
    let station = |elements| Satellite::new(elements).map(Box::new).map(Station::Satellite);
    let made = sets.into_iter().map(|set| station(set).map(PyStation));
    made.collect::<Result<_, _>>().map_err(|error| orbit_error(py, &error))
}

/// Reads the station that a text describes; `None` if the text is the name of a file. `elevation`
/// is the minimum elevation of a site in degrees.
#[pyfunction]
fn orbit_station(py: Python<'_>, text: &str, elevation: f64) -> PyResult<Option<PyStation>> {
    let found = Station::of_text(text, elevation).map_err(|error| orbit_error(py, &error))?;
    Ok(found.map(PyStation))
}

/// Reads an instant of UTC; returns nanoseconds since 1970.
#[pyfunction]
fn utc(py: Python<'_>, text: &str) -> PyResult<i64> {
    text.parse::<Utc>().map(Utc::as_nanos).map_err(|error| orbit_error(py, &error))
}

/// Writes nanoseconds since 1970 as an instant of UTC.
#[pyfunction]
fn utc_text(ns: i64) -> String {
    Utc::from_nanos(ns).to_string()
}

/// A pass as a tuple. The first two values are the instants at which the pass begins (rise) and
/// ends (set) [ns since 1970]. Then come two truth values: whether the search began after the rise,
/// and whether the search ended before the set. The last values are the minimum and maximum length
/// [km], and the minimum and maximum delay [s].
type PassParts = (i64, i64, (bool, bool), (f64, f64), (f64, f64));

/// Arrays of instants, lengths and delays.
type PointColumns<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// A path over several stations.
#[pyclass(name = "OrbitPath", module = "netspurt._core", frozen)]
pub struct PyOrbitPath(OrbitPath);

#[pymethods]
impl PyOrbitPath {
    /// Makes a path over `stations`. `margin_km` is the height of the atmosphere. The atmosphere
    /// blocks legs between stations in space that pass through it.
    #[new]
    fn new(py: Python<'_>, stations: Vec<PyRef<'_, PyStation>>, margin_km: f64) -> PyResult<Self> {
        let stations = stations.iter().map(|station| station.0.clone()).collect();
        OrbitPath::new(stations, margin_km).map(Self).map_err(|error| orbit_error(py, &error))
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.names()
    }

    /// Warnings about results for the time between two instants [ns since 1970].
    fn notes(&self, from_ns: i64, to_ns: i64) -> Vec<String> {
        self.0.notes(Utc::from_nanos(from_ns), Utc::from_nanos(to_ns))
    }

    /// The passes between two instants [ns since 1970]. `step_ns` is the step of the search.
    fn passes(
        &self,
        py: Python<'_>,
        from_ns: i64,
        to_ns: i64,
        step_ns: i64,
    ) -> PyResult<Vec<PassParts>> {
        let (from, to) = (Utc::from_nanos(from_ns), Utc::from_nanos(to_ns));
        let search = Search { from, to, step: step_ns };
        let found =
            py.detach(|| search.passes(&self.0)).map_err(|error| orbit_error(py, &error))?;
        let parts = found.into_iter().map(|pass| {
            let (cut, km, delays) = (pass.cut.into(), pass.km.into(), pass.delays().into());
            (pass.rise.as_nanos(), pass.set.as_nanos(), cut, km, delays)
        });
        Ok(parts.collect())
    }

    /// The lengths and delays of the path every `step_ns` from `from_ns` to `to_ns`, as arrays:
    /// instants [ns since 1970], lengths [km] and delays [ns].
    fn delays<'py>(
        &self,
        py: Python<'py>,
        from_ns: i64,
        to_ns: i64,
        step_ns: i64,
    ) -> PyResult<PointColumns<'py>> {
        let (from, to) = (Utc::from_nanos(from_ns), Utc::from_nanos(to_ns));
        let found = py.detach(|| path_delays(&self.0, from, to, step_ns));
        let found = found.map_err(|error| orbit_error(py, &error))?;
        Ok((
            collected(py, found.iter().map(|point| point.at.as_nanos()))?,
            collected(py, found.iter().map(|point| point.km))?,
            collected(py, found.iter().map(|point| point.delay.as_nanos()))?,
        ))
    }
}
