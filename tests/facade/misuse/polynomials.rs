//! Polynomials, prepared functions and comparison.

use bellerophon::{
    Evaluator, Needs,
    circuits::{
        approx::{Accuracy, Approximation, Function, Known, Sign},
        chebyshev::Chebyshev,
        polynomial::{Monomial, Polynomial},
    },
};
use bellerophon_circuits::CircuitOps;

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
    let on = server;

    for (why, server, x) in
        [("another key", server, foreign), ("no keys", bare, x), ("no levels", server, spent)]
    {
        let on = server;
        refused_on_slots!(record, why, server, CircuitOps::polynomial(x, p, None));
        refused_on_slots!(record, why, server, CircuitOps::polynomials(x, &[(p, None), (p, None)]));
        refused_on_slots!(record, why, server, CircuitOps::monomial(x, q, None));
        refused!(record, why, CircuitOps::monomials(on, x, &[(q, None)]));
        refused_on_slots!(record, why, server, CircuitOps::apply(x, f));
        refused_on_slots!(
            record,
            why,
            server,
            CircuitOps::function(x, &Function::from(Known::Exp), Accuracy::bits(8.0))
        );
        refused_on_slots!(record, why, server, CircuitOps::sign(x, sign));
        refused_on_slots!(record, why, server, CircuitOps::step(x, sign));
        refused_on_slots!(record, why, server, CircuitOps::greater(x, x, sign));
        refused_on_slots!(record, why, server, CircuitOps::max(x, x, sign));
        refused_on_slots!(record, why, server, CircuitOps::min(x, x, sign));
        refused_on_slots!(record, why, server, CircuitOps::abs(x, sign));
        refused_on_slots!(record, why, server, CircuitOps::relu(x, sign));
    }
    for (why, y) in [("another key", foreign), ("another length", short)] {
        refused_on_slots!(record, why, server, CircuitOps::greater(x, y, sign));
        refused_on_slots!(record, why, server, CircuitOps::max(x, y, sign));
        refused_on_slots!(record, why, server, CircuitOps::min(x, y, sign));
    }
    let why = "a narrow domain";
    let small_of = server.mul_integer(x, 2).unwrap();
    refused_on_slots!(record, why, server, CircuitOps::polynomial(x, narrow, None));
    refused_on_slots!(record, why, server, CircuitOps::polynomials(x, &[(narrow, None)]));
    refused_on_slots!(record, why, server, CircuitOps::apply(x, tight));
    refused_on_slots!(record, why, server, CircuitOps::sign(x, small));
    refused_on_slots!(record, why, server, CircuitOps::step(x, small));
    refused_on_slots!(record, why, server, CircuitOps::greater(x, &small_of, small));
    refused_on_slots!(record, why, server, CircuitOps::max(x, &small_of, small));
    refused_on_slots!(record, why, server, CircuitOps::min(x, &small_of, small));
    refused_on_slots!(record, why, server, CircuitOps::abs(x, small));
    refused_on_slots!(record, why, server, CircuitOps::relu(x, small));
    let why = "complex values";
    let complex = &server.mul_i(x).unwrap();
    refused_on_slots!(record, why, server, CircuitOps::polynomial(complex, p, None));
    refused_on_slots!(record, why, server, CircuitOps::apply(complex, f));
    refused_on_slots!(record, why, server, CircuitOps::sign(complex, sign));
    refused_on_slots!(
        record,
        why,
        server,
        CircuitOps::function(complex, &Function::from(Known::Exp), Accuracy::bits(8.0))
    );
    // No polynomials, different domains.
    refused_on_slots!(record, "no polynomials", server, CircuitOps::polynomials(x, &[]));
    let wide = &cubic(-2.0, 2.0);
    refused_on_slots!(
        record,
        "two domains",
        server,
        CircuitOps::polynomials(x, &[(p, None), (wide, None)])
    );
    refused!(record, "no polynomials", CircuitOps::monomials(on, x, &[]));
    for bad in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
        let (why, bad) = (format!("the scale {bad}"), Some(bad));
        refused_on_slots!(record, why, server, CircuitOps::polynomial(x, p, bad));
        refused_on_slots!(record, why, server, CircuitOps::polynomials(x, &[(p, bad)]));
        refused_on_slots!(record, why, server, CircuitOps::monomial(x, q, bad));
    }
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 8.0, -4000.0] {
        let why = format!("the error 2^{bad}");
        refused_on_slots!(
            record,
            why,
            server,
            CircuitOps::function(x, &Function::from(Known::Exp), Accuracy::bits(-bad))
        );
    }
    for bad in BAD {
        let why = format!("to {bad}");
        let f = &Function::sampled("bad", move |_| bad);
        refused_on_slots!(record, why, server, CircuitOps::function(x, f, Accuracy::bits(8.0)));
    }
    refused_on_slots!(
        record,
        "a pole",
        server,
        CircuitOps::function(x, &Function::from(Known::Inverse), Accuracy::bits(8.0))
    );
    refused_on_slots!(
        record,
        "negative",
        server,
        CircuitOps::function(x, &Function::from(Known::Ln), Accuracy::bits(8.0))
    );
    // The ranges of powers that could wrap around.
    let large = &client.encrypt(&[1e4], -1e4..=1e4).unwrap();
    let power = &Monomial::new(&[vec![0.0; 64], vec![1.0]].concat()).unwrap();
    refused_on_slots!(record, "large powers", server, CircuitOps::monomial(large, power, None));
    refused!(record, "large powers", CircuitOps::monomials(on, large, &[(power, None)]));
}
