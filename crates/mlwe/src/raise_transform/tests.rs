use bellerophon_ring::ErrorKind;

use super::*;
use crate::error::refusal;
use crate::noise::measured;
use crate::params::ParamsSpec;
use crate::security::SecretKind;
use crate::testing::{assert_close, message, params, rng, spec};

/// The low parameters of a sparse secret of some weight.
fn low(params: &Params, weight: usize) -> Params {
    Params::new(ParamsSpec {
        rank: 1,
        q: vec![params.spec().q[0]],
        secret: SecretKind::Sparse(weight),
        ..spec(params.degree(), 1, 1, 1)
    })
    .unwrap()
}

/// Polynomials with coefficients of about `1 / sqrt(N K)`: the matrix is about unitary.
fn factors(degree: usize, count: usize, scale: f64) -> Vec<Vec<i64>> {
    let size = scale * (2.0 / (degree * count) as f64).sqrt();
    let value = |k: usize, i: usize| (size * (1.7 * i as f64 + k as f64).sin()).round() as i64;
    (0..count).map(|k| (0..degree).map(|i| value(k, i)).collect()).collect()
}

/// `sum_k M_k sigma_k(x)` over the integers.
fn image(terms: &[RaiseTerm], matrix: &[Vec<i64>], x: &[i64]) -> Vec<i128> {
    let n = x.len();
    let mut sum = vec![0i128; n];
    for term in terms {
        for (i, &x) in x.iter().enumerate() {
            // X^i becomes X^(g i).
            let at = i * term.exponent % (2 * n);
            for (j, &m) in matrix[term.factor].iter().enumerate() {
                let place = (at + j) % (2 * n);
                let sign = if place < n { 1 } else { -1 };
                sum[place % n] += sign * i128::from(m) * i128::from(x);
            }
        }
    }
    sum
}

fn terms(degree: usize, count: usize, factors: usize) -> Vec<RaiseTerm> {
    let exponent = |k: usize| 5usize.pow(k as u32) % (2 * degree);
    (0..count).map(|k| RaiseTerm { exponent: exponent(k), factor: k % factors }).collect()
}

/// The image of the integer phase, at ranks 1 and 2, by few and by many special primes; noise
/// within 35 percent of the prediction from both sides.
#[test]
fn transform_of_integer_phase_has_predicted_noise() {
    // One special prime leaves noise of the key above the rounding.
    for (rank, special, weight) in [(1, 1, 4), (1, 3, 256), (2, 3, 256)] {
        let spec = ParamsSpec { secret: SecretKind::Sparse(weight), ..spec(256, rank, 5, special) };
        let params = Params::new(spec).unwrap();
        let (n, count) = (params.degree(), 8);
        let terms = terms(n, count, 4);
        let mut matrix = vec![];
        let mut unit = 0.0;
        let transform = RaiseTransform::new(&params, &terms, &[7], |scale| {
            unit = scale;
            matrix = factors(n, 4, scale / 2f64.sqrt());
            matrix.clone()
        })
        .unwrap();
        let all = params.limbs() + special;
        assert_eq!(transform.ring().limbs(), all.min(params.limbs() + 2));
        let one = params.p().modulus(0).log2();
        let expected = products(&params, 1, count) > noise::rounding(&params);
        assert_eq!(expected, special == 1, "{one} bits");

        let low = low(&params, 16);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let sparse = SecretKey::generate(&low, &mut rng(2)).unwrap();
        let key = RaiseTransformKey::generate(&transform, &sparse, &secret, &mut rng(3)).unwrap();
        let ct = sparse.encrypt(&message(&low, 1, 5), &mut rng(4)).unwrap();
        let raised = transform.apply(&key, &ct).unwrap();
        assert_eq!((raised.limbs(), raised.ident().key), (params.limbs(), secret.id()));

        // The phase over the integers, b + a s'.
        let (q0, lowest) = (low.q().modulus(0), low.q().at_limbs(1));
        let integers = |poly: &Poly<Ntt>| -> Vec<i64> {
            lowest.inverse(poly.clone()).limb(0).iter().map(|&x| q0.center(x)).collect()
        };
        let (body, mask) = (integers(ct.b()), integers(&ct.masks()[0]));
        let identity = [RaiseTerm { exponent: 1, factor: 0 }];
        let product = image(&identity, &[sparse.coefficients(0).to_vec()], &mask);
        let phase: Vec<i64> =
            body.iter().zip(product).map(|(&b, p)| b + i64::try_from(p).unwrap()).collect();
        let expected = image(&terms, &matrix, &phase);
        let ring = params.q();
        let found = ring.inverse((*raised.phase(&secret).unwrap()).clone());
        let found = measured::centered_f64(ring, &found);
        let errors = found.iter().zip(&expected).map(|(x, &y)| x - y as f64 / unit);
        let variance = errors.map(|e| e * e).sum::<f64>() / n as f64;
        assert_close(variance, transform.noise(), 1.35);
        let size = expected.iter().map(|&y| (y as f64 / unit).powi(2)).sum::<f64>();
        assert!(size > (n as f64) * 2f64.powi(84), "the image is not small");
    }
}

#[test]
fn keys_serve_one_matrix() {
    let params = params(64, 1, 5, 2);
    let low = low(&params, 8);
    let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let sparse = SecretKey::generate(&low, &mut rng(2)).unwrap();
    let terms = terms(64, 3, 1);
    let prepare = |terms: &[RaiseTerm], name: &[u64]| {
        RaiseTransform::new(&params, terms, name, |scale| factors(64, 1, scale))
    };
    let transform = prepare(&terms, &[1]).unwrap();
    let others = [
        prepare(&terms, &[2]).unwrap(),
        prepare(&terms[..2], &[1]).unwrap(),
        prepare(&[terms[1], terms[0], terms[2]], &[1]).unwrap(),
    ];
    let key = RaiseTransformKey::generate(&transform, &sparse, &secret, &mut rng(3)).unwrap();
    let encrypted = |secret: &SecretKey, params: &Params, limbs| {
        secret.encrypt(&message(params, limbs, 1), &mut rng(4)).unwrap()
    };
    let ct = encrypted(&sparse, &low, 1);
    for other in others {
        let refused = other.apply(&key, &ct);
        assert!(
            refusal(&refused)
                .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
        );
    }
    let again = prepare(&terms, &[1]).unwrap();
    assert_eq!(again.apply(&key, &ct).unwrap(), transform.apply(&key, &ct).unwrap());

    let refused = transform.apply(&key, &encrypted(&secret, &params, 1));
    assert!(
        refusal(&refused)
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    let other = SecretKey::generate(&low, &mut rng(9)).unwrap();
    let refused = transform.apply(&key, &encrypted(&other, &low, 1));
    assert!(
        refusal(&refused)
            .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
    );
    let long = Params::new(ParamsSpec { q: params.spec().q[..2].to_vec(), ..low.spec().clone() });
    let wide = SecretKey::generate(&long.unwrap(), &mut rng(2)).unwrap();
    let key = RaiseTransformKey::generate(&transform, &wide, &secret, &mut rng(3)).unwrap();
    let refused = transform.apply(&key, &encrypted(&wide, wide.params(), 2));
    assert!(refusal(&refused).is(&ErrorKind::Level, "2 limbs where"));
}

#[test]
fn misfits_are_refused() {
    let base = params(64, 1, 5, 2);
    let scaled = |scale: f64| factors(64, 1, scale);
    let one = [RaiseTerm { exponent: 5, factor: 0 }];
    let refused = RaiseTransform::new(&base, &[], &[], scaled).map(|_| ());
    assert!(refusal(&refused).is(&ErrorKind::Length, "no operands; give at least one"));
    let missing = [RaiseTerm { exponent: 5, factor: 1 }];
    let refused = RaiseTransform::new(&base, &missing, &[], scaled).map(|_| ());
    assert!(refusal(&refused).is(&ErrorKind::Parameters, "is not supported: need"));
    let short = params(64, 1, 2, 2);
    let refused = RaiseTransform::new(&short, &one, &[], scaled).map(|_| ());
    assert!(refusal(&refused).is(&ErrorKind::Level, "2 limbs where"));

    let transform = RaiseTransform::new(&base, &one, &[], scaled).unwrap();
    let secret = SecretKey::generate(&base, &mut rng(1)).unwrap();
    let refuse = |params: Params| {
        let from = SecretKey::generate(&params, &mut rng(2)).unwrap();
        RaiseTransformKey::generate(&transform, &from, &secret, &mut rng(3)).map(|_| ())
    };
    assert!(
        refusal(&refuse(params(128, 1, 1, 1)))
            .is(&ErrorKind::Shape, "a polynomial of degree bound")
    );
    assert!(refusal(&refuse(params(64, 2, 1, 1))).is(&ErrorKind::Shape, "where rank"));
    let sparse = SecretKey::generate(&low(&base, 8), &mut rng(2)).unwrap();
    let refused =
        RaiseTransformKey::generate(&transform, &sparse, &sparse, &mut rng(3)).map(|_| ());
    assert!(
        refusal(&refused)
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
}
