//! The stations that a path connects: ground sites, geostationary relays and satellites.

use super::{EARTH_KM, OrbitError, Satellite, Utc, Vector};

/// The flattening of the ellipsoid WGS-84.
const FLATTENING: f64 = 1.0 / 298.257_223_563;
/// The radius of the orbit in which one revolution takes a sidereal day [km].
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
    /// The least elevation over the horizon at which the site has line of sight [°].
    pub elevation: f64,
}

impl GroundSite {
    /// Returns the position of the site at an instant.
    pub fn position(&self, at: Utc) -> Vector {
        let (sin, cos) = libm::sincos(self.latitude.to_radians());
        // The square of the ratio of the axes of the ellipsoid.
        let squared_ratio = (1.0 - FLATTENING) * (1.0 - FLATTENING);
        let normal = EARTH_KM / (cos * cos + squared_ratio * sin * sin).sqrt();
        let height = self.height / 1000.0;
        let from_axis = (normal + height) * cos;
        Vector([from_axis, 0.0, (squared_ratio * normal + height) * sin]).turned(self.angle(at))
    }

    /// Returns the direction of the site's zenith.
    fn zenith(&self, at: Utc) -> Vector {
        let (sin, cos) = libm::sincos(self.latitude.to_radians());
        Vector([cos, 0.0, sin]).turned(self.angle(at))
    }

    /// Returns the elevation of the position `target` minus the site's least elevation [rad].
    /// Refraction is left out.
    pub(super) fn clearance(&self, at: Utc, target: Vector) -> f64 {
        let towards = target - self.position(at);
        let sin = self.zenith(at).dot(towards) / towards.length();
        libm::asin(sin.clamp(-1.0, 1.0)) - self.elevation.to_radians()
    }

    fn angle(&self, at: Utc) -> f64 {
        at.sidereal_angle() + self.longitude.to_radians()
    }
}

/// A relay in the circular synchronous orbit. If the inclination is zero, the relay stays over one
/// place on the equator. Otherwise it moves north and south once a day, and its mean longitude does
/// not change.
#[derive(Clone, Debug, PartialEq)]
pub struct GeoRelay {
    /// The mean longitude [°], east positive.
    pub longitude: f64,
    /// The angle between the equator and the plane of the orbit [°].
    pub inclination: f64,
    /// The right ascension of the ascending node [°]. It has no effect if the inclination is zero.
    pub node: f64,
}

impl GeoRelay {
    /// Returns the position of the relay at an instant.
    pub fn position(&self, at: Utc) -> Vector {
        let node = self.node.to_radians();
        // The angle along the orbit from the ascending node.
        let along = at.sidereal_angle() + self.longitude.to_radians() - node;
        let (sin, cos) = libm::sincos(along);
        let (sin_tilt, cos_tilt) = libm::sincos(self.inclination.to_radians());
        Vector([cos, sin * cos_tilt, sin * sin_tilt]).turned(node) * SYNCHRONOUS_KM
    }
}

/// A station of a path.
///
/// ```
/// use netspurt_files::orbit::{GeoRelay, GroundSite, Station};
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
    /// A satellite that moves by its elements.
    Satellite(Box<Satellite>),
}

impl Station {
    /// Whether the station is on the ground.
    pub fn is_ground(&self) -> bool {
        matches!(self, Station::Site(_))
    }

    /// Whether the station `other` is the same relay or the same satellite as this station. Two
    /// element sets with the same catalogue number are the same satellite.
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

    /// Returns the position of the station at an instant.
    ///
    /// # Errors
    /// When the station is a satellite that has decayed before that instant.
    pub fn position(&self, at: Utc) -> Result<Vector, OrbitError> {
        match self {
            Station::Site(site) => Ok(site.position(at)),
            Station::Relay(relay) => Ok(relay.position(at)),
            Station::Satellite(satellite) => satellite.position(at),
        }
    }

    /// Returns a name of the station for messages.
    pub fn name(&self) -> String {
        match self {
            Station::Site(site) => format!("{},{}", site.latitude, site.longitude),
            Station::Relay(relay) => format!("geo:{}", relay.longitude),
            Station::Satellite(satellite) => satellite.elements().name.clone(),
        }
    }
}
