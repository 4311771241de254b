//! One thread or many: the same result.
//!
//! With the feature `parallel`, which is on by default, an operation runs on the active pool of
//! rayon: all cores, as many as `RAYON_NUM_THREADS` says, or a pool of the program. Without it
//! (`default-features = false`) the library runs on one thread and does not depend on rayon. Toy
//! parameters protect nothing; a comment names the preset of real programs.

use bellerophon::prelude::*;
use rayon::ThreadPoolBuilder;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let params = Params::preset(Preset::Insecure(Toy::Functions))?; // programs: `Preset::Functions`
    let client = ClientKey::generate(&params)?;
    let server = Evaluator::new(client.evaluation_keys(&Needs::new().map())?)?;
    let x = client.encrypt(&[0.25, -0.5, 1.0], -1.0..=1.0)?;

    let one = ThreadPoolBuilder::new().num_threads(1).build()?;
    let two = ThreadPoolBuilder::new().num_threads(2).build()?;
    let y = one.install(|| server.map(&x, f64::abs))?;
    let z = two.install(|| server.map(&x, f64::abs))?;
    assert_eq!(client.decrypt(&y)?, client.decrypt(&z)?);
    Ok(())
}
