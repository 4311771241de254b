//! Polynomials, prepared functions and comparison.

use bellerophon::{
    Evaluator, Needs,
    ckks::{
        CkksOps, ComposedOps,
        approx::{Accuracy, Approximation, Function, Known, Sign},
        chebyshev::Chebyshev,
        polynomial::{Monomial, Polynomial},
    },
};

use super::{BAD, Record, World, world};

pub fn refused_functions(record: &mut Record) {
    let World { client, server, bare, x, short, spent, foreign } = &world(&Needs::new().multiply());
    let cubic = |lo, hi| Polynomial::new(Chebyshev::interpolate(|x| x * x * x, lo, hi, 3));
    let (p, narrow) = (&cubic(-1.0, 1.0), &cubic(-0.125, 0.125));
    let q = &Monomial::new(&[1.0, 0.5, 0.25, 0.5]).unwrap();
    let f = &Approximation::of_degree(&Function::from(Known::Exp), -1.0, 1.0, 5).unwrap();
    let tight = &Approximation::of_degree(&Function::from(Known::Exp), -0.125, 0.125, 5).unwrap();
    let sign = &Sign::of_degrees(2.0, 0.25, &[3, 3]).unwrap();
    let small = &Sign::of_degrees(0.125, 0.03, &[3, 3]).unwrap();
    let on = &**server;

    for (why, server, x) in
        [("another key", server, foreign), ("no keys", bare, x), ("no levels", server, spent)]
    {
        let on = &**server;
        refused_on_slots!(record, why, server, CkksOps::polynomial(x, p, None));
        refused_on_slots!(record, why, server, ComposedOps::polynomials(x, &[p, p], None));
        refused_on_slots!(record, why, server, ComposedOps::monomial(x, q, None));
        refused!(record, why, CkksOps::power_basis(on, x, &[q]));
        refused!(record, why, CkksOps::chebyshev_basis(on, x, &[p]));
        refused_on_slots!(record, why, server, ComposedOps::apply(x, f));
        refused_on_slots!(
            record,
            why,
            server,
            ComposedOps::function(x, &Function::from(Known::Exp), Accuracy::bits(8.0))
        );
        refused_on_slots!(record, why, server, ComposedOps::sign(x, sign));
        refused_on_slots!(record, why, server, ComposedOps::step(x, sign));
        refused_on_slots!(record, why, server, ComposedOps::greater(x, x, sign));
        refused_on_slots!(record, why, server, ComposedOps::max(x, x, sign));
        refused_on_slots!(record, why, server, ComposedOps::min(x, x, sign));
        refused_on_slots!(record, why, server, ComposedOps::abs(x, sign));
        refused_on_slots!(record, why, server, ComposedOps::relu(x, sign));
    }
    for (why, y) in [("another key", foreign), ("another length", short)] {
        refused_on_slots!(record, why, server, ComposedOps::greater(x, y, sign));
        refused_on_slots!(record, why, server, ComposedOps::max(x, y, sign));
        refused_on_slots!(record, why, server, ComposedOps::min(x, y, sign));
    }
    let why = "a narrow domain";
    let small_of = server.mul_integer(x, 2).unwrap();
    refused_on_slots!(record, why, server, CkksOps::polynomial(x, narrow, None));
    refused_on_slots!(record, why, server, ComposedOps::polynomials(x, &[narrow], None));
    refused!(record, why, CkksOps::chebyshev_basis(on, x, &[narrow]));
    refused_on_slots!(record, why, server, ComposedOps::apply(x, tight));
    refused_on_slots!(record, why, server, ComposedOps::sign(x, small));
    refused_on_slots!(record, why, server, ComposedOps::step(x, small));
    refused_on_slots!(record, why, server, ComposedOps::greater(x, &small_of, small));
    refused_on_slots!(record, why, server, ComposedOps::max(x, &small_of, small));
    refused_on_slots!(record, why, server, ComposedOps::min(x, &small_of, small));
    refused_on_slots!(record, why, server, ComposedOps::abs(x, small));
    refused_on_slots!(record, why, server, ComposedOps::relu(x, small));
    let why = "complex values";
    let complex = &server.mul_i(x).unwrap();
    refused_on_slots!(record, why, server, CkksOps::polynomial(complex, p, None));
    refused_on_slots!(record, why, server, ComposedOps::apply(complex, f));
    refused_on_slots!(record, why, server, ComposedOps::sign(complex, sign));
    refused_on_slots!(
        record,
        why,
        server,
        ComposedOps::function(complex, &Function::from(Known::Exp), Accuracy::bits(8.0))
    );
    // No polynomials, different domains, powers that are missing.
    refused_on_slots!(record, "no polynomials", server, ComposedOps::polynomials(x, &[], None));
    refused!(record, "no polynomials", CkksOps::chebyshev_basis(on, x, &[]));
    let wide = &cubic(-2.0, 2.0);
    refused_on_slots!(record, "two domains", server, ComposedOps::polynomials(x, &[p, wide], None));
    refused!(record, "two domains", CkksOps::chebyshev_basis(on, x, &[p, wide]));
    let powers = &on.power_basis(x, &[&Monomial::new(&[0.0, 1.0, 0.5]).unwrap()]).unwrap();
    let long = &Monomial::new(&[0.5; 12]).unwrap();
    refused!(record, "missing powers", CkksOps::monomial_in(on, powers, long, None));
    refused!(record, "no Chebyshev powers", CkksOps::polynomial_in(on, powers, p, None));
    let powers = &on.chebyshev_basis(x, &[p]).unwrap();
    refused!(record, "another domain", CkksOps::polynomial_in(on, powers, wide, None));
    refused!(record, "no powers", CkksOps::monomial_in(on, powers, q, None));
    for bad in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
        let (why, bad) = (format!("the scale {bad}"), Some(bad));
        refused_on_slots!(record, why, server, CkksOps::polynomial(x, p, bad));
        refused_on_slots!(record, why, server, ComposedOps::polynomials(x, &[p], bad));
        refused_on_slots!(record, why, server, ComposedOps::monomial(x, q, bad));
        refused!(record, why, CkksOps::polynomial_in(on, powers, p, bad));
    }
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 8.0, -4000.0] {
        let why = format!("the error 2^{bad}");
        refused_on_slots!(
            record,
            why,
            server,
            ComposedOps::function(x, &Function::from(Known::Exp), Accuracy::bits(-bad))
        );
    }
    for bad in BAD {
        let why = format!("to {bad}");
        let f = &Function::sampled("bad", move |_| bad);
        refused_on_slots!(record, why, server, ComposedOps::function(x, f, Accuracy::bits(8.0)));
    }
    refused_on_slots!(
        record,
        "a pole",
        server,
        ComposedOps::function(x, &Function::from(Known::Inverse), Accuracy::bits(8.0))
    );
    refused_on_slots!(
        record,
        "negative",
        server,
        ComposedOps::function(x, &Function::from(Known::Ln), Accuracy::bits(8.0))
    );
    // The ranges of powers that could wrap around.
    let large = &client.encrypt(&[1e4], -1e4..=1e4).unwrap();
    let power = &Monomial::new(&[vec![0.0; 64], vec![1.0]].concat()).unwrap();
    refused_on_slots!(record, "large powers", server, ComposedOps::monomial(large, power, None));
    refused!(record, "large powers", CkksOps::power_basis(on, large, &[power]));
}
