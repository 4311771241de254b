//! Results under noise flooding, and their budget.

use bellerophon::{
    Accuracy, ClientKey, DecryptionBudget, Evaluator, MapRequest, Needs,
    ckks::{Interval, noise_flooding::NoiseBound, simulator::Simulator},
    lwe::Headroom,
};

use super::{BAD, Record, World, rng, world};

pub fn refused_results(record: &mut Record) {
    let World { client, server, bare, x, short, spent, foreign } = &world(&Needs::new().map());
    let simulator = Simulator::new(server.params().ckks()).worst_case();
    let unit = Interval::real(-1.0, 1.0).unwrap();
    let any = simulator.encrypt(&[0.0; 3], unit, x.level()).unwrap();
    let bound = &simulator.noise_bound(&any).unwrap();
    let budget = |key, reserved| {
        let mut budget = DecryptionBudget::new(key, 4, 30.0).unwrap();
        budget.reserve(reserved).unwrap();
        budget
    };
    let (own, other) = (client.id(), foreign.lattice().ident().key);
    let request = || MapRequest::new(f64::exp);
    let cases = [
        ("another key", server, foreign, other),
        ("another budget", server, x, other),
        ("another length", server, short, own),
        ("another level", server, spent, own),
    ];
    let table = Headroom::TABLE;
    for (why, on, x, key) in cases.into_iter().chain([("no keys", bare, x, own)]) {
        let budget = &mut budget(key, 1);
        let flooded = &request().flooded(bound, budget.flooding());
        let domain = || -1.0..=1.0;
        refused!(record, why, Evaluator::map_flooded(on, x, flooded, budget));
        refused!(record, why, Evaluator::map_flooded_with(on, x, flooded, budget, &mut rng()));
        refused!(record, why, Evaluator::extract_flooded(on, x, domain(), table, bound, budget));
        refused!(
            record,
            why,
            Evaluator::extract_flooded_with(on, x, domain(), table, bound, budget, &mut rng())
        );
        assert_eq!(budget.reserved(), 1, "{why}: a refused call took from the budget");
    }
    for (why, _, x, key) in cases {
        let budget = &mut budget(key, 1);
        refused!(record, why, ClientKey::decrypt_flooded(client, x, bound, budget));
        refused!(
            record,
            why,
            ClientKey::decrypt_flooded_with(client, x, bound, budget, &mut rng())
        );
    }
    // No reservation, no bound, other terms, other tables.
    let (mut none, mut one) = (budget(own, 0), budget(own, 1));
    let flooded = &request().flooded(bound, none.flooding());
    let why = "no reservation";
    let domain = || -1.0..=1.0;
    refused!(record, why, Evaluator::map_flooded(server, x, flooded, &mut none));
    refused!(record, why, Evaluator::extract_flooded(server, x, domain(), table, bound, &mut none));
    refused!(record, why, ClientKey::decrypt_flooded(client, x, bound, &mut none));
    refused!(record, "no bound", Evaluator::map_flooded(server, x, &request(), &mut one));
    let terms = DecryptionBudget::new(own, 9, 20.0).unwrap();
    let wanted = &request().flooded(bound, terms.flooding());
    refused!(record, "other terms", Evaluator::map_flooded(server, x, wanted, &mut one));
    let wanted = &request().flooded(bound, one.flooding()).typical(Accuracy::bits(8.0));
    refused!(record, "bits", Evaluator::map_flooded(server, x, wanted, &mut one));
    let wanted = &request().flooded(bound, one.flooding());
    refused!(record, "flooding", Evaluator::map_with(server, x, wanted));
    refused!(record, "flooding", Evaluator::map_many(server, &[x], wanted));
    for (lo, hi) in [(-0.5, 0.5), (f64::NAN, 1.0), (-1e30, 1e30)] {
        let why = format!("the domain {lo}..={hi}");
        refused!(
            record,
            why,
            Evaluator::extract_flooded(server, x, lo..=hi, table, bound, &mut one)
        );
        let wanted = &request().flooded(bound, one.flooding()).over(lo..=hi);
        refused!(record, why, Evaluator::map_flooded(server, x, wanted, &mut one));
    }
    budgets(record, client);
    hidden(record, client, bound);
}

fn budgets(record: &mut Record, client: &ClientKey) {
    let key = client.id();
    refused!(record, "no results", DecryptionBudget::new(key, 0, 40.0));
    for bits in BAD.into_iter().chain([0.0, -1.0, 65.0]) {
        refused!(record, format!("{bits} bits"), DecryptionBudget::new(key, 4, bits));
        refused!(record, format!("{bits} bits"), DecryptionBudget::resume(key, 4, bits, 2));
    }
    refused!(record, "more than all", DecryptionBudget::resume(key, 4, 40.0, 5));
    let budget = &mut DecryptionBudget::new(key, 4, 40.0).unwrap();
    refused!(record, "too many", DecryptionBudget::reserve(budget, 5));
}

/// Noise that would hide the values, too.
fn hidden(record: &mut Record, client: &ClientKey, bound: &NoiseBound) {
    let mut budget = DecryptionBudget::new(client.id(), u64::MAX, 64.0).unwrap();
    budget.reserve(1).unwrap();
    let x = client.encrypt(&[0.5; 3], -1.0..=1.0).unwrap();
    refused!(
        record,
        "as much noise as values",
        ClientKey::decrypt_flooded(client, &x, bound, &mut budget)
    );
}
