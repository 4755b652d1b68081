//! Computes the position of a satellite from its elements.

use sgp4::{Constants, MinutesSinceEpoch, Orbit, WGS72};

use super::elements::LOWEST_CIRCLE_KM;
use super::{EARTH_KM, Elements, OrbitError, Utc, Vector};

/// A satellite whose position SGP4 computes from its elements. The constants come from the US
/// Air Force Space Command's program (AFSPC): WGS-72, and the sidereal time of that program.
///
/// There is one difference from that program. If the inclination is below 11.5°, and the Moon and
/// the Sun move the node through zero, then the perigee that AFSPC's program computes jumps. For
/// set 23599 of the element sets with which SGP4 is verified (Vallado et al. 2006), the jump is
/// about a kilometre. The states that Vallado et al. publish do not have this jump. The positions
/// that this type computes do not have it either.
///
/// ```
/// use netspurt_files::orbit::{Heights, Satellite};
/// let orbit = Heights { apogee: 800.0, perigee: 800.0, inclination: 63.0, ..Heights::default() };
/// let satellite = Satellite::new(orbit.elements("ours").unwrap()).unwrap();
/// let radius = satellite.position(orbit.epoch.after(600.0)).unwrap().length();
/// assert!((radius - 7178.0).abs() < 12.0);
/// ```
#[derive(Clone, Debug)]
pub struct Satellite {
    elements: Elements,
    constants: Constants,
}

/// If a span of time reaches more than this number of days away from the epoch of the elements, the
/// caller gets a warning.
const TRUSTED_DAYS: f64 = 7.0;
/// The least and the greatest growth of SGP4's error in low orbits [km a day] (Vallado et al.
/// 2006).
const KM_A_DAY: [f64; 2] = [1.0, 3.0];

impl Satellite {
    /// Makes the satellite with these elements.
    ///
    /// # Errors
    /// When an element is out of its range, or SGP4 refuses the elements. Also when the orbit is
    /// inside the Earth, in the dense atmosphere or beyond the Earth's pull.
    pub fn new(elements: Elements) -> Result<Self, OrbitError> {
        let elements = elements.checked()?;
        Self::unchecked(elements)
    }

    /// Makes the satellite with these elements, for any orbit that SGP4 accepts.
    pub(super) fn unchecked(elements: Elements) -> Result<Self, OrbitError> {
        let refused = |why: String| {
            let fix = "fetch its elements again: they are damaged, or not for SGP4";
            OrbitError::new(format!("SGP4 refuses {}: {why}", elements.name), fix)
        };
        let orbit = Orbit::from_kozai_elements(
            &WGS72,
            elements.inclination.to_radians(),
            elements.node.to_radians(),
            elements.eccentricity,
            elements.argument.to_radians(),
            elements.anomaly.to_radians(),
            elements.revolutions * (core::f64::consts::PI / 720.0),
        )
        .map_err(|error| refused(error.to_string()))?;
        let epoch = elements.epoch.years();
        let sidereal = sgp4::afspc_epoch_to_sidereal_time;
        let constants = Constants::new(WGS72, sidereal, epoch, elements.drag, orbit)
            .map_err(|error| refused(error.to_string()))?;
        Ok(Self { elements, constants })
    }

    /// The elements of the satellite.
    pub fn elements(&self) -> &Elements {
        &self.elements
    }

    /// Returns the position of the satellite at an instant.
    ///
    /// # Errors
    /// When the satellite has decayed before that instant: its position is inside the Earth, or
    /// SGP4 gives no position.
    pub fn position(&self, at: Utc) -> Result<Vector, OrbitError> {
        let minutes = at.since(self.elements.epoch) / 60.0;
        let position = self.state(minutes).filter(|position| position.length() >= EARTH_KM);
        position.ok_or_else(|| {
            let (name, epoch) = (&self.elements.name, self.elements.epoch);
            let message = format!("{name} has decayed by {at}, as its elements of {epoch} show");
            let fix = "end the span earlier, or use elements with an epoch near the span's end";
            OrbitError::new(message, fix)
        })
    }

    /// Returns the position that SGP4 computes for `minutes` after the epoch, even if it is inside
    /// the Earth. `None` if SGP4 fails.
    pub(super) fn state(&self, minutes: f64) -> Option<Vector> {
        let since = MinutesSinceEpoch(minutes);
        let state = self.constants.propagate(since).ok()?;
        Some(Vector(state.position)).filter(|position| position.length().is_finite())
    }

    /// Returns warnings about results in a span of time: a warning if the span reaches far from the
    /// epoch, and a warning if the orbit is too low to last.
    pub(super) fn notes(&self, from: Utc, to: Utc) -> Vec<String> {
        let Elements { name, epoch, .. } = &self.elements;
        let (apogee, perigee) = self.elements.heights();
        let mut notes = Vec::new();
        if perigee < LOWEST_CIRCLE_KM {
            notes.push(format!(
                "{name}: its perigee of {perigee:.0} km is in the atmosphere; a real satellite \
                 loses height there in each revolution"
            ));
        }
        let days = epoch.since(from).max(to.since(*epoch)) / 86_400.0;
        if days > TRUSTED_DAYS {
            let around = core::f64::consts::TAU * (EARTH_KM + f64::midpoint(apogee, perigee));
            // An error of a quarter of the orbit shifts a pass by a quarter of the time of one
            // revolution.
            let lost = days * KM_A_DAY[1] > around / 4.0;
            let end = "; passes may be at quite different times: use elements whose epoch is \
                       nearer to the span";
            notes.push(format!(
                "{name}: the span reaches {days:.1} days from the epoch {epoch} of its elements; \
                 errors in low orbits grow by 1 to 3 km a day: in this time by {:.0} to {:.0} km{}",
                days * KM_A_DAY[0],
                days * KM_A_DAY[1],
                if lost { end } else { "" },
            ));
        }
        notes
    }
}
