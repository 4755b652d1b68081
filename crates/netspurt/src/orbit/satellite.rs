//! A satellite: where its elements put it.

use sgp4::{Constants, MinutesSinceEpoch, Orbit, WGS72};

use super::elements::LOWEST_CIRCLE_KM;
use super::{EARTH_KM, Elements, OrbitError, Utc, Vector};

/// A satellite that follows its elements by SGP4, with the constants of the program of the US Air
/// Force Space Command (AFSPC): WGS-72, and its sidereal time.
///
/// Where the Moon and the Sun move the node of an orbit of less than 11.5° through zero, that
/// program turns the perigee by a jump, of about a kilometre in the set 23599 of the verification.
/// The published states are without the jump (Vallado et al. 2006), and so is this.
///
/// ```
/// use netspurt::orbit::{Heights, Satellite};
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

/// Elements are trusted for this many days.
const TRUSTED_DAYS: f64 = 7.0;
/// By how much errors of SGP4 grow in low orbits [km a day] (Vallado et al. 2006).
const KM_A_DAY: [f64; 2] = [1.0, 3.0];

impl Satellite {
    /// The satellite with these elements.
    ///
    /// # Errors
    /// When the orbit is inside the Earth or in its dense atmosphere, or SGP4 refuses the elements.
    pub fn new(elements: Elements) -> Result<Self, OrbitError> {
        let elements = elements.checked()?;
        Self::unchecked(elements)
    }

    /// The same, for any orbit that SGP4 takes.
    pub(super) fn unchecked(elements: Elements) -> Result<Self, OrbitError> {
        let refused = |why: String| {
            let fix = "its elements are damaged, or not for SGP4";
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

    /// Its elements.
    pub fn elements(&self) -> &Elements {
        &self.elements
    }

    /// Its position at an instant.
    ///
    /// # Errors
    /// When it has decayed by then: it would be inside the Earth, or its orbit diverges.
    pub fn position(&self, at: Utc) -> Result<Vector, OrbitError> {
        let minutes = at.since(self.elements.epoch) / 60.0;
        let position = self.state(minutes).filter(|position| position.length() >= EARTH_KM);
        position.ok_or_else(|| {
            let (name, epoch) = (&self.elements.name, self.elements.epoch);
            let message = format!("{name} has decayed by {at}, by its elements of {epoch}");
            OrbitError::new(message, "end the span earlier, or take elements nearer to it")
        })
    }

    /// Its position `minutes` after the epoch as SGP4 computes it, inside the Earth or not.
    pub(super) fn state(&self, minutes: f64) -> Option<Vector> {
        let since = MinutesSinceEpoch(minutes);
        let state = self.constants.propagate(since).ok()?;
        Some(Vector(state.position)).filter(|position| position.length().is_finite())
    }

    /// What to know about a span: whether it lies far from the epoch, and whether the satellite can
    /// last so long.
    pub(super) fn notes(&self, from: Utc, to: Utc) -> Vec<String> {
        let Elements { name, epoch, .. } = &self.elements;
        let (apogee, perigee) = self.elements.heights();
        let mut notes = Vec::new();
        if perigee < LOWEST_CIRCLE_KM {
            notes.push(format!(
                "{name}: its perigee of {perigee:.0} km is in the atmosphere; a real satellite \
                 falls from there within hours or days"
            ));
        }
        let days = epoch.since(from).max(to.since(*epoch)) / 86_400.0;
        if days > TRUSTED_DAYS {
            let around = core::f64::consts::TAU * (EARTH_KM + f64::midpoint(apogee, perigee));
            // What is off by a quarter of the orbit may be on the other side of the Earth.
            let lost = days * KM_A_DAY[1] > around / 4.0;
            let end = "; take elements nearer to it: passes may be at quite other times";
            notes.push(format!(
                "{name}: the span reaches {days:.1} days from the epoch {epoch} of its elements; \
                 errors in low orbits grow by 1 to 3 km a day, here to {:.0} to {:.0} km{}",
                days * KM_A_DAY[0],
                days * KM_A_DAY[1],
                if lost { end } else { "" },
            ));
        }
        notes
    }
}
