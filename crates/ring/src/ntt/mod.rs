//! The negacyclic number-theoretic transform (NTT) of one residue polynomial.
//!
//! For a primitive `2N`-th root of unity `psi` modulo `q`, the transform maps a polynomial `a(X)`
//! of degree below `N` to its values at the odd powers of `psi`. Position `i` of the result holds
//! `a(psi^e_i)` with `e_i =` [`NttTable::exponents`]`[i]`. Products modulo `X^N + 1` become
//! pointwise products. The order depends on the degree only, not on the modulus or the back end.

#[cfg(test)]
pub(crate) mod naive;
pub(crate) mod roots;
mod table;

use crate::backend;

pub use table::NttTable;

impl NttTable {
    /// Forward NTT of `N` coefficients in place, `[0, 4q) -> [0, q)`.
    ///
    /// # Panics
    /// If `a` does not have `N` elements.
    pub fn forward(&self, a: &mut [u64]) {
        assert_eq!(a.len(), self.degree(), "the table transforms polynomials of its own degree");
        debug_assert!(a.iter().all(|&x| x < 4 * self.modulus().value()));
        backend::forward_ntt(self, a);
    }

    /// Inverse NTT of `N` values in place, `[0, q) -> [0, q)`.
    ///
    /// # Panics
    /// If `a` does not have `N` elements.
    pub fn inverse(&self, a: &mut [u64]) {
        assert_eq!(a.len(), self.degree(), "the table transforms polynomials of its own degree");
        debug_assert!(a.iter().all(|&x| x < self.modulus().value()));
        backend::inverse_ntt(self, a);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::backend::Backend;
    use crate::error::{ErrorKind, refusal};
    use crate::modulus::Modulus;
    use crate::prime;
    use crate::testing::words;

    fn tables(degree: usize) -> Vec<NttTable> {
        let mut tables = Vec::new();
        for bits in [30, 49, 50, 60] {
            let q = prime::ntt_primes_below(degree, bits, 1, &[]).unwrap()[0];
            for backend in Backend::ALL {
                match NttTable::with_backend(degree, q, backend) {
                    Ok(table) => tables.push(table),
                    Err(why) => eprintln!("NOT TESTED at {bits} bits: {why}"),
                }
            }
        }
        tables
    }

    /// Values that lie at the ends of the ranges that the lazy butterflies allow.
    fn edge_polynomials(q: u64, degree: usize) -> Vec<Vec<u64>> {
        [0, 1, q / 2, q - 1, 2 * q - 1]
            .into_iter()
            .flat_map(|top| {
                [
                    vec![top; degree],
                    (0..degree).map(|i| if i % 2 == 0 { top } else { 0 }).collect(),
                    (0..degree).map(|i| if i == 0 { top } else { q - 1 }).collect(),
                ]
            })
            .collect()
    }

    #[test]
    fn equals_the_definition_on_small_degrees() {
        for degree in [8, 16, 32, 64, 128] {
            for table in tables(degree) {
                let q = *table.modulus();
                for input in edge_polynomials(q.value(), degree) {
                    let mut fast = input.clone();
                    table.forward(&mut fast);
                    for (i, &value) in fast.iter().enumerate() {
                        let exponent = table.exponents()[i] as u64;
                        let reduced: Vec<_> = input.iter().map(|&x| q.reduce(x)).collect();
                        let expected = naive::evaluate(&q, &reduced, table.root(), exponent);
                        assert_eq!(value, expected, "{degree} {:?}", table.backend());
                    }
                    table.inverse(&mut fast);
                    assert!(fast.iter().zip(&input).all(|(&a, &b)| a == q.reduce(b)));
                }
            }
        }
    }

    #[test]
    fn every_degree_round_trips_on_edges() {
        for log in NttTable::LOG_DEGREES {
            for table in tables(1 << log) {
                let q = table.modulus();
                for top in [0, q.value() - 1, 2 * q.value() - 1] {
                    let mut a = vec![top; 1 << log];
                    table.forward(&mut a);
                    assert!(a.iter().all(|&x| x < q.value()));
                    table.inverse(&mut a);
                    assert!(a.iter().all(|&x| x == q.reduce(top)), "2^{log} {:?}", table.backend());
                }
            }
        }
    }

    #[test]
    fn roots_of_different_degrees_fit_together() {
        let q = prime::ntt_primes_below(256, 50, 1, &[]).unwrap()[0];
        let root = |degree| NttTable::new(degree, q).unwrap().root();
        for degree in [16, 32, 64, 128, 256] {
            assert_eq!(q.mul(root(degree), root(degree)), root(degree / 2));
        }
    }

    #[test]
    fn refuses_bad_degrees_and_moduli() {
        let q = prime::ntt_primes_below(64, 30, 1, &[]).unwrap()[0];
        for degree in [0, 4, 24, 1 << 18] {
            assert!(
                refusal(&NttTable::new(degree, q))
                    .is(&ErrorKind::Parameters, "is not supported: need a power of two from")
            );
        }
        let q = Modulus::new(97).unwrap();
        assert!(refusal(&NttTable::new(64, q)).is(&ErrorKind::Parameters, "no NTT of degree"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn products_are_negacyclic(log in 3u32..8, seed: u64) {
            let degree = 1 << log;
            for table in tables(degree) {
                let q = *table.modulus();
                let [a, b] = [1, 2].map(|i| words(degree, q.value(), seed ^ i));
                let expected = naive::negacyclic_product(&q, &a, &b);
                let (mut x, mut y) = (a.clone(), b.clone());
                table.forward(&mut x);
                table.forward(&mut y);
                let mut product: Vec<u64> = x.iter().zip(&y).map(|(&x, &y)| q.mul(x, y)).collect();
                table.inverse(&mut product);
                prop_assert_eq!(product, expected);
            }
        }
    }
}
