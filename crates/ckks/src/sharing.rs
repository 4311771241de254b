//! Decryption for others than the owner of the key, under flooding noise.
//!
//! The noise of a decrypted vector depends on the secret key: who sees it beside the ciphertext can
//! recover the key (Li and Micciancio, "On the security of homomorphic encryption on approximate
//! numbers", EUROCRYPT 2021). Gaussian noise that is much wider hides it (Li, Micciancio, Schultz and
//! Sorrell, "Securing approximate homomorphic encryption using differential privacy", CRYPTO 2022):
//! if the noise of a decryption is a vector of length at most `t`, of `q` results to be shared, then
//! discrete Gaussian noise of deviation
//!
//! ```text
//! sigma = sqrt(12 q) 2^(s/2) t
//! ```
//!
//! in every coefficient makes the `q` results together differ from ones that know no key by at most
//! `q t^2 / (2 sigma^2) = 2^-s / 24` in Kullback-Leibler divergence (that of two Gaussians, `t` apart,
//! is `t^2 / (2 sigma^2)`, on the integers as on the reals), hence by
//! at most `2^(-s/2) / sqrt(48)` in statistical distance (Pinsker): `s` bits of statistical security as the
//! paper counts them. It advises `s >= 30`. Who tells results of one input from those of another has twice
//! that distance, since each is that far from ones that know no key.
//!
//! `t` must be a bound on the noise of the very program that ran, and the one who decrypts must know it
//! by himself: a ciphertext's own [`Meta`](crate::Meta) was written by whoever computed it. An estimate
//! of the average is not enough, since sums of correlated errors exceed it (Guo, Nabokov, Suvanto and
//! Johansson, "Key recovery attacks on approximate homomorphic encryption with non-worst-case noise
//! flooding countermeasures", USENIX Security 2024). So the program is run on a
//! [shadow in the worst case](crate::shadow::Shadow::worst_case), which gives a [`NoiseBound`].

use bellerophon_ring::{Poly, sample::Gaussian};
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::{
    Account, Ciphertext, Error, Interval, Params, Plaintext, Result, SecretKey, books::same_scale,
    encrypt::decrypt_up_to,
};

/// A draw of a Gaussian is farther out than so many deviations with probability below `2^-140`. If it were,
/// the result would be wrong, and no less hidden: a wrapped sum is a function of the sum.
const REACH: f64 = 14.0;

/// A bound on the noise of the result of a program, from
/// [`Shadow::noise_bound`](crate::shadow::Shadow::noise_bound).
///
/// It belongs to the parameters of the shadow, chain and route of relinearisation included.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseBound {
    params: Params,
    account: Account,
    length: f64,
}

impl NoiseBound {
    pub(crate) fn new(params: &Params, account: Account) -> Self {
        // From the integers nearest to the message in place of the message, half a unit each.
        let each = account.meta.noise.total.sqrt() + 0.5;
        let length = each * (params.degree() as f64).sqrt();
        Self { params: params.clone(), account, length }
    }

    /// The noise polynomial, from the nearest integers to the message, is no longer in the Euclidean
    /// norm of its `N` coefficients.
    pub fn length(&self) -> f64 {
        self.length
    }

    /// What the program makes of its operands; its variances are squares of bounds, too.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// The range in which the program leaves the values.
    pub fn range(&self) -> &Interval {
        &self.account.meta.bounds.values
    }

    /// Refuses a ciphertext that the program did not make, as far as what it carries can tell.
    ///
    /// A noise that it carries beyond the bound tells of an evaluator that did something else than the
    /// shadow: rotations composed of several keys or at a temporary rank, inputs encrypted under a public
    /// key. What an evaluator carries is an average, far below the bound of the same program.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] and [`Error::RouteMismatch`] for a bound of other parameters,
    /// [`Error::ScaleMismatch`] for another level or scale, [`Error::SlotCount`], [`Error::NotOfProgram`]
    /// for another number of values and for more noise, [`Error::OutsideDomain`] for a wider range.
    pub fn check(&self, op: &'static str, params: &Params, x: &Ciphertext) -> Result<()> {
        params.check_same(op, &self.params)?;
        let (found, expected) = (x.account(), self.account);
        let (left, right) = (found.standing(), expected.standing());
        if found.level != expected.level || !same_scale(found.meta.scale, expected.meta.scale) {
            return Err(Error::ScaleMismatch { op, left, right });
        }
        if found.meta.slots != expected.meta.slots {
            let (found, needed) = (found.meta.slots, expected.meta.slots);
            return Err(Error::SlotCount { op, found, least: needed, most: needed });
        }
        let not_of_program =
            |what, found, expected| Err(Error::NotOfProgram { op, what, found, expected });
        if found.meta.len != expected.meta.len {
            let [found, expected] = [found, expected].map(|account| account.meta.len as f64);
            return not_of_program("number of values", found, expected);
        }
        if found.meta.noise.total > expected.meta.noise.total {
            let [found, expected] =
                [found, expected].map(|account| account.meta.noise.total.sqrt());
            return not_of_program("deviation of the noise", found, expected);
        }
        let [range, domain] = [found, expected].map(|account| account.meta.bounds.slots());
        let slack = 1e-9 * domain.bound();
        let wider = match domain.is_real() {
            true => Interval::real(domain.lo() - slack, domain.hi() + slack)?,
            false => Interval::complex(domain.bound() + slack)?,
        };
        if !wider.contains(&range) {
            return Err(Error::OutsideDomain {
                op,
                what: "slots of the ciphertext",
                found_lo: range.lo(),
                found_hi: range.hi(),
                complex: !range.is_real(),
                lo: domain.lo(),
                hi: domain.hi(),
            });
        }
        Ok(())
    }
}

/// The most statistical bits: bounds on noise fail more often than better flooding would.
const MOST_BITS: f64 = 64.0;

/// On what terms results are shared: how many under one key, in its whole life, and how well hidden.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flooding {
    queries: u64,
    statistical_bits: f64,
}

impl Flooding {
    /// So many results at so many bits; 30 or more are advised, and more than 64 would promise more than
    /// bounds do: one fails with a probability of up to `2^-62` for each encryption, rounding and key
    /// switch of the program.
    ///
    /// # Errors
    /// [`Error::Flooding`] for no queries, and for bits outside 1 to 64.
    pub fn new(queries: u64, statistical_bits: f64) -> Result<Self> {
        if queries == 0 || !(1.0..=MOST_BITS).contains(&statistical_bits) {
            return Err(Error::Flooding { queries, statistical_bits });
        }
        Ok(Self { queries, statistical_bits })
    }

    /// How many results.
    pub fn queries(&self) -> u64 {
        self.queries
    }

    /// The statistical bits, `s`.
    pub fn statistical_bits(&self) -> f64 {
        self.statistical_bits
    }

    /// The deviation of the noise that hides one of a length: `sqrt(12 q) 2^(s/2)` times that.
    pub fn deviation(&self, length: f64) -> f64 {
        (12.0 * self.queries as f64).sqrt() * (self.statistical_bits / 2.0).exp2() * length
    }

    /// `log2` of a bound on the statistical distance of all results together from ones that know no key,
    /// if their bounds on noise hold: `-s / 2 - log2(sqrt(48))`.
    pub fn log2_distance(&self) -> f64 {
        -self.statistical_bits / 2.0 - 48f64.log2() / 2.0
    }
}

/// The flooding of a result, before it is decrypted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicted {
    /// Deviation in a coefficient.
    pub deviation: f64,
    slots: f64,
    scale: f64,
}

impl Predicted {
    /// What the terms ask for to hide so much noise.
    pub fn new(bound: &NoiseBound, flooding: &Flooding) -> Self {
        let meta = bound.account().meta;
        let deviation = flooding.deviation(bound.length());
        Self { deviation, slots: meta.slots as f64, scale: meta.scale }
    }

    /// Standard deviation of the real part of a slot, in units of the message.
    pub fn slot_std(&self) -> f64 {
        self.slots.sqrt() * self.deviation / self.scale
    }

    /// A bound on all slots together, but for a probability of `2^log2_failure`:
    /// `sqrt(2 ln(slots / failure))` deviations, by the tail of the normal law.
    pub fn worst(&self, log2_failure: f64) -> f64 {
        let exponent = self.slots.ln() - log2_failure * std::f64::consts::LN_2;
        (2.0 * exponent).sqrt() * self.slot_std()
    }
}

/// Decrypts for others than the owner of the key: to every coefficient, a discrete Gaussian of the
/// deviation that the terms ask for is added before anything is read. See the [module](self) for what
/// that promises, and for where the bound must come from. Every call counts as a query.
///
/// # Errors
/// Those of [`NoiseBound::check`] for a ciphertext that does not stand where the program leaves it;
/// [`Error::RangeOverflow`] where message and
/// flooding together could wrap around the modulus; a width that the sampler does not have
/// (`2^56`); foreign keys and parameters.
pub fn decrypt_flooded<R: CryptoRng + ?Sized>(
    params: &Params,
    ciphertext: &Ciphertext,
    key: &SecretKey,
    bound: &NoiseBound,
    flooding: &Flooding,
    rng: &mut R,
) -> Result<Plaintext> {
    let op = "share a result";
    bound.check(op, params, ciphertext)?;
    let deviation = Predicted::new(bound, flooding).deviation;
    let scale = ciphertext.scale();
    let message = bound.account().meta.bounds.slots().bound() * scale;
    let magnitude = message + bound.length() + REACH * deviation;
    params.check_range(op, magnitude / scale, scale, ciphertext.limbs())?;
    let gaussian = Gaussian::new(deviation)?;
    let mut plaintext = decrypt_up_to(params, ciphertext, magnitude, key)?;
    let ring = params.ring(plaintext.limbs());
    let noise: Zeroizing<Poly<_>> =
        Zeroizing::new(ring.forward(ring.from_signed(&gaussian.sample(params.degree(), rng))));
    ring.add_assign(&mut plaintext.poly, &noise);
    Ok(plaintext)
}
