//! Errors and `Debug` output must not repeat secret values: tests give them numbers whose digits
//! occur nowhere else.

use std::fmt::{Debug, Display};

/// Values with digits that occur nowhere else.
pub const SECRETS: [f64; 2] = [1234.56789, 987654.0];

/// Fails if the text has the digits of a secret, at any position of the decimal point.
#[track_caller]
pub fn assert_silent(text: &str) {
    let digits = text.replace(['.', ',', '_'], "");
    assert!(!digits.contains("12345") && !digits.contains("98765"), "{text}");
}

/// Fails if the `Debug` output has the digits of a secret.
#[track_caller]
pub fn silent(x: &impl Debug) {
    assert_silent(&format!("{x:?} {x:#?}"));
}

/// Fails unless the result is an error that does not have the digits of a secret.
#[track_caller]
pub fn refused<T, E: Debug + Display>(result: Result<T, E>) {
    let error = result.err().expect("an error");
    assert_silent(&format!("{error} {error:?} {error:#?}"));
}
