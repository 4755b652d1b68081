//! The mean elements of an orbit: the numbers from which SGP4, the standard algorithm, computes the
//! positions of a satellite.

use super::{EARTH_KM, OrbitError, Utc};

/// The Earth's gravitational parameter [km³/s²] in WGS-72, which SGP4 uses.
const PULL: f64 = 398_600.8;

/// The least perigee that is accepted [km]. With a lower perigee, a satellite is highly unlikely to
/// complete its next orbit (McDowell 2018, Acta Astronautica 151, 668-677, section 6). SGP4 is
/// verified with published element sets (Vallado et al. 2006). The lowest perigee in these sets
/// that is outside the Earth is 80.5 km (set 22312).
const LOWEST_PERIGEE_KM: f64 = 80.0;
/// The least height at which a nearly circular orbit lasts [km] (McDowell 2018, section 6).
pub(super) const LOWEST_CIRCLE_KM: f64 = 125.0;
/// The greatest apogee that is accepted [km]. Beyond it, the Sun pulls a satellite out of its orbit
/// around the Earth (Hill sphere).
const HIGHEST_KM: f64 = 1.5e6;

/// The mean elements of an orbit, as SGP4 takes them.
#[derive(Clone, Debug, PartialEq)]
pub struct Elements {
    /// The satellite's name, or its catalogue number if the satellite has no name.
    pub name: String,
    /// The satellite's catalogue number as it was written; empty if there is none.
    pub catalogue: String,
    /// The instant for which the elements are given.
    pub epoch: Utc,
    /// The angle between the equator and the plane of the orbit [°].
    pub inclination: f64,
    /// The right ascension of the ascending node [°].
    pub node: f64,
    /// The eccentricity, from 0 to below 1.
    pub eccentricity: f64,
    /// The angle from the ascending node to the perigee [°].
    pub argument: f64,
    /// The mean anomaly [°].
    pub anomaly: f64,
    /// The mean motion [revolutions a day], in Kozai's convention.
    pub revolutions: f64,
    /// The drag term B* [1 / Earth radius].
    pub drag: f64,
}

/// An orbit that is described by its apogee and its perigee. Angles that are taken from
/// [`Heights::default`] are zero.
///
/// ```
/// use netspurt_files::orbit::Heights;
/// let orbit = Heights { apogee: 400.0, perigee: 384.0, inclination: 51.6, ..Heights::default() };
/// assert!((orbit.elements("ISS").unwrap().revolutions - 15.58).abs() < 0.01);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Heights {
    /// The greatest height over the equator's radius [km].
    pub apogee: f64,
    /// The least height over the equator's radius [km].
    pub perigee: f64,
    /// The angle between the equator and the plane of the orbit [°].
    pub inclination: f64,
    /// The right ascension of the ascending node [°].
    pub node: f64,
    /// The angle from the ascending node to the perigee [°].
    pub argument: f64,
    /// The mean anomaly at the epoch [°].
    pub anomaly: f64,
    /// The instant for which the orbit is given.
    pub epoch: Utc,
}

impl Default for Heights {
    fn default() -> Self {
        Self {
            apogee: 0.0,
            perigee: 0.0,
            inclination: 0.0,
            node: 0.0,
            argument: 0.0,
            anomaly: 0.0,
            epoch: Utc::from_nanos(0),
        }
    }
}

impl Heights {
    /// Returns mean elements with these heights and no drag. The semi-major axis is the Earth's
    /// radius plus half the sum of apogee and perigee. The mean motion is the mean motion of a
    /// Kepler orbit with this axis. Catalogues compute their printed heights in the same way.
    ///
    /// # Errors
    /// When an angle or a height is not finite, the perigee is above the apogee, or the inclination
    /// is outside the range from 0 to 180°. Also when the orbit is inside the Earth, in its dense
    /// atmosphere, or beyond the Earth's pull.
    pub fn elements(&self, name: &str) -> Result<Elements, OrbitError> {
        let Heights { apogee, perigee, inclination, node, argument, anomaly, epoch } = *self;
        if ![apogee, perigee, inclination, node, argument, anomaly].iter().all(|x| x.is_finite()) {
            return Err(OrbitError::new(
                "an orbit's heights and angles must be finite numbers",
                "write kilometres and degrees, as in 400 and 51.6",
            ));
        }
        if perigee > apogee {
            let message = format!("the perigee of {perigee} km is above the apogee of {apogee} km");
            return Err(OrbitError::new(message, "exchange these two heights"));
        }
        let axis = EARTH_KM + f64::midpoint(apogee, perigee);
        let elements = Elements {
            name: name.to_owned(),
            catalogue: String::new(),
            epoch,
            inclination,
            node,
            eccentricity: (apogee - perigee) / 2.0 / axis,
            argument,
            anomaly,
            revolutions: 86_400.0 / core::f64::consts::TAU * (PULL / axis / axis / axis).sqrt(),
            drag: 0.0,
        };
        elements.checked()
    }
}

impl Elements {
    /// Returns the greatest and the least height [km] over the equator's radius, as catalogues
    /// compute them.
    pub fn heights(&self) -> (f64, f64) {
        let rate = self.revolutions * core::f64::consts::TAU / 86_400.0;
        let axis = libm::cbrt(PULL / rate / rate);
        let height = |sign: f64| axis * (1.0 + sign * self.eccentricity) - EARTH_KM;
        (height(1.0), height(-1.0))
    }

    /// Returns the elements unchanged if they describe an orbit above the dense atmosphere and
    /// within the Earth's pull.
    ///
    /// # Errors
    /// When an element is out of its range, or the orbit is inside the Earth, in its dense
    /// atmosphere or beyond its pull.
    pub(super) fn checked(self) -> Result<Self, OrbitError> {
        let wrong = |message: String, fix: &str| Err(OrbitError::new(message, fix));
        let name = &self.name;
        if !(self.revolutions > 0.0 && self.revolutions < 100.0) {
            let message = format!("{name} has {} revolutions a day", self.revolutions);
            return wrong(message, "write a mean motion above 0 and below 17.1 revolutions a day");
        }
        if !(0.0..1.0).contains(&self.eccentricity) {
            let message = format!("{name} has the eccentricity {}", self.eccentricity);
            return wrong(message, "write a number from 0 to below 1");
        }
        if !(0.0..=180.0).contains(&self.inclination) {
            let message = format!("{name} has the inclination {}°", self.inclination);
            return wrong(message, "write an angle from 0 to 180 degrees");
        }
        self.check_heights()?;
        Ok(self)
    }

    /// Checks that the orbit is above the dense atmosphere and within the Earth's pull.
    fn check_heights(&self) -> Result<(), OrbitError> {
        let (name, (apogee, perigee)) = (&self.name, self.heights());
        let over = "heights count from the radius 6378.137 km, not from the Earth's centre";
        let (message, fix) = if perigee < 0.0 {
            let low = -perigee;
            let message = format!("{name} is inside the Earth: its perigee is {low:.0} km below");
            (format!("{message} the equator's radius"), over.to_owned())
        } else if perigee < LOWEST_PERIGEE_KM {
            let message = format!("{name} has its perigee at {perigee:.0} km, in dense atmosphere");
            let why = "where a satellite is unlikely to complete its next orbit (McDowell 2018)";
            (
                format!("{message}, {why}"),
                format!("write a perigee of {LOWEST_PERIGEE_KM} km or more; {over}"),
            )
        } else if apogee < LOWEST_CIRCLE_KM {
            let message = format!("{name} stays below {apogee:.0} km, in dense atmosphere");
            let why = "where no nearly circular orbit lasts (McDowell 2018)";
            (
                format!("{message}, {why}"),
                format!("write an apogee of {LOWEST_CIRCLE_KM} km or more; {over}"),
            )
        } else if apogee > HIGHEST_KM {
            let message =
                format!("{name} has its apogee at {apogee:.0} km, beyond the Earth's pull");
            (message, format!("write an apogee of at most {HIGHEST_KM} km"))
        } else {
            return Ok(());
        };
        Err(OrbitError::new(message, fix))
    }
}
