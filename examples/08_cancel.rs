//! Two threads share one evaluator, and a progress callback cancels one of two look-ups.
//!
//! Toy parameters protect nothing; a comment names the preset of real programs.

use std::ops::ControlFlow;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use std::thread;

use bellerophon::{ErrorKind, prelude::*};

fn main() -> bellerophon::Result<()> {
    let params = Params::preset(Preset::Insecure(Toy::Functions))?; // programs: `Preset::Functions`
    let client = ClientKey::generate(&params)?;
    let server = Evaluator::new(client.evaluation_keys(&Needs::new().map())?)?;
    let x = client.encrypt(&[0.25, -0.5, 1.0], -1.0..=1.0)?;

    // A clone shares the keys. Its callback runs between parts of an operation.
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let cancellable = server.clone().with_progress(move |progress| {
        println!("{:?}: {} of {}", progress.stage, progress.done, progress.total);
        if flag.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });

    stop.store(true, Ordering::Relaxed); // from any thread, at any time
    let (finished, cancelled) = thread::scope(|scope| {
        let finished = scope.spawn(|| server.map(&x, f64::abs));
        let cancelled = scope.spawn(|| cancellable.map(&x, f64::abs));
        (finished.join().unwrap(), cancelled.join().unwrap())
    });

    assert!((client.decrypt(&finished?)?[1] - 0.5).abs() < 0.1);
    assert!(matches!(cancelled, Err(error) if matches!(error.kind(), ErrorKind::Cancelled { .. })));
    Ok(())
}
