//! Random streams with names. Each part of a run that needs random numbers draws them from a stream
//! that is named after this part.
//!
//! A stream depends only on the seed of the run and on the name of the stream. So if another part
//! of the run also draws numbers, the other streams do not change. If two algorithms are compared
//! with the same seed, the same random numbers decide their losses.

use rand_core::Rng as _;
use rand_pcg::Pcg64Mcg;
use sha2::{Digest, Sha256};

/// The octets that are hashed begin with `DERIVATION`. The first state of a stream is computed from
/// the hash. Whoever changes this computation must also change `DERIVATION`.
const DERIVATION: &[u8] = b"netspurt stream 1\0";

/// A reproducible source of random numbers (PCG-64 MCG, O'Neill 2014), keyed by seed and name.
///
/// ```
/// use netspurt::rng::Stream;
/// let mut a = Stream::named(1, "links.modem.there/loss");
/// let mut b = Stream::named(1, "links.modem.there/loss");
/// let mut other = Stream::named(1, "links.modem.back/loss");
/// assert_eq!(a.bits(), b.bits());
/// assert_ne!(a.bits(), other.bits());
/// ```
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

impl Stream {
    /// The stream called `name` in a run seeded with `seed`.
    pub fn named(seed: u64, name: &str) -> Self {
        let hash = Sha256::new()
            .chain_update(DERIVATION)
            .chain_update(seed.to_le_bytes())
            .chain_update(name)
            .finalize();
        let mut state = [0; 16];
        state.copy_from_slice(&hash[..16]);
        Self(Pcg64Mcg::new(u128::from_le_bytes(state)))
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in [0, 1), with 53 random bits.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit the mantissa")]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with probability `p`. The call makes one draw for any `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_stream_are_the_same_in_every_version() {
        // The expected values were computed independently of this code, with SHA-256 and PCG XSL-RR
        // 128/64 (MCG) from their definitions. If a stream changes, the saved digests of all runs
        // with random draws become invalid.
        let mut s = Stream::named(1, "links.modem.there/loss");
        let first: Vec<u64> = (0..3).map(|_| s.bits()).collect();
        assert_eq!(first, FIRST);
    }

    /// The first three draws of the stream in the test above.
    const FIRST: [u64; 3] =
        [3_754_476_669_993_230_164, 8_482_167_741_121_943_798, 6_734_069_880_776_637_866];

    #[test]
    fn a_chance_of_zero_never_happens_and_a_chance_of_one_always_does() {
        let mut s = Stream::named(7, "x");
        assert!((0..1000).all(|_| !s.chance(0.0)));
        assert!((0..1000).all(|_| s.chance(1.0)));
    }
}
