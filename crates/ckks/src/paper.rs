//! Parameter sets of the papers, for comparative measurements. By current estimates they do not
//! reach 128 bits.

use std::fmt;

use bellerophon_mlwe::{self as mlwe, SecretKind, Security};
use bellerophon_ring::{Modulus, Result, prime};

use crate::params::ParamsSpec;

/// The list of appendix B of Full-RNS HEAAN: primes near `2^55` that are 1 modulo `2^16`.
const APPENDIX_B: [u64; 15] = [
    0x80_0000_0008_0001,
    0x80_0000_0013_0001,
    0x7f_ffff_ffe9_0001,
    0x80_0000_0019_0001,
    0x80_0000_001d_0001,
    0x7f_ffff_ffbf_0001,
    0x7f_ffff_ffbd_0001,
    0x80_0000_0044_0001,
    0x7f_ffff_ffba_0001,
    0x80_0000_0049_0001,
    0x80_0000_0050_0001,
    0x7f_ffff_ffaa_0001,
    0x7f_ffff_ffa5_0001,
    0x80_0000_005e_0001,
    0x7f_ffff_ff9f_0001,
];

/// Bits of the special primes; their number is that of the primes of `Q`.
const SPECIAL_BITS: u32 = 60;

/// The sets of Full-RNS HEAAN, Table 1: `log2 q_0 = 61`, `L` primes and the scale of 55 bits,
/// `sigma = 3.2`, a sparse secret of weight 64, one digit in every key switch.
///
/// The paper claims 80 bits. By current estimates the modulus `Q P` is far too large. The column
/// "bits today" follows from the bound for 128 bits of the security tables by the conservative
/// rule of [`security::estimate_bits`](mlwe::security::estimate_bits); the estimator itself was not
/// run on these sets.
///
/// | set | `N` | `log2 Q` | `log2 Q P` | allowed for 128 bits | bits today |
/// | --- | --- | --- | --- | --- | --- |
/// | [`Depth5`](Self::Depth5) | `2^15` | 336 | 696 | 467 | 85 |
/// | [`Depth10`](Self::Depth10) | `2^15` | 611 | 1271 | 467 | 47 |
/// | [`Depth15`](Self::Depth15) | `2^16` | 886 | 1846 | 960 | 66 |
///
/// Therefore the sets are marked [`Security::Insecure`], which shows when their parameters are
/// printed.
///
/// The paper lists 15 primes for `N` up to `2^15`; at `N = 2^16` this library takes the nearest
/// primes by the same rule. Special primes, which the paper does not list, are the largest below
/// `2^60`, as many as primes of `Q`, so that `P > Q`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullRnsHeaan {
    /// `L = 5`, `N = 2^15`.
    Depth5,
    /// `L = 10`, `N = 2^15`.
    Depth10,
    /// `L = 15`, `N = 2^16`.
    Depth15,
}

impl FullRnsHeaan {
    /// The rows of Table 1.
    pub const ALL: [Self; 3] = [Self::Depth5, Self::Depth10, Self::Depth15];

    /// The depth `L`.
    pub fn depth(self) -> usize {
        match self {
            Self::Depth5 => 5,
            Self::Depth10 => 10,
            Self::Depth15 => 15,
        }
    }

    /// The ring degree `N`.
    pub fn degree(self) -> usize {
        match self {
            Self::Depth5 | Self::Depth10 => 1 << 15,
            Self::Depth15 => 1 << 16,
        }
    }

    /// The parameters, marked insecure.
    pub fn spec(self) -> Result<ParamsSpec> {
        // Step 1: q_0 and the primes of the levels, from appendix B where it has them.
        let (degree, depth) = (self.degree(), self.depth());
        let mut q = prime::ntt_primes_below(degree, 61, 1, &[])?;
        q.extend(match self {
            Self::Depth15 => prime::ntt_primes_around(degree, 55, depth, &q)?,
            _ => {
                let primes = APPENDIX_B[..depth].iter().map(|&q| Modulus::new(q));
                primes.collect::<bellerophon_ring::Result<_>>()?
            }
        });
        // Step 2: special primes with P > Q, for key switches with one digit.
        let p = prime::ntt_primes_below(degree, SPECIAL_BITS, depth + 1, &q)?;
        let values = |primes: &[Modulus]| primes.iter().map(Modulus::value).collect();
        Ok(ParamsSpec {
            lattice: mlwe::ParamsSpec {
                degree,
                rank: 1,
                q: values(&q),
                p: values(&p),
                secret: SecretKind::Sparse(64),
                sigma: 3.2,
                security: Security::Insecure,
            },
            widths: vec![],
            log_scale: 55,
        })
    }

    /// Bits of security by current estimates, rounded down: the last column of the table above.
    pub fn security_bits(self) -> u32 {
        match self {
            Self::Depth5 => 85,
            Self::Depth10 => 47,
            Self::Depth15 => 66,
        }
    }
}

impl fmt::Display for FullRnsHeaan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Full-RNS HEAAN, Table 1, L = {}: N = {}, scale 2^55, weight 64; insecure: {} bits \
             today",
            self.depth(),
            self.degree(),
            self.security_bits()
        )
    }
}
