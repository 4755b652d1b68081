//! Reads stations and orbits that are written as text, for example in the options of a command.

use core::ops::Range;

use netspurt::place::did_you_mean;

use super::{Elements, GeoRelay, GroundSite, Heights, OrbitError, Satellite, Station};

/// The text that an error shows where the name of a file would be. An orbit in text form has no
/// file.
const ORBIT: &str = "orbit";
/// The keys of an orbit in text form. The first four are required.
const KEYS: [&str; 8] =
    ["apogee", "perigee", "inclination", "epoch", "node", "argument", "anomaly", "name"];

impl Station {
    /// Reads a station from its text form. For a site, `elevation` is the minimum angle above the
    /// horizon, in degrees, at which the site has line of sight.
    ///
    /// * `geo:LONGITUDE` and `geo:LONGITUDE,INCLINATION,NODE` are a relay;
    /// * `LATITUDE,LONGITUDE` and `LATITUDE,LONGITUDE,METRES` are a site;
    /// * `apogee=KM,perigee=KM,inclination=DEG,epoch=UTC` is a satellite; `node`, `argument`,
    ///   `anomaly` and `name` may follow.
    ///
    /// Angles are in degrees, and METRES is the height above the ellipsoid. If the text has none of
    /// these forms, the text is the name of a file, and the result is `None`.
    ///
    /// # Errors
    /// When the text has one of these forms, but with a mistake in it.
    ///
    /// ```
    /// use netspurt_files::orbit::Station;
    /// let station = |text| Station::of_text(text, 5.0);
    /// assert_eq!(station("geo:-174.17").unwrap().unwrap().name(), "geo:-174.17");
    /// assert!(station("32.5007,-106.6086,1500").unwrap().unwrap().is_ground());
    /// assert!(station("iss.tle").unwrap().is_none());
    /// ```
    pub fn of_text(text: &str, elevation: f64) -> Result<Option<Self>, OrbitError> {
        if let Some(numbers) = text.strip_prefix("geo:") {
            return relay(text, numbers).map(Station::Relay).map(Some);
        }
        if text.split(',').any(|part| part.split_once('=').is_some_and(|(key, _)| is_key(key))) {
            let satellite = Satellite::new(orbit(text)?)?;
            return Ok(Some(Station::Satellite(Box::new(satellite))));
        }
        let Some(numbers) = numbers(text) else { return Ok(None) };
        let (latitude, longitude, height) = match numbers[..] {
            [latitude, longitude] => (latitude, longitude, 0.0),
            [latitude, longitude, height] => (latitude, longitude, height),
            _ => {
                let fix =
                    "write LATITUDE,LONGITUDE or LATITUDE,LONGITUDE,METRES, as in 32.5,-106.6";
                return Err(OrbitError::new(format!("`{text}` is not a site"), fix));
            }
        };
        Ok(Some(Station::Site(GroundSite { latitude, longitude, height, elevation })))
    }
}

fn is_key(key: &str) -> bool {
    KEYS.iter().any(|known| *known == key.trim() || did_you_mean(key.trim(), [*known]).is_some())
}

fn numbers(text: &str) -> Option<Vec<f64>> {
    let number = |part: &str| part.trim().parse::<f64>().ok().filter(|value| value.is_finite());
    text.split(',').map(number).collect()
}

fn relay(text: &str, rest: &str) -> Result<GeoRelay, OrbitError> {
    match numbers(rest).as_deref() {
        Some([longitude]) => Ok(GeoRelay { longitude: *longitude, inclination: 0.0, node: 0.0 }),
        Some([longitude, inclination, node]) => {
            Ok(GeoRelay { longitude: *longitude, inclination: *inclination, node: *node })
        }
        _ => {
            let fix = "write geo:LONGITUDE, as in geo:-174.17, or geo:LONGITUDE,INCLINATION,NODE";
            Err(OrbitError::new(format!("`{text}` is not a relay"), fix))
        }
    }
}

/// Reads the elements of a text such as `apogee=400,perigee=384,inclination=51.6,...`.
fn orbit(text: &str) -> Result<Elements, OrbitError> {
    let mut heights = Heights::default();
    let mut name = "orbit".to_owned();
    let mut given = [false; KEYS.len()];
    let mut start = 0;
    for part in text.split(',') {
        let span = start..start + part.len();
        start = span.end + 1;
        let wrong = |message: String, fix: &str| Err(at(text, &span, message, fix));
        let Some((key, value)) = part.split_once('=') else {
            return wrong(format!("`{part}` is not KEY=VALUE"), "as in apogee=400");
        };
        let (key, value) = (key.trim(), value.trim());
        let Some(nth) = KEYS.iter().position(|known| *known == key) else {
            let known = || format!("the keys are {}", KEYS.join(", "));
            let fix = did_you_mean(key, KEYS).unwrap_or_else(known);
            return wrong(format!("unknown key `{key}`"), &fix);
        };
        if core::mem::replace(&mut given[nth], true) {
            return wrong(format!("`{key}` is given twice"), "give it once");
        }
        match (key, value.parse::<f64>()) {
            ("name", _) => value.clone_into(&mut name),
            ("epoch", _) => {
                heights.epoch = value
                    .parse()
                    .map_err(|error: OrbitError| at(text, &span, error.message, &error.fix))?;
            }
            (_, Ok(number)) if number.is_finite() => *field(&mut heights, nth) = number,
            _ => {
                let fix = "write a number, in kilometres or degrees, as in 51.6";
                return wrong(format!("{key} is not a number"), fix);
            }
        }
    }
    let missing = KEYS.iter().zip(given).take(4).find(|(_, given)| !given);
    if let Some((key, _)) = missing {
        let message = format!("the orbit has no `{key}`");
        return Err(at(
            text,
            &(0..text.len()),
            message,
            "apogee, perigee, inclination and epoch are needed",
        ));
    }
    heights.elements(&name).map_err(|error| at(text, &(0..text.len()), error.message, &error.fix))
}

/// Returns the field for the key with the index `nth` in [`KEYS`].
fn field(heights: &mut Heights, nth: usize) -> &mut f64 {
    match nth {
        0 => &mut heights.apogee,
        1 => &mut heights.perigee,
        2 => &mut heights.inclination,
        4 => &mut heights.node,
        5 => &mut heights.argument,
        _ => &mut heights.anomaly,
    }
}

fn at(text: &str, span: &Range<usize>, message: String, fix: &str) -> OrbitError {
    OrbitError::new(message, fix).at(ORBIT, text, span)
}
