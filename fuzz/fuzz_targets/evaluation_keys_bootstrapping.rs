#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bellerophon_fuzz::run(
    "evaluation_keys_bootstrapping",
    data
));
