//! Modulus chains from prime sizes.

use bellerophon_mlwe::{self as mlwe, SecretKind, Security};
use bellerophon_ring::{Modulus, Result, error, prime};

use crate::params::ParamsSpec;

/// Additional candidate primes for levels of several primes, beyond the number that the levels
/// take.
const SPARE: usize = 48;

/// Levels of one size: a rescaling there divides by about `2^bits`.
///
/// One prime per level is the rule. Two primes of half the size do the same on twice as many words,
/// each of them cheaper. Use pairs for scales above the `2^50` of the fastest kernels, and where
/// one prime costs as much as two small ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelGroup {
    /// `log2` of what a rescaling divides by, approximately.
    pub bits: u32,
    /// Number of primes per level.
    pub primes: usize,
    /// Number of levels.
    pub count: usize,
}

impl LevelGroup {
    /// `count` levels of one prime of `bits` bits each.
    pub fn single(bits: u32, count: usize) -> Self {
        Self { bits, primes: 1, count }
    }

    /// `count` levels of two primes of `bits / 2` bits each.
    pub fn pairs(bits: u32, count: usize) -> Self {
        Self { bits, primes: 2, count }
    }

    /// The primes of each level, none of them in `used`.
    ///
    /// Single primes are those nearest to `2^bits`, from both sides. In groups of several, the
    /// primes are near `2^(bits / primes)`, and the last two are chosen together so that the
    /// product is as near to `2^bits` as possible, best groups first. The distance of the product
    /// from `2^bits` is the drift of the scale.
    pub fn choose(&self, degree: usize, used: &[Modulus]) -> Result<Vec<Vec<Modulus>>> {
        if self.primes == 1 {
            let primes = prime::ntt_primes_around(degree, self.bits, self.count, used)?;
            return Ok(primes.into_iter().map(|q| vec![q]).collect());
        }
        // Step 1: candidates around the mean size.
        let wanted = self.primes.saturating_mul(self.count);
        let mean = self.bits as f64 / self.primes as f64;
        let mut pool = near(degree, mean, wanted.saturating_add(SPARE), used);
        if self.primes == 0 || pool.len() < wanted {
            let order = 2 * degree as u64;
            return Err(error::primes_exhausted(pool.len(), wanted, order, mean as u32))?;
        }
        // Step 2: for each level all primes but two, then the pair that completes the product best.
        let groups = (0..self.count).map(|_| {
            let mut group: Vec<Modulus> = pool.drain(..self.primes - 2).collect();
            let rest = self.bits as f64 - group.iter().map(log2).sum::<f64>();
            let pairs = (0..pool.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
            let distance =
                |&(i, j): &(usize, usize)| (log2(&pool[i]) + log2(&pool[j]) - rest).abs();
            let best = pairs.min_by(|x, y| distance(x).total_cmp(&distance(y)));
            let (i, j) = best.expect("two are left");
            // Remove the higher index first: the lower index stays valid.
            group.extend([pool.remove(j), pool.remove(i)]);
            group
        });
        Ok(groups.collect())
    }
}

/// Up to `count` primes `1 mod 2 degree`: the nearest to `2^log2_size`, within a quarter of it.
fn near(degree: usize, log2_size: f64, count: usize, used: &[Modulus]) -> Vec<Modulus> {
    let (order, size) = (2 * degree as u64, log2_size.exp2());
    if order == 0 || !(2.0..2f64.powi(61)).contains(&size) {
        return vec![];
    }
    let center = size as u64 / order;
    // Multiples of the order outwards from the middle: 0, 1, -1, 2, -2, ..
    let reach = center / 4 + 1;
    (0..2 * reach)
        .map(|k| if k % 2 == 1 { center + k.div_ceil(2) } else { center - k / 2 })
        .map(|k| k * order + 1)
        .filter(|&q| used.iter().all(|m| m.value() != q))
        .filter_map(|q| Modulus::new(q).ok())
        .take(count)
        .collect()
}

fn log2(q: &Modulus) -> f64 {
    (q.value() as f64).log2()
}

/// A modulus chain by prime sizes, for which [`ParamsSpec::from_chain`] finds the primes.
#[derive(Debug, Clone, PartialEq)]
pub struct ModulusChain {
    /// Ring degree `N`.
    pub degree: usize,
    /// Bits of `q_0`, the largest prime below `2^first_bits`. It bounds the message at level 0.
    pub first_bits: u32,
    /// The levels `1, 2, ..` in order, of one or several primes each, from both sides of the power
    /// of two (the approximate basis of Full-RNS HEAAN, section 3.1).
    pub levels: Vec<LevelGroup>,
    /// `(bits, count)` of the special primes, the largest ones below `2^bits`. Their product bounds
    /// the digits of a key switch, which are runs of consecutive primes of the chain: a larger
    /// product means fewer digits.
    pub special: (u32, usize),
}

impl ParamsSpec {
    /// A set of rank 1 with a dense ternary secret, `sigma = 3.2` and primes of the given sizes.
    pub fn from_chain(chain: &ModulusChain, log_scale: u32, security: Security) -> Result<Self> {
        let degree = chain.degree;
        // Step 1: q_0, then the primes of each level, all of them distinct.
        let mut q = prime::ntt_primes_below(degree, chain.first_bits, 1, &[])?;
        let mut widths = vec![];
        for levels in &chain.levels {
            for group in levels.choose(degree, &q)? {
                widths.push(group.len());
                q.extend(group);
            }
        }
        // Without widths every prime is a level, so primes can be added and removed by hand.
        if widths.iter().all(|&width| width == 1) {
            widths.clear();
        }
        // Step 2: the special primes.
        let p = prime::ntt_primes_below(degree, chain.special.0, chain.special.1, &q)?;
        let values = |primes: &[Modulus]| primes.iter().map(Modulus::value).collect();
        Ok(Self {
            lattice: mlwe::ParamsSpec {
                degree,
                rank: 1,
                q: values(&q),
                p: values(&p),
                secret: SecretKind::Ternary,
                sigma: 3.2,
                security,
            },
            widths,
            log_scale,
        })
    }

    /// The same primes, dimension and security as a module of this rank over the ring of degree
    /// `N / rank`. The number of slots is divided by the rank, and ciphertexts have
    /// `(1 + 1 / rank) / 2` of the size.
    pub fn at_rank(mut self, rank: usize) -> Result<Self> {
        let dimension = self.lattice.degree.saturating_mul(self.lattice.rank);
        if rank == 0 || !dimension.is_multiple_of(rank) {
            let reason = format!("rank {rank}: need a divisor of the dimension {dimension}");
            return Err(crate::error::params(reason));
        }
        (self.lattice.degree, self.lattice.rank) = (dimension / rank, rank);
        Ok(self)
    }

    /// The set W1, for comparisons between libraries: `N = 2^15`, 14 primes of 45 to 50 bits, three
    /// special primes below `2^49`, scale `2^45`, 128-bit security.
    pub fn w1() -> Result<Self> {
        let chain = ModulusChain {
            degree: 1 << 15,
            first_bits: 50,
            levels: vec![LevelGroup::single(45, 13)],
            special: (49, 3),
        };
        Self::from_chain(&chain, 45, Security::Bits128)
    }
}
