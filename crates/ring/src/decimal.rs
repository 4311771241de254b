//! Numbers in messages for people.

/// A number with three significant digits: `0.0156`, `0.5`, `4096`, `1.13e15`.
pub fn decimal(x: f64) -> String {
    let magnitude = x.abs();
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    if !(1e-3..1e6).contains(&magnitude) {
        let printed = format!("{x:.2e}");
        // 1.00e9 is 1e9.
        let (digits, exponent) = printed.split_once('e').unwrap_or((&printed, "0"));
        return format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    // Three significant digits, and all digits before the point.
    let digits = (2.0 - magnitude.log10().floor()).max(0.0) as usize;
    let printed = format!("{x:.digits$}");
    match printed.contains('.') {
        true => printed.trim_end_matches('0').trim_end_matches('.').into(),
        false => printed,
    }
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn numbers_read_well() {
        for (x, printed) in [
            (0.0, "0"),
            (0.015625, "0.0156"),
            (0.5, "0.5"),
            (-1.0, "-1"),
            (4.14159, "4.14"),
            (12.0, "12"),
            (99.96, "100"),
            (4096.0, "4096"),
            (65536.0, "65536"),
            (1e9, "1e9"),
            (2f64.powi(50), "1.13e15"),
            (2f64.powi(-20), "9.54e-7"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(decimal(x), printed);
        }
    }
}
