//! LWE ciphertexts.

use bellerophon_ring::{Modulus, Result};

use crate::error;

/// An LWE ciphertext `(b, a)` modulo an odd prime `q`, with phase `b + <a, s>`.
#[derive(Clone, PartialEq, Eq)]
pub struct Ciphertext {
    modulus: Modulus,
    b: u64,
    a: Vec<u64>,
}

/// Shape only, because a [trivial](Ciphertext::trivial) ciphertext contains its value in clear.
impl std::fmt::Debug for Ciphertext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ciphertext")
            .field("modulus", &self.modulus)
            .field("dimension", &self.dimension())
            .finish_non_exhaustive()
    }
}

impl Ciphertext {
    /// A ciphertext from its parts.
    pub(crate) fn new(modulus: Modulus, b: u64, a: Vec<u64>) -> Result<Self> {
        if let Some(&found) = a.iter().chain([&b]).find(|&&x| x >= modulus.value()) {
            return Err(error::modulus(found, modulus.value()));
        }
        Ok(Self { modulus, b, a })
    }

    /// A ciphertext of the value `phase` without noise and with the mask 0: the value is in clear.
    pub fn trivial(modulus: Modulus, dimension: usize, phase: i64) -> Self {
        Self { modulus, b: modulus.from_i64(phase), a: vec![0; dimension] }
    }

    /// The modulus `q`.
    pub fn modulus(&self) -> &Modulus {
        &self.modulus
    }

    /// The dimension of the secret.
    pub(crate) fn dimension(&self) -> usize {
        self.a.len()
    }

    /// The body `b` in `[0, q)`.
    pub fn b(&self) -> u64 {
        self.b
    }

    /// The mask `a`, residues in `[0, q)`.
    pub fn a(&self) -> &[u64] {
        &self.a
    }

    /// `self += other`. The phases add, and so does their noise.
    pub(crate) fn add_assign(&mut self, other: &Self) -> Result<()> {
        let q = self.modulus;
        other.check(self.dimension(), &q)?;
        self.b = q.add(self.b, other.b);
        self.a.iter_mut().zip(&other.a).for_each(|(x, &y)| *x = q.add(*x, y));
        Ok(())
    }

    /// Negates the phase.
    pub(crate) fn neg_assign(&mut self) {
        let q = self.modulus;
        self.b = q.neg(self.b);
        self.a.iter_mut().for_each(|x| *x = q.neg(*x));
    }

    /// Multiplies the phase, including its noise, by an integer.
    pub(crate) fn mul_assign(&mut self, factor: i64) {
        // The phase is linear in (b, a), so all coordinates are multiplied.
        let q = self.modulus;
        let factor = q.from_i64(factor);
        self.b = q.mul(self.b, factor);
        self.a.iter_mut().for_each(|x| *x = q.mul(*x, factor));
    }

    /// Adds a public integer to the phase.
    pub fn add_constant(&mut self, phase: i64) {
        // The body alone: the phase is b + <a, s>.
        self.b = self.modulus.add(self.b, self.modulus.from_i64(phase));
    }

    /// Fails with the operation's name unless the ciphertext has this dimension and modulus.
    pub(crate) fn check(&self, dimension: usize, q: &Modulus) -> Result<()> {
        if self.dimension() != dimension {
            let remedy = "switch the key first, or use operands under one key";
            let (found, needed) = (self.dimension(), dimension);
            return Err(error::dimension(found, needed, remedy));
        }
        if self.modulus != *q {
            return Err(error::modulus(self.modulus.value(), q.value()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;

    fn value(q: &Modulus, b: u64, a: &[u64]) -> Ciphertext {
        Ciphertext::new(*q, b, a.to_vec()).unwrap()
    }

    #[test]
    fn arithmetic_is_modular_in_every_coordinate() {
        let q = Modulus::new(97).unwrap();
        let mut x = value(&q, 90, &[1, 96, 0]);
        x.add_assign(&value(&q, 10, &[96, 96, 5])).unwrap();
        assert_eq!(x, value(&q, 3, &[0, 95, 5]));
        x.mul_assign(-2);
        assert_eq!(x, value(&q, 91, &[0, 4, 87]));
        x.neg_assign();
        assert_eq!(x, value(&q, 6, &[0, 93, 10]));
        x.add_constant(-96);
        assert_eq!(x.b(), 7);
    }

    #[test]
    fn mismatches_are_errors() {
        let (q, p) = (Modulus::new(97).unwrap(), Modulus::new(101).unwrap());
        let mut x = Ciphertext::trivial(q, 3, -1);
        assert_eq!(x.b(), 96);
        let wrong = Ciphertext::trivial(q, 2, 0);
        assert!(refusal(&x.add_assign(&wrong)).is(&ErrorKind::Shape, "dimension 2 where"));
        let wrong = Ciphertext::trivial(p, 3, 0);
        assert!(refusal(&x.add_assign(&wrong)).is(&ErrorKind::ParamsMismatch, "modulus 101 where"));
        assert!(
            refusal(&Ciphertext::new(q, 97, vec![]))
                .is(&ErrorKind::ParamsMismatch, "is needed; switch the modulus first")
        );
        assert!(
            refusal(&Ciphertext::new(q, 0, vec![5, 97]))
                .is(&ErrorKind::ParamsMismatch, "is needed; switch the modulus first")
        );
    }
}
