//! Functions of several values by look-up.

use bellerophon::{
    Needs, OrderOps, Preset, Toy,
    lwe::{Headroom, SortOrder},
};

use super::{BAD, Record, World, world};
use crate::common::party;

pub fn refused_orders(record: &mut Record) {
    let World { server, bare, x, short, spent, foreign, .. } = &world(&Needs::new().map());
    let other = party(Preset::Insecure(Toy::Bootstrapping), &Needs::new(), 1);
    let (within, ascending) = (&server.within(-1.0..=1.0), SortOrder::Ascending);

    let bad = BAD.map(|bad| server.within(bad..=1.0));
    let none = server.within(1.0..=-1.0);
    let narrow = server.within(-0.5..=0.5);
    let mut cases = vec![
        ("another key", within.clone(), foreign),
        ("no keys", bare.within(-1.0..=1.0), x),
        ("no levels", within.clone(), spent),
        ("no look-ups", other.server.within(-1.0..=1.0), x),
        ("a reversed domain", none, x),
        ("a narrow domain", narrow, x),
    ];
    cases.extend(bad.map(|on| ("no domain", on, x)));
    let keep = |_: &bellerophon::lwe::Evaluator<'_>, values: &[bellerophon::lwe::LweVec]| {
        Ok(values[0].clone())
    };
    for (why, on, x) in &cases {
        refused!(record, why, OrderOps::apply(on, &[x], Headroom::TABLE, keep));
        refused!(record, why, OrderOps::max(on, &[x, x]));
        refused!(record, why, OrderOps::min(on, &[x, x]));
        refused!(record, why, OrderOps::arg_max(on, &[x, x]));
        refused!(record, why, OrderOps::arg_min(on, &[x, x]));
        refused!(record, why, OrderOps::greater(on, x, x));
        refused!(record, why, OrderOps::abs(on, x));
        refused!(record, why, OrderOps::sort(on, x, ascending));
        refused!(record, why, OrderOps::largest(on, x, 1));
        refused!(record, why, OrderOps::smallest(on, x, 1));
        refused!(record, why, OrderOps::argmax_index(on, x));
        refused!(record, why, OrderOps::argmin_index(on, x));
        refused!(record, why, OrderOps::argmax_one_hot(on, x));
        refused!(record, why, OrderOps::argmin_one_hot(on, x));
        refused!(record, why, OrderOps::max_pool(on, x, 3, 1));
    }
    for (why, operands) in
        [("no vectors", &[][..]), ("another length", &[x, short]), ("another key", &[x, foreign])]
    {
        refused!(record, why, OrderOps::max(within, operands));
        refused!(record, why, OrderOps::min(within, operands));
        refused!(record, why, OrderOps::arg_max(within, operands));
        refused!(record, why, OrderOps::arg_min(within, operands));
    }
    refused!(record, "no vectors", OrderOps::apply(within, &[], Headroom::TABLE, keep));
    refused!(record, "another length", OrderOps::greater(within, x, short));
    refused!(record, "another key", OrderOps::greater(within, x, foreign));
    for count in [0, 4, usize::MAX] {
        let why = format!("{count} of 3 values");
        refused!(record, why, OrderOps::largest(within, x, count));
        refused!(record, why, OrderOps::smallest(within, x, count));
    }
    let sizes =
        [(0, 1), (3, 0), (2, 2), (3, 2), (usize::MAX, 1), (3, usize::MAX), (1 << 32, 1 << 32)];
    for (columns, window) in sizes {
        let why = format!("windows of {window} in {columns} columns");
        refused!(record, why, OrderOps::max_pool(within, x, columns, window));
    }
    let deep = Headroom::comparators(u32::MAX);
    refused!(record, "headroom", OrderOps::apply(within, &[x], deep, keep));
}
