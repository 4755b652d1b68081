//! Piecewise linear curves. PackMime, a model of web traffic, draws the sizes of requests and
//! replies from such curves.

use core::f64::consts::LN_2;

/// A curve of straight pieces between knots at equal steps. After the last knot, the last piece
/// continues. Before the first knot, the curve is a straight line with a slope of its own.
pub(super) struct QuantileCurve {
    /// The position of the first knot.
    pub(super) first: f64,
    /// The distance from one knot to the next.
    pub(super) step: f64,
    /// The slope before the first knot.
    pub(super) slope_before: f64,
    /// The values of the curve at the knots.
    pub(super) knots: &'static [f64],
}

impl QuantileCurve {
    /// Returns the curve's value at `x`.
    pub(super) fn at(&self, x: f64) -> f64 {
        let (piece, from) = self.piece_at(x);
        piece.value + piece.slope * (x - from)
    }

    /// Returns the piece at `x`, and the position of the knot at which the curve has the `value` of
    /// this piece.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number of the knot is 0 or more"
    )]
    fn piece_at(&self, x: f64) -> (Piece, f64) {
        if x < self.first {
            return (Piece { value: self.knots[0], slope: self.slope_before }, self.first);
        }
        let number = (((x - self.first) / self.step) as usize).min(self.knots.len() - 2);
        (self.piece(number), self.place(number))
    }

    /// Returns the piece that begins at the knot `number`.
    fn piece(&self, number: usize) -> Piece {
        let [value, next] = [self.knots[number], self.knots[number + 1]];
        Piece { value, slope: (next - value) / self.step }
    }

    /// Returns the position of the knot `number`.
    #[expect(clippy::cast_precision_loss, reason = "a curve has at most a hundred knots")]
    fn place(&self, number: usize) -> f64 {
        self.first + self.step * number as f64
    }

    /// Returns the two ends of each piece between the positions `from` and `to`.
    fn pieces(&self, from: f64, to: f64) -> impl Iterator<Item = [f64; 2]> {
        let inner = (0..self.knots.len()).map(|number| self.place(number));
        let mut ends: Vec<f64> = inner.filter(|place| from < *place && *place < to).collect();
        ends.push(to);
        let mut start = from;
        ends.into_iter().map(move |end| [core::mem::replace(&mut start, end), end])
    }

    /// Returns the exact integral of the curve from 0 to 1.
    pub(super) fn mean(&self) -> f64 {
        self.pieces(0.0, 1.0).map(|[from, to]| (to - from) * self.at((from + to) / 2.0)).sum()
    }

    /// Returns the exact integral of 2^curve(log2 u) for u from 0 to 1. On a piece of slope b, the
    /// integrand is u^b times a constant.
    ///
    /// # Panics
    /// When the slope before the first knot is -1 or less, because there is then no mean.
    pub(super) fn mean_of_powers(&self) -> f64 {
        assert!(self.slope_before > -1.0, "a slope of -1 or less gives no mean");
        let tail = libm::exp2(self.knots[0] + self.first) / (self.slope_before + 1.0);
        let pieces = self.pieces(self.first, 0.0).map(|[from, to]| {
            let (piece, place) = self.piece_at((from + to) / 2.0);
            let grows = (piece.slope + 1.0) * LN_2;
            let start = libm::exp2(piece.value + piece.slope * (from - place) + from);
            let length = to - from;
            let times =
                if grows.abs() < 1e-12 { length } else { libm::expm1(grows * length) / grows };
            start * LN_2 * times
        });
        tail + pieces.sum::<f64>()
    }
}

/// A straight piece of a curve.
struct Piece {
    /// The value of the curve at one knot of the piece.
    value: f64,
    slope: f64,
}
