//! The repacking key of the linear bridge: the LWE secret under CKKS, in all its baby-step
//! rotations.

use bellerophon_ckks::{
    Ciphertext, CkksOps, Encoder, Evaluator, Interval, Params, SeededCiphertext, encrypt_seeded,
};
use bellerophon_mlwe::{self as mlwe, KeyId, SecretKey};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Result, sample::Seed, try_map, wire::Fingerprint};
use rand::CryptoRng;
use zeroize::Zeroizing;

use super::tall_diagonals::check_baby;
use crate::error;

/// A repacking key in the form to send: `G` symmetric encryptions whose masks are seeds.
///
/// The paper's key (PEGASUS Fig. 6) is one encryption of the LWE secret `s`, rotated by the server
/// for each baby step. Here the owner of the secrets encrypts the rotations: `RK_g` is a fresh
/// encryption of `s` rotated to the left by `g`, for `g = 0, 1, .. G - 1`. A fresh ciphertext is
/// smaller than the rotation key that would compute it (one body instead of one for each digit,
/// over fewer primes), carries less noise, and costs the server nothing. Rotation keys are needed
/// only for the steps `G, 2G, 4G, ..` ([`rotation_steps`]).
///
/// Encrypting the LWE secret under the CKKS secret, while another key goes the opposite way,
/// assumes circular security, as PEGASUS does throughout.
#[derive(Debug, Clone, PartialEq)]
pub struct SeededRepackKey {
    dimension: usize,
    babies: Vec<SeededCiphertext>,
}

/// A repacking key ready for use: encryptions of one LWE secret in its baby-step rotations.
#[derive(Debug, Clone, PartialEq)]
pub struct RepackKey {
    dimension: usize,
    babies: Vec<Ciphertext>,
    /// The seeds of the masks, if these are fresh encryptions.
    seeds: Option<Vec<Seed>>,
}

/// The rotations for which the evaluator needs keys to repack with `baby` baby steps under an LWE
/// secret of dimension `dimension`: `G` between giant steps, `G, 2G, ..` for sums over columns.
/// They are applied at one level above the result.
///
/// # Errors
/// [`ErrorKind::Shape`] unless `baby` is a power of two up to the dimension, itself rounded up to a
/// power of two.
pub fn rotation_steps(dimension: usize, baby: usize) -> Result<Vec<i64>> {
    let columns = dimension.next_power_of_two();
    check_baby(columns, baby)?;
    let steps = std::iter::successors(Some(baby), |step| Some(2 * step));
    Ok(steps.take_while(|&step| step < columns).map(|step| step as i64).collect())
}

impl SeededRepackKey {
    /// Encrypts an LWE secret, given by its coefficients in `{-1, 0, 1}`, in `baby` rotations.
    ///
    /// Repacking starts from `limbs` limbs: a result at level `t`, before the modular reduction,
    /// needs those of level `t + 1`. `baby` is a power of two, about the square root of the
    /// dimension. More baby steps make a larger key and fewer rotations.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for a secret with more coefficients than the ring has slots;
    /// [`ErrorKind::Argument`] for a coefficient that is not ternary.
    pub fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        lwe_secret: &[i64],
        secret: &SecretKey,
        baby: usize,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        // Step 1: the secret fits the slots and is ternary.
        let dimension = lwe_secret.len();
        if dimension == 0 || dimension > params.max_slots() {
            let needed = format!("1 to the {} slots of the ring", params.max_slots());
            return Err(error::shape("LWE dimension", dimension, needed));
        }
        // Without a branch per coefficient: the fold reads all of them.
        let outside = lwe_secret.iter().fold(0, |bad, &c| bad | (!(-1..=1).contains(&c)) as u8);
        if outside != 0 {
            let (what, found) = ("a coefficient of the LWE secret", "another".into());
            return Err(error::value(what, found, "-1, 0 or 1"));
        }
        // Step 2: an encryption of every rotation to the left by 0, 1, .. baby - 1.
        let columns = dimension.next_power_of_two();
        check_baby(columns, baby)?;
        let (encoder, ternary) = (Encoder::new(params), Interval::real(-1.0, 1.0)?);
        let babies = (0..baby)
            .map(|g| {
                let at = |r: usize| lwe_secret.get((r + g) % columns).map_or(0.0, |&c| c as f64);
                let rotated = Zeroizing::new((0..columns).map(at).collect::<Vec<f64>>());
                let plaintext =
                    encoder.encode_in(&rotated, ternary, columns, params.scale(), limbs)?;
                encrypt_seeded(params, &plaintext, secret, rng)
            })
            .collect::<Result<_>>()?;
        Ok(Self { dimension, babies })
    }

    /// The key with its masks expanded.
    pub fn expand(&self, params: &Params) -> Result<RepackKey> {
        let babies = try_map(&self.babies, |ct| ct.expand(params))?;
        let seeds = self.babies.iter().map(|ct| *ct.inner.seed()).collect();
        Ok(RepackKey { dimension: self.dimension, babies, seeds: Some(seeds) })
    }

    /// Assembles the stored parts, one ciphertext per baby step.
    pub(crate) fn from_parts(dimension: usize, babies: Vec<SeededCiphertext>) -> Result<Self> {
        // Step 1: the number of baby steps, and the slots of each ciphertext.
        check_baby(dimension.next_power_of_two(), babies.len())?;
        babies.iter().try_for_each(|ct| check_slots(dimension, ct.meta.slots))?;
        // Step 2: all under one key, with as many limbs as the first.
        let first = &babies[0].inner;
        for other in babies[1..].iter().map(|ct| &ct.inner) {
            let (found, needed) = (other.ident().fingerprint, first.ident().fingerprint);
            if found != needed {
                return Err(mlwe::error::params_mismatch(found, needed));
            }
            let (found, needed) = (other.ident().key, first.ident().key);
            if found != needed {
                return Err(mlwe::error::key_mismatch(found, needed));
            }
            let (found, needed) = (other.b().limbs(), first.b().limbs());
            if found != needed {
                return Err(mlwe::error::limbs(found, needed.to_string()));
            }
        }
        Ok(Self { dimension, babies })
    }

    /// Checks that the key has these parameters and that all its ciphertexts have the same
    /// metadata.
    pub(crate) fn check(&self, params: &Params) -> Result<()> {
        let first = &self.babies[0];
        check_fingerprint(params, first.inner.ident().fingerprint)?;
        if self.babies.iter().any(|ct| ct.meta != first.meta) {
            let (what, found) = ("the metadata of its ciphertexts", "not uniform".into());
            return Err(error::value(what, found, "the same for all"));
        }
        Ok(())
    }

    /// The encryptions of the rotations, in order.
    pub fn babies(&self) -> &[SeededCiphertext] {
        &self.babies
    }

    /// The LWE dimension `n`.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Bytes with residues packed to the bits of their primes, seeds included.
    pub fn byte_len(&self, params: &Params) -> usize {
        self.babies.iter().map(|ct| ct.inner.byte_len(params.lattice())).sum()
    }
}

impl RepackKey {
    /// Computes the baby steps from one encryption of the LWE secret, as the paper does: hoisted
    /// rotations by `1, 2, .. baby - 1`, for which the evaluator needs keys.
    pub fn from_rotations(
        evaluator: &Evaluator,
        encrypted_secret: &Ciphertext,
        dimension: usize,
        baby: usize,
    ) -> Result<Self> {
        check_slots(dimension, encrypted_secret.meta().slots)?;
        check_baby(dimension.next_power_of_two(), baby)?;
        // Step 2 of Fig. 5.
        let steps: Vec<i64> = (0..baby as i64).collect();
        let babies = evaluator.rotate_many(encrypted_secret, &steps)?;
        Ok(Self { dimension, babies, seeds: None })
    }

    /// The form to send.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for a key [from rotations](Self::from_rotations), whose masks have
    /// no seeds.
    pub fn compress(&self, params: &Params) -> Result<SeededRepackKey> {
        let Some(seeds) = &self.seeds else {
            let (found, needed) = ("rotations of one ciphertext".into(), "fresh encryptions");
            return Err(error::value("its origin", found, needed));
        };
        // The body alone: the seed of the mask is known.
        let baby = |(ct, &seed): (&Ciphertext, &Seed)| {
            let (lattice, inner) = (params.lattice(), ct.lattice());
            check_fingerprint(params, inner.ident().fingerprint)?;
            let body = inner.b().clone();
            let inner = mlwe::SeededCiphertext::from_parts(lattice, seed, body, inner.ident().key)?;
            Ok(SeededCiphertext::new(inner, *ct.meta()))
        };
        let babies = self.babies.iter().zip(seeds).map(baby).collect::<Result<_>>()?;
        Ok(SeededRepackKey { dimension: self.dimension, babies })
    }

    /// The encryptions of the rotations, in order.
    pub(crate) fn babies(&self) -> &[Ciphertext] {
        &self.babies
    }

    /// The LWE dimension `n`.
    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Number of baby steps `G`.
    #[cfg(test)]
    pub(crate) fn baby_steps(&self) -> usize {
        self.babies.len()
    }

    /// Limbs of the encryptions: results are at least one level below them.
    #[cfg(test)]
    pub(crate) fn limbs(&self) -> usize {
        self.babies[0].lattice().limbs()
    }

    /// Public identity of the CKKS secret.
    pub(crate) fn secret_id(&self) -> KeyId {
        self.babies[0].lattice().ident().key
    }

    /// Bytes in memory.
    #[cfg(test)]
    pub(crate) fn memory_len(&self) -> usize {
        let polys = |ct: &Ciphertext| ct.lattice().rank() + 1;
        self.babies
            .iter()
            .map(|ct| polys(ct) * ct.lattice().limbs() * ct.lattice().b().degree() * 8)
            .sum()
    }
}

fn check_fingerprint(params: &Params, found: Fingerprint) -> Result<()> {
    let needed = params.lattice().fingerprint();
    if found != needed {
        return Err(mlwe::error::params_mismatch(found, needed));
    }
    Ok(())
}

fn check_slots(dimension: usize, found: usize) -> Result<()> {
    if dimension == 0 || found != dimension.next_power_of_two() {
        return Err(error::shape(
            "number of slots",
            found,
            format!("the LWE dimension {dimension} rounded up to a power of two"),
        ));
    }
    Ok(())
}
