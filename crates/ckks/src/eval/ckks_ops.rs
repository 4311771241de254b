//! [`CkksOps`] for the evaluator: every operation is the inherent method of the same name, which
//! computes.

use std::sync::Arc;

use crate::{
    Ciphertext, CiphertextMeta, CkksOps, Complex64, During, Evaluator, Metadata, Origins, Params,
    Result, SlotValue,
    bootstrap::Bootstrapper,
    error,
    fbt::{FbtInput, FunctionalBootstrapper, PeriodicFunction},
    lintrans::LinearTransform,
    polynomial::{Monomial, Polynomial, PowerBasis, Powers},
};

/// Operations of [`CkksOps`] that are the inherent methods of the same names. Their errors name
/// them, and not a part of them.
macro_rules! inherent_methods {
    ($(fn $name:ident $(<$T:ident>)? ($($arg:ident: $type:ty),*) -> Result<$output:ty>;)*) => {$(
        fn $name $(<$T: SlotValue>)? (&self, $($arg: $type),*) -> Result<$output> {
            Self::$name(self, $($arg),*).during(stringify!($name))
        }
    )*};
}

/// As [`inherent_methods`], for those that cannot fail.
macro_rules! inherent_getters {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $output:ty;)*) => {$(
        fn $name(&self, $($arg: $type),*) -> $output {
            Self::$name(self, $($arg),*)
        }
    )*};
}

/// Operations of [`CkksOps`] that touch the metadata of a [`Ciphertext`] alone. They are the same
/// for every evaluator.
macro_rules! metadata_operations {
    () => {
        fn metadata(&self, x: &Ciphertext) -> Metadata {
            x.metadata()
        }

        fn reinterpret_scale(&self, x: Ciphertext, factor: f64) -> Result<Ciphertext> {
            x.reinterpret_scale(factor)
        }

        fn repeated(&self, x: Ciphertext, slots: usize) -> Result<Ciphertext> {
            x.repeated(slots)
        }

        fn broadcast(&self, x: Ciphertext, len: usize) -> Result<Ciphertext> {
            x.broadcast(len)
        }

        fn with_metadata(&self, x: Ciphertext, meta: CiphertextMeta) -> Ciphertext {
            x.changed(meta)
        }

        fn origins(&self, x: &Ciphertext) -> Origins {
            x.origins().clone()
        }

        fn with_origins(&self, x: Ciphertext, origins: Origins) -> Ciphertext {
            x.of(origins)
        }
    };
}
pub(crate) use metadata_operations;

/// On ciphertexts.
impl CkksOps for Evaluator {
    type Ciphertext = Ciphertext;
    type Powers = Powers;

    metadata_operations!();

    inherent_getters! {
        fn params() -> &Params;
        fn rotates_by(x: &Ciphertext, step: i64) -> bool;
        fn bootstrapper() -> Option<&Arc<Bootstrapper>>;
        fn auto_bootstraps() -> bool;
        fn functional_bootstrapper() -> Option<&Arc<FunctionalBootstrapper>>;
    }

    inherent_methods! {
        fn add(x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext>;
        fn sub(x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext>;
        fn neg(x: &Ciphertext) -> Result<Ciphertext>;
        fn add_values<T>(x: &Ciphertext, values: &[T]) -> Result<Ciphertext>;
        fn add_scalar(x: &Ciphertext, c: f64) -> Result<Ciphertext>;

        fn mul_no_rescale(x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext>;
        fn square_no_rescale(x: &Ciphertext) -> Result<Ciphertext>;
        fn mul(x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext>;
        fn square(x: &Ciphertext) -> Result<Ciphertext>;
        fn rescale(x: &Ciphertext) -> Result<Ciphertext>;
        fn mul_values<T>(x: &Ciphertext, values: &[T]) -> Result<Ciphertext>;
        fn mul_values_to<T>(x: &Ciphertext, values: &[T], scale: f64) -> Result<Ciphertext>;
        fn mul_scalar(x: &Ciphertext, c: f64) -> Result<Ciphertext>;
        fn mul_complex(x: &Ciphertext, c: Complex64) -> Result<Ciphertext>;
        fn mul_integer(x: &Ciphertext, k: i64) -> Result<Ciphertext>;
        fn mul_i(x: &Ciphertext) -> Result<Ciphertext>;
        fn mul_add_many(
            products: &[(&Ciphertext, &Ciphertext)],
            terms: &[(&Ciphertext, f64)],
            constant: f64,
            scale: Option<f64>
        ) -> Result<Ciphertext>;
        fn dot_values<T>(x: &[&Ciphertext], values: &[Vec<T>]) -> Result<Ciphertext>;

        fn rotate(x: &Ciphertext, step: i64) -> Result<Ciphertext>;
        fn rotate_many(x: &Ciphertext, steps: &[i64]) -> Result<Vec<Ciphertext>>;
        fn sum_of_rotations(terms: &[(&Ciphertext, &[i64])]) -> Result<Ciphertext>;
        fn conjugate(x: &Ciphertext) -> Result<Ciphertext>;
        fn transform(x: &Ciphertext, m: &LinearTransform) -> Result<Ciphertext>;

        fn drop_to_level(x: &Ciphertext, level: usize) -> Result<Ciphertext>;
        fn match_scale(x: &Ciphertext, scale: f64, level: usize) -> Result<Ciphertext>;

        fn polynomial(x: &Ciphertext, p: &Polynomial, scale: Option<f64>) -> Result<Ciphertext>;
        fn power_basis(x: &Ciphertext, polynomials: &[&Monomial]) -> Result<PowerBasis<Powers>>;
        fn chebyshev_basis(
            x: &Ciphertext,
            polynomials: &[&Polynomial]
        ) -> Result<PowerBasis<Powers>>;
        fn monomial_in(
            powers: &PowerBasis<Powers>,
            p: &Monomial,
            scale: Option<f64>
        ) -> Result<Ciphertext>;
        fn polynomial_in(
            powers: &PowerBasis<Powers>,
            p: &Polynomial,
            scale: Option<f64>
        ) -> Result<Ciphertext>;

        fn bootstrap_to(x: &Ciphertext, scale: f64) -> Result<Ciphertext>;
        fn functional_bootstrap(
            x: &Ciphertext,
            input: FbtInput,
            functions: &[(&PeriodicFunction, f64)]
        ) -> Result<Vec<Ciphertext>>;
    }

    fn bootstrap_automatically(&self, x: &Ciphertext, scale: f64) -> Result<Ciphertext> {
        let bootstrapped = self.bootstrap_to(x, scale).during("bootstrap_automatically")?;
        self.automatic.add(&bootstrapped);
        Ok(bootstrapped)
    }

    /// In place, which saves a copy for every term.
    fn add_many(&self, terms: &[&Ciphertext]) -> Result<Ciphertext> {
        let op = "add_many";
        let (first, rest) = terms.split_first().ok_or_else(error::no_values).during(op)?;
        let mut sum = (*first).clone();
        rest.iter().try_for_each(|term| self.add_assign(&mut sum, term)).during(op)?;
        Ok(sum)
    }
}
