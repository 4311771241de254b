//! The parts of both NTRU rotations: the random generators of the coordinates of a key, and the
//! initial accumulator.

use bellerophon_ring::{Coeff, Poly, aligned::AlignedVec};
use chacha20::ChaCha20Rng;
use rand::{CryptoRng, SeedableRng};
use zeroize::Zeroizing;

use crate::ntru::{NtruContext, NtruGadgetCiphertext};

/// One random generator for each coordinate, all from one local key, so that coordinates can be
/// generated in any order.
pub(super) struct Streams(Zeroizing<[u8; 32]>);

impl Streams {
    pub(super) fn new<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut key = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *key);
        Self(key)
    }

    pub(super) fn of(&self, coordinate: usize) -> ChaCha20Rng {
        let mut rng = ChaCha20Rng::from_seed(*self.0);
        rng.set_stream(coordinate as u64);
        rng
    }
}

/// The initial accumulator: an NTRU encryption of the polynomial with these coefficients. They are
/// scaled from `q0` to `Q` and multiplied by NTRU' of `1 / f`.
pub(super) fn initial_accumulator(
    context: &NtruContext,
    entry: &NtruGadgetCiphertext,
    coefficients: &[u64],
    digits: &mut AlignedVec,
) -> Poly<Coeff> {
    // Step 1: the coefficients modulo q0, scaled to Q.
    let mut table = context.table_ring().zero::<Coeff>();
    table.limb_mut(0).copy_from_slice(coefficients);
    let mut c = context.scaled_from_table(table);
    // Step 2: the external product with NTRU'(1 / f) has the phase c (1 / f) f = c.
    context.multiply(c.limb_mut(0), entry.rows(), digits);
    c
}
