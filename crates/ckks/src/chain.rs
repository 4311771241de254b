//! Modulus chains from sizes of primes.

use bellerophon_mlwe::{self as mlwe, SecretKind, Security};
use bellerophon_ring::{Error, Modulus, prime};

use crate::{ParamsSpec, Result};

/// Primes that levels of several are chosen from, besides as many as they take.
const SPARE: usize = 48;

/// Some levels of one size: a rescaling there divides by about `2^bits`.
///
/// One prime a level is the rule. Two of half the size do the same work on twice as many, cheaper
/// words: for scales above the `2^50` of the fastest kernels, and where one prime is as expensive
/// as two small ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    /// `log2` of what a rescaling divides by, nearly.
    pub bits: u32,
    /// Primes of each level.
    pub primes: usize,
    /// Number of levels.
    pub count: usize,
}

impl Levels {
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
    /// Single primes are those nearest to `2^bits`, from both sides. In groups of several the
    /// primes are near `2^(bits / primes)` and the last two chosen together so that the product is
    /// as near to `2^bits` as it can be, the best groups first: a scale drifts by what the products
    /// are off.
    pub(crate) fn choose(&self, degree: usize, used: &[Modulus]) -> Result<Vec<Vec<Modulus>>> {
        if self.primes == 1 {
            let primes = prime::ntt_primes_around(degree, self.bits, self.count, used)?;
            return Ok(primes.into_iter().map(|q| vec![q]).collect());
        }
        let wanted = self.primes.saturating_mul(self.count);
        let mean = self.bits as f64 / self.primes as f64;
        let mut pool = near(degree, mean, wanted.saturating_add(SPARE), used);
        if self.primes == 0 || pool.len() < wanted {
            let order = 2 * degree as u64;
            return Err(Error::PrimesExhausted {
                found: pool.len(),
                wanted,
                order,
                bits: mean as u32,
            })?;
        }
        let groups = (0..self.count).map(|_| {
            let mut group: Vec<Modulus> = pool.drain(..self.primes - 2).collect();
            let rest = self.bits as f64 - group.iter().map(log2).sum::<f64>();
            let pairs = (0..pool.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
            let off = |&(i, j): &(usize, usize)| (log2(&pool[i]) + log2(&pool[j]) - rest).abs();
            let (i, j) = pairs.min_by(|x, y| off(x).total_cmp(&off(y))).expect("two are left");
            // The higher index first, which leaves the lower one in its place.
            group.extend([pool.remove(j), pool.remove(i)]);
            group
        });
        Ok(groups.collect())
    }
}

/// Up to `count` primes `1 mod 2 degree`, those nearest to `2^log2_size` within a quarter of it.
fn near(degree: usize, log2_size: f64, count: usize, used: &[Modulus]) -> Vec<Modulus> {
    let (order, size) = (2 * degree as u64, log2_size.exp2());
    if order == 0 || !(2.0..2f64.powi(61)).contains(&size) {
        return vec![];
    }
    let center = size as u64 / order;
    // Outwards from the middle: 0, 1, -1, 2, -2, ..
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

/// Sizes of primes, from which [`ParamsSpec::from_chain`] picks a modulus chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// Ring degree `N`.
    pub degree: usize,
    /// Bits of `q_0`, which bounds the message at level 0. A prime below `2^first_bits`.
    pub first_bits: u32,
    /// The levels `1, 2, ..` in order: primes from both sides of the power of two (the approximate
    /// basis of Full-RNS HEAAN, section 3.1), one or several a level.
    pub levels: Vec<Levels>,
    /// `(bits, count)` of the special primes, the largest ones below `2^bits`. Their product bounds
    /// the digits of a key switch, runs of consecutive primes of the chain: the larger, the fewer.
    pub special: (u32, usize),
}

impl ParamsSpec {
    /// A rank-one set with a dense ternary secret, `sigma = 3.2` and primes of the given sizes.
    ///
    /// # Errors
    /// [`bellerophon_ring::Error::PrimesExhausted`] when there are too few primes of a size.
    pub fn from_chain(chain: &Chain, log_scale: u32, security: Security) -> Result<Self> {
        let degree = chain.degree;
        let mut q = prime::ntt_primes_below(degree, chain.first_bits, 1, &[])?;
        let mut widths = vec![];
        for levels in &chain.levels {
            for group in levels.choose(degree, &q)? {
                widths.push(group.len());
                q.extend(group);
            }
        }
        // So that single primes can be added and taken away by hand.
        if widths.iter().all(|&width| width == 1) {
            widths.clear();
        }
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

    /// The same primes, dimension and security as a module of this rank: over the ring of degree
    /// `N / rank`, with that part of the slots. Ciphertexts have `(1 + 1 / rank) / 2` of the size.
    ///
    /// # Errors
    /// [`Error::Params`](crate::Error::Params) unless the rank divides the dimension; that the degree is a power of two, and
    /// the rest, is checked by [`Params::new`](crate::Params::new).
    pub fn at_rank(mut self, rank: usize) -> Result<Self> {
        let dimension = self.lattice.degree.saturating_mul(self.lattice.rank);
        if rank == 0 || !dimension.is_multiple_of(rank) {
            let reason = format!("rank {rank}: need a divisor of the dimension {dimension}");
            return Err(crate::Error::Params { reason });
        }
        (self.lattice.degree, self.lattice.rank) = (dimension / rank, rank);
        Ok(self)
    }

    /// The set W1 on which libraries are compared: `N = 2^15`, 14 primes of 45 to 50 bits, three
    /// special primes below `2^49`, scale `2^45`, 128 bits.
    pub fn w1() -> Result<Self> {
        let chain = Chain {
            degree: 1 << 15,
            first_bits: 50,
            levels: vec![Levels::single(45, 13)],
            special: (49, 3),
        };
        Self::from_chain(&chain, 45, Security::Bits128)
    }
}
