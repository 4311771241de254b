//! Encryption and decryption by their definitions, for the tests of the products and key switches.

use bellerophon_ring::{Coeff, Poly, sample};
use rand::CryptoRng;

use super::{NtruContext, NtruSecret};

/// `c = (g + u) / f` with a fresh ternary `g`, for a message `u` modulo `Q`.
pub(crate) fn encrypt<R: CryptoRng + ?Sized>(
    context: &NtruContext,
    secret: &NtruSecret,
    message: &[i64],
    rng: &mut R,
) -> Poly<Coeff> {
    let ring = context.ring();
    let mut sum = ring.from_signed(message);
    ring.add_assign(&mut sum, &ring.from_signed(&sample::ternary(context.degree(), rng)));
    let mut c = ring.forward(sum);
    ring.mul_assign(&mut c, secret.inverse());
    ring.inverse(c)
}

/// The phase `c f`, which is message plus noise, as integers in `(-Q/2, Q/2]`.
pub(crate) fn phases(context: &NtruContext, secret: &NtruSecret, c: &Poly<Coeff>) -> Vec<i64> {
    let ring = context.ring();
    let mut product = ring.forward(c.clone());
    ring.mul_assign(&mut product, secret.values());
    ring.inverse(product).limb(0).iter().map(|&x| ring.modulus(0).center(x)).collect()
}
