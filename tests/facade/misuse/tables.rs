//! Look-ups, and the ways between slots and LWE values.

use bellerophon::{
    Accuracy, ClientKey, Engine, Evaluator, MapRequest, Needs, Params, Preset, Toy,
    circuits::approx::Known,
    ckks::CkksOps,
    lookup::Layout,
    lwe::{Headroom, LweVec},
};

use super::{BAD, Record, World, stranger, world};
use crate::common::party;

pub fn refused_tables(record: &mut Record) {
    let world = &world(&Needs::new().multiply().map());
    let other = party(Preset::Insecure(Toy::Bootstrapping), &Needs::new().multiply(), 1);
    maps(record, world);
    several(record, world);
    plans(record, world.server.params());
    values(record, world, &other.server);
}

fn maps(record: &mut Record, world: &World) {
    let World { client, server, bare, x, spent, foreign, .. } = world;
    let request = || MapRequest::new(f64::abs);
    for (why, on, x) in
        [("another key", server, foreign), ("no keys", bare, x), ("no levels", server, spent)]
    {
        refused!(record, why, Evaluator::map(on, x, f64::abs));
        refused!(record, why, Evaluator::map_with(on, x, &request()));
        refused!(record, why, Evaluator::map_with(on, x, &request().error(Accuracy::bits(8.0))));
        refused!(record, why, Evaluator::map_with(on, x, &request().typical(Accuracy::bits(8.0))));
        refused!(record, why, Evaluator::map_many(on, &[x], &request()));
    }
    for bad in BAD {
        refused!(record, format!("to {bad}"), Evaluator::map(server, x, |_| bad));
        let why = format!("the bound {bad}");
        refused!(record, why, Evaluator::map_with(server, x, &request().over(bad..=1.0)));
        refused!(
            record,
            why,
            Evaluator::map_with(server, x, &request().typical(Accuracy::bits(bad)))
        );
        refused!(
            record,
            why,
            Evaluator::map_with(server, x, &request().error(Accuracy::absolute(bad)))
        );
        refused!(record, why, Evaluator::map_plan(server, x, &request().over(bad..=1.0)));
        refused!(
            record,
            why,
            Evaluator::map_plan(server, x, &request().typical(Accuracy::bits(bad)))
        );
        refused!(
            record,
            why,
            Evaluator::map_plan(server, x, &request().error(Accuracy::absolute(bad)))
        );
    }
    for (why, lo, hi) in
        [("reversed", 1.0, -1.0), ("narrow", -0.5, 0.5), ("wide", -1e30, 1e30), ("far", 3.0, 4.0)]
    {
        refused!(record, why, Evaluator::map_with(server, x, &request().over(lo..=hi)));
        refused!(record, why, Evaluator::map_plan(server, x, &request().over(lo..=hi)));
        refused!(record, why, Evaluator::map_many(server, &[x], &request().over(lo..=hi)));
    }
    let wanted = request().engines([]);
    refused!(record, "no engines", Evaluator::map_with(server, x, &wanted));
    let wanted = request().engines([Engine::Corrected]).typical(Accuracy::bits(4.0));
    refused!(record, "an engine without keys", Evaluator::map_with(server, x, &wanted));
    refused!(
        record,
        "bits out of reach",
        Evaluator::map_with(server, x, &request().typical(Accuracy::bits(60.0)))
    );
    refused!(
        record,
        "an error out of reach",
        Evaluator::map_with(server, x, &request().error(Accuracy::bits(90.0)))
    );
    let complex = &server.mul_i(x).unwrap();
    refused!(record, "complex values", Evaluator::map(server, complex, f64::abs));
    let debugger = &client.debugger(server).unwrap();
    let watched = &debugger.watch_decrypted(complex.clone()).unwrap();
    refused!(
        record,
        "complex values",
        Evaluator::map_watched(server, debugger, watched, &request())
    );
    refused!(record, "complex values", Evaluator::map_plan(server, complex, &request()));
    let two = MapRequest::many(&[&f64::sin, &f64::cos]);
    refused!(record, "two functions", Evaluator::map_with(server, x, &two));
    refused!(record, "two functions", Evaluator::map_plan(server, x, &two));
    refused!(record, "no function", Evaluator::map_with(server, x, &MapRequest::many(&[])));
    let pole = MapRequest::of(Known::Inverse).error(Accuracy::bits(8.0));
    refused!(record, "a pole", Evaluator::map_with(server, x, &pole));
    refused!(record, "no entries", Evaluator::map_with(server, x, &MapRequest::table(vec![])));
}

fn several(record: &mut Record, world: &World) {
    let World { server, x, foreign, spent, .. } = world;
    let two = || MapRequest::many(&[&f64::sin, &f64::cos]);
    refused!(record, "no vectors", Evaluator::map_many(server, &[], &two().packed()));
    refused!(record, "no functions", Evaluator::map_many(server, &[x], &MapRequest::many(&[])));
    refused!(record, "another key", Evaluator::map_many(server, &[x, foreign], &two()));
    refused!(record, "no levels", Evaluator::map_many(server, &[x, spent], &two()));
    refused!(
        record,
        "bits",
        Evaluator::map_many(server, &[x], &two().typical(Accuracy::bits(8.0)))
    );
    refused!(
        record,
        "an error",
        Evaluator::map_many(server, &[x], &two().error(Accuracy::bits(8.0)))
    );
    refused!(
        record,
        "an engine",
        Evaluator::map_many(server, &[x], &two().engines([Engine::Ntru]))
    );
    for bad in BAD {
        let f = move |_| bad;
        let functions = MapRequest::many(&[&f64::sin, &f]);
        refused!(record, format!("to {bad}"), Evaluator::map_many(server, &[x], &functions));
    }
    let all = vec![x; 2000];
    refused!(record, "too many values", Evaluator::map_many(server, &all, &two().packed()));
}

fn plans(record: &mut Record, params: &Params) {
    let request = || MapRequest::new(f64::abs).over(-1.0..=1.0);
    let none = MapRequest::new(f64::abs);
    refused!(record, "no domain", Params::map_plan(params, &none));
    refused!(record, "no values", Params::map_plan(params, &request().count(0)));
    refused!(record, "too many values", Params::map_plan(params, &request().count(1 << 40)));
    refused!(record, "no such level", Params::map_plan(params, &request().level(usize::MAX)));
    refused!(record, "no levels", Params::map_plan(params, &request().level(0)));
    for bad in BAD {
        let why = format!("the bound {bad}");
        refused!(record, why, Params::map_plan(params, &request().over(bad..=1.0)));
        refused!(record, why, Params::map_plan(params, &request().typical(Accuracy::bits(bad))));
        refused!(record, why, Params::map_plan(params, &request().error(Accuracy::absolute(bad))));
    }
}

fn values(record: &mut Record, world: &World, other: &Evaluator) {
    let World { client, server, bare, x, spent, foreign, .. } = world;
    let (unit, table) = (|| -1.0..=1.0, Headroom::TABLE);
    for (why, on, x) in [
        ("another key", server, foreign),
        ("no keys", bare, x),
        ("no levels", server, spent),
        ("no look-ups", other, x),
    ] {
        refused!(record, why, Evaluator::extract(on, x, unit()));
        refused!(record, why, Evaluator::extract_for(on, x, unit(), table));
        refused!(record, why, Evaluator::extract_all(on, &[x, x], unit(), table));
    }
    for (lo, hi) in
        [(-0.5, 0.5), (f64::NAN, 1.0), (1.0, -1.0), (-1.0, f64::INFINITY), (-1e30, 1e30)]
    {
        let (why, domain) = (format!("the domain {lo}..={hi}"), || lo..=hi);
        refused!(record, why, Evaluator::extract(server, x, domain()));
        refused!(record, why, Evaluator::extract_for(server, x, domain(), table));
        refused!(record, why, Evaluator::extract_all(server, &[x], domain(), table));
    }
    refused!(record, "no vectors", Evaluator::extract_all(server, &[], unit(), table));
    let deep = Headroom::comparators(u32::MAX);
    refused!(record, "headroom", Evaluator::extract_for(server, x, unit(), deep));
    refused!(record, "headroom", Evaluator::extract_all(server, &[x], unit(), deep));
    refused!(record, "no keys", Evaluator::tables(bare));
    refused!(record, "no look-ups", Evaluator::tables(other));
    refused!(record, "no look-ups", Evaluator::pack_level(other));

    let values = &server.extract(x, unit()).unwrap();
    let level = server.pack_level().unwrap();
    let layout = &Layout::in_order(values.len()).unwrap();
    for (why, on) in [("no keys", bare), ("no look-ups", other)] {
        refused!(record, why, Evaluator::pack(on, values));
        refused!(record, why, Evaluator::pack_in(on, values, layout, level));
        refused!(record, why, Evaluator::pack_ends(on, values, level));
    }
    let two = &Layout::in_order(2).unwrap();
    refused!(record, "another layout", Evaluator::pack_in(server, values, two, level));
    let all = &Layout::new(1 << 20, &[0, 1, 1 << 19]).unwrap();
    refused!(record, "too many slots", Evaluator::pack_in(server, values, all, level));
    for level in [level + 1, usize::MAX] {
        refused!(record, "a higher level", Evaluator::pack_in(server, values, layout, level));
    }
    refused!(record, "a higher level", Evaluator::pack_ends(server, values, usize::MAX));
    // Values of a whole table reach further than what packing takes.
    refused!(record, "wide values", Evaluator::pack(server, values));
    refused!(record, "wide values", Evaluator::pack_in(server, values, layout, level));
    let own = stranger(client.params());
    refused!(record, "another key", ClientKey::decrypt_lwe(&own, values));
    let without = party(Preset::Insecure(Toy::Bootstrapping), &Needs::new(), 1).client;
    refused!(record, "no look-ups", ClientKey::decrypt_lwe(&without, values));
    refused!(record, "no values", LweVec::concat(&[]));
    for (slots, positions) in [(4, &[][..]), (3, &[0]), (2, &[0, 1, 2]), (4, &[0, 0]), (4, &[4])] {
        refused!(record, format!("{positions:?} of {slots}"), Layout::new(slots, positions));
    }
}
