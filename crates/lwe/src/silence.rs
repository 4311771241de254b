//! Tests that neither errors nor `Debug` output contain values, table entries or constants of
//! programs.

use bellerophon_testing::silence::{SECRETS, refused, silent};

use crate::ciphertext::Ciphertext;
use crate::encoding::{Encoding, Headroom, OutputEncoding};
use crate::lwe_vec::LweVec;
use crate::modulus_switching::Mod2NCiphertext;
use crate::params::tests::insecure;
use crate::test_polynomial::{TableDomain, TestPolynomial};
use crate::testing::Setup;

#[test]
fn errors_repeat_no_value() {
    let mut s = Setup::new(insecure(64, 128, true));
    let encoding = s.fit(-1.0..=1.0, 0.0, Headroom::TABLE);
    let x = s.encrypt(&[0.5], -1.0..=1.0, encoding);
    let lanes = [0.1, 0.5].map(|value| s.encrypt(&[value], -1.0..=1.0, encoding));
    let modulus = *s.params.ring_modulus();
    for secret in SECRETS {
        let (ring, rng) = (&s.ring, &mut s.rng);
        let values = [0.0, secret];
        refused(LweVec::encrypt(&s.params, ring, s.key, &values, encoding, -1.0..=1.0, rng));
        // Functions that are NaN in a part of the domain, and the secret elsewhere.
        let no_number = move |v: f64| if v < 0.5 { secret } else { f64::NAN };
        let domain = TableDomain::fit(-1.0, 1.0, 128, 8).unwrap();
        refused(TestPolynomial::new(modulus, domain, no_number, |y| y as i64));
        refused(TestPolynomial::new(modulus, domain, |_| secret, |y| (y * 1e14) as i64));
        let evaluator = s.evaluator();
        refused(evaluator.map(&x, no_number, OutputEncoding::Fit(Headroom::TABLE)));
        refused(x.scale(secret * 1e300));
        refused(x.scale(secret * 1e-320));
        let labels = |labels: [f64; 2]| {
            evaluator.arg_max_label(&lanes, &labels, OutputEncoding::Fit(Headroom::TABLE))
        };
        refused(labels([secret, f64::INFINITY]));
        refused(labels([secret, secret * (1.0 + 1e-12)]));
    }
}

#[test]
fn debug_repeats_no_value() {
    let s = Setup::new(insecure(64, 128, true));
    let modulus = *s.params.ring_modulus();
    let domain = TableDomain::fit(-1.0, 1.0, 128, 8).unwrap();
    for secret in SECRETS {
        silent(&TestPolynomial::new(modulus, domain, |_| secret, |y| y as i64).unwrap());
        let readable = Ciphertext::trivial(modulus, 128, 987_654);
        silent(&readable);
        silent(&Mod2NCiphertext::on_grid(&readable, 128, 1).unwrap());
        let encoding = Encoding::new(0.0, 4e6).unwrap();
        let value = Ciphertext::trivial(modulus, 128, encoding.encode(secret, &modulus));
        let values = LweVec::new(&s.params, vec![value], encoding, -1e6..=1e6, 0.0, s.key);
        silent(&values.unwrap());
        silent(&s.ring);
    }
}
