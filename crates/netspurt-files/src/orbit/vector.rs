//! Vectors of three numbers: positions in kilometres, and directions.

use core::ops::{Add, Mul, Sub};

/// The radius of the equator [km]. The sphere that blocks the sight between stations in space has
/// this radius plus a margin for the atmosphere.
pub const EARTH_KM: f64 = 6378.137;

/// A position [km] or a direction in the frame of SGP4: true equator and mean equinox (TEME) of
/// date, with the origin in the centre of the Earth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vector(pub [f64; 3]);

impl Vector {
    /// Returns the scalar product of two vectors.
    pub fn dot(self, other: Vector) -> f64 {
        self.0[0] * other.0[0] + self.0[1] * other.0[1] + self.0[2] * other.0[2]
    }

    /// Returns the length of the vector.
    pub fn length(self) -> f64 {
        self.dot(self).sqrt()
    }

    /// Returns the vector turned eastwards about the Earth's axis by `angle` [rad].
    #[must_use]
    pub fn turned(self, angle: f64) -> Vector {
        let (sin, cos) = libm::sincos(angle);
        let [x, y, z] = self.0;
        Vector([cos * x - sin * y, sin * x + cos * y, z])
    }
}

impl Add for Vector {
    type Output = Vector;

    fn add(self, other: Vector) -> Vector {
        Vector([self.0[0] + other.0[0], self.0[1] + other.0[1], self.0[2] + other.0[2]])
    }
}

impl Sub for Vector {
    type Output = Vector;

    fn sub(self, other: Vector) -> Vector {
        self + other * -1.0
    }
}

impl Mul<f64> for Vector {
    type Output = Vector;

    fn mul(self, by: f64) -> Vector {
        Vector(self.0.map(|part| part * by))
    }
}
