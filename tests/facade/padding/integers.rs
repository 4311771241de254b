//! Exact integers: the numbers behind the integers of a vector are none of them.

use std::collections::BTreeSet;

use bellerophon::{IntTable, prelude::*};

use super::{dirty, lengths};
use crate::common::{Party, errors, party};
use crate::misuse::complete::methods_of;

/// The modulus of the operands.
const P: usize = 16;

/// A number for the padding that is no integer, beyond the modulus.
const DIRT: f64 = 100.5;

/// Two vectors of integers of one length on which all operations are called.
struct Bench<'a> {
    client: &'a ClientKey,
    server: &'a Evaluator,
    x: &'a IntVec,
    y: &'a IntVec,
    values: &'a [usize],
    others: &'a [usize],
    /// The operations that were called.
    called: &'a mut BTreeSet<&'static str>,
}

impl Bench<'_> {
    /// Compares every integer of a result modulo `modulus`: `f` computes it of both operands.
    fn check<E: std::fmt::Display>(
        &mut self,
        name: &'static str,
        modulus: usize,
        result: Result<IntVec, E>,
        f: impl Fn(usize, usize) -> usize,
    ) {
        let len = self.values.len();
        let result = result.unwrap_or_else(|e| panic!("{name} of {len}: {e}"));
        assert_eq!(result.modulus(), modulus, "{name}");
        // Their owner sees integers from reals, which no table has reduced, as reals.
        let parts = self.server.integers().to_reals(&result).unwrap();
        let reals = parts.iter().flat_map(|part| self.client.decrypt(part).unwrap());
        let found: Vec<usize> =
            reals.map(|v| v.round().rem_euclid(modulus as f64) as usize).collect();
        let pairs = self.values.iter().zip(self.others);
        let expected: Vec<usize> = pairs.map(|(&a, &b)| f(a, b) % modulus).collect();
        assert!(found == expected, "{name} of {len}: {found:?} {expected:?}");
        self.called.insert(name);
    }

    fn arithmetic(&mut self) {
        let Self { server, x, y, .. } = *self;
        let on = server.integers();
        self.check("add", P, on.add(x, y), |a, b| a + b);
        self.check("sub", P, on.sub(x, y), |a, b| a + P - b);
        self.check("neg", P, on.neg(x), |a, _| P - a);
        self.check("add_constant", P, on.add_constant(x, -5), |a, _| a + P - 5);
        self.check("mul_constant", P, on.mul_constant(x, 7), |a, _| 7 * a);
        self.check("beside", P * P, on.beside(x, y), |a, b| a + P * b);
        self.check("modulo", 4, on.modulo(x, 4), |a, _| a);
        self.check("to_reals", P, Ok::<_, String>(x.clone()), |a, _| a);
        if let [reals] = &on.to_reals(x).unwrap()[..] {
            self.check("from_reals", P, on.from_reals(reals, P), |a, _| a);
        }
    }

    fn tables(&mut self) {
        let Self { client, server, x, y, .. } = *self;
        let on = server.integers();
        let triples = IntTable::new(P, 64, |k| 3 * k).unwrap();
        let ends = IntTable::new(P, P, |k| P - 1 - k).unwrap();
        self.check("table", P, on.table(x, |k| k * k % P), |a, _| a * a);
        self.check("apply", 64, on.apply(x, &triples), |a, _| 3 * a);
        let mut both = on.tables(x, &[&triples, &ends]).unwrap();
        self.check("tables", P, Ok::<_, String>(both.remove(1)), |a, _| P - 1 - a);
        self.check("tables", 64, Ok::<_, String>(both.remove(0)), |a, _| 3 * a);
        let sum = on.table_of_two(x, y, 32, |a, b| a + b);
        self.check("table_of_two", 32, sum, |a, b| a + b);
        let mut digits = on.digits(x, 4).unwrap();
        self.check("digits", 4, Ok::<_, String>(digits.remove(1)), |a, _| a / 4);
        self.check("digits", 4, Ok::<_, String>(digits.remove(0)), |a, _| a);
        let root = IntTable::real(P, |k| (k as f64).sqrt()).unwrap();
        let roots = on.real_tables(x, &[&root]).unwrap();
        let found = client.decrypt_paired(&roots[0]).unwrap();
        assert_eq!(found.len(), self.values.len());
        let (_, worst) = errors(&found, self.values.iter().map(|&a| (a as f64).sqrt()));
        assert!(worst < 1e-3, "{worst:e}");
        self.called.insert("real_tables");
    }
}

/// The same integers with numbers that are no integers in the padding.
fn dirtied(server: &Evaluator, x: &IntVec) -> IntVec {
    let on = server.integers();
    let reals = dirty(server, &on.to_reals(x).unwrap()[0], DIRT);
    on.from_reals(&reals, P).unwrap()
}

#[test]
fn every_operation_on_integers_computes_the_values() {
    let Party { client, server } =
        party(Preset::Insecure(Toy::Tables), &Needs::new().functional(), 38);
    let mut called = BTreeSet::new();
    let slots = client.params().slots();
    // Integers beyond the slots are the imaginary parts.
    for len in lengths(slots).into_iter().chain([2 * slots - 1]) {
        let values: &Vec<usize> = &(0..len).map(|i| (7 * i + 5) % P).collect();
        let others: &Vec<usize> = &(0..len).map(|i| (i * i + 11) % P).collect();
        let x = client.encrypt(values, Modulo(P)).unwrap();
        let y = client.encrypt(others, Modulo(P)).unwrap();
        let dirty = (len <= slots).then(|| (dirtied(&server, &x), dirtied(&server, &y)));
        for (x, y) in [(x, y)].iter().chain(&dirty) {
            let (client, server, called) = (&client, &server, &mut called);
            let mut bench = Bench { client, server, x, y, values, others, called };
            bench.arithmetic();
            bench.tables();
        }
    }
    // Nothing is left out.
    let all = methods_of("Integers");
    let called: BTreeSet<String> = called.into_iter().map(String::from).collect();
    let missing: Vec<_> = all.symmetric_difference(&called).collect();
    assert!(missing.is_empty(), "no case, or no such operation: {missing:?}");
}
