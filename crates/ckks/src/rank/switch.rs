//! Ring switching: `Eval o Embed o RankReduce o Extract` (DPad-HE, section 4.3).

use bellerophon_mlwe::{self as mlwe, RingSwitchKeys, SecretKey};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;
use bellerophon_ring::error::ensure;
use rand::CryptoRng;

use crate::ciphertext::{Ciphertext, CiphertextMeta};
use crate::error;
use crate::params::Params;

/// Ring switching: vectors of few slots from a ring of degree `N` to one of degree `N' < N`, where
/// the lower levels of a circuit cost less. Values stay in their slots.
#[derive(Debug, Clone)]
pub struct RingSwitch {
    from: Params,
    to: Params,
    slots: usize,
    keys: RingSwitchKeys,
}

/// `Err` unless vectors of both sets have this number of slots.
fn check_slots(from: &Params, to: &Params, slots: usize) -> Result<()> {
    let most = to.max_slots().min(from.max_slots());
    // The polynomials of the slots form a ring of degree 2 slots, and the smallest ring has
    // degree 8.
    let least = 4;
    match slots.is_power_of_two() && (least..=most).contains(&slots) {
        true => Ok(()),
        false => Err(error::slot_count(slots, least, most)),
    }
}

impl RingSwitch {
    /// Generates the keys from `from`, to which `secret` belongs, to `to`, for vectors of up to
    /// `slots` slots, a power of two. The set `to` has the first primes of the chain over a smaller
    /// ring (or, at larger ranks, of a smaller dimension). Its highest level is the highest level
    /// of switched vectors. Also returns the secret of `to`, which is a part of `secret`.
    pub fn generate<R: CryptoRng + ?Sized>(
        from: &Params,
        secret: &SecretKey,
        to: &Params,
        slots: usize,
        rng: &mut R,
    ) -> Result<(Self, SecretKey)> {
        from.check(secret.params().fingerprint())?;
        check_slots(from, to, slots)?;
        let (keys, part) =
            RingSwitchKeys::generate(secret, to.lattice(), 2 * slots, to.limbs(), rng)?;
        Ok((Self { from: from.clone(), to: to.clone(), slots, keys }, part))
    }

    /// Assembles the switch of two sets, between whose lattices `keys` switch.
    pub fn from_parts(from: &Params, to: &Params, keys: RingSwitchKeys) -> Result<Self> {
        let slots = keys.module().spec().degree / 2;
        check_slots(from, to, slots)?;
        Ok(Self { from: from.clone(), to: to.clone(), slots, keys })
    }

    /// The keys.
    pub fn keys(&self) -> &RingSwitchKeys {
        &self.keys
    }

    /// The vector over the target ring, at its level or the highest level of the target, whichever
    /// is lower. The scale grows by `N' / (2 slots)`, and the message is unchanged.
    ///
    /// # Errors
    /// [`ErrorKind::ParamsMismatch`] or [`ErrorKind::KeyMismatch`] if the vector belongs to another
    /// set or key, [`ErrorKind::Shape`] if it has more slots than the switch was made for,
    /// [`ErrorKind::Range`] if the modulus of its level has no room for the factor.
    pub fn apply(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.from.check(x.lattice().ident().fingerprint)?;
        let (found, most) = (x.meta().slots, self.slots);
        ensure(found <= most, || error::slot_count(found, 1, most))?;

        // Step 1: drop the limbs that the target does not have, and check the room for the factor.
        let (mut inner, meta) = x.clone().into_parts();
        if inner.limbs() > self.to.limbs() {
            inner.truncate(self.to.limbs())?;
        }
        let (factor, limbs) = (self.keys.factor(), inner.limbs());
        let scale = meta.scale * factor as f64;
        self.to.check_range(meta.bounds.slots().bound(), scale, limbs)?;

        // Step 2: Extract, RankReduce, Embed and Eval (the trace), as one map of the lattice layer.
        let inner = self.keys.switch(&inner)?;

        // Step 3: the noise of the rank reduction and of the trace.
        let dropped = self.keys.reduce().key().shape().from_rank;
        let reduced = meta.noise + mlwe::noise::key_switch(self.keys.module(), dropped, limbs);
        let noise = reduced.map(|v| mlwe::noise::trace(self.to.lattice(), factor, limbs, v));
        let meta = CiphertextMeta { scale, noise, ..meta };
        Ok(Ciphertext::from_parts(&self.to, inner, meta)?.of(x.origins.clone()))
    }
}
