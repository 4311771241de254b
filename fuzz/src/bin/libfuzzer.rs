//! The program of cargo-fuzz; the environment names the target.
//!
//! ```text
//! BELLEROPHON_TARGET=vector cargo +nightly fuzz run --features libfuzzer libfuzzer
//! ```
#![no_main]

use std::{env, process, sync::LazyLock};

use bellerophon_fuzz::{Target, run, target};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = env::var("BELLEROPHON_TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|message| {
        eprintln!("BELLEROPHON_TARGET: {message}");
        process::exit(1)
    })
});

libfuzzer_sys::fuzz_target!(init: LazyLock::force(&TARGET), |data: &[u8]| run(&TARGET, data));
