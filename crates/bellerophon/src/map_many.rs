//! Several functions of the same values.

use std::ops::RangeInclusive;

use bellerophon_ckks::Ciphertext;

use crate::{During, Evaluator, Result};

impl Evaluator {
    /// Applies several functions to every value, each as [`map_over`](Self::map_over) does. The
    /// values leave the slots once. With the keys of [`Needs::map_to`](crate::Needs::map_to) on
    /// RGSW, one blind rotation of a value serves all functions; with those of
    /// [`Needs::map`](crate::Needs::map), and on NTRU, each function takes a rotation.
    ///
    /// All functions of a value are read at the same index, so they share the error of the
    /// argument. Padding is zero.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map_to())?)?;
    /// let x = client.encrypt(&[0.5, -1.0], -2.0..=2.0)?;
    /// let both = server.maps(&x, -2.0..=2.0, &[&f64::sin, &f64::cos])?;
    /// # let (sin, cos) = (client.decrypt(&both[0])?, client.decrypt(&both[1])?);
    /// # assert!((sin[1] - (-1f64).sin()).abs() < 0.1 && (cos[0] - 0.5f64.cos()).abs() < 0.1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`map_over`](Self::map_over) with the ring bridge, and if there are no functions.
    pub fn maps(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        functions: &[&dyn Fn(f64) -> f64],
    ) -> Result<Vec<Ciphertext>> {
        let op = "maps";
        Ok(self.lookup().during(op)?.maps(x, domain, functions).during(op)?)
    }

    /// Applies several functions to every value of several vectors and packs all results into one
    /// vector: the first function of all values of the first vector, of the second, .., then the
    /// second function. For few values the time of ring packing dominates and hardly depends on
    /// their number.
    ///
    /// All results are packed at one amplitude: the noise of table and packing is relative to the
    /// widest range of the functions, constants aside. A function whose values span 1 beside one
    /// whose values span `1e4` is `1e4` times noisier than alone, so such functions should take
    /// separate calls. The noise of the result is that of its noisiest function. Padding is zero.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map())?)?;
    /// let x = client.encrypt(&[0.5, -1.0], -2.0..=2.0)?;
    /// let y = client.encrypt(&[1.5], -2.0..=2.0)?;
    /// let all = server.maps_packed(&[&x, &y], -2.0..=2.0, &[&f64::exp, &f64::abs])?;
    /// let found = client.decrypt(&all)?; // exp 0.5, exp -1, exp 1.5, 0.5, 1, 1.5
    /// # for (found, expected) in found.iter().zip([1.65, 0.37, 4.48, 0.5, 1.0, 1.5]) {
    /// #     assert!((found - expected).abs() < 0.3, "{found} {expected}");
    /// # }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`maps`](Self::maps), and for more results than a vector has slots.
    pub fn maps_packed(
        &self,
        operands: &[&Ciphertext],
        domain: RangeInclusive<f64>,
        functions: &[&dyn Fn(f64) -> f64],
    ) -> Result<Ciphertext> {
        let op = "maps_packed";
        Ok(self.lookup().during(op)?.maps_packed(operands, domain, functions).during(op)?)
    }
}
