//! A whole look-up of 16 values at the preset `functions`, and its three stages: slots to
//! coefficients, look-ups, repacking.

mod shared;

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use bellerophon::{Engine, Stage, prelude::*};
use criterion::{Criterion, criterion_group, criterion_main};
use shared::{id, rng, slow};

const COUNT: usize = 16;

fn pipeline(c: &mut Criterion) {
    let rng = &mut rng();
    let params = Params::preset(Preset::Functions).unwrap();
    let client = ClientKey::generate_with(&params, rng).unwrap();
    let keys = client.evaluation_keys_with(&Needs::new().map(), rng).unwrap();
    let server = Evaluator::new(keys).unwrap();
    let values: Vec<f64> = (0..COUNT).map(|i| i as f64 - 7.5).collect();
    let x = client.encrypt(&values, -8.0..=8.0).unwrap();

    let limbs = params.ckks().limbs();
    let ring = params.ckks().ring(limbs);
    let name = |operation: &str| id(&format!("pipeline/{operation}_of_{COUNT}"), ring, limbs);
    c.bench_function(&name("map"), |b| {
        let tanh = MapRequest::new(f64::tanh).over(-8.0..=8.0).engines([Engine::Rgsw]);
        b.iter(|| server.map_with(&x, &tanh).unwrap())
    });
    for (operation, stage) in [
        ("slots_to_coefficients", Stage::SlotsToCoefficients),
        ("look_ups", Stage::LookUps),
        ("repacking", Stage::Repacking),
    ] {
        c.bench_function(&name(operation), |b| {
            b.iter_custom(|iterations| (0..iterations).map(|_| time(&server, &x, stage)).sum())
        });
    }
}

/// The time of one stage: what comes before it is not counted, what comes after it is not done.
fn time(server: &Evaluator, x: &Ciphertext, wanted: Stage) -> Duration {
    let (begin, spent) = (Mutex::new(Instant::now()), Arc::new(Mutex::new(Duration::ZERO)));
    let to = spent.clone();
    let watched = server.clone().with_progress(move |progress| {
        if progress.stage != wanted {
            return ControlFlow::Continue(());
        }
        let mut begin = begin.lock().unwrap();
        if progress.done == 0 {
            *begin = Instant::now();
        }
        if progress.done < progress.total {
            return ControlFlow::Continue(());
        }
        *to.lock().unwrap() = begin.elapsed();
        ControlFlow::Break(())
    });
    let outcome = watched.map_with(x, &MapRequest::new(f64::tanh).over(-8.0..=8.0));
    let stopped = outcome.as_ref().err().map(bellerophon::Error::kind);
    assert!(matches!(stopped, Some(bellerophon::ErrorKind::Cancelled { .. })), "{outcome:?}");
    *spent.lock().unwrap()
}

criterion_group! { name = benches; config = slow(); targets = pipeline }
criterion_main!(benches);
