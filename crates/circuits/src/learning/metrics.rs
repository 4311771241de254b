//! How well scores tell two classes apart, in the clear.

/// Share of rows whose score has the sign of their label: positive for `true`. Zero counts as
/// `false`. No rows give 0.
pub fn accuracy(scores: &[f64], labels: &[bool]) -> f64 {
    let right = scores.iter().zip(labels).filter(|&(&s, &label)| (s > 0.0) == label).count();
    right as f64 / scores.len().max(1) as f64
}

/// The area under the ROC curve: the probability that a row of the class `true` has a higher score
/// than one of the class `false`, ties counting one half (Mann and Whitney's statistic). One half
/// where a class is empty.
pub fn area_under_curve(scores: &[f64], labels: &[bool]) -> f64 {
    let of = |class: bool| scores.iter().zip(labels).filter(move |&(_, &l)| l == class);
    let (mut wins, mut pairs) = (0.0, 0.0);
    for (high, _) in of(true) {
        for (low, _) in of(false) {
            pairs += 1.0;
            wins += if high > low {
                1.0
            } else if high == low {
                0.5
            } else {
                0.0
            };
        }
    }
    if pairs == 0.0 { 0.5 } else { wins / pairs }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_against_labels() {
        let labels = [true, true, false, false];
        assert_eq!(accuracy(&[1.0, -1.0, -2.0, 0.0], &labels), 0.75);
        assert_eq!(accuracy(&[], &[]), 0.0);
        assert_eq!(area_under_curve(&[3.0, 2.0, 1.0, 0.0], &labels), 1.0);
        assert_eq!(area_under_curve(&[0.0, 1.0, 2.0, 3.0], &labels), 0.0);
        assert_eq!(area_under_curve(&[3.0, 1.0, 1.0, 0.0], &labels), 3.5 / 4.0);
        assert_eq!(area_under_curve(&[3.0, 1.0], &[true, true]), 0.5);
    }
}
