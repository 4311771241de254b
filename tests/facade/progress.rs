//! Progress and cancellation: one callback for key generation, look-ups and bootstraps. A cancelled
//! call says how far it came, and leaves keys, operands and evaluators as they were.

use std::{
    ops::ControlFlow,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use bellerophon::{Error, ErrorKind, Progress, Result, Stage, prelude::*};

use crate::common::{Party, encrypt, errors, params_of, party, spread};

/// A callback that writes all reports down and stops after as many as wanted.
#[derive(Clone, Default)]
struct Log {
    reports: Arc<Mutex<Vec<Progress>>>,
    /// Break at the report with this number, from 1 on. 0: never.
    stop: Arc<AtomicUsize>,
}

impl Log {
    fn callback(&self) -> impl Fn(Progress) -> ControlFlow<()> + Send + Sync + Clone + 'static {
        let log = self.clone();
        move |progress| {
            let mut reports = log.reports.lock().unwrap();
            reports.push(progress);
            match reports.len() == log.stop.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }

    /// Takes the reports, and sets where to stop next.
    fn take(&self, stop: usize) -> Vec<Progress> {
        self.stop.store(stop, Ordering::Relaxed);
        std::mem::take(&mut *self.reports.lock().unwrap())
    }
}

/// Where a cancelled operation stopped: the stage, what was done of it, and all of it.
#[track_caller]
fn stop<T: std::fmt::Debug>(result: Result<T>) -> (&'static str, usize, usize) {
    let error = result.unwrap_err();
    match *error.kind() {
        ErrorKind::Cancelled { stage, done, total } => (stage, done, total),
        _ => panic!("{error}"),
    }
}

/// The counts of a stage.
fn counts(reports: &[Progress], stage: Stage) -> Vec<(usize, usize)> {
    let of_stage = reports.iter().filter(|report| report.stage == stage);
    of_stage.map(|report| (report.done, report.total)).collect()
}

/// Forty-eight values are three groups, and both bridges report each of them.
#[test]
fn look_ups_report_every_sixteen_values() {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for bridge in [bellerophon::Bridge::Ring, bellerophon::Bridge::Linear] {
        let needs = Needs::new().map().bridge(bridge);
        let Party { client, server } = party(Preset::Insecure(Toy::Functions), &needs, 41);
        let log = Log::default();
        let server = server.with_progress(log.callback());
        let values = spread(48, -1.0, 1.0);
        let x = encrypt(&client, &values, -1.0..=1.0);
        let y = one.install(|| server.map(&x, f64::abs)).unwrap();
        let reports = log.take(0);
        assert_eq!(counts(&reports, Stage::LookUps), [(0, 48), (16, 48), (32, 48), (48, 48)]);
        assert_eq!(reports.len(), 8, "two more of either other stage: {reports:?}");
        // The default pool may take smaller groups, never larger ones, and counts in order.
        server.map(&x, f64::abs).unwrap();
        let done = counts(&log.take(3), Stage::LookUps);
        assert!(done.windows(2).all(|w| w[0].0 < w[1].0 && w[1].0 - w[0].0 <= 16), "{done:?}");
        assert_eq!(done.last(), Some(&(48, 48)));
        // Stopped before the first value; after that the same evaluator works.
        assert_eq!(stop(server.map(&x, f64::abs)), (Stage::LookUps.name(), 0, 48));
        let (_, max) = errors(&client.decrypt(&y).unwrap(), values.iter().map(|v| v.abs()));
        assert!(max < 0.1, "{max}");
        assert_eq!(one.install(|| server.map(&x, f64::abs)).unwrap(), y);
    }
}

/// The values of several batches count on: a stop in the second batch says so.
#[test]
fn a_stop_in_a_later_batch_counts_all_values_before() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 42);
    let x = encrypt(&client, &spread(200, -1.0, 1.0), -1.0..=1.0);
    let told = Arc::new(AtomicUsize::new(0));
    let last = told.clone();
    let server = server.with_progress(move |progress| {
        if progress.stage == Stage::LookUps {
            last.store(progress.done, Ordering::Relaxed);
        }
        match progress.stage == Stage::LookUps && progress.done > 140 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    let result = server.map(&x, f64::abs);
    let message = result.as_ref().unwrap_err().to_string();
    let (stage, done, total) = stop(result);
    assert_eq!((stage, done, total), (Stage::LookUps.name(), told.load(Ordering::Relaxed), 200));
    assert!((141..=156).contains(&done), "{done}");
    assert!(message.starts_with("map: ") && message.contains(&format!("{done} of 200")));
}

#[test]
fn key_generation_reports_all_keys_and_can_be_stopped() {
    let params = params_of(Preset::Insecure(Toy::Functions));
    let log = Log::default();
    let client = ClientKey::generate(&params).unwrap().with_progress(log.callback());
    // One relinearization key, three rotations, one conjugation.
    let needs = Needs::new().multiply().rotate([1, 2, -1]).conjugate();
    client.evaluation_keys(&needs).unwrap();
    let expected: Vec<_> = (0..=5).map(|done| (done, 5)).collect();
    assert_eq!(counts(&log.take(0), Stage::Keys), expected);
    // Look-ups: the tables, a bridge, and Galois keys of SlotsToCoeffs and of the way back.
    let keys = client.evaluation_keys(&Needs::new().map()).unwrap();
    let reports = counts(&log.take(3), Stage::Keys);
    let total = reports[0].1;
    assert_eq!(reports, (0..=total).map(|done| (done, total)).collect::<Vec<_>>());
    assert!(total > 10, "{total}");
    // Stopped at the third report: two keys are made, none is returned.
    assert_eq!(stop(client.evaluation_keys(&Needs::new().map())), (Stage::Keys.name(), 2, total));
    assert_eq!(log.take(0).len(), 3);
    // The client is whole, and the keys from before serve what it encrypts now.
    client.evaluation_keys(&needs).unwrap();
    let server = Evaluator::new(keys).unwrap();
    let y = server.map(&client.encrypt(&[-0.5, 0.25], -1.0..=1.0).unwrap(), f64::abs).unwrap();
    assert!(errors(&client.decrypt(&y).unwrap(), [0.5, 0.25].into_iter()).1 < 0.1);
    assert_eq!(counts(&log.take(0), Stage::Keys).len(), 6, "evaluators do not report to clients");
}

/// The keys are those of a client without callback.
#[test]
fn reports_do_not_change_the_keys() {
    use rand::SeedableRng;
    let rng = || rand_chacha::ChaCha20Rng::seed_from_u64(5);
    let params = params_of(Preset::Insecure(Toy::Bootstrapping));
    let needs = Needs::new().multiply().bootstrap();
    let bytes = |client: ClientKey| {
        let keys = client.evaluation_keys_with(&needs, &mut rng()).unwrap();
        let mut bytes = Vec::new();
        keys.write_to(&mut bytes).unwrap();
        bytes
    };
    let client = || ClientKey::generate_with(&params, &mut rng()).unwrap();
    let watched = client().with_progress(|_| ControlFlow::Continue(()));
    assert!(bytes(watched) == bytes(client()));
}

#[test]
fn bootstraps_report_their_stages_and_can_be_stopped() {
    use Stage::{CoefficientsToSlots, EvalMod, Raise, SlotsToCoefficients};
    let params = params_of(Preset::Insecure(Toy::Bootstrapping));
    let client = ClientKey::generate(&params).unwrap();
    let keys = client.evaluation_keys(&Needs::new().multiply().bootstrap()).unwrap();
    let log = Log::default();
    let plain = Evaluator::new(keys).unwrap();
    let server = plain.clone().with_progress(log.callback());
    let x = client.encrypt(&[0.5, -0.25], -1.0..=1.0).unwrap();
    let expected = plain.bootstrap(&x).unwrap();
    assert_eq!(server.bootstrap(&x).unwrap(), expected);
    let stages = [SlotsToCoefficients, Raise, CoefficientsToSlots, EvalMod];
    let all = stages.map(|stage| Progress { stage, done: 1, total: 1 });
    assert_eq!(log.take(0), all);
    for (i, report) in all.iter().enumerate() {
        log.take(i + 1);
        assert_eq!(stop(server.bootstrap(&x)), (report.stage.name(), 1, 1));
        assert_eq!(log.take(0), all[..=i]);
        assert_eq!(server.bootstrap(&x).unwrap(), expected);
    }
    // An automatic bootstrap reports and stops as well.
    let server = server.with_auto_bootstrap().unwrap();
    let mut low = server.drop_to_level(&x, 3).unwrap();
    log.take(2);
    let stopped = loop {
        match server.square(&low) {
            Ok(next) => low = next,
            stopped => break stopped,
        }
    };
    assert_eq!(stop(stopped), (Raise.name(), 1, 1));
}

/// Two threads compute with one evaluator; another one raises the flag. Both stop, and say where.
#[test]
fn a_flag_stops_two_threads() {
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new().map(), 43);
    let x = encrypt(&client, &spread(500, -1.0, 1.0), -1.0..=1.0);
    let cancel = Arc::new(AtomicBool::new(false));
    let begun = Arc::new(AtomicUsize::new(0));
    let (flag, begin) = (cancel.clone(), begun.clone());
    let server = server.with_progress(move |progress| {
        if (progress.stage, progress.done) == (Stage::SlotsToCoefficients, 0) {
            begin.fetch_add(1, Ordering::Relaxed);
        }
        match flag.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    // Neither ends by itself: a thread that finished a map begins the next one.
    let work = || -> Error {
        loop {
            if let Err(error) = server.map(&x, f64::abs) {
                return error;
            }
        }
    };
    thread::scope(|scope| {
        let workers = [scope.spawn(work), scope.spawn(work)];
        while begun.load(Ordering::Relaxed) < 2 {
            thread::yield_now();
        }
        cancel.store(true, Ordering::Relaxed);
        for worker in workers {
            let error = worker.join().unwrap();
            let cancelled = matches!(error.kind(), ErrorKind::Cancelled { total: 500, .. });
            assert!(cancelled, "{error}");
        }
    });
    cancel.store(false, Ordering::Relaxed);
    let y = client.decrypt(&server.map(&x, f64::abs).unwrap()).unwrap();
    assert!(errors(&y, spread(500, -1.0, 1.0).iter().map(|v| v.abs())).1 < 0.1);
}
