//! Parameter sets: from a plain specification to checked, immutable parameters.

use std::fmt;
use std::sync::Arc;

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::error::ensure;
use bellerophon_ring::{
    Domain, HybridGadget, Modulus, Poly, Result, Ring, sample::Gaussian, wire::Fingerprint,
};

use crate::error;
use crate::security::{self, SecretKind, Security};

/// The specification of a module-LWE parameter set. [`Params::new`] checks it.
///
/// The ring is `R = Z[X] / (X^degree + 1)`, ciphertexts live modulo prefixes of
/// `Q = q_0 * ... * q_L`, keys modulo `Q * P` with `P = p_0 * ... * p_{k-1}`.
#[derive(Debug, Clone, PartialEq)]
pub struct ParamsSpec {
    /// Ring degree `N`, a power of two from `2^3` to `2^17`. A larger degree gives more slots and
    /// allows a larger modulus, but is slower.
    pub degree: usize,
    /// Module rank `r >= 1`; 1 is RLWE. The secret has `rank * degree` coefficients.
    pub rank: usize,
    /// The primes `q_0, q_1, ..., q_L`, each `1 mod 2 * degree`; a ciphertext of level `l` uses the
    /// first `l + 1`.
    pub q: Vec<u64>,
    /// The `k >= 1` special primes. The digits of a key switch are runs of consecutive `q_i` with a
    /// product of at most `P`. A `q_i` above `P` is a digit on its own, and key switching then adds
    /// more noise than one rounding. More special primes mean fewer digits, smaller keys and faster
    /// key switching, but less modulus for `q`.
    pub p: Vec<u64>,
    /// Distribution of secret keys.
    pub secret: SecretKind,
    /// Standard deviation of the error, from 3.2 to `2^32`.
    pub sigma: f64,
    /// The required security level.
    pub security: Security,
}

struct Inner {
    spec: ParamsSpec,
    q: Ring,
    p: Ring,
    gadget: HybridGadget,
    gaussian: Gaussian,
    security_bits: f64,
    fingerprint: Fingerprint,
}

/// Checked parameters: cheap to clone, immutable, shared.
#[derive(Clone)]
pub struct Params {
    inner: Arc<Inner>,
}

impl fmt::Debug for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Params")
            .field("spec", &self.inner.spec)
            .field("log2_qp", &self.log2_modulus())
            .field("security_bits", &self.security_bits())
            .field("fingerprint", &format_args!("{}", self.fingerprint()))
            .finish()
    }
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        // The security level is not part of the scheme.
        let scheme =
            |params: &Self| ParamsSpec { security: Security::Insecure, ..params.spec().clone() };
        self.fingerprint() == other.fingerprint() && scheme(self) == scheme(other)
    }
}

impl Params {
    /// Checks the specification and builds the tables.
    ///
    /// # Errors
    /// [`ErrorKind::Insecure`] below the required security; [`ErrorKind::Parameters`] for more than
    /// 128 primes in `q` or in `p`, or more than `2^23` residues per polynomial.
    pub fn new(spec: ParamsSpec) -> Result<Self> {
        // Step 1: checks that need no tables, so that bad input costs no memory.
        check_shape(&spec)?;
        let log2_modulus: f64 = spec.q.iter().chain(&spec.p).map(|&q| (q as f64).log2()).sum();
        // Step 2: security of keys modulo Q P at dimension r N.
        let dimension = spec.rank.saturating_mul(spec.degree);
        security::check(spec.security, dimension, spec.secret, log2_modulus, spec.sigma)?;
        // Step 3: NTT tables and gadget.
        let moduli: bellerophon_ring::Result<Vec<Modulus>> =
            spec.q.iter().chain(&spec.p).map(|&q| Modulus::new(q)).collect();
        // One ring for all primes keeps the NTT tables contiguous in memory.
        let all = Ring::new(spec.degree, &moduli?)?;
        let (q, p) = (all.at_limbs(spec.q.len()), all.slice(spec.q.len()..all.limbs()));
        Self::over(spec, q, p)
    }

    /// Checked parameters over their rings.
    pub(crate) fn over(spec: ParamsSpec, q: Ring, p: Ring) -> Result<Self> {
        let dimension = spec.rank.saturating_mul(spec.degree);
        let log2_modulus = q.log2_modulus() + p.log2_modulus();
        // The estimate is computed once, for reports.
        let inner = Inner {
            gadget: HybridGadget::new(&q, &p)?,
            q,
            p,
            gaussian: Gaussian::new(spec.sigma)?,
            security_bits: security::estimate_bits(
                dimension,
                spec.secret,
                log2_modulus,
                spec.sigma,
            ),
            fingerprint: fingerprint(&spec),
            spec,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The specification that these parameters were built from.
    pub fn spec(&self) -> &ParamsSpec {
        &self.inner.spec
    }

    /// Ring degree `N`.
    pub(crate) fn degree(&self) -> usize {
        self.inner.spec.degree
    }

    /// Module rank `r`.
    pub(crate) fn rank(&self) -> usize {
        self.inner.spec.rank
    }

    /// Number of coefficients of a secret, `r * N`.
    pub fn dimension(&self) -> usize {
        self.rank() * self.degree()
    }

    /// `R_Q` with all limbs; `q().at_limbs(limbs)` is the ring of a level.
    pub fn q(&self) -> &Ring {
        &self.inner.q
    }

    /// `R_P`, the special primes.
    pub fn p(&self) -> &Ring {
        &self.inner.p
    }

    /// Number of limbs of a fresh ciphertext, `L + 1`.
    pub(crate) fn limbs(&self) -> usize {
        self.inner.spec.q.len()
    }

    /// The hybrid RNS gadget of this basis; `gadget().ring(limbs)` is `R` modulo the first `limbs`
    /// primes of `Q` and all of `P`.
    pub fn gadget(&self) -> &HybridGadget {
        &self.inner.gadget
    }

    /// The sampler for errors.
    pub(crate) fn gaussian(&self) -> &Gaussian {
        &self.inner.gaussian
    }

    /// Expected `|s|^2`.
    pub fn secret_norm2(&self) -> f64 {
        self.spec().secret.expected_norm2(self.dimension())
    }

    /// `log2(Q * P)`.
    pub fn log2_modulus(&self) -> f64 {
        self.q().log2_modulus() + self.p().log2_modulus()
    }

    /// Estimated security in bits (default model) of keys modulo `Q * P`. It is conservative
    /// between the columns of the table: see [`security::estimate_bits`].
    pub fn security_bits(&self) -> f64 {
        self.inner.security_bits
    }

    /// A hash of every field except the security level. Equal schemes have equal fingerprints on
    /// every machine.
    pub fn fingerprint(&self) -> Fingerprint {
        self.inner.fingerprint
    }

    /// The same lattice as a module over a ring of smaller degree: degree `N / factor`, rank
    /// `rank * factor`, all else equal. [`ModuleMap::extract`](crate::ModuleMap::extract) maps
    /// ciphertexts there.
    pub fn module_view(&self, factor: usize) -> Result<Self> {
        // The degree is a power of two, and `new` refuses one that is too small.
        if factor == 0 || !self.degree().is_multiple_of(factor) {
            return Err(error::parameter(
                "factor",
                factor.to_string(),
                format!("a power of two up to the degree {}", self.degree()),
            ));
        }
        Self::new(ParamsSpec {
            degree: self.degree() / factor,
            rank: self.rank() * factor,
            ..self.spec().clone()
        })
    }

    /// `Err` unless `found` is the fingerprint of these parameters.
    pub(crate) fn check(&self, found: Fingerprint) -> Result<()> {
        if found == self.fingerprint() {
            return Ok(());
        }
        Err(error::params_mismatch(found, self.fingerprint()))
    }

    /// `Err` unless `1 <= limbs <= L + 1`.
    pub(crate) fn check_limbs(&self, limbs: usize) -> Result<()> {
        if (1..=self.limbs()).contains(&limbs) {
            return Ok(());
        }
        Err(error::limbs(limbs, format!("1 to {}", self.limbs())))
    }

    /// `Err` unless the polynomial has the degree of the ring and at most as many limbs as the
    /// chain.
    pub(crate) fn check_poly<D: Domain>(&self, poly: &Poly<D>) -> Result<()> {
        ensure(poly.degree() == self.degree(), || error::degree(poly.degree(), self.degree()))?;
        self.check_limbs(poly.limbs())
    }
}

/// The maximum number of primes in a chain, and of special primes.
pub const MOST_PRIMES: usize = 128;

/// The maximum number of residues of a polynomial over all primes. Tables take about 40 bytes per
/// residue.
const MOST_RESIDUES: usize = 1 << 23;

/// Checks the ranges that need no table.
fn check_shape(spec: &ParamsSpec) -> Result<()> {
    let refuse = |field, found: String, needed: &str| {
        Err(error::parameter(field, found, needed.to_string()))
    };
    // Step 1: rank and number of primes.
    if spec.rank == 0 || spec.rank > 1 << 10 {
        return refuse("rank", spec.rank.to_string(), "1 to 1024");
    }
    if spec.q.is_empty() {
        return refuse("q", "no primes".into(), "at least one prime");
    }
    if spec.p.is_empty() {
        return refuse("p", "no primes".into(), "at least one special prime");
    }
    for (field, count) in [("q", spec.q.len()), ("p", spec.p.len())] {
        if count > MOST_PRIMES {
            return refuse(field, format!("{count} primes"), &format!("at most {MOST_PRIMES}"));
        }
    }
    // Step 2: memory of the tables.
    let count = spec.q.len() + spec.p.len();
    if spec.degree.saturating_mul(count) > MOST_RESIDUES {
        let found = format!("{count} primes for degree {}", spec.degree);
        let needed = format!("at most {MOST_RESIDUES} residues in a polynomial");
        return refuse("q and p", found, &needed);
    }
    // Step 3: distinct primes. Sort and compare neighbours.
    let mut primes: Vec<u64> = spec.q.iter().chain(&spec.p).copied().collect();
    primes.sort_unstable();
    if let Some(twice) = primes.windows(2).find(|pair| pair[0] == pair[1]) {
        return refuse("q and p", format!("{} twice", twice[0]), "distinct primes");
    }
    // Step 4: width of the error. NaN compares false and is refused.
    if !(spec.sigma > 0.0 && spec.sigma <= 4_294_967_296.0) {
        return refuse("sigma", spec.sigma.to_string(), "a positive number up to 2^32");
    }
    // Step 5: kind of the secret. `Bounded` is for LWE secrets only.
    match spec.secret {
        SecretKind::Sparse(weight)
            if weight == 0 || weight > spec.rank.saturating_mul(spec.degree) =>
        {
            refuse("secret", spec.secret.to_string(), "a weight from 1 to rank * degree")
        }
        SecretKind::Bounded(_) => refuse("secret", spec.secret.to_string(), "a ternary secret"),
        _ => Ok(()),
    }
}

/// `Err` unless both parameter sets have the same degree and the same first `limbs` primes.
pub(crate) fn check_chains(from: &Params, to: &Params, limbs: usize) -> Result<()> {
    ensure(from.degree() == to.degree(), || error::degree(from.degree(), to.degree()))?;
    check_primes(from, to, limbs)
}

/// `Err` unless both chains begin with the same `limbs` primes.
pub(crate) fn check_primes(from: &Params, to: &Params, limbs: usize) -> Result<()> {
    from.check_limbs(limbs)?;
    to.check_limbs(limbs)?;
    // Reports the first limb that differs.
    let primes = from.spec().q.iter().zip(&to.spec().q).take(limbs).enumerate();
    for (limb, (&found, &needed)) in primes {
        ensure(found == needed, || error::moduli(limb, found, needed))?;
    }
    Ok(())
}

/// `Err` if `to` has a lower security level than `from`, whose secret it has to protect.
pub(crate) fn check_no_weaker(from: &Params, to: &Params) -> Result<()> {
    let (own, found) = (from.spec().security, to.spec().security);
    // Equal levels fit, as does any target for an insecure source, and the strictest target.
    if found == own || own == Security::Insecure || found == Security::Bits128 {
        return Ok(());
    }
    Err(error::parameter(
        "security",
        found.to_string(),
        format!("{own}, as the parameters of the secret require"),
    ))
}

/// The fingerprint of every field except the security level, including the lengths of the lists.
fn fingerprint(spec: &ParamsSpec) -> Fingerprint {
    // Every choice has its own number, and every list is preceded by its length, so that different
    // specifications give different words.
    let (kind, weight) = match spec.secret {
        SecretKind::Ternary => (0, 0),
        SecretKind::Sparse(weight) => (1, weight as u64),
        SecretKind::Bounded(w) => (2, u64::from(w)),
    };
    let head = [spec.degree as u64, spec.rank as u64, kind, weight, spec.sigma.to_bits()];
    let words = head
        .into_iter()
        .chain([spec.q.len() as u64])
        .chain(spec.q.iter().copied())
        .chain([spec.p.len() as u64])
        .chain(spec.p.iter().copied());
    Fingerprint::of("bellerophon 2026-11-24 parameters of a lattice", words)
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;
    use crate::testing::spec;

    fn secure(degree: usize, rank: usize, limbs: usize) -> ParamsSpec {
        ParamsSpec { security: Security::Bits128, ..spec(degree, rank, limbs, 1) }
    }

    #[test]
    fn sets_of_too_many_primes_are_refused() {
        let primes = |count: u64| (0..count).map(|i| 97 + 2 * i).collect::<Vec<_>>();
        let base = spec(64, 1, 3, 2);
        for spec in [
            ParamsSpec { q: primes(129), ..base.clone() },
            ParamsSpec { p: primes(129), ..base.clone() },
            ParamsSpec { degree: 1 << 17, q: primes(64), ..base.clone() },
        ] {
            let error = Params::new(spec).unwrap_err();
            assert!(error.is(&ErrorKind::Parameters, "is not supported: need"), "{error}");
        }
    }

    /// Sets within it pass.
    #[test]
    fn sets_beyond_the_table_say_by_how_much() {
        // 45 + 50 bits of 106 at dimension 4096.
        let params = Params::new(secure(4096, 1, 1)).unwrap();
        assert!(params.security_bits() >= 128.0);
        // The dimension counts, not the degree.
        Params::new(secure(1024, 4, 1)).unwrap();
        // 90 + 50 bits.
        let error = Params::new(secure(4096, 1, 2)).unwrap_err();
        assert!(error.is(&ErrorKind::Insecure, "a secret of dimension 4096"), "{error}");
        let (needed, found) = ("the largest modulus has 106.0 bits", "log2(QP) = 140.0");
        assert!([needed, found].iter().all(|part| error.message().contains(part)), "{error}");
        // The same set, insecure by name, reports what it has.
        let params = Params::new(spec(4096, 1, 2, 1)).unwrap();
        assert!((90.0..110.0).contains(&params.security_bits()));
    }

    #[test]
    fn wider_errors_and_the_classical_model_allow_more() {
        let wide = ParamsSpec { sigma: 3.2 * 2f64.powi(36), ..secure(4096, 1, 2) };
        assert!(refusal(&Params::new(wide)).is(&ErrorKind::Parameters, "parameter sigma ="));
        // 4 * 45 + 50 = 230 bits, 16 more than the table: log2(sigma / 3.2) must reach 17.
        let sigma = |log: i32| ParamsSpec { sigma: 2f64.powi(log), ..secure(8192, 1, 4) };
        assert!(
            refusal(&Params::new(sigma(17)))
                .is(&ErrorKind::Insecure, "bits; take fewer or smaller primes, a")
        );
        Params::new(sigma(19)).unwrap();
        let classical = ParamsSpec { security: Security::Bits128Classical, ..secure(4096, 1, 1) };
        Params::new(classical.clone()).unwrap();
        let sparse = ParamsSpec { secret: SecretKind::Sparse(128), ..classical };
        assert!(
            refusal(&Params::new(sparse))
                .is(&ErrorKind::Insecure, "no security estimate is known for a secret")
        );
    }

    #[test]
    fn sparse_secrets_have_their_own_table() {
        // 45 + 50 = 95 bits: dense 106, h = 256 allows 100 at least, h = 128 allows 85.
        let sparse = |h| ParamsSpec { secret: SecretKind::Sparse(h), ..secure(4096, 1, 1) };
        Params::new(sparse(256)).unwrap();
        assert!(
            refusal(&Params::new(sparse(128))).is(&ErrorKind::Insecure, "modulus has 85.0 bits")
        );
        assert!(
            refusal(&Params::new(sparse(16)))
                .is(&ErrorKind::Insecure, "no security estimate is known for a secret")
        );
    }

    #[test]
    fn outside_the_tables_nothing_is_accepted() {
        assert!(
            refusal(&Params::new(secure(512, 1, 1)))
                .is(&ErrorKind::Insecure, "no security estimate is known for a secret")
        );
        let narrow = ParamsSpec { sigma: 3.0, ..secure(4096, 1, 1) };
        assert!(
            refusal(&Params::new(narrow))
                .is(&ErrorKind::Insecure, "no security estimate is known for a secret")
        );
    }

    #[test]
    fn bad_fields_are_named() {
        let refused = |spec: ParamsSpec, field: &str| {
            let error = Params::new(spec).unwrap_err();
            let named = format!("parameter {field} = ");
            assert!(error.is(&ErrorKind::Parameters, &named), "{field}: {error}");
        };
        let good = spec(64, 1, 2, 1);
        refused(ParamsSpec { rank: 0, ..good.clone() }, "rank");
        refused(ParamsSpec { q: vec![], ..good.clone() }, "q");
        refused(ParamsSpec { p: vec![], ..good.clone() }, "p");
        refused(ParamsSpec { p: vec![good.q[0]], ..good.clone() }, "q and p");
        refused(ParamsSpec { sigma: f64::NAN, ..good.clone() }, "sigma");
        for secret in [SecretKind::Sparse(65), SecretKind::Bounded(1)] {
            refused(ParamsSpec { secret, ..good.clone() }, "secret");
        }
        let bad =
            |spec: ParamsSpec| Params::new(spec).is_err_and(|e| *e.kind() == ErrorKind::Parameters);
        assert!(bad(ParamsSpec { degree: 48, ..good.clone() }));
        assert!(bad(ParamsSpec { q: vec![91], ..good.clone() }));
        assert!(bad(ParamsSpec { sigma: 0.1, ..good }));
    }

    /// That of another implementation of BLAKE3 over the fields as `docs/FORMAT.md` lists them.
    #[test]
    fn the_fingerprint_of_a_set_is_known() {
        let spec = ParamsSpec {
            degree: 8,
            rank: 2,
            q: vec![1_073_741_441, 1_073_741_329],
            p: vec![1_073_740_609],
            secret: SecretKind::Sparse(5),
            sigma: 3.2,
            security: Security::Insecure,
        };
        let known = "945512829869f50ae924e2eddb3d97013b9b783a3b4cc2c2ef76538f480b9c06";
        assert_eq!(format!("{:?}", Params::new(spec).unwrap().fingerprint()), known);
    }

    #[test]
    fn fingerprints_tell_every_field_apart() {
        let base = spec(64, 2, 3, 2);
        let fingerprint = |spec: ParamsSpec| Params::new(spec).unwrap().fingerprint();
        let mut moved = base.clone();
        let last = moved.q.pop().unwrap();
        moved.p.insert(0, last);
        let variants = [
            base.clone(),
            ParamsSpec { rank: 3, ..base.clone() },
            ParamsSpec { degree: 32, ..base.clone() },
            ParamsSpec { sigma: 3.3, ..base.clone() },
            ParamsSpec { secret: SecretKind::Sparse(20), ..base.clone() },
            ParamsSpec { secret: SecretKind::Sparse(21), ..base.clone() },
            ParamsSpec { q: base.q[..2].to_vec(), ..base.clone() },
            ParamsSpec { q: vec![base.q[1], base.q[0], base.q[2]], ..base.clone() },
            ParamsSpec { p: base.p[..1].to_vec(), ..base.clone() },
            moved,
        ];
        let seen: std::collections::BTreeSet<_> = variants.into_iter().map(fingerprint).collect();
        assert_eq!(seen.len(), 10);
        assert_eq!(Params::new(base.clone()).unwrap(), Params::new(base).unwrap());
    }
}
