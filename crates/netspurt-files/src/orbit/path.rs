//! A one-way path over stations: its length, and whether the Earth blocks it.
//!
//! A leg of the path is the straight line from one station to the next.

use super::{EARTH_KM, OrbitError, Station, Utc, Vector};

/// The speed of light [km/s].
const LIGHT_KM_S: f64 = 299_792.458;

/// A one-way path: stations in the order in which a signal visits them.
///
/// The positions of all stations are computed for the same instant, although a signal travels for
/// about 0.1 s. In this time, a low satellite moves by less than a kilometre, so the error is below
/// 3 µs.
#[derive(Clone, Debug)]
pub struct OrbitPath {
    stations: Vec<Station>,
    /// The radius [km] of the sphere that blocks legs between stations in space.
    blocking_km: f64,
}

/// The state of a path at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathState {
    /// The sum of the lengths of the legs [km].
    pub km: f64,
    /// The least clearance of a leg; below zero if a leg is blocked. For a leg to a site, the
    /// clearance is the elevation of the other station minus the site's least elevation [rad]. For
    /// a leg between stations in space, the clearance is the least height of the line over the
    /// blocking sphere, as a share of that sphere's radius.
    pub clearance: f64,
}

impl PathState {
    /// Whether every leg has line of sight.
    pub fn clear(self) -> bool {
        self.clearance >= 0.0
    }

    /// The delay of a signal on the path [s].
    pub fn seconds(self) -> f64 {
        self.km / LIGHT_KM_S
    }
}

impl OrbitPath {
    /// Makes a path through `stations`. A leg between two stations in space is blocked by a sphere
    /// with a radius of 6378.137 km and an atmosphere of `margin_km` around it. A leg to a site is
    /// blocked below the least elevation of that site.
    ///
    /// # Errors
    /// When there are fewer than two stations, two sites follow each other, a station comes twice
    /// in a row, or a number is out of its range.
    pub fn new(stations: Vec<Station>, margin_km: f64) -> Result<Self, OrbitError> {
        if stations.len() < 2 {
            let fix = "write two or more stations, such as a site and a satellite";
            return Err(OrbitError::new("a path needs two stations", fix));
        }
        if !(0.0..=1000.0).contains(&margin_km) {
            let message = format!("the atmosphere's height of {margin_km} km is out of range");
            return Err(OrbitError::new(message, "write a height from 0 to 1000 km"));
        }
        if stations.windows(2).any(|leg| leg[0].is_ground() && leg[1].is_ground()) {
            let fix = "put a relay or a satellite between them";
            return Err(OrbitError::new("two sites on the ground follow each other", fix));
        }
        if let Some(leg) = stations.windows(2).find(|leg| leg[0].is_same(&leg[1])) {
            let message = format!(
                "{} comes twice in a row, but a leg must join two different stations",
                leg[0].name()
            );
            return Err(OrbitError::new(message, "name another station before or after it"));
        }
        for station in &stations {
            check_ranges(station)?;
        }
        Ok(Self { stations, blocking_km: EARTH_KM + margin_km })
    }

    /// Returns the state of the path at an instant.
    ///
    /// # Errors
    /// When a satellite has decayed before that instant.
    pub fn at(&self, at: Utc) -> Result<PathState, OrbitError> {
        let mut state = PathState { km: 0.0, clearance: f64::INFINITY };
        let mut before: Option<(&Station, Vector)> = None;
        for station in &self.stations {
            let here = station.position(at)?;
            if let Some((last, there)) = before {
                let clearance = match (last, station) {
                    (Station::Site(site), _) => site.clearance(at, here),
                    (_, Station::Site(site)) => site.clearance(at, there),
                    _ => nearest_to_centre(there, here) / self.blocking_km - 1.0,
                };
                state.km += (here - there).length();
                state.clearance = state.clearance.min(clearance);
            }
            before = Some((station, here));
        }
        Ok(state)
    }

    /// Returns warnings about results between the instants `from` and `to`. There is a warning for
    /// each satellite whose orbital elements have an epoch too far from this span, and for each
    /// satellite whose orbit is too low to last.
    pub fn notes(&self, from: Utc, to: Utc) -> Vec<String> {
        let satellites = self.stations.iter().map(|station| match station {
            Station::Satellite(satellite) => satellite.notes(from, to),
            _ => Vec::new(),
        });
        satellites.flatten().collect()
    }

    /// Returns the names of the stations, in order.
    pub fn names(&self) -> Vec<String> {
        self.stations.iter().map(Station::name).collect()
    }
}

/// Returns the least distance between the Earth's centre and the straight line from `a` to `b`
/// [km].
fn nearest_to_centre(a: Vector, b: Vector) -> f64 {
    let along = b - a;
    let share = (-a.dot(along) / along.dot(along)).clamp(0.0, 1.0);
    // Two stations at one place have no line between them.
    let share = if share.is_nan() { 0.0 } else { share };
    (a + along * share).length()
}

fn check_ranges(station: &Station) -> Result<(), OrbitError> {
    let ranges: &[(f64, &str, f64, f64)] = match station {
        Station::Site(site) => &[
            (site.latitude, "the latitude", -90.0, 90.0),
            (site.longitude, "the longitude", -360.0, 360.0),
            (site.height, "the height in metres", -500.0, 20_000.0),
            (site.elevation, "the least elevation", 0.0, 90.0),
        ],
        Station::Relay(relay) => &[
            (relay.longitude, "the longitude", -360.0, 360.0),
            (relay.inclination, "the inclination", 0.0, 180.0),
            (relay.node, "the ascending node", -360.0, 360.0),
        ],
        Station::Satellite(_) => &[],
    };
    let wrong = ranges.iter().find(|(value, _, least, most)| !(*least..=*most).contains(value));
    wrong.map_or(Ok(()), |(value, what, least, most)| {
        let message = format!("{what} of {} is {value}", station.name());
        Err(OrbitError::new(message, format!("write a number from {least} to {most}")))
    })
}
