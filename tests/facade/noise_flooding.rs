//! Results for others than the owner of the key, and noise in front of the switch to LWE values.

use crate::common::{Party, encrypt, errors, law, params_of, party, refusal, sigmoid, spread};
use bellerophon::{
    DecryptionBudget, Engine, ErrorKind,
    circuits::{
        chebyshev::Chebyshev,
        diagonals::Diagonals,
        lintrans::{LinearOptions, LinearTransform},
        polynomial::Polynomial,
    },
    ckks::{self, Complex64, Interval, noise_flooding::NoiseBound, simulator::Simulator},
    lwe::Headroom,
    prelude::*,
};
use bellerophon_circuits::bootstrap::SimulatorExt;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

/// A quadratic in `x` that adds up correlated errors.
fn program<A: CkksOps>(a: &A, x: &A::Ciphertext) -> ckks::Result<A::Ciphertext> {
    let y = a.mul(x, &a.add_scalar(x, 1.0)?)?;
    a.add(&y, &y)
}

/// `[-reach, reach]`.
fn range(reach: f64) -> Interval {
    Interval::real(-reach, reach).unwrap()
}

fn bound(params: &Params, count: usize) -> NoiseBound {
    let simulator = Simulator::new(params.ckks()).worst_case();
    let any = simulator.encrypt(&vec![0.0; count], range(1.0), params.levels()).unwrap();
    simulator.noise_bound(&program(&simulator, &any).unwrap()).unwrap()
}

#[test]
fn shared_results_are_counted_and_as_exact_as_stated() {
    let Party { client, server } =
        party(Preset::Insecure(Toy::Functions), &Needs::new().multiply(), 1);
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    for count in [1, 100, 1024] {
        let values = spread(count, -1.0, 1.0);
        let x = encrypt(&client, &values, -1.0..=1.0);
        let y = program(&server, &x).unwrap();
        let bound = bound(client.params(), count);
        let mut budget = DecryptionBudget::new(client.id(), 2, 30.0).unwrap();
        assert_eq!(budget.reserve(2).unwrap(), 0);
        let mut shared = || {
            client.decrypt_flooded_with(&y, &bound, &mut budget, &mut rng).inspect(|shared| {
                let expected = values.iter().map(|x| 2.0 * x * (x + 1.0));
                let (mean, max) = errors(&shared.values, expected);
                assert!(max < (-shared.bits).exp2(), "{count}: {max:e}");
                // The mean magnitude of a normal error.
                let ratio = mean / (shared.noise * (2.0 / std::f64::consts::PI).sqrt());
                assert!(count < 100 || (ratio - 1.0).abs() < 0.2, "{count}: {ratio}");
            })
        };
        let (first, second) = (shared().unwrap(), shared().unwrap());
        assert_ne!(first.values, second.values);
        assert!(first.bits == second.bits && first.bits > 4.0, "{count}: {}", first.bits);
        let spent = shared();
        assert!(
            refusal(&spent).is(&ErrorKind::Budget, "no result of the budget is reserved: call"),
            "{spent:?}"
        );
        let more = budget.reserve(1);
        let spent = refusal(&more).is(&ErrorKind::Budget, "1 results requested, 0 left of 2: more");
        assert!(spent, "{more:?}");
    }
}

/// A hyperbolic tangent, and differences of neighbours of it.
fn smoothed<A: CkksOps>(a: &A, x: &A::Ciphertext) -> ckks::Result<A::Ciphertext> {
    let p = Polynomial::new(Chebyshev::interpolate(f64::tanh, -1.0, 1.0, 3));
    let y = a.polynomial(x, &p, None)?;
    let mut differences = Diagonals::zero(a.metadata(&y).meta.slots);
    differences.add_diagonal(0, vec![Complex64::ONE]);
    differences.add_diagonal(1, vec![-Complex64::ONE]);
    a.transform(
        &y,
        &LinearTransform::new(
            a.params(),
            &differences,
            a.metadata(&y).level,
            LinearOptions::default(),
        )?,
    )
}

/// Results of polynomials and of transforms are shared as those of products are, as exact as they
/// say.
#[test]
fn polynomials_and_transforms_are_shared() {
    let count = 64;
    let values = spread(count, -1.0, 1.0);
    let params = params_of(Preset::Insecure(Toy::Functions));
    let simulator = Simulator::new(params.ckks()).worst_case();
    let any = simulator.encrypt(&vec![0.0; count], range(1.0), params.levels()).unwrap();
    let bound = simulator.noise_bound(&smoothed(&simulator, &any).unwrap()).unwrap();
    let needs = Needs::new().program(&simulator.report());
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &needs, 14);
    let y = smoothed(&server, &encrypt(&client, &values, -1.0..=1.0)).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(15);
    let p = Chebyshev::interpolate(f64::tanh, -1.0, 1.0, 3);
    let expected = |i: usize| p.eval(values[i]) - p.eval(values[(i + 1) % count]);
    for bits in [16.0, 30.0] {
        let mut budget = reserved(&y, 1, bits);
        let shared = client.decrypt_flooded_with(&y, &bound, &mut budget, &mut rng).unwrap();
        let (mean, max) = errors(&shared.values, (0..count).map(expected));
        assert!(max < (-shared.bits).exp2(), "{bits}: {max:e}");
        let ratio = mean / (shared.noise * (2.0 / std::f64::consts::PI).sqrt());
        assert!((ratio - 1.0).abs() < 0.4, "{bits}: {ratio}");
        assert!(shared.bits > 22.0 - bits / 2.0, "{bits}: {}", shared.bits);
    }
}

#[test]
fn refused_results_cost_nothing() {
    let Party { client, server } =
        party(Preset::Insecure(Toy::Functions), &Needs::new().multiply(), 3);
    let x = encrypt(&client, &[0.5; 1024], -1.0..=1.0);
    let y = program(&server, &x).unwrap();
    let bound = bound(client.params(), 1024);
    let mut strict = DecryptionBudget::new(client.id(), 1 << 20, 60.0).unwrap();
    strict.reserve(1).unwrap();
    let nothing = client.decrypt_flooded(&y, &bound, &mut strict);
    assert!(matches!(refusal(&nothing).kind(), ErrorKind::Noise), "{nothing:?}");
    let mut budget = DecryptionBudget::resume(client.id(), 10, 30.0, 4).unwrap();
    assert_eq!((budget.reserve(1).unwrap(), budget.left(), budget.reserved()), (3, 3, 1));
    let other = client.decrypt_flooded(&x, &bound, &mut budget);
    assert!(refusal(&other).is(&ErrorKind::Request, "the level is"), "{other:?}");
    // A budget belongs to a key: neither another key's results nor another key's owner spend it.
    let foreign = ClientKey::generate(client.params()).unwrap();
    let refused = foreign.decrypt_flooded(&y, &bound, &mut budget);
    assert!(
        refusal(&refused)
            .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or"),
        "{refused:?}"
    );
    let mut own = DecryptionBudget::new(foreign.id(), 1, 30.0).unwrap();
    own.reserve(1).unwrap();
    assert!(foreign.decrypt_flooded(&y, &bound, &mut own).is_err());
    let refused = client.decrypt_flooded(&y, &bound, &mut own);
    assert!(
        refusal(&refused)
            .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or"),
        "{refused:?}"
    );
    // The shared values are real.
    let simulator = Simulator::new(client.params().ckks()).worst_case();
    let any = simulator.encrypt(&[0.0; 4], range(1.0), client.params().levels()).unwrap();
    let bound = simulator.noise_bound(&simulator.mul_i(&any).unwrap()).unwrap();
    let x = encrypt(&client, &[0.5; 4], -1.0..=1.0);
    let refused = client.decrypt_flooded(&server.mul_i(&x).unwrap(), &bound, &mut budget);
    assert!(
        refusal(&refused).is(&ErrorKind::Complex, "the values may be complex: decrypt them as"),
        "{refused:?}"
    );
    assert_eq!((strict.reserved(), budget.reserved(), own.reserved()), (1, 1, 1));
    assert!(DecryptionBudget::new(client.id(), 0, 30.0).is_err());
    let more = DecryptionBudget::resume(client.id(), 10, 30.0, 11);
    assert!(refusal(&more).is(&ErrorKind::Budget, "11 results requested, 10 left of 10: more"));
}

/// Counts are lost in no order of events: a program that stops after it stored what is left, and
/// before or after it shared, has fewer left when it runs again, never more.
#[test]
fn what_was_reserved_is_not_shared_again() {
    let Party { client, server } =
        party(Preset::Insecure(Toy::Functions), &Needs::new().multiply(), 9);
    let y = program(&server, &encrypt(&client, &[0.5; 16], -1.0..=1.0)).unwrap();
    let bound = bound(client.params(), 16);
    let (mut stored, mut shared) = (3, 0);
    for stops_early in [true, false, true, false] {
        let mut budget = DecryptionBudget::resume(client.id(), 3, 20.0, stored).unwrap();
        // Without a reservation nothing is shared.
        assert!(client.decrypt_flooded(&y, &bound, &mut budget).is_err());
        let Ok(left) = budget.reserve(1) else { break };
        stored = left;
        if !stops_early {
            client.decrypt_flooded(&y, &bound, &mut budget).unwrap();
            shared += 1;
        }
    }
    assert_eq!((stored, shared), (0, 1));
}

/// The noise bound of a vector as it was encrypted.
fn fresh(server: &Evaluator, x: &Ciphertext, reach: f64) -> NoiseBound {
    let simulator = Simulator::new(server.params().ckks()).worst_case();
    let any = simulator.encrypt(&vec![0.0; x.len()], range(reach), x.level()).unwrap();
    simulator.noise_bound(&any).unwrap()
}

/// A budget with reserved results.
fn reserved(x: &Ciphertext, queries: u64, bits: f64) -> DecryptionBudget {
    let mut budget = DecryptionBudget::new(x.lattice().ident().key, queries, bits).unwrap();
    budget.reserve(queries.min(4)).unwrap();
    budget
}

/// Flooding in front of a table blurs its index by as much as is predicted, over either bridge, and
/// much more than noise does without.
#[test]
fn flooded_look_ups_err_as_predicted() {
    let domain = -4.0..=4.0;
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 4);
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    for (count, bits) in [(64, 32.0), (700, 32.0)] {
        let values = spread(count, -4.0, 4.0);
        let x = encrypt(&client, &values, domain.clone());
        let (bound, mut budget) = (fresh(&server, &x, 4.0), reserved(&x, 4, bits));
        let request = MapRequest::new(sigmoid).over(domain.clone());
        let flooded = request.clone().flooded(&bound, budget.flooding());
        let y = server.map_flooded_with(&x, &flooded, &mut budget, &mut rng).unwrap();
        assert_eq!(budget.reserved(), 3);
        let found = client.decrypt(&y).unwrap();
        let (mean, max) = errors(&found, values.iter().map(|&v| sigmoid(v)));
        let params = client.params();
        let (flooded, plain) = (law(params, &flooded), law(params, &request));
        let ratio = mean / flooded.mean_abs;
        let slack = (5.0 / (count as f64).sqrt()).clamp(0.2, 0.6);
        assert!((ratio - 1.0).abs() < slack, "{count}: {ratio}");
        assert!(max < flooded.max_abs(100 * count), "{count}: {max}");
        let (with, without) = (flooded.mean_abs, plain.mean_abs);
        assert!(with > 1.5 * without, "{count}: {with} {without}");
    }
}

/// The noise of extracted values is what they say, nearly all of it flooding.
#[test]
fn flooded_values_carry_their_noise() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 6);
    let values = spread(1000, -4.0, 4.0);
    let x = encrypt(&client, &values, -4.0..=4.0);
    let (bound, mut budget) = (fresh(&server, &x, 4.0), reserved(&x, 1, 28.0));
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let quiet = server.extract(&x, -4.0..=4.0).unwrap();
    let flooded = server
        .extract_flooded_with(&x, -4.0..=4.0, Headroom::TABLE, &bound, &mut budget, &mut rng)
        .unwrap();
    let found = client.decrypt_lwe(&flooded).unwrap();
    let square: f64 = found.iter().zip(&values).map(|(a, b)| (a - b).powi(2)).sum();
    let ratio = square / 1000.0 / flooded.variance();
    assert!((0.8..1.2).contains(&ratio), "{ratio}");
    assert!(flooded.variance() > 100.0 * quiet.variance());
    // Noise as wide as the table is refused, at no cost.
    let mut wide = reserved(&x, 1 << 20, 60.0);
    let values = server.extract_flooded(&x, -4.0..=4.0, Headroom::TABLE, &bound, &mut wide);
    assert!(values.is_err());
    let abs = |budget: &DecryptionBudget| {
        MapRequest::new(f64::abs).over(-4.0..=4.0).flooded(&bound, budget.flooding())
    };
    assert!(server.map_flooded(&x, &abs(&wide), &mut wide).is_err());
    assert_eq!((wide.reserved(), budget.reserved()), (4, 0));
    let spent = server.extract_flooded(&x, -4.0..=4.0, Headroom::TABLE, &bound, &mut budget);
    assert!(matches!(
        &spent,
        Err(e) if e.op() == "extract_flooded"
            && e.is(&ErrorKind::Budget, "no result of the budget is reserved: call")
    ));
    let mut foreign =
        DecryptionBudget::new(ClientKey::generate(client.params()).unwrap().id(), 1, 28.0).unwrap();
    foreign.reserve(1).unwrap();
    let refused = server.map_flooded(&x, &abs(&foreign), &mut foreign);
    assert!(
        refusal(&refused)
            .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
    );
    // A request for flooding never runs without a budget, nor on other terms.
    let request = |result: bellerophon::Result<Ciphertext>| {
        assert!(matches!(result.unwrap_err().kind(), ErrorKind::Request));
    };
    request(server.map_with(&x, &abs(&wide)));
    request(server.map_flooded(&x, &abs(&wide), &mut foreign));
    request(server.map_flooded(&x, &MapRequest::new(f64::abs), &mut wide));
    request(server.map_flooded(&x, &abs(&wide).typical(Accuracy::bits(9.0)), &mut wide));
    assert_eq!((wide.reserved(), foreign.reserved()), (4, 1));
}

/// The values, with the noise of many encryptions of zeros.
fn noisy<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    zeros: A::Ciphertext,
) -> ckks::Result<A::Ciphertext> {
    let zeros = a.with_range(zeros, Interval::real(0.0, 0.0)?);
    a.add(x, &a.mul_integer(&zeros, 1 << 12)?)
}

/// If the noise of a program is far above that of SlotsToCoeffs, the deviation is that of the
/// formula: the slots of a noise polynomial of the bound's length are the coefficients that it
/// hides.
#[test]
fn flooding_is_sized_by_the_program() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 13);
    let x = encrypt(&client, &spread(1000, -4.0, 4.0), -4.0..=4.0);
    let zeros = encrypt(&client, &[0.0; 1000], 0.0..=0.0);
    let y = noisy(&server, &x, zeros).unwrap();
    let simulator = Simulator::new(server.params().ckks()).worst_case();
    let shown = |reach: f64| simulator.encrypt(&[0.0; 1000], range(reach), x.level()).unwrap();
    let bound =
        simulator.noise_bound(&noisy(&simulator, &shown(4.0), shown(0.0)).unwrap()).unwrap();
    let mut budget = reserved(&x, 1, 16.0);
    let flooded =
        server.extract_flooded(&y, -4.0..=4.0, Headroom::TABLE, &bound, &mut budget).unwrap();
    let slots = client.params().slots() as f64;
    let expected = budget.flooding().deviation(bound.length() * slots.sqrt()) / y.meta().scale;
    let ratio = flooded.variance().sqrt() / expected;
    assert!((1.0..1.2).contains(&ratio), "{ratio}");
}

/// How wide flooding is depends on the caller's bound and on nothing that a vector says of itself;
/// a vector that was looked up, whose error is no noise of the slots, is refused.
#[test]
fn flooding_is_not_sized_by_the_vector() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 10);
    let x = encrypt(&client, &spread(64, -4.0, 4.0), -4.0..=4.0);
    let bound = fresh(&server, &x, 4.0);
    let mut budget = reserved(&x, 4, 28.0);
    let mut extracted = |x: &Ciphertext| {
        server
            .extract_flooded(x, -4.0..=4.0, Headroom::TABLE, &bound, &mut budget)
            .map(|v| v.variance())
    };
    let restated = |variance: f64| {
        let (lattice, meta) = x.clone().into_parts();
        let meta = ckks::CiphertextMeta { noise: ckks::noise::Noise::new(variance), ..meta };
        Ciphertext::from_parts(client.params().ckks(), lattice, meta).unwrap()
    };
    let (honest, silent) = (extracted(&x).unwrap(), extracted(&restated(0.0)).unwrap());
    assert!((silent / honest - 1.0).abs() < 1e-3, "{silent:e} {honest:e}");
    let not_of_program = |found: &bellerophon::Result<f64>| match found {
        Ok(_) => false,
        Err(e) => e.is(&ErrorKind::Request, "simulate the program that the evaluator"),
    };
    assert!(not_of_program(&extracted(&restated(1e12))));
    // Where the look-up leaves it, but with the noise of its table.
    let identity = MapRequest::new(|v| v).over(-4.0..=4.0).engines([Engine::Rgsw]);
    let looked_up = server.map_with(&x, &identity).unwrap();
    let stood = {
        let simulator = Simulator::new(server.params().ckks()).worst_case();
        let any = simulator.encrypt(&[0.0; 64], *looked_up.range(), looked_up.level()).unwrap();
        simulator.noise_bound(&any).unwrap()
    };
    let request = MapRequest::new(sigmoid).over(-5.0..=5.0).flooded(&stood, budget.flooding());
    let again = server.map_flooded(&looked_up, &request, &mut budget);
    assert!(not_of_program(&again.map(|_| 0.0)));
}

/// An evaluator counts everything that may fail, over all its clones and all bridges.
#[test]
fn evaluators_add_up_what_may_fail() {
    let needs = Needs::new().multiply().map_with([Engine::Corrected]);
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &needs, 11);
    let params = client.params();
    let x = encrypt(&client, &spread(8, -1.0, 1.0), -1.0..=1.0);
    let close = |server: &Evaluator, halves: f64| {
        let expected = params.lookups().unwrap().spec().log2_failure - 1.0 + halves.log2();
        (server.failures().log2() - expected).abs() < 1e-9
    };
    assert_eq!(server.failures(), bellerophon::FailureProbability::NONE);
    server.square(&x).unwrap();
    assert_eq!(server.failures(), bellerophon::FailureProbability::NONE);
    let table = MapRequest::new(f64::exp).over(-1.0..=1.0).engines([Engine::Rgsw]);
    server.map_with(&x, &table).unwrap();
    assert!(close(&server, 16.0), "{:?}", server.failures());
    assert_eq!(server.failures(), params.program_failure(8, 0).unwrap());
    // A copy adds to the same sum, and one that counts anew does not.
    let copy = server.clone();
    copy.map_many(&[&x], &MapRequest::many(&[&f64::exp, &f64::abs]).packed()).unwrap();
    let with = if server.tables().unwrap().rotations(2) == 1 { 24.0 } else { 32.0 };
    assert!(close(&server, 16.0 + with), "{:?}", server.failures());
    let anew = server.clone().reset_failures();
    // On LWE values: one table, then packing.
    let values = anew.extract(&x, -1.0..=1.0).unwrap();
    assert_eq!(anew.failures(), bellerophon::FailureProbability::NONE);
    let tables = anew.tables().unwrap();
    let output = bellerophon::lwe::OutputEncoding::Fit(Headroom { terms: 2, levels: 0 });
    let read = tables.map(&values, |v| v, output).unwrap();
    assert!(close(&anew, 8.0), "{:?}", anew.failures());
    anew.pack(&read).unwrap();
    assert!(close(&anew, 16.0), "{:?}", anew.failures());
    assert!(close(&server, 16.0 + with), "{:?}", server.failures());
    // Corrected ones: at least the packed values, at most every table on its own.
    let anew = anew.reset_failures();
    let exp = MapRequest::new(f64::exp).typical(Accuracy::absolute(1f64.exp() / 512.0));
    let order = anew.map_plan(&x, &exp).unwrap().prediction().unwrap().order.unwrap();
    anew.map_with(&x, &exp).unwrap();
    let halves =
        (anew.failures().log2() - params.lookups().unwrap().spec().log2_failure + 1.0).exp2();
    let tables = (8 * (order + 2)) as f64;
    assert!(order > 0 && halves >= tables + 7.9 && halves <= 2.0 * tables + 8.1, "{halves}");
}

#[test]
fn automatic_bootstraps_add_up() {
    let needs = Needs::new().multiply().bootstrap();
    let Party { client, server } = party(Preset::Insecure(Toy::Bootstrapping), &needs, 12);
    let server = server.with_auto_bootstrap().unwrap();
    let params = client.params();
    let mut x = encrypt(&client, &[0.5, -0.25], -1.0..=1.0);
    assert_eq!(server.failures(), bellerophon::FailureProbability::NONE);
    server.bootstrap(&x).unwrap();
    assert_eq!(server.failures(), params.program_failure(0, 1).unwrap());
    let simulator = Simulator::new(params.ckks())
        .with_bootstrapping(params.bootstrapper().unwrap().clone())
        .and_then(Simulator::with_auto_bootstrap)
        .unwrap();
    let mut shown = simulator.encrypt(&[0.5, -0.25], range(1.0), x.level()).unwrap();
    let anew = server.clone().reset_failures();
    for _ in 0..6 {
        (x, shown) = (anew.square(&x).unwrap(), simulator.square(&shown).unwrap());
    }
    assert!(simulator.report().bootstraps > 0);
    assert_eq!(anew.failures(), simulator.report().failures);
    assert_eq!(server.failures(), params.program_failure(0, 1).unwrap());
}

/// What a program leaves behind the values of a vector is gone before it is handed on.
#[test]
fn padding_is_cleared_before_release() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 8);
    let x = encrypt(&client, &[0.5, -0.25, 1.0], -1.0..=1.0);
    let all = |y: &Ciphertext| client.decrypt(&server.with_len(y.clone(), 4).unwrap()).unwrap();
    for (y, left) in [
        (server.add_scalar(&x, 2.0).unwrap(), 2.0),
        // Look-ups leave zeros.
        (server.map(&x, f64::exp).unwrap(), 0.0),
    ] {
        assert!((all(&y)[3] - left).abs() < 0.2, "{:?}", all(&y));
        let cleared = server.clear_padding(&y).unwrap();
        assert_eq!((cleared.len(), cleared.level()), (3, y.level() - 1));
        let (before, after) = (all(&y), all(&cleared));
        assert!(after[3].abs() < 1e-4, "{after:?}");
        assert!(before[..3].iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-4));
    }
}
