//! Polynomials, prepared functions and comparison.

use bellerophon::{
    Needs,
    circuits::{
        approx::{Accuracy, Approximation, Function, Known, Sign},
        chebyshev::Chebyshev,
        polynomial::{Monomial, Polynomial},
    },
    ckks::CkksOps,
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
        refused!(record, why, CircuitOps::polynomial(server, x, p, None));
        refused!(record, why, CircuitOps::polynomials(server, x, &[(p, None), (p, None)]));
        refused!(record, why, CircuitOps::monomial(server, x, q, None));
        refused!(record, why, CircuitOps::monomials(on, x, &[(q, None)]));
        refused!(record, why, CircuitOps::apply(server, x, f));
        refused!(
            record,
            why,
            CircuitOps::function(server, x, &Function::from(Known::Exp), Accuracy::bits(8.0))
        );
        refused!(record, why, CircuitOps::sign(server, x, sign));
        refused!(record, why, CircuitOps::step(server, x, sign));
        refused!(record, why, CircuitOps::greater(server, x, x, sign));
        refused!(record, why, CircuitOps::max(server, x, x, sign));
        refused!(record, why, CircuitOps::min(server, x, x, sign));
        refused!(record, why, CircuitOps::abs(server, x, sign));
        refused!(record, why, CircuitOps::relu(server, x, sign));
    }
    for (why, y) in [("another key", foreign), ("another length", short)] {
        refused!(record, why, CircuitOps::greater(server, x, y, sign));
        refused!(record, why, CircuitOps::max(server, x, y, sign));
        refused!(record, why, CircuitOps::min(server, x, y, sign));
    }
    let why = "a narrow domain";
    let small_of = server.mul_integer(x, 2).unwrap();
    refused!(record, why, CircuitOps::polynomial(server, x, narrow, None));
    refused!(record, why, CircuitOps::polynomials(server, x, &[(narrow, None)]));
    refused!(record, why, CircuitOps::apply(server, x, tight));
    refused!(record, why, CircuitOps::sign(server, x, small));
    refused!(record, why, CircuitOps::step(server, x, small));
    refused!(record, why, CircuitOps::greater(server, x, &small_of, small));
    refused!(record, why, CircuitOps::max(server, x, &small_of, small));
    refused!(record, why, CircuitOps::min(server, x, &small_of, small));
    refused!(record, why, CircuitOps::abs(server, x, small));
    refused!(record, why, CircuitOps::relu(server, x, small));
    let why = "complex values";
    let complex = &server.mul_i(x).unwrap();
    refused!(record, why, CircuitOps::polynomial(server, complex, p, None));
    refused!(record, why, CircuitOps::apply(server, complex, f));
    refused!(record, why, CircuitOps::sign(server, complex, sign));
    refused!(
        record,
        why,
        CircuitOps::function(server, complex, &Function::from(Known::Exp), Accuracy::bits(8.0))
    );
    // No polynomials, different domains.
    refused!(record, "no polynomials", CircuitOps::polynomials(server, x, &[]));
    let wide = &cubic(-2.0, 2.0);
    refused!(record, "two domains", CircuitOps::polynomials(server, x, &[(p, None), (wide, None)]));
    refused!(record, "no polynomials", CircuitOps::monomials(on, x, &[]));
    for bad in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
        let (why, bad) = (format!("the scale {bad}"), Some(bad));
        refused!(record, why, CircuitOps::polynomial(server, x, p, bad));
        refused!(record, why, CircuitOps::polynomials(server, x, &[(p, bad)]));
        refused!(record, why, CircuitOps::monomial(server, x, q, bad));
    }
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 8.0, -4000.0] {
        let why = format!("the error 2^{bad}");
        refused!(
            record,
            why,
            CircuitOps::function(server, x, &Function::from(Known::Exp), Accuracy::bits(-bad))
        );
    }
    for bad in BAD {
        let why = format!("to {bad}");
        let f = &Function::sampled("bad", move |_| bad);
        refused!(record, why, CircuitOps::function(server, x, f, Accuracy::bits(8.0)));
    }
    refused!(
        record,
        "a pole",
        CircuitOps::function(server, x, &Function::from(Known::Inverse), Accuracy::bits(8.0))
    );
    refused!(
        record,
        "negative",
        CircuitOps::function(server, x, &Function::from(Known::Ln), Accuracy::bits(8.0))
    );
    // The ranges of powers that could wrap around.
    let large = &client.encrypt(&[1e4], -1e4..=1e4).unwrap();
    let power = &Monomial::new(&[vec![0.0; 64], vec![1.0]].concat()).unwrap();
    refused!(record, "large powers", CircuitOps::monomial(server, large, power, None));
    refused!(record, "large powers", CircuitOps::monomials(on, large, &[(power, None)]));
}
