//! Objects of encrypted integers and paired vectors: in one part of the slots, and in both.

use bellerophon::mlwe;
use bellerophon::{
    circuits::{
        CircuitOps,
        fbt::{IntVec, PairedVec, PublishExt, SeededIntVec, SeededPairedVec},
    },
    ckks::{self, Declaration, Evaluator, Provided},
};

use crate::{World, target::sample, world::rng};

/// Moduli that a table of the smallest chain reads.
const MODULUS: usize = 4;

/// Numbers of values in one part of the slots and in both.
fn counts(world: &World) -> [usize; 2] {
    let slots = world.params.slots();
    [slots / 2 + 1, slots + slots / 2]
}

fn values(world: &World, count: usize, limbs: usize) -> PairedVec {
    let (plain, range) = world.paired(count, limbs);
    let slots = world.params.ckks();
    let inner = ckks::encrypt(slots, &plain, &world.secret, &mut rng(24)).unwrap();
    PairedVec::new(inner, range, count).unwrap()
}

fn fresh(world: &World, count: usize, limbs: usize) -> SeededPairedVec {
    let (plain, range) = world.paired(count, limbs);
    let slots = world.params.ckks();
    let inner = ckks::encrypt_seeded(slots, &plain, &world.secret, &mut rng(25)).unwrap();
    SeededPairedVec::seeded(inner, range, count).unwrap()
}

fn whole(world: &World, count: usize, limbs: usize) -> IntVec {
    provided(world, count, limbs).into_inner()
}

fn provided(world: &World, count: usize, limbs: usize) -> Provided<IntVec> {
    let public = mlwe::PublicKey::generate(&world.secret, &mut rng(27));
    let (slots, (plain, _)) = (world.params.ckks(), world.paired(count, limbs));
    IntVec::provide(slots, &plain, MODULUS, count, &public, &mut rng(28)).unwrap()
}

fn evaluator(world: &World) -> Evaluator {
    let (slots, spec) = (world.params.ckks(), ckks::KeyLevels::default());
    let keys = ckks::EvaluationKeys::generate(slots, &world.secret, &spec, &mut rng(26)).unwrap();
    Evaluator::new(slots, &keys).unwrap()
}

pub(crate) fn paired(world: &'static World) -> Vec<Vec<u8>> {
    counts(world).map(|count| sample(&world.params, &values(world, count, 3))).to_vec()
}

pub(crate) fn fresh_paired(world: &'static World) -> Vec<Vec<u8>> {
    counts(world).map(|count| sample(&world.params, &fresh(world, count, 3))).to_vec()
}

pub(crate) fn published_paired(world: &'static World) -> Vec<Vec<u8>> {
    let declared = Declaration::from(-4.0..=4.0).with_noise(1e-3);
    let of = |count| {
        let published = evaluator(world).publish_paired(&values(world, count, 2), declared);
        sample(&world.params, &published.unwrap())
    };
    counts(world).map(of).to_vec()
}

pub(crate) fn integers(world: &'static World) -> Vec<Vec<u8>> {
    let of = |count| {
        let eval = evaluator(world);
        let on = CircuitOps::integers(&eval);
        sample(&world.params, &on.add_constant(&whole(world, count, 3), 1).unwrap())
    };
    counts(world).map(of).to_vec()
}

pub(crate) fn fresh_integers(world: &'static World) -> Vec<Vec<u8>> {
    let of = |count| {
        let inner = fresh(world, count, 3).into_inner();
        sample(&world.params, &SeededIntVec::seeded(inner, MODULUS, count).unwrap())
    };
    counts(world).map(of).to_vec()
}

pub(crate) fn provided_integers(world: &'static World) -> Vec<Vec<u8>> {
    counts(world).map(|count| sample(&world.params, &provided(world, count, 2))).to_vec()
}

pub(crate) fn published_integers(world: &'static World) -> Vec<Vec<u8>> {
    let of = |count| {
        let published = evaluator(world).publish_integers(&whole(world, count, 2), -128.0);
        sample(&world.params, &published.unwrap())
    };
    counts(world).map(of).to_vec()
}
