//! A one-way path of several legs, and whether the Earth is in the way.

use super::{EARTH_KM, OrbitError, Station, Utc, Vector};

/// The speed of light [km/s].
const LIGHT_KM_S: f64 = 299_792.458;

/// Stations in the order in which a signal visits them.
///
/// All stations are taken where they are at one instant: in the 0.1 s of a signal's travel a low
/// satellite moves by less than a kilometre, which is 3 µs.
#[derive(Clone, Debug)]
pub struct OrbitPath {
    stations: Vec<Station>,
    /// The radius [km] of the sphere that blocks legs between stations in space.
    blocking_km: f64,
}

/// A path at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathState {
    /// The sum of its legs [km].
    pub km: f64,
    /// By how much its worst leg clears the Earth, as a share of the Earth's radius, or the horizon
    /// of a site [rad]; below zero if the leg is blocked.
    pub clearance: f64,
}

impl PathState {
    /// Whether every leg has line of sight.
    pub fn clear(self) -> bool {
        self.clearance >= 0.0
    }

    /// The time that a signal needs [s].
    pub fn seconds(self) -> f64 {
        self.km / LIGHT_KM_S
    }
}

impl OrbitPath {
    /// A path through `stations`. Legs between two stations in space are blocked by a sphere of
    /// 6378.137 km and an atmosphere of `margin_km`; legs to a site by its least elevation alone.
    ///
    /// # Errors
    /// When there are fewer than two stations, two sites follow each other, a station follows
    /// itself, a number is out of its range, or the margin reaches a relay.
    pub fn new(stations: Vec<Station>, margin_km: f64) -> Result<Self, OrbitError> {
        if stations.len() < 2 {
            return Err(OrbitError::new("a path needs two stations", "a site, and a satellite"));
        }
        if !(0.0..=1000.0).contains(&margin_km) {
            let message = format!("an atmosphere of {margin_km} km blocks no sight of this kind");
            return Err(OrbitError::new(message, "from 0 to 1000 km"));
        }
        if stations.windows(2).any(|leg| leg[0].is_ground() && leg[1].is_ground()) {
            let fix = "put a relay or a satellite between them";
            return Err(OrbitError::new("two sites on the ground follow each other", fix));
        }
        if let Some(leg) = stations.windows(2).find(|leg| leg[0].is_same(&leg[1])) {
            let message = format!("{} follows itself, and no signal travels", leg[0].name());
            return Err(OrbitError::new(message, "name another station before or behind it"));
        }
        for station in &stations {
            check_ranges(station)?;
        }
        Ok(Self { stations, blocking_km: EARTH_KM + margin_km })
    }

    /// Its length, and whether it has line of sight.
    ///
    /// # Errors
    /// When a satellite has decayed by then.
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

    /// What to know about results in a span: satellites whose elements are far from it,
    /// and those that cannot last so low.
    pub fn notes(&self, from: Utc, to: Utc) -> Vec<String> {
        let satellites = self.stations.iter().map(|station| match station {
            Station::Satellite(satellite) => satellite.notes(from, to),
            _ => Vec::new(),
        });
        satellites.flatten().collect()
    }

    /// Its stations' names, in order.
    pub fn names(&self) -> Vec<String> {
        self.stations.iter().map(Station::name).collect()
    }
}

/// How near the straight line between two positions comes to the Earth's centre [km].
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
        Err(OrbitError::new(message, format!("from {least} to {most}")))
    })
}
