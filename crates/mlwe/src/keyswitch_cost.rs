//! The cost of a key switch, counted for both forms of its key.

use bellerophon_ring::{BaseConverter, KeyDecomposition};

/// A digit may exceed its special primes by this many bits, as in
/// [`HybridGadget`](bellerophon_ring::HybridGadget).
pub(crate) const SLACK_BITS: f64 = 1.0 / 1024.0;

/// Nanoseconds per word: of one stage of a transform, of one prime of a base conversion, of a
/// product with a key that is read from memory, and of one stage of a move between rings. The
/// constants are rounded from a fit to the times of thirteen strategies on one machine (one thread,
/// AVX-512 IFMA, primes below `2^50`). They predict no time on other machines; they only rank
/// strategies.
const BUTTERFLY_NS: f64 = 0.065;
const CONVERSION_NS: f64 = 0.5;
const PRODUCT_NS: f64 = 0.65;
const MOVE_NS: f64 = 0.3;

/// Maximum number of digits of a key that are considered.
const MOST_KEY_DIGITS: usize = 16;

/// Least ratio of the counted times at which rows are cut into digits. The count leaves out digits
/// and sums that leave the second-level cache, so a ratio slightly above 1 is a loss.
const LEAST_GAIN: f64 = 1.2;

/// Maximum ratio of the words of rows cut into digits to those of whole rows.
const MOST_GROWTH: f64 = 1.25;

/// The cost of the key switches of one relinearization, in words of eight bytes.
///
/// Counted as in Tables 1 and 2 of the paper, plus the base conversions of digits of several
/// primes, which the tables leave out.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RelinCost {
    /// Words transformed, times the stages of each transform.
    pub butterflies: f64,
    /// Words written by base conversions, times the number of source primes of each.
    pub conversions: f64,
    /// Words of the keys. Each is read and multiplied once.
    pub products: f64,
    /// Words packed and unpacked, times the stages of these maps.
    pub moves: f64,
}

impl RelinCost {
    /// An estimated time on one thread. Use it only to compare strategies.
    pub fn nanoseconds(&self) -> f64 {
        self.butterflies * BUTTERFLY_NS
            + self.conversions * CONVERSION_NS
            + self.products * PRODUCT_NS
            + self.moves * MOVE_NS
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            butterflies: self.butterflies + other.butterflies,
            conversions: self.conversions + other.conversions,
            products: self.products + other.products,
            moves: self.moves + other.moves,
        }
    }
}

/// One key switch over a chain of primes of the given sizes.
pub(crate) struct Switch<'a> {
    pub(crate) degree: usize,
    pub(crate) log2_q: &'a [f64],
    pub(crate) log2_p: f64,
    pub(crate) special: usize,
    pub(crate) components: usize,
    pub(crate) columns: usize,
}

/// How a key is cut into digits: see [`KeyDecomposition`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cut {
    /// `log2` of the largest digit of the key.
    pub(crate) log2_digit: f64,
    /// The number of primes in each digit of the key: the special primes, then the chain.
    runs: Vec<usize>,
    /// The number of auxiliary primes.
    auxiliary: usize,
}

impl Switch<'_> {
    /// The cost of the switch with the cheaper form of the key.
    pub(crate) fn cost(&self) -> RelinCost {
        match self.cut().filter(|cut| self.is_cheaper_with(cut)) {
            Some(cut) => self.decomposed(&cut),
            None => self.whole(),
        }
    }

    /// Whether the switch is cheaper with a key that is cut so, by [`LEAST_GAIN`].
    pub(crate) fn is_cheaper_with(&self, cut: &Cut) -> bool {
        LEAST_GAIN * self.decomposed(cut).nanoseconds() < self.whole().nanoseconds()
    }

    /// The cost with rows modulo `P Q`: transforms, base conversions and products.
    fn whole(&self) -> RelinCost {
        // A digit is extended to all primes but its own: `outer` counts these transforms per
        // component, `converted` weighs them by the source primes.
        let limbs = self.log2_q.len();
        let all = limbs + self.special;
        let runs = runs(self.log2_q, self.log2_p);
        let outer: usize = runs.iter().map(|&run| all - run).sum();
        let converted: usize = runs.iter().map(|&run| run * (all - run)).sum();
        self.counted(
            self.components * (limbs + outer),
            self.components * converted,
            self.components * runs.len() * all * self.columns,
        )
    }

    /// The cost with rows that are cut into digits. A level reads the first digits of the key.
    pub(crate) fn decomposed(&self, cut: &Cut) -> RelinCost {
        let limbs = self.log2_q.len();
        let all = limbs + self.special;
        let digits = runs(self.log2_q, self.log2_p);
        // The digits of the key that have a prime of this level.
        let starts = cut.runs.iter().scan(0, |start, &run| {
            *start += run;
            Some(*start - run)
        });
        let sums = self.columns * starts.take_while(|&start| start < all).count();
        // Digits are transformed for the auxiliary primes. Sums return from there, and their
        // residues modulo the primes of the key are transformed again.
        let (forward, back) = (self.components * digits.len(), sums * cut.auxiliary);
        let residues = self.columns * all;
        self.counted(
            self.components * limbs + forward * cut.auxiliary + back + residues,
            self.components * limbs * cut.auxiliary + residues * cut.auxiliary,
            forward * cut.auxiliary * sums,
        )
    }

    /// Transforms, base conversions and products of polynomials modulo one prime, and mod-down.
    fn counted(&self, transforms: usize, conversions: usize, products: usize) -> RelinCost {
        // Mod-down: the special limbs of each column return to coefficients, and the correction of
        // every limb is transformed.
        let limbs = self.log2_q.len();
        let transforms = transforms + self.columns * (self.special + limbs);
        let conversions = conversions + self.columns * self.special * limbs;
        let degree = self.degree as f64;
        RelinCost {
            butterflies: transforms as f64 * degree * degree.log2(),
            conversions: conversions as f64 * degree,
            products: products as f64 * degree,
            moves: 0.0,
        }
    }

    /// The cheapest way to cut a key of this level into digits. `None` if there is none, and for
    /// keys of several components: they are the largest of all, and would take twice the memory.
    pub(crate) fn cut(&self) -> Option<Cut> {
        if self.components > 1 {
            return None;
        }
        let special = std::iter::repeat_n(self.log2_p / self.special as f64, self.special);
        let primes: Vec<f64> = special.chain(self.log2_q.iter().copied()).collect();
        // Step 1: the sizes of the digits of a ciphertext.
        let mut log2_q = self.log2_q;
        let mut digits = vec![];
        for run in runs(self.log2_q, self.log2_p) {
            let (own, rest) = log2_q.split_at(run);
            digits.push(own.iter().sum());
            log2_q = rest;
        }
        // Step 2: each number of digits of the key, as equal in size as the primes allow.
        let cuts = (1..=primes.len().min(MOST_KEY_DIGITS)).filter_map(|count| {
            let (log2_digit, runs) = even_runs(&primes, count);
            let log2_product = KeyDecomposition::log2_product(
                self.degree,
                self.components,
                digits.iter().copied(),
                log2_digit,
            );
            let auxiliary = (log2_product / f64::from(KeyDecomposition::PRIME_BITS)).ceil();
            let cut = Cut { log2_digit, runs, auxiliary: auxiliary as usize };
            // One conversion accepts only so many primes, and the rows are kept in memory.
            let most = cut.runs.iter().copied().fold(cut.auxiliary, usize::max);
            let words = cut.runs.len() * cut.auxiliary;
            let fits = words as f64 <= MOST_GROWTH * primes.len() as f64;
            (most <= BaseConverter::MAX_SOURCES && fits).then_some(cut)
        });
        let cost = |cut: &Cut| self.decomposed(cut).nanoseconds();
        cuts.min_by(|a, b| cost(a).total_cmp(&cost(b)))
    }
}

/// Primes cut greedily into at most `count` runs, none much larger than necessary: `log2` of the
/// largest run, and the number of primes in each.
fn even_runs(primes: &[f64], count: usize) -> (f64, Vec<usize>) {
    // Halve the interval of sizes until it is narrower than any prime.
    let (mut low, mut high) = (0.0, primes.iter().sum::<f64>());
    while high - low > 1.0 / 16.0 {
        let middle = (low + high) / 2.0;
        let cut = runs(primes, middle);
        let largest = primes.iter().copied().fold(0.0, f64::max);
        match cut.len() <= count && largest <= middle {
            true => high = middle,
            false => low = middle,
        }
    }
    let cut = runs(primes, high);
    let mut rest = primes;
    let sizes = cut.iter().map(|&run| {
        let (own, others) = rest.split_at(run);
        rest = others;
        own.iter().sum::<f64>()
    });
    (sizes.fold(0.0, f64::max), cut)
}

/// The number of primes in each digit: greedy cuts by size, from the first prime on.
// As `HybridGadget` cuts a chain.
pub(crate) fn runs(log2_q: &[f64], log2_p: f64) -> Vec<usize> {
    let (mut runs, mut bits) = (vec![], 0.0);
    for &prime in log2_q {
        bits += prime;
        match runs.last_mut() {
            Some(run) if bits <= log2_p + SLACK_BITS => *run += 1,
            _ => {
                runs.push(1);
                bits = prime;
            }
        }
    }
    runs
}

/// The smallest `log2 P` that cuts a chain into at most `digits` digits, none larger than `P`.
pub(crate) fn smallest_special(log2_q: &[f64], digits: usize) -> f64 {
    // The optimum is the size of some run of consecutive primes: try every run.
    let largest = log2_q.iter().copied().fold(0.0, f64::max);
    let sums = (0..log2_q.len()).flat_map(|from| {
        log2_q[from..].iter().scan(0.0, |sum, &prime| {
            *sum += prime;
            Some(*sum)
        })
    });
    sums.filter(|&bits| bits >= largest && runs(log2_q, bits).len() <= digits)
        .fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `60 + 40 L` bits with special primes of `log2_p` bits in all.
    fn switch(degree: usize, log2_q: &[f64], log2_p: f64, special: usize) -> Switch<'_> {
        Switch { degree, log2_q, log2_p, special, components: 1, columns: 2 }
    }

    fn chain(levels: usize) -> Vec<f64> {
        std::iter::once(60.0).chain(std::iter::repeat_n(40.0, levels)).collect()
    }

    #[test]
    fn work_with_digits_of_keys_is_counted_by_its_steps() {
        // 42 digits, 43 primes in four digits of the key, eleven auxiliary primes, two columns.
        let (log2_q, degree) = (chain(41), 1 << 16);
        let whole = switch(degree, &log2_q, 60.0, 1);
        let cut = whole.cut().unwrap();
        assert_eq!((&cut.runs[..], cut.auxiliary), (&[10, 11, 11, 11][..], 11));
        let cost = whole.decomposed(&cut);
        // Inverse transforms of the operand, digits, sums back, their residues, mod-down.
        let transforms = 42 + 42 * 11 + 2 * 4 * 11 + 2 * 43 + 2 * 43;
        assert_eq!(cost.butterflies, (transforms * degree * 16) as f64);
        assert_eq!(cost.products, (42 * 11 * 2 * 4 * degree) as f64);
        let conversions = 42 * 11 + 2 * 43 * 11 + 2 * 42;
        assert_eq!(cost.conversions, (conversions * degree) as f64);
        assert_eq!(whole.cost(), cost);
        // A level of eleven limbs reads two digits of the key.
        let low = switch(degree, &log2_q[..11], 60.0, 1).decomposed(&cut);
        assert_eq!(low.products, (11 * 11 * 2 * 2 * degree) as f64);
    }

    #[test]
    fn keys_are_cut_where_digits_are_many_and_short() {
        let log2_q = chain(41);
        let is_cut = |limbs: usize, log2_p: f64, special: usize| {
            let switch = switch(1 << 16, &log2_q[..limbs], log2_p, special);
            switch.cost() != switch.whole()
        };
        assert!(is_cut(42, 60.0, 1) && is_cut(42, 98.0, 2));
        assert!(!is_cut(12, 60.0, 1) && !is_cut(42, 245.0, 5));
    }

    #[test]
    fn even_runs_are_few_and_no_larger_than_necessary() {
        let primes = chain(9);
        for count in 1..=10 {
            let (largest, cut) = even_runs(&primes, count);
            assert!(cut.len() <= count && cut.iter().sum::<usize>() == 10);
            assert!(runs(&primes, largest - 1.0).len() > count || largest <= 60.0);
            assert_eq!(runs(&primes, largest), cut);
        }
    }
}
