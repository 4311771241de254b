//! The tables of the server.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Ntt, Poly, Result};
use zeroize::Zeroizing;

use crate::bfv::{Params, Plaintext};
use crate::error;

/// A function of one variable, or a sum of functions of several variables, as tables modulo `t`. It
/// is its owner's secret: wiped on drop, redacted in `Debug`.
///
/// The client encrypts `X^i` for a point `i < N`. The product with
/// `u_f = f(0) - f(N - 1) X - .. - f(1) X^(N - 1)` has `f(i)` as its constant coefficient, and
/// Algorithm 1 ([`bfv::pack`](crate::bfv::pack)) packs the constant coefficients of many products
/// into one ciphertext. A domain of more than `N` points is cut into blocks of `N` points. A query
/// has one ciphertext for each block: one of them encrypts `X^(i mod N)`, the others encrypt zero.
/// Sums `a_1 f_1(x_1) + a_2 f_2(x_2) + ..` are added before they are packed; the `a_v` are any
/// numbers.
#[derive(Clone, PartialEq)]
pub struct Function {
    plain: u64,
    /// Entries of least magnitude, one table for each variable.
    tables: Zeroizing<Vec<Vec<i64>>>,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Function")
            .field("plain", &self.plain)
            .field("domains", &self.domains())
            .finish_non_exhaustive()
    }
}

impl Function {
    /// The function `x -> table[x]`.
    ///
    /// # Errors
    /// [`ErrorKind::Range`] for an entry that is not below `t`.
    pub fn new(params: &Params, table: &[u64]) -> Result<Self> {
        Self::sum(params, &[(1, table)])
    }

    /// The function `(x_1, x_2, ..) -> sum_v alpha_v table_v[x_v]` modulo `t`, given as terms
    /// `(alpha, table)`. The factors are any numbers, even numbers included.
    pub fn sum(params: &Params, terms: &[(u64, &[u64])]) -> Result<Self> {
        let plain = params.plain();
        if terms.is_empty() {
            let needed = "at least 1".into();
            return Err(error::shape("number of tables", 0, needed));
        }
        // Each table times its factor, as numbers of least magnitude, which keeps noise small.
        let scaled = |&(alpha, table): &(u64, &[u64])| {
            if table.is_empty() {
                let needed = "at least 1".into();
                return Err(error::shape("size of a table", 0, needed));
            }
            if let Some(index) = table.iter().position(|&value| value >= plain) {
                let count = table.len();
                return Err(error::plain(index, count, plain));
            }
            let multiple = |&value: &u64| {
                let product = u128::from(alpha % plain) * u128::from(value) % u128::from(plain);
                params.center(product as u64)
            };
            Ok(table.iter().map(multiple).collect())
        };
        let mut tables = Zeroizing::new(Vec::with_capacity(terms.len()));
        for term in terms {
            tables.push(scaled(term)?);
        }
        Ok(Self { plain, tables })
    }

    /// The size of the domain of each variable.
    pub(crate) fn domains(&self) -> Vec<usize> {
        self.tables.iter().map(Vec::len).collect()
    }

    /// Its values by variable and point, as numbers of least magnitude.
    pub(crate) fn tables(&self) -> &[Vec<i64>] {
        &self.tables
    }

    /// Checks that the modulus of the function is the `t` of the parameters.
    pub(crate) fn check(&self, params: &Params) -> Result<()> {
        if self.plain == params.plain() {
            return Ok(());
        }
        Err(error::plain_modulus(self.plain, params.plain()))
    }

    /// `u_f` for every block of `N` points of every variable.
    pub(crate) fn blocks(&self, params: &Params) -> Vec<Plaintext> {
        // The last block of a table may be short: absent entries are zero.
        let blocks = self.tables.iter().flat_map(|table| table.chunks(params.degree()));
        let selector = |block| Zeroizing::new(selector(params, 0, block));
        blocks.map(|block| Plaintext::from_signed(params, &selector(block))).collect()
    }
}

/// [`selector`] in NTT form, for few values. The result is as secret as the values.
pub(crate) fn sparse_selector(
    params: &Params,
    offset: usize,
    values: &[i64],
) -> Zeroizing<Poly<Ntt>> {
    let (ring, n) = (params.ring(), params.degree());
    let mut poly = ring.zero();
    // Residues directly: a vector of all N signed coefficients would be mostly zeros.
    for (limb, q) in ring.moduli().enumerate() {
        let coefficients = poly.limb_mut(limb);
        for (place, &value) in (offset..).zip(values) {
            match place {
                0 => coefficients[0] = q.from_i64(value),
                _ => coefficients[n - place] = q.from_i64(-value),
            }
        }
    }
    Zeroizing::new(ring.forward(poly))
}

/// `sum_i values_i X^-(offset + i)`, for at most `N - offset` values. Its product with
/// `X^(offset + i)` has `values_i` as its constant coefficient.
pub(crate) fn selector(params: &Params, offset: usize, values: &[i64]) -> Vec<i64> {
    let n = params.degree();
    let mut coefficients = vec![0; n];
    for (i, &value) in values.iter().enumerate() {
        // X^-k = -X^(N - k)
        match offset + i {
            0 => coefficients[0] = value,
            place => coefficients[n - place] = -value,
        }
    }
    coefficients
}
