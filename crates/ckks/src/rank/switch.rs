//! Ring switching: `Eval o Embed o RankReduce o Extract` (DPad-HE, section 4.3).

use bellerophon_mlwe::{self as mlwe, RingSwitchKeys, SecretKey};
use rand::CryptoRng;

use crate::{Ciphertext, Error, Meta, Params, Result};

/// Vectors of few slots from a ring of degree `N` to one of degree `N' < N`, where the lower levels of
/// a circuit cost less; values stay in the slots.
#[derive(Debug, Clone)]
pub struct RingSwitch {
    from: Params,
    to: Params,
    slots: usize,
    keys: RingSwitchKeys,
}

impl RingSwitch {
    /// The switch from `from`, whose secret is given, to `to`, for vectors of up to `slots` slots, a
    /// power of two. `to` has the first primes of the chain over a smaller ring (or, with ranks, of
    /// smaller dimension): its highest level is the one from which on vectors can be switched. The
    /// secret of `to` is given too: it is a part of `secret`.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] for a secret of other parameters, [`Error::SlotCount`] for slots that
    /// the target has not, those of [`RingSwitchKeys::generate`].
    pub fn generate<R: CryptoRng + ?Sized>(
        from: &Params,
        secret: &SecretKey,
        to: &Params,
        slots: usize,
        rng: &mut R,
    ) -> Result<(Self, SecretKey)> {
        let op = "generate keys of a ring switch";
        from.check(op, secret.fingerprint())?;
        let most = to.max_slots().min(from.max_slots());
        // A ring of degree 2 slots is the least that there is.
        let least = 4;
        if !slots.is_power_of_two() || !(least..=most).contains(&slots) {
            return Err(Error::SlotCount { op, found: slots, least, most });
        }
        let (keys, part) =
            RingSwitchKeys::generate(secret, to.lattice(), 2 * slots, to.limbs(), rng)?;
        Ok((Self { from: from.clone(), to: to.clone(), slots, keys }, part))
    }

    /// The parameters of switched vectors.
    pub fn to(&self) -> &Params {
        &self.to
    }

    /// The keys.
    pub fn keys(&self) -> &RingSwitchKeys {
        &self.keys
    }

    /// The vector over the target ring, at the level that it has or the highest of the target. The
    /// scale grows by `N' / (2 slots)`, the message does not.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] or [`Error::Mlwe`] if the vector belongs to another set or key,
    /// [`Error::SlotCount`] if it has more slots than the switch was made for,
    /// [`Error::RangeOverflow`] if its level has no room for the factor.
    pub fn apply(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "switch rings";
        self.from.check(op, x.lattice().fingerprint())?;
        let (found, most) = (x.slots(), self.slots);
        if found > most {
            return Err(Error::SlotCount { op, found, least: 1, most });
        }
        let (mut inner, meta) = x.clone().into_parts();
        if inner.limbs() > self.to.limbs() {
            inner.truncate(self.to.limbs())?;
        }
        let (factor, limbs) = (self.keys.factor(), inner.limbs());
        let scale = meta.scale * factor as f64;
        self.to.check_range(op, meta.bounds.slots().bound(), scale, limbs)?;
        let inner = self.keys.switch(&inner)?;
        let dropped = self.keys.reduce().key().shape().from_rank;
        let reduced = meta.noise + mlwe::noise::key_switch(self.keys.module(), dropped, limbs);
        let noise = reduced.map(|v| mlwe::noise::trace(self.to.lattice(), factor, limbs, v));
        Ciphertext::from_parts(&self.to, inner, Meta { scale, noise, ..meta })
    }
}
