//! Simulated encoding and encryption.

use super::{SimCiphertext, Simulator};
#[cfg(doc)]
use crate::ErrorKind;
use crate::{
    Complex64, During, Interval, Result, SlotValue,
    encode::{check_values, constants_range},
    error,
    fbt::IntVec,
    origins::{Origins, encoding},
};

impl Simulator {
    /// Simulates [`encrypt`](crate::encrypt()) of values of a declared range, encoded at the
    /// default scale for `level`. Only [`SimCiphertext::values`] depends on the values.
    ///
    /// # Errors
    /// Those of [`Encoder::encode`](crate::Encoder::encode).
    pub fn encrypt<T: SlotValue>(
        &self,
        values: &[T],
        range: Interval,
        level: usize,
    ) -> Result<SimCiphertext> {
        let plain = self.encoded(values, range, level)?;
        let metadata = self.rules().encrypted_secret(&plain.metadata);
        Ok(SimCiphertext { metadata, origins: self.encryption(), ..plain })
    }

    /// Simulates [`encrypt_public`](crate::encrypt_public) of values of a declared range, encoded
    /// at the default scale for `level`.
    ///
    /// # Errors
    /// Those of [`Encoder::encode`](crate::Encoder::encode).
    pub fn encrypt_public<T: SlotValue>(
        &self,
        values: &[T],
        range: Interval,
        level: usize,
    ) -> Result<SimCiphertext> {
        let plain = self.encoded(values, range, level)?;
        let metadata = self.rules().encrypted_public(&plain.metadata);
        Ok(SimCiphertext { metadata, origins: self.encryption(), ..plain })
    }

    /// Simulates [`Encoder::encode_integers`](crate::Encoder::encode_integers) and
    /// [`encrypt`](crate::encrypt()) of integers of `0 .. p`.
    ///
    /// # Errors
    /// Those of [`Encoder::encode_integers`](crate::Encoder::encode_integers),
    /// [`ErrorKind::MissingKey`] without [`with_functional`](Self::with_functional).
    pub fn encrypt_integers(
        &self,
        integers: &[usize],
        modulus: usize,
        level: usize,
    ) -> Result<IntVec<SimCiphertext>> {
        let op = "encrypt_integers";
        let missing = error::missing_key("functional bootstrapping key", None);
        let bootstrapper = self.functional.as_ref().ok_or(missing).during(op)?;
        // The scale of integers depends on their modulus and differs from the default scale.
        let scale = bootstrapper.integer_scale(modulus);
        IntVec::assembled(integers, modulus, self.params.max_slots(), |slots, range| {
            let reals: Vec<f64> = slots.iter().map(|z| z.re).collect();
            let plain = match range.is_real() {
                true => self.plain((&reals, range), 1, scale, level).during(op)?,
                false => self.plain((slots, range), 1, scale, level).during(op)?,
            };
            let metadata = self.rules().encrypted_secret(&plain.metadata);
            Ok(SimCiphertext { metadata, origins: self.encryption(), ..plain })
        })
    }

    fn encoded<T: SlotValue>(
        &self,
        values: &[T],
        range: Interval,
        level: usize,
    ) -> Result<SimCiphertext> {
        let op = "encode";
        self.params.check_level(level).during(op)?;
        self.plain((values, range), 1, self.params.scale(), level).during(op)
    }

    /// Constants encoded in at least `slots` slots.
    pub(super) fn constants<T: SlotValue>(
        &self,
        constants: &[T],
        slots: usize,
        scale: f64,
        level: usize,
    ) -> Result<SimCiphertext> {
        let range = constants_range(constants, self.params.max_slots())?;
        self.plain((constants, range), slots, scale, level)
    }

    /// Values of a range encoded in at least `slots` slots.
    pub(super) fn plain<T: SlotValue>(
        &self,
        (values, range): (&[T], Interval),
        slots: usize,
        scale: f64,
        level: usize,
    ) -> Result<SimCiphertext> {
        // As the encoder does: check, then pad with zeros to a power of two.
        check_values(values, self.params.max_slots())?;
        let slots = values.len().next_power_of_two().max(slots);
        let metadata = self.rules().encoded((values, range), slots, scale, level)?;
        let mut padded: Vec<Complex64> = values.iter().map(|v| v.to_complex()).collect();
        padded.resize(slots, Complex64::ZERO);
        let origins = Origins::plain(encoding(&padded, scale));
        Ok(self.vector(padded, metadata, origins))
    }
}
