#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bellerophon_fuzz::run("rank_bootstrap", data));
