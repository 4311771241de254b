//! Operations on full vectors at the top level of a parameter set.

use std::hint::black_box;

use bellerophon::Result;
use bellerophon::ckks::{
    Ciphertext, CkksOps, Encoder, Interval, KeyLevels, Params, Plaintext, decrypt_values, encrypt,
    encrypt_public,
};
use common::program::Failure;

use crate::measure::{Bench, Timed};
use crate::world::World;

/// The range of the operands.
const UNIT: [f64; 2] = [-1.0, 1.0];

/// The rotations that are hoisted together.
const STEPS: [i64; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

/// A set with its keys and operands.
pub struct Operations {
    pub world: World,
    encoder: Encoder,
    numbers: Vec<f64>,
    plain: Plaintext,
    x: Ciphertext,
    y: Ciphertext,
    /// `x` at level 0.
    low: Ciphertext,
    nothing: Ciphertext,
    sum: Ciphertext,
}

impl Operations {
    /// Keys and operands for some operations.
    pub fn new(params: &Params, operations: &[&str]) -> std::result::Result<Self, Failure> {
        let (top, has) = (params.max_level(), |name: &str| operations.contains(&name));
        let mut needs = KeyLevels::default().multiply(top);
        if has("conjugate") {
            needs = needs.conjugate(top);
        }
        if has("rotate_8_hoisted") {
            needs = needs.rotate(STEPS, top);
        } else if has("rotate") {
            needs = needs.rotate([1], top);
        }
        let mut world = World::new(params, &needs)?;
        let numbers = world.values(-1.0, 1.0);
        let others = world.values(-1.0, 1.0);
        let x = world.encrypt(&numbers, UNIT)?;
        Ok(Self {
            encoder: Encoder::new(params),
            plain: world.encode(&numbers, UNIT)?,
            y: world.encrypt(&others, UNIT)?,
            low: world.evaluator.drop_to_level(&x, 0)?,
            nothing: world.encrypt(&vec![0.0; numbers.len()], UNIT)?,
            sum: x.clone(),
            numbers,
            x,
            world,
        })
    }

    /// Times an operation by its name.
    pub fn time(
        &mut self,
        bench: &Bench,
        group: &str,
        name: &str,
    ) -> std::result::Result<Timed<()>, Failure> {
        bench.time(format!("{group}/{name}"), 1, || self.run(name))
    }

    fn run(&mut self, name: &str) -> Result<()> {
        let Self { world, encoder, numbers, plain, x, y, low, nothing, sum } = self;
        let World { params, secret, public, evaluator, rng } = world;
        let scale = params.scale();
        match name {
            "encode" => {
                let range = Interval::real(UNIT[0], UNIT[1])?;
                spent(encoder.encode(numbers, range, scale, params.limbs()))
            }
            "decode" => spent(encoder.decode::<f64>(plain)),
            "encrypt" | "encrypt_pk" => spent(encrypt_public(params, plain, public, rng)),
            "encrypt_secret" => spent(encrypt(params, plain, secret, rng)),
            "decrypt" => spent(decrypt_values::<f64>(params, low, secret)),
            "decrypt_decode" => spent(decrypt_values::<f64>(params, x, secret)),
            "add" => spent(evaluator.add(x, y)),
            "add_assign" => evaluator.add_assign(sum, nothing),
            "mul_scalar" => spent(evaluator.mul_scalar(x, 0.7)),
            "mul_plain_rescale" => spent(evaluator.mul_plain(x, plain)),
            "mul_relin_rescale" | "mul_rescale" => spent(evaluator.mul(x, y)),
            "square_relin_rescale" => spent(evaluator.square(x)),
            "rotate" => spent(evaluator.rotate(x, 1)),
            "rotate_8_hoisted" => spent(evaluator.rotate_many(x, &STEPS)),
            "conjugate" => spent(evaluator.conjugate(x)),
            other => unreachable!("{other} is no operation"),
        }
    }
}

/// Computes a result, and frees it.
fn spent<T>(result: Result<T>) -> Result<()> {
    result.map(|result| drop(black_box(result)))
}
