//! Computes the positions of satellites, the times in which a path over satellites has line of
//! sight, and the length of this path.
//!
//! The elements of an orbit come from a text ([`read_elements`]), or from apogee, perigee and
//! inclination ([`Heights`]). SGP4 computes positions from these elements (the crate `sgp4`; Hoots
//! and Roehrich 1980, Vallado et al. 2006). All positions are in the same frame: true equator and
//! mean equinox of date. A sphere blocks the sight between stations in space; its radius is
//! 6378.137 km plus a margin for the atmosphere. Sites are on the ellipsoid WGS-84. The computation
//! leaves out refraction, polar motion, the difference of UTC and UT1, and the motion of stations
//! while a signal travels. Before a simulation begins, the results become a link's timeline: a list
//! of delays, each with the time at which it begins. The simulator does not use this module.

mod delays;
mod elements;
mod error;
mod omm;
mod passes;
mod path;
mod read;
mod satellite;
mod station;
#[cfg(test)]
mod tests;
mod text;
mod tle;
mod utc;
mod vector;

pub use delays::{PathDelay, path_delays};
pub use elements::{Elements, Heights};
pub use error::OrbitError;
pub use omm::read_omm;
pub use passes::{Pass, Search};
pub use path::{OrbitPath, PathState};
pub use read::read_elements;
pub use satellite::Satellite;
pub use station::{GeoRelay, GroundSite, Station};
pub use tle::read_tle;
pub use utc::Utc;
pub use vector::{EARTH_KM, Vector};
