//! Stations: what a path connects. Ground sites, geostationary relays and satellites.

use super::{EARTH_KM, OrbitError, Satellite, Utc, Vector};

/// The flattening of the ellipsoid WGS-84.
const FLATTENING: f64 = 1.0 / 298.257_223_563;
/// The radius of the orbit in which a satellite turns once a sidereal day [km].
const SYNCHRONOUS_KM: f64 = 42_164.17;

/// A place on the ground, on the ellipsoid WGS-84.
#[derive(Clone, Debug, PartialEq)]
pub struct GroundSite {
    /// Geodetic latitude [°], north positive.
    pub latitude: f64,
    /// Longitude [°], east positive.
    pub longitude: f64,
    /// The height over the ellipsoid [m].
    pub height: f64,
    /// The least elevation over its horizon at which it sees [°].
    pub elevation: f64,
}

impl GroundSite {
    /// Its position.
    pub fn position(&self, at: Utc) -> Vector {
        let (sin, cos) = libm::sincos(self.latitude.to_radians());
        let squeezed = (1.0 - FLATTENING) * (1.0 - FLATTENING);
        let normal = EARTH_KM / (cos * cos + squeezed * sin * sin).sqrt();
        let height = self.height / 1000.0;
        let from_axis = (normal + height) * cos;
        Vector([from_axis, 0.0, (squeezed * normal + height) * sin]).turned(self.angle(at))
    }

    /// The direction of its zenith.
    fn zenith(&self, at: Utc) -> Vector {
        let (sin, cos) = libm::sincos(self.latitude.to_radians());
        Vector([cos, 0.0, sin]).turned(self.angle(at))
    }

    /// The elevation [rad] of a position over its least elevation, geometrically: refraction is
    /// left out.
    pub(super) fn clearance(&self, at: Utc, seen: Vector) -> f64 {
        let towards = seen - self.position(at);
        let sin = self.zenith(at).dot(towards) / towards.length();
        libm::asin(sin.clamp(-1.0, 1.0)) - self.elevation.to_radians()
    }

    fn angle(&self, at: Utc) -> f64 {
        at.sidereal_angle() + self.longitude.to_radians()
    }
}

/// A relay in the circular synchronous orbit. Without inclination it stands still over a place on
/// the equator. With it, the relay moves north and south once a day; its mean longitude stands.
#[derive(Clone, Debug, PartialEq)]
pub struct GeoRelay {
    /// The mean longitude [°], east positive.
    pub longitude: f64,
    /// The angle between the equator and the plane of the orbit [°].
    pub inclination: f64,
    /// The right ascension of the ascending node [°].
    pub node: f64,
}

impl GeoRelay {
    /// Its position.
    pub fn position(&self, at: Utc) -> Vector {
        let node = self.node.to_radians();
        // The angle along the orbit from the ascending node.
        let along = at.sidereal_angle() + self.longitude.to_radians() - node;
        let (sin, cos) = libm::sincos(along);
        let (sin_tilt, cos_tilt) = libm::sincos(self.inclination.to_radians());
        Vector([cos, sin * cos_tilt, sin * sin_tilt]).turned(node) * SYNCHRONOUS_KM
    }
}

/// What a path connects.
///
/// ```
/// use netspurt::orbit::{GeoRelay, GroundSite, Station};
/// let site = GroundSite { latitude: 0.0, longitude: 10.0, height: 0.0, elevation: 5.0 };
/// let relay = GeoRelay { longitude: 10.0, inclination: 0.0, node: 0.0 };
/// let at = "2026-01-01".parse().unwrap();
/// let apart = relay.position(at) - site.position(at);
/// assert!((apart.length() - 35_786.03).abs() < 0.01);
/// assert!(Station::Site(site).is_ground());
/// ```
#[derive(Clone, Debug)]
pub enum Station {
    /// A place on the ground.
    Site(GroundSite),
    /// A relay in the synchronous orbit.
    Relay(GeoRelay),
    /// A satellite with elements.
    Satellite(Box<Satellite>),
}

impl Station {
    /// Whether it is on the ground.
    pub fn is_ground(&self) -> bool {
        matches!(self, Station::Site(_))
    }

    /// Whether another is the same relay, or the same satellite, be it with other elements.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Station::Relay(one), Station::Relay(other)) => one == other,
            (Station::Satellite(one), Station::Satellite(other)) => {
                let (one, other) = (one.elements(), other.elements());
                one == other || !one.catalogue.is_empty() && one.catalogue == other.catalogue
            }
            _ => false,
        }
    }

    /// Its position.
    ///
    /// # Errors
    /// When a satellite has decayed by then.
    pub fn position(&self, at: Utc) -> Result<Vector, OrbitError> {
        match self {
            Station::Site(site) => Ok(site.position(at)),
            Station::Relay(relay) => Ok(relay.position(at)),
            Station::Satellite(satellite) => satellite.position(at),
        }
    }

    /// Its name for people.
    pub fn name(&self) -> String {
        match self {
            Station::Site(site) => format!("{},{}", site.latitude, site.longitude),
            Station::Relay(relay) => format!("geo:{}", relay.longitude),
            Station::Satellite(satellite) => satellite.elements().name.clone(),
        }
    }
}
