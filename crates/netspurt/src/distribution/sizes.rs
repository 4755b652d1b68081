//! The sizes of requests and replies in PackMime, a model of web traffic. The sizes are given by
//! curves of quantiles.
//!
//! A request or a reply is of a smaller or of a larger kind. For the smaller kind, the curve gives
//! the octets as a function of the probability p. For the larger kind, the curve gives log2 of the
//! octets as a function of log2(1 - p). Here p is the probability that a size of this kind is at
//! most this number of octets. The largest sizes of the larger kind have the smallest 1 - p, so
//! they are before the first knot of the curve. There the curve is a straight line, so these sizes
//! have a Pareto distribution. The numbers come from ns-2.35. The authors of the model fitted them
//! to their captures. Knots on the straight lines are left out.

use super::curve::QuantileCurve;

/// Replies that only confirm that the client's copy is still valid.
pub(super) const VALIDATED: QuantileCurve = QuantileCurve {
    first: 0.0001,
    step: 0.99989 / 99.0,
    slope_before: (VALIDATED_KNOTS[1] - VALIDATED_KNOTS[0]) * 99.0 / 0.99989,
    knots: &VALIDATED_KNOTS,
};

/// Replies with content. From 67 kB on, they have a Pareto distribution with the shape 1.23.
pub(super) const DOWNLOADED: QuantileCurve = QuantileCurve {
    first: -18.1793 + 66.0 * DOWNLOADED_STEP,
    step: DOWNLOADED_STEP,
    slope_before: (DOWNLOADED_KNOTS[0] - 25.8765) / (66.0 * DOWNLOADED_STEP),
    knots: &DOWNLOADED_KNOTS,
};

/// The smaller half of the requests.
pub(super) const SMALL: QuantileCurve = QuantileCurve {
    first: 0.00003,
    step: 0.99997 / 99.0,
    slope_before: (SMALL_KNOTS[1] - SMALL_KNOTS[0]) * 99.0 / 0.99997,
    knots: &SMALL_KNOTS,
};

/// The larger half of the requests. From 1390 octets on, they have a Pareto distribution with the
/// shape 1.48.
pub(super) const LARGE: QuantileCurve = QuantileCurve {
    first: -17.7791 + 77.0 * LARGE_STEP,
    step: LARGE_STEP,
    slope_before: (LARGE_KNOTS[0] - 19.7578) / (77.0 * LARGE_STEP),
    knots: &LARGE_KNOTS,
};

const DOWNLOADED_STEP: f64 = (18.1793 - 0.0018) / 99.0;
const LARGE_STEP: f64 = (17.7791 - 0.00827) / 99.0;

const VALIDATED_KNOTS: [f64; 100] = [
    4.645, 22.7357, 40.8041, 53.0108, 61.468, 64.4307, 67.3933, 69.6925, 71.3981, 73.1037, 74.8092,
    80.6677, 87.4875, 93.5693, 97.6514, 101.249, 104.58, 107.021, 109.195, 111.087, 112.752,
    114.273, 115.545, 116.78, 118.014, 119.248, 120.483, 121.551, 122.51, 123.441, 124.312,
    125.119, 125.927, 126.734, 127.524, 128.288, 129.053, 129.818, 130.582, 131.347, 132.143,
    132.973, 133.835, 134.71, 135.603, 136.537, 137.47, 138.404, 139.337, 140.28, 141.233, 142.186,
    143.139, 144.092, 145.045, 145.979, 146.904, 147.816, 148.71, 149.589, 150.485, 151.478,
    152.703, 153.928, 155.403, 157.294, 159.389, 161.953, 165.018, 168.54, 172.7, 177.629, 183.365,
    189.766, 195.845, 200.636, 203.987, 206.43, 208.611, 211.114, 214.424, 218.008, 221.925,
    225.722, 229.242, 232.747, 236.235, 239.952, 244.076, 248.68, 253.434, 257.857, 261.539,
    264.471, 266.742, 268.487, 269.793, 270.794, 271.571, 272.234,
];

const DOWNLOADED_KNOTS: [f64; 34] = [
    16.0331, 15.8842, 15.739, 15.6026, 15.4804, 15.3778, 15.3003, 15.2465, 15.2045, 15.1597,
    15.0978, 15.0044, 14.8675, 14.6932, 14.4968, 14.2932, 14.0976, 13.9248, 13.7783, 13.6435,
    13.5042, 13.3444, 13.1478, 12.9005, 12.6008, 12.2512, 11.8545, 11.4133, 10.9303, 10.4104,
    9.86075, 9.28886, 8.70213, 8.10797,
];

const SMALL_KNOTS: [f64; 100] = [
    50.9777, 93.8217, 123.301, 146.594, 168.813, 184.263, 193.95, 200.037, 204.696, 210.069,
    217.623, 226.668, 236.226, 245.269, 253.057, 259.624, 265.16, 269.811, 273.754, 277.165,
    280.193, 283.062, 285.893, 288.79, 291.744, 294.738, 297.754, 300.776, 303.784, 306.763,
    309.698, 312.564, 315.349, 318.042, 320.624, 323.107, 325.49, 327.782, 329.987, 332.11,
    334.159, 336.135, 338.047, 339.898, 341.695, 343.443, 345.145, 346.808, 348.439, 350.04,
    351.619, 353.177, 354.716, 356.239, 357.744, 359.233, 360.709, 362.17, 363.619, 365.056,
    366.483, 367.9, 369.31, 370.711, 372.106, 373.496, 374.881, 376.263, 377.643, 379.021, 380.399,
    381.778, 383.159, 384.542, 385.929, 387.321, 388.719, 390.121, 391.528, 392.939, 394.355,
    395.775, 397.199, 398.626, 400.057, 401.491, 402.928, 404.368, 405.81, 407.255, 408.702,
    410.151, 411.602, 413.054, 414.508, 415.963, 417.418, 418.874, 420.331, 421.788,
];

const LARGE_KNOTS: [f64; 23] = [
    10.4436, 10.3239, 10.2092, 10.1034, 10.0105, 9.93459, 9.87896, 9.8393, 9.80562, 9.76884,
    9.71919, 9.64712, 9.54737, 9.42776, 9.29852, 9.16992, 9.05219, 8.95525, 8.88155, 8.82669,
    8.78593, 8.75459, 8.72795,
];
