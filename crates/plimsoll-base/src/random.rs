//! Our own small random generator, so results do not change when a dependency does.

/// `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014): one 64-bit state, equidistributed, portable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// A stream of its own per (seed, entity), so that adding an entity moves no other's draws.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut rng = Self {
            state: seed ^ stream.wrapping_mul(0xD1B5_4A32_D192_ED03),
        };
        rng.next_u64();
        rng
    }

    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in the half-open interval (0, 1].
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Exponential with mean 1. `libm` keeps the bits equal on every platform.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.unit())
    }

    /// Standard normal (Box and Muller 1958; the second draw is dropped to keep one state word).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.unit()));
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// The numbers below `count` in an order that is as likely as any other.
    pub fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for place in (1..count).rev() {
            order.swap(place, self.below(place as u64 + 1) as usize);
        }
        order
    }

    /// Uniform below `bound`; `bound` zero gives zero. Bias is below 2^-32 for bounds below 2^32.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_repeatable_and_differ() {
        let draws = |seed, stream| {
            let mut rng = Rng::new(seed, stream);
            [rng.next_u64(), rng.next_u64()]
        };
        assert_eq!(draws(1, 2), draws(1, 2));
        assert_ne!(draws(1, 2), draws(1, 3));
        assert_ne!(draws(1, 2), draws(2, 2));
    }

    #[test]
    fn moments_of_the_distributions() {
        let mut rng = Rng::new(7, 0);
        let count = 200_000;
        let (mut exponential, mut normal, mut square) = (0.0, 0.0, 0.0);
        for _ in 0..count {
            exponential += rng.exponential();
            let z = rng.normal();
            normal += z;
            square += z * z;
        }
        let count = f64::from(count);
        assert!((exponential / count - 1.0).abs() < 0.01);
        assert!((normal / count).abs() < 0.01);
        assert!((square / count - 1.0).abs() < 0.01);
    }
}
