//! Simulated encoding and encryption.

use bellerophon_ring::Result;
use bellerophon_ring::error::operation;
use num_complex::Complex64;

use super::{SimCiphertext, Simulator};
use crate::encode::check_values;
use crate::interval::Interval;
use crate::origins::Origins;
use crate::slot_value::SlotValue;

impl Simulator {
    /// Simulates [`encrypt`](crate::encrypt()) of values of a declared range, encoded at the
    /// default scale for `level`. Only [`SimCiphertext::values`] depends on the values.
    pub fn encrypt<T: SlotValue>(
        &self,
        values: &[T],
        range: Interval,
        level: usize,
    ) -> Result<SimCiphertext> {
        operation("encrypt", || self.encrypt_at(values, range, self.params.scale(), level))
    }

    /// As [`encrypt`](Self::encrypt), encoded at a given scale.
    pub fn encrypt_at<T: SlotValue>(
        &self,
        values: &[T],
        range: Interval,
        scale: f64,
        level: usize,
    ) -> Result<SimCiphertext> {
        let plain = self.plain(values, range, scale, level)?;
        let metadata = self.rules().encrypted_secret(&plain.metadata);
        Ok(SimCiphertext { metadata, origins: self.encryption(), ..plain })
    }

    /// Simulates [`encrypt_public`](crate::encrypt_public) of values of a declared range, encoded
    /// at the default scale for `level`.
    pub fn encrypt_public<T: SlotValue>(
        &self,
        values: &[T],
        range: Interval,
        level: usize,
    ) -> Result<SimCiphertext> {
        let plain = self.plain(values, range, self.params.scale(), level)?;
        let metadata = self.rules().encrypted_public(&plain.metadata);
        Ok(SimCiphertext { metadata, origins: self.encryption(), ..plain })
    }

    /// Values of a range, encoded at a level.
    fn plain<T: SlotValue>(
        &self,
        values: &[T],
        range: Interval,
        scale: f64,
        level: usize,
    ) -> Result<SimCiphertext> {
        self.params.check_level(level)?;
        // As the encoder does: check, then pad with zeros to a power of two.
        check_values(values, self.params.max_slots())?;
        let slots = values.len().next_power_of_two();
        let metadata = self.rules().encoded(values, range, slots, scale, level)?;
        let mut padded: Vec<Complex64> = values.iter().map(|v| v.to_complex()).collect();
        padded.resize(slots, Complex64::ZERO);
        Ok(self.vector(padded, metadata, Origins::none()))
    }
}
