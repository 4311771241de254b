//! The parameter sets of DPad-HE, for comparison.

use std::fmt;

use bellerophon_ring::{Modulus, Result, prime};

use crate::dpad::RelinStrategy;
use crate::params::{Params, ParamsSpec};
use crate::security::{SecretKind, Security};

/// The sets of DPad-HE: Table 3 (one degree `n = 2^13`, rank by rank) and Table 5 (one dimension,
/// `N = 2^15` or `2^16`, split into ranks).
///
/// All sets have `log2 q = 60 + 40 L`, one special prime of 60 bits, a uniform ternary secret and
/// `sigma = 3.2`. Relinearization uses the temporary rank `r^` with the special primes `P^`. The
/// paper states about 128 bits under an earlier model. Under the estimator's current default model
/// (`security` module), before and after rank-up:
///
/// | set | `n` | `r` | `L` | `r^` | `log2 P^` | bits | bits at `r^` |
/// | --- | --- | --- | --- | --- | --- | --- | --- |
/// | [`Rank2`](Self::Rank2) | `2^13` | 2 | 8 | 3 | 60 + 55 x 4 | 125.2 | 125.7 |
/// | [`Rank3`](Self::Rank3) | `2^13` | 3 | 13 | 4 | 60 + 55 x 4 | 129.9 | 129.2 |
/// | [`Rank4`](Self::Rank4) | `2^13` | 4 | 19 | 5 | 60 + 55 x 4 | 126.1 | 126.4 |
/// | [`Rank5`](Self::Rank5) | `2^13` | 5 | 25 | 7 | 60 + 55 x 8 | 124.2 | 125.3 |
/// | [`Rank6`](Self::Rank6) | `2^13` | 6 | 30 | 8 | 60 + 55 x 7 | 126.7 | 131.3 |
/// | [`Rank7`](Self::Rank7) | `2^13` | 7 | 35 | 9 | 60 + 55 x 8 | 128.6 | 128.7 |
/// | [`Rank8`](Self::Rank8) | `2^13` | 8 | 41 | 10 | 60 + 55 x 8 | 127.1 | 127.4 |
/// | [`SetI`](Self::SetI) | `2^15` | 1 | 19 | | | 126.1 | |
/// | [`SetII`](Self::SetII) | `2^14` | 2 | 19 | 3 | 60 + 55 x 6 | 126.1 | 138.9 |
/// | [`SetIII`](Self::SetIII) | `2^13` | 4 | 19 | 5 | 60 + 55 x 4 | 126.1 | 126.4 |
/// | [`SetIV`](Self::SetIV) | `2^16` | 1 | 41 | | | 127.1 | |
/// | [`SetV`](Self::SetV) | `2^15` | 2 | 41 | 3 | 60 + 55 x 13 | 127.1 | 136.6 |
/// | [`SetVI`](Self::SetVI) | `2^14` | 4 | 41 | 5 | 60 + 55 x 9 | 127.1 | 124.4 |
///
/// Sets below 128 bits at either rank are marked [`Security::Insecure`]: all except `Rank3` and
/// `Rank7`.
///
/// The paper prints only the sizes of the primes. Here each prime is 1 modulo twice the degree of
/// the largest ring that the rank allows (`n` times the power of two in `r`), so that the sets
/// convert to RLWE if their rank allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DPad {
    /// Table 3, `r = 2`.
    Rank2,
    /// Table 3, `r = 3`.
    Rank3,
    /// Table 3, `r = 4`: the same as [`SetIII`](Self::SetIII).
    Rank4,
    /// Table 3, `r = 5`.
    Rank5,
    /// Table 3, `r = 6`.
    Rank6,
    /// Table 3, `r = 7`.
    Rank7,
    /// Table 3, `r = 8`.
    Rank8,
    /// Table 5, `N = 2^15`, RLWE.
    SetI,
    /// Table 5, `N = 2^15`, `r = 2`.
    SetII,
    /// Table 5, `N = 2^15`, `r = 4`.
    SetIII,
    /// Table 5, `N = 2^16`, RLWE.
    SetIV,
    /// Table 5, `N = 2^16`, `r = 2`.
    SetV,
    /// Table 5, `N = 2^16`, `r = 4`.
    SetVI,
}

/// A row of the tables.
struct Row {
    name: &'static str,
    log_degree: u32,
    rank: usize,
    levels: usize,
    bits: f64,
    /// None for RLWE.
    raised: Option<Raised>,
}

/// The temporary rank of a row.
struct Raised {
    rank: usize,
    /// The number of 55-bit primes of `P^`.
    primes: usize,
    bits: f64,
}

const fn row(name: &'static str, log_degree: u32, rank: usize, levels: usize, bits: f64) -> Row {
    Row { name, log_degree, rank, levels, bits, raised: None }
}

impl Row {
    const fn raised(self, rank: usize, primes: usize, bits: f64) -> Self {
        Self { raised: Some(Raised { rank, primes, bits }), ..self }
    }
}

/// Tables 3 and 5, in the order of the sets.
static ROWS: [Row; 13] = [
    row("T3r2", 13, 2, 8, 125.2).raised(3, 4, 125.7),
    row("T3r3", 13, 3, 13, 129.9).raised(4, 4, 129.2),
    row("T3r4", 13, 4, 19, 126.1).raised(5, 4, 126.4),
    row("T3r5", 13, 5, 25, 124.2).raised(7, 8, 125.3),
    row("T3r6", 13, 6, 30, 126.7).raised(8, 7, 131.3),
    row("T3r7", 13, 7, 35, 128.6).raised(9, 8, 128.7),
    row("T3r8", 13, 8, 41, 127.1).raised(10, 8, 127.4),
    row("SetI", 15, 1, 19, 126.1),
    row("SetII", 14, 2, 19, 126.1).raised(3, 6, 138.9),
    row("SetIII", 13, 4, 19, 126.1).raised(5, 4, 126.4),
    row("SetIV", 16, 1, 41, 127.1),
    row("SetV", 15, 2, 41, 127.1).raised(3, 13, 136.6),
    row("SetVI", 14, 4, 41, 127.1).raised(5, 9, 124.4),
];

impl DPad {
    /// Table 3, by rank.
    pub const TABLE_3: [Self; 7] =
        [Self::Rank2, Self::Rank3, Self::Rank4, Self::Rank5, Self::Rank6, Self::Rank7, Self::Rank8];

    /// Table 5.
    pub const TABLE_5: [Self; 6] =
        [Self::SetI, Self::SetII, Self::SetIII, Self::SetIV, Self::SetV, Self::SetVI];

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// `T3r2` to `T3r8`, `SetI` to `SetVI`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The ring degree `n`.
    pub(crate) fn degree(self) -> usize {
        1 << self.row().log_degree
    }

    /// The rank `r`.
    pub fn rank(self) -> usize {
        self.row().rank
    }

    /// The temporary rank `r^`; `None` for rank 1.
    pub(crate) fn raised_rank(self) -> Option<usize> {
        self.row().raised.as_ref().map(|raised| raised.rank)
    }

    /// Bits of security under the estimator's default model, before and after rank-up: the columns
    /// of the table above.
    pub(crate) fn security_bits(self) -> (f64, Option<f64>) {
        let row = self.row();
        (row.bits, row.raised.as_ref().map(|raised| raised.bits))
    }

    /// The security level of the parameters: 128 bits if both ranks have them.
    pub(crate) fn security(self) -> Security {
        let (bits, raised) = self.security_bits();
        if bits.min(raised.unwrap_or(bits)) >= 128.0 {
            Security::Bits128
        } else {
            Security::Insecure
        }
    }

    /// The set before rank-up.
    pub fn spec(self) -> Result<ParamsSpec> {
        let (q, p, _) = self.primes()?;
        Ok(ParamsSpec {
            degree: self.degree(),
            rank: self.rank(),
            q,
            p,
            secret: SecretKind::Ternary,
            sigma: 3.2,
            security: self.security(),
        })
    }

    /// The relinearization strategy that the paper measures: through the temporary rank, or direct
    /// at rank 1. The parameters of the set are [`RelinStrategy::params`].
    pub fn relin_strategy(self) -> Result<RelinStrategy> {
        let params = Params::new(self.spec()?)?;
        match self.raised_rank() {
            None => Ok(RelinStrategy::direct(&params)),
            Some(rank) => RelinStrategy::new(&params, 1, Some((rank, self.primes()?.2))),
        }
    }

    /// The primes of `Q`, of `P` and of `P^`. The first prime of `P^` is that of `P`.
    fn primes(self) -> Result<(Vec<u64>, Vec<u64>, Vec<u64>)> {
        let row = self.row();
        // Primes for the largest ring that the rank allows.
        let degree = self.degree() << row.rank.trailing_zeros();
        let mut q = prime::ntt_primes_below(degree, 60, 1, &[])?;
        q.extend(prime::ntt_primes_around(degree, 40, row.levels, &q)?);
        let mut p = prime::ntt_primes_below(degree, 60, 1, &q)?;
        let values =
            |primes: &[Modulus]| -> Vec<u64> { primes.iter().map(Modulus::value).collect() };
        let single = values(&p);
        // P^ is P and further primes of 55 bits.
        if let Some(raised) = &row.raised {
            p.extend(prime::ntt_primes_below(degree, 55, raised.primes, &q)?);
        }
        Ok((values(&q), single, values(&p)))
    }
}

impl fmt::Display for DPad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.row();
        let (n, rank, levels) = (self.degree(), row.rank, row.levels);
        write!(f, "DPad-HE {}: n = {n}, r = {rank}, 60 + 40 x {levels} bits, P 60 bits", row.name)?;
        if let Some(Raised { rank, primes, .. }) = row.raised {
            write!(f, ", r^ = {rank} with 60 + 55 x {primes} bits")?;
        }
        write!(f, "; {:.1} bits", row.bits)?;
        if let Some(Raised { bits, .. }) = row.raised {
            write!(f, " and {bits:.1} at r^")?;
        }
        match self.security() {
            Security::Insecure => f.write_str(", below 128: insecure"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dpad::RelinKind;

    #[test]
    fn sets_have_the_sizes_of_the_tables() {
        // log2 QP, and log2 Q P^ with the dimension, as printed in the paper's tables.
        let base = [440, 640, 880, 1120, 1320, 1520, 1760, 880, 880, 880, 1760, 1760, 1760];
        let raised = [
            (660, 24576),
            (860, 32768),
            (1100, 40960),
            (1560, 57344),
            (1705, 65536),
            (1960, 73728),
            (2200, 81920),
            (0, 0),
            (1210, 49152),
            (1100, 40960),
            (0, 0),
            (2475, 98304),
            (2255, 81920),
        ];
        let sets = DPad::TABLE_3.into_iter().chain(DPad::TABLE_5);
        for ((set, base), (raised, dimension)) in sets.zip(base).zip(raised) {
            let (q, p, p_hat) = set.primes().unwrap();
            let bits = |primes: &[u64]| primes.iter().map(|&q| (q as f64).log2()).sum::<f64>();
            assert_eq!((bits(&q) + bits(&p)).round() as u32, base, "{set}");
            assert_eq!(q.len(), set.row().levels + 1);
            if let Some(rank) = set.raised_rank() {
                assert_eq!((bits(&q) + bits(&p_hat)).round() as u32, raised, "{set}");
                assert_eq!(rank * set.degree(), dimension);
                assert_eq!(p_hat[0], p[0]);
            }
            let ring = 2 * (set.degree() << set.rank().trailing_zeros()) as u64;
            assert!(q.iter().chain(&p_hat).all(|q| q % ring == 1));
        }
    }

    #[test]
    fn sets_are_marked_with_what_the_tables_say() {
        for set in DPad::TABLE_3.into_iter().chain(DPad::TABLE_5) {
            let spec = set.spec().unwrap();
            let (bits, raised) = set.security_bits();
            let secure = bits.min(raised.unwrap_or(bits)) >= 128.0;
            assert_eq!(spec.security == Security::Bits128, secure, "{set}");
            assert_eq!(set.to_string().contains("insecure"), !secure, "{set}");
            // By the rule of the tables, which is on the safe side of the estimator's own figure.
            let rule = |rank: usize, p: &[u64]| {
                let log2 = spec.q.iter().chain(p).map(|&q| (q as f64).log2()).sum();
                let dimension = rank * spec.degree;
                crate::security::estimate_bits(dimension, spec.secret, log2, spec.sigma)
            };
            let (_, p, p_hat) = set.primes().unwrap();
            let base = rule(set.rank(), &p);
            assert!(base < bits + 0.6 && base > bits - 5.0, "{set}: {base}");
            if let (Some(rank), Some(bits)) = (set.raised_rank(), raised) {
                let up = rule(rank, &p_hat);
                assert!(up < bits + 0.6 && up > bits - 6.0, "{set}: {up}");
            }
        }
    }

    #[test]
    fn routes_go_by_way_of_the_temporary_rank() {
        let strategy = DPad::Rank3.relin_strategy().unwrap();
        assert_eq!((strategy.kind(), strategy.raised().rank()), (RelinKind::DPad, 4));
        // 280 bits: 60 + 5 x 40, 7 x 40, the last; one prime to a digit otherwise.
        assert_eq!((strategy.digits(14).unwrap(), strategy.work().gadget().digits(14)), (3, 14));
        assert!(strategy.raised().security_bits() >= 128.0);
        assert_eq!(DPad::SetI.relin_strategy().unwrap().kind(), RelinKind::Direct);
    }
}
