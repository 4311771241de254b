//! Serialized forms of evaluation keys: bodies and a seed.

use bellerophon_ring::error::ensure;
use bellerophon_ring::{
    Result,
    sample::Seed,
    wire::{Fingerprint, Packed},
    wire_form,
};
use serde::{Deserialize, Serialize};

use crate::dpad::RelinStrategy;
use crate::error;
use crate::galois::GaloisKey;
use crate::key_id::KeyIdent;
use crate::keyswitch::{KeySwitchKey, SeededKeySwitchKey, SwitchKeyInfo};
use crate::mod_raise::ModRaiseKey;
use crate::params::Params;
use crate::raise_transform::{RaiseTransform, RaiseTransformKey};
use crate::rank_reduction::RankReduceKey;
use crate::relinearize::RelinKeys;
use crate::wire::kind;

/// The plain form of a [`KeySwitchKey`], and of a [`ModRaiseKey`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeySwitchKeyForm<'a> {
    from: KeyIdent,
    to: KeyIdent,
    pub(super) limbs: u32,
    from_rank: u32,
    seed: Seed,
    /// Digit by digit (a ModRaise key has one), component by component, over
    /// `q_0..q_{limbs-1}, p_0..p_{k-1}`.
    #[serde(borrow)]
    bodies: Packed<'a>,
}

impl KeySwitchKeyForm<'static> {
    /// The form of a key whose output has these parameters. It borrows nothing of the key.
    pub(super) fn new(params: &Params, key: &KeySwitchKey) -> Result<Self> {
        let shape = key.shape();
        params.check(shape.to.fingerprint)?;
        Ok(Self {
            from: shape.from,
            to: shape.to,
            limbs: shape.limbs as u32,
            from_rank: shape.from_rank as u32,
            seed: *key.seed(),
            bodies: Packed::rows(params.gadget().ring(shape.limbs), key.bodies().iter()),
        })
    }
}

wire_form! {
    // Read with the parameters of its output.
    for KeySwitchKey: kind::KEY_SWITCH_KEY, "switching key" as KeySwitchKeyForm<'a>;
    fn write(&self, params: &Params) {
        KeySwitchKeyForm::new(params, self)
    }
    fn read(params, form) {
        seeded(params, form)?.into_expanded(params)
    }
}

fn seeded(params: &Params, form: KeySwitchKeyForm) -> Result<SeededKeySwitchKey> {
    let (limbs, from_rank) = (form.limbs as usize, form.from_rank as usize);
    params.check_limbs(limbs)?;
    let (from, to) = (form.from, form.to);
    // The reader knows the rank of the output; the rank of the input follows from the form
    // and must fit the number of bytes.
    let shape = SwitchKeyInfo { from, to, limbs, from_rank, to_rank: params.rank() };
    let rows = params.gadget().digits(limbs).saturating_mul(from_rank);
    let bodies = form.bodies.unpack_polys(params.gadget().ring(limbs), rows)?;
    SeededKeySwitchKey::from_parts(params, shape, form.seed, bodies)
}

wire_form! {
    /// The plain form of a [`GaloisKey`].
    pub struct GaloisKeyForm<'a> for GaloisKey: kind::GALOIS_KEY, "Galois key" {
        pub(super) exponent: u32 = self.exponent() as u32,
        pub(super) key: KeySwitchKeyForm<'a> = self.key().to_form(params)?,
    }
    fn write(&self, params: &Params) {}
    fn read(params, form) {
        // Reject a second encoding of the same automorphism.
        let (exponent, order) = (form.exponent as usize, 2 * params.degree());
        if exponent >= order {
            let needed = format!("an odd number below 2N = {order}");
            return Err(error::parameter("exponent of a Galois key", exponent.to_string(), needed));
        }
        let key = seeded(params, form.key)?;
        Self::from_parts(params, exponent, key)
    }
}

wire_form! {
    // Read with the parameters of its output.
    for RankReduceKey: kind::RANK_REDUCE_KEY, "rank reduction key" as KeySwitchKeyForm<'a>;
    fn write(&self, params: &Params) {
        self.key().to_form(params)
    }
    fn read(params, form) {
        Ok(KeySwitchKey::from_form(params, form)?.into())
    }
}

wire_form! {
    /// The plain form of [`RelinKeys`].
    pub struct RelinKeysForm<'a> for RelinKeys: kind::RELIN_KEYS, "relinearization keys" {
        cross: KeySwitchKeyForm<'a> = self.cross().to_form(strategy.raised())?,
        down: Option<KeySwitchKeyForm<'a>> =
            self.down().map(|down| down.to_form(strategy.work())).transpose()?,
    }
    fn write(&self, strategy: &RelinStrategy) {}
    fn read(strategy, form) {
        // A rank-down key without a temporary rank would be ignored: reject it.
        if form.down.is_some() && !strategy.is_raised() {
            let name = "rank reduction key of relinearization keys";
            let needed = "none: the strategy has no temporary rank".into();
            return Err(error::parameter(name, "one".into(), needed));
        }
        // Each key is read with the parameters of its output.
        let cross = KeySwitchKey::from_form(strategy.raised(), form.cross)?;
        let down =
            form.down.map(|down| RankReduceKey::from_form(strategy.work(), down)).transpose()?;
        Self::from_parts(strategy, cross, down)
    }
}

wire_form! {
    // Read with the parameters of its output.
    for ModRaiseKey: kind::RAISE_KEY, "raising key" as KeySwitchKeyForm<'a>;
    fn write(&self, params: &Params) {
        params.check(self.shape().to.fingerprint)?;
        Ok(KeySwitchKeyForm {
            from: self.shape().from,
            to: self.shape().to,
            limbs: self.shape().limbs as u32,
            from_rank: self.bodies().len() as u32,
            seed: *self.seed(),
            bodies: Packed::polys(params.gadget().ring(self.shape().limbs), self.bodies().iter()),
        })
    }
    fn read(params, form) {
        let limbs = form.limbs as usize;
        params.check(form.to.fingerprint)?;
        params.check_limbs(limbs)?;
        // A key without rows would switch nothing.
        ensure(form.from_rank != 0, || error::rank(0, 1))?;
        let ring = params.gadget().ring(limbs);
        let bodies = form.bodies.unpack_polys(ring, form.from_rank as usize)?;
        let (from, to) = (form.from, form.to);
        Ok(Self::from_bodies(params, from, to, limbs, form.seed, bodies))
    }
}

/// The plain form of a [`RaiseTransformKey`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RaiseTransformKeyForm<'a> {
    from: KeyIdent,
    to: KeyIdent,
    matrix: Fingerprint,
    seed: Seed,
    /// Term by term, over all primes of the chain and the special primes of the matrix.
    #[serde(borrow)]
    bodies: Packed<'a>,
}

/// A part of other keys, read with its matrix: not an object of its own.
impl RaiseTransformKey {
    /// The plain form.
    pub fn to_form(&self, transform: &RaiseTransform) -> Result<RaiseTransformKeyForm<'_>> {
        self.check_matrix(transform)?;
        Ok(RaiseTransformKeyForm {
            from: self.from(),
            to: self.to(),
            matrix: self.matrix(),
            seed: *self.seed(),
            bodies: Packed::rows(transform.ring(), self.bodies().iter()),
        })
    }

    /// Reads the key of a matrix.
    pub fn from_form(transform: &RaiseTransform, form: RaiseTransformKeyForm) -> Result<Self> {
        let bodies = form.bodies.unpack_polys(transform.ring(), transform.terms())?;
        Self::from_bodies(transform, form.from, form.to, form.matrix, form.seed, bodies)
    }
}
