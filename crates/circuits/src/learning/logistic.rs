//! Training by Nesterov's accelerated gradient, and inference.

use bellerophon_ckks::eval::mask::whole;
use bellerophon_ckks::eval::padding;
use bellerophon_ckks::eval::statements::{mixed, separate, separate_unless, within};
use bellerophon_ckks::noise::Noise;
use bellerophon_ckks::origins::Relation;
use bellerophon_ckks::{
    CiphertextMeta, CkksOps, ComposedOps, Interval, KeyLevels, Metadata, Result, refresh,
};

use super::LeastSquaresSigmoid;
use crate::error;

/// What is trained, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct LogisticSpec {
    /// Rows of the table.
    pub rows: usize,
    /// Features of a row, without the constant that the model adds.
    pub features: usize,
    /// Steps of the gradient, at least 1.
    pub iterations: usize,
    /// Degree of the sigmoid's polynomial: 3, 5 or 7.
    pub degree: usize,
    /// Scores, their error included, are taken to lie in `[-bound, bound]`, where the polynomial
    /// approximates the sigmoid.
    pub bound: f64,
    /// Step `t = 1, 2, ..` has the learning rate `rate / (t + 1)`.
    pub rate: f64,
}

impl LogisticSpec {
    /// The published choices: five iterations, degree 3 over `[-8, 8]`, learning rate
    /// `10 / (t + 1)` (eprint 2018/254, section 4). Features are to lie in `[-1, 1]`.
    pub fn new(rows: usize, features: usize) -> Self {
        Self { rows, features, iterations: 5, degree: 3, bound: 8.0, rate: 10.0 }
    }
}

/// Logistic regression of encrypted tables; see the [module](super) for layout and levels.
///
/// With labels `y = +-1` and `z = y (1, x)` it minimises `J(beta) = (1/n) sum_i log(1 +
/// exp(-<z_i, beta>))` by
///
/// ```text
/// beta' = v + (alpha / n) sum_i sigmoid(-<z_i, v>) z_i,     v' = (1 - gamma) beta' + gamma beta
/// ```
///
/// (eprint 2018/254, section 2.2). A model is a vector that repeats weight `f` in the slots
/// `f B .. (f + 1) B`.
///
/// # Security
/// Every iteration runs the same operations whatever the data are. A score outside the stated bound
/// makes the polynomial, and so the model, worse; it cannot be noticed under encryption.
#[derive(Debug, Clone)]
pub struct LogisticRegression {
    spec: LogisticSpec,
    sigmoid: LeastSquaresSigmoid,
    /// Rows and features (the constant among them) as powers of two.
    block: usize,
    blocks: usize,
}

impl LogisticRegression {
    /// Checks the specification.
    pub fn new(spec: LogisticSpec) -> Result<Self> {
        let wrong = |reason: String| Err(error::shape(reason));
        let LogisticSpec { rows, features, iterations, rate, .. } = spec;
        if rows == 0 || features == 0 || iterations == 0 {
            return wrong(format!(
                "{rows} rows, {features} features, {iterations} iterations: need at least one each"
            ));
        }
        if !(rate > 0.0 && rate.is_finite()) {
            return wrong(format!("rate {rate:?}: need a finite number above zero"));
        }
        let blocks = features.checked_add(1).and_then(usize::checked_next_power_of_two);
        let shape = rows.checked_next_power_of_two().zip(blocks);
        let Some((block, blocks)) = shape.filter(|(r, f)| r.checked_mul(*f).is_some()) else {
            return wrong(format!("{rows} rows, {features} features: more than can be counted"));
        };
        let sigmoid = LeastSquaresSigmoid::new(spec.degree, spec.bound)?;
        Ok(Self { spec, sigmoid, block, blocks })
    }

    /// The specification.
    pub fn spec(&self) -> &LogisticSpec {
        &self.spec
    }

    /// The sigmoid's polynomial.
    pub fn sigmoid(&self) -> &LeastSquaresSigmoid {
        &self.sigmoid
    }

    /// Slots that the table takes: a power of two.
    pub fn slots(&self) -> usize {
        self.block * self.blocks
    }

    /// Levels that training takes.
    pub fn levels(&self) -> usize {
        // The first step needs no sigmoid. Each of the others takes the inner product, the sigmoid,
        // and the mask of the step.
        (self.spec.iterations - 1).saturating_mul(self.sigmoid.levels() + 2).saturating_add(1)
    }

    /// Levels that [`scores`](Self::scores) takes.
    pub const SCORE_LEVELS: usize = 1;

    /// Levels that [`probabilities`](Self::probabilities) takes from those of the scores.
    pub fn probability_levels(&self) -> usize {
        1 + self.sigmoid.levels()
    }

    /// The keys for training on tables encrypted at `level`.
    pub fn training_keys(&self, level: usize) -> KeyLevels {
        let below = level.saturating_sub(1);
        KeyLevels::default()
            .multiply(below)
            .inner_sum(self.block, 1, level)
            .inner_sum(self.blocks, self.block as i64, below)
            .rotate([self.back()], below)
    }

    /// The keys for [`scores`](Self::scores) and [`probabilities`](Self::probabilities) of operands
    /// up to `level`.
    pub fn inference_keys(&self, level: usize) -> KeyLevels {
        let below = level.saturating_sub(1);
        KeyLevels::default().multiply(level).inner_sum(self.blocks, self.block as i64, below)
    }

    /// The training table, `z = y (1, x)`, in the order of the slots. There may be fewer rows than
    /// specified: zeros replace them and do not change the gradient, which is divided by the
    /// specified number.
    pub fn pack_training(&self, rows: &[Vec<f64>], labels: &[bool]) -> Result<Vec<f64>> {
        let (found, most) = (rows.len(), self.spec.rows);
        if found > most || labels.len() != found {
            let labels = labels.len();
            let reason = format!("{found} rows and {labels} labels: need 1 to {most} of each");
            return Err(error::shape(reason));
        }
        let mut slots = self.pack(rows)?;
        // z = y x with labels y of -1 and 1 (eprint 2018/254): one formula for both classes.
        for (i, slot) in slots.iter_mut().enumerate() {
            if labels.get(i % self.block) == Some(&false) {
                *slot = -*slot;
            }
        }
        Ok(slots)
    }

    /// Rows for inference, `(1, x)`, in the order of the slots: at most as many as fit the block of
    /// the training rows.
    pub fn pack(&self, rows: &[Vec<f64>]) -> Result<Vec<f64>> {
        if rows.is_empty() || rows.len() > self.block {
            let (found, most) = (rows.len(), self.block);
            return Err(error::shape(format!("{found} rows: need 1 to {most}")));
        }
        if let Some(i) = rows.iter().position(|row| row.len() != self.spec.features) {
            let (found, needed) = (rows[i].len(), self.spec.features);
            let reason = format!(
                "the row at position {i} of {} has {found} features: need {needed}",
                rows.len()
            );
            return Err(error::shape(reason));
        }
        let mut slots = vec![0.0; self.slots()];
        for (i, row) in rows.iter().enumerate() {
            slots[i] = 1.0;
            for (f, &x) in row.iter().enumerate() {
                slots[(f + 1) * self.block + i] = x;
            }
        }
        Ok(slots)
    }

    /// The weights of a decrypted model: of the constant, then of the features.
    pub fn weights(&self, slots: &[f64]) -> Result<Vec<f64>> {
        if slots.len() != self.slots() {
            return Err(error::shape(format!("{} values: need {}", slots.len(), self.slots())));
        }
        Ok((0..=self.spec.features).map(|f| slots[f * self.block]).collect())
    }

    /// Trains on one ciphertext of [`pack_training`](Self::pack_training): the encrypted model,
    /// [`levels`](Self::levels) below. Calls `progress` with the number of iterations done after
    /// each.
    ///
    /// ```
    /// use bellerophon_circuits::learning::{LogisticRegression, LogisticSpec};
    /// # use bellerophon_ckks::{Interval, LevelGroup, ModulusChain, Params, ParamsSpec, Security};
    /// # use bellerophon_ckks::simulator::Simulator;
    /// let spec = LogisticSpec { iterations: 2, ..LogisticSpec::new(4, 2) };
    /// let regression = LogisticRegression::new(spec)?;
    /// # let levels = vec![LevelGroup::single(40, regression.levels())];
    /// # let chain = ModulusChain { degree: 1 << 9, first_bits: 50, levels, special: (50, 2) };
    /// # let params = Params::new(ParamsSpec::from_chain(&chain, 40, Security::Insecure)?)?;
    /// # let simulator = Simulator::new(&params);
    /// let rows = [vec![0.5, -1.0], vec![-0.25, 0.75], vec![1.0, 0.0], vec![-1.0, 0.5]];
    /// let labels = [true, false, true, false];
    /// let packed = regression.pack_training(&rows, &labels)?;
    /// let unit = Interval::real(-1.0, 1.0)?; // declared: it is public
    /// let table = simulator.encrypt(&packed, unit, regression.levels())?;
    /// let model = regression.train(&simulator, &table, |_| {})?;
    /// let weights = regression.weights(&model.reals())?;
    /// let clear = regression.train_clear(&rows, &labels)?;
    /// assert!(weights.iter().zip(&clear).all(|(a, b)| (a - b).abs() < 1e-4));
    /// # Ok::<(), bellerophon_ckks::Error>(())
    /// ```
    pub fn train<A: CkksOps>(
        &self,
        eval: &A,
        table: &A::Ciphertext,
        progress: impl FnMut(usize),
    ) -> Result<A::Ciphertext> {
        eval.composed("train a logistic regression", || self.descend(eval, table, progress))
    }

    fn descend<A: CkksOps>(
        &self,
        eval: &A,
        table: &A::Ciphertext,
        mut progress: impl FnMut(usize),
    ) -> Result<A::Ciphertext> {
        let metadata = eval.metadata(table);
        error::check_slots(&metadata.meta, self.slots())?;
        refresh::check_levels(eval, self.levels(), metadata.level)?;
        let related = eval.origins(table).is_mixed();
        let table = &whole(eval, table)?;
        // At zero the sigmoid is 1/2 and the gradient half the sum of the rows.
        let first = self.step_of(eval, table, related, 0.5 * self.rate(1))?;
        progress(1);
        // Nesterov: beta is the model, ahead the point at which the next gradient is taken.
        let (mut beta, mut ahead) = (first.clone(), first.clone());
        if self.spec.iterations == 1 {
            return Ok(beta);
        }
        // The domain of the sigmoid is mapped onto [-1, 1] once, on the table, and not in every
        // iteration.
        let shrunk = eval.mul_scalar(table, 1.0 / self.spec.bound)?;
        let inside = Interval::real(-1.0, 1.0)?;
        let largest = eval.metadata(table).meta.bounds.slots().bound();
        for t in 2..=self.spec.iterations {
            // u = <z, v> / bound in every slot of a row, by a sum that goes around all slots.
            // The loss is convex: at a rate at which the model converges, a step does not lengthen
            // the error of the point where it starts. That error passes the step unchanged.
            let before = eval.metadata(&ahead);
            let exact = CiphertextMeta { noise: Noise::NONE, ..before.meta };
            ahead = eval.with_metadata(ahead, exact);
            let u = separate_unless(eval, eval.mul(&shrunk, &ahead)?, related);
            let u = eval.inner_sum(&u, self.blocks, self.block as i64)?;
            let u = eval.with_range(u, inside);
            // sigmoid(-x) z = z / 2 - leading (..).
            let pull = self.sigmoid.times(eval, &u, &eval.mul(table, &u)?)?;
            let step =
                self.step_of(eval, &pull, related, -self.sigmoid.leading() * self.rate(t))?;
            // The first step has half the sum of the rows already, so the term z / 2 of every
            // gradient is a multiple of it.
            let half = self.rate(t) / self.rate(1);
            // At the scale of the step, so that both add without another level.
            let moved = |terms: &[(&A::Ciphertext, f64)], step: &A::Ciphertext| {
                let scale = eval.metadata(step).meta.scale;
                let start = eval.linear_combination(terms, 0.0, Some(scale))?;
                self.bounded(eval, carried(eval, eval.add(&start, step)?, &before), largest)
            };
            let next = moved(&[(&ahead, 1.0), (&first, half)], &step)?;
            if t < self.spec.iterations {
                // 1 - gamma enters the step through its scale, so that it costs no level.
                let gamma = momentum(t);
                let step = eval.reinterpret_scale(step, 1.0 - gamma)?;
                let rest = 1.0 - gamma;
                ahead = moved(&[(&ahead, rest), (&first, rest * half), (&beta, gamma)], &step)?;
            }
            beta = next;
            progress(t);
        }
        Ok(beta)
    }

    /// Weights with a range for which scores stay inside the bound; the range of interval
    /// arithmetic over the iterations is far larger. A step is a mean of entries of the table, of
    /// magnitude at most `largest`, times less than twice its rate.
    fn bounded<A: CkksOps>(
        &self,
        eval: &A,
        weights: A::Ciphertext,
        largest: f64,
    ) -> Result<A::Ciphertext> {
        let most = 2.0 * self.spec.rate * self.spec.iterations as f64 * largest;
        let bound = eval.metadata(&weights).meta.bounds.values.bound();
        let range = Interval::real(-bound.min(most), bound.min(most))?;
        // A step is at most half of its share of that bound, which leaves room for the error.
        Ok(if most < bound {
            eval.with_range(weights, range)
        } else {
            within(eval, weights, range)
        })
    }

    /// `factor / n` times the sum over the rows, in every row, at the default scale.
    fn step_of<A: CkksOps>(
        &self,
        eval: &A,
        terms: &A::Ciphertext,
        related: bool,
        factor: f64,
    ) -> Result<A::Ciphertext> {
        // The sum over the rows is valid in the first slot of each block: the mask keeps it there
        // and multiplies by rate / rows.
        let terms = separate_unless(eval, terms.clone(), related);
        let sum = eval.inner_sum(&terms, self.block, 1)?;
        let mut mask = vec![0.0; self.slots()];
        for f in 0..=self.spec.features {
            mask[f * self.block] = factor / self.spec.rows as f64;
        }
        let heads = eval.mul_values_to(&sum, &mask, eval.params().scale())?;
        // The rotations that summed to the left fill a block from its last slot. The other slots
        // keep the errors of the mask and of the rescale alone.
        let tails = eval.rotate(&heads, self.back())?;
        let filled = mixed(eval, eval.inner_sum(&separate(eval, tails), self.block, 1)?);
        // One term of each sum is not zero.
        Ok(within(eval, filled, eval.metadata(&heads).meta.bounds.values))
    }

    /// The rotation from the first slot of a block to its last.
    fn back(&self) -> i64 {
        1 - self.block as i64
    }

    /// `<(1, x), beta>` of encrypted rows ([`pack`](Self::pack)) under an encrypted model: row `i`
    /// in slot `i`, repeated over the blocks. Takes one level.
    pub fn scores<A: CkksOps>(
        &self,
        eval: &A,
        model: &A::Ciphertext,
        rows: &A::Ciphertext,
    ) -> Result<A::Ciphertext> {
        eval.composed("score rows", || {
            error::check_slots(&eval.metadata(model).meta, self.slots())?;
            error::check_slots(&eval.metadata(rows).meta, self.slots())?;
            let related = eval.origins(model).mixes_with(&eval.origins(rows));
            let (model, rows) = (whole(eval, model)?, whole(eval, rows)?);
            // The features have errors of their own.
            let products = separate_unless(eval, eval.mul(&model, &rows)?, related);
            let sums = eval.inner_sum(&products, self.blocks, self.block as i64)?;
            Ok(mixed(eval, sums))
        })
    }

    /// The probabilities of the class `true` from [`scores`](Self::scores), whose magnitude is
    /// taken to be within the bound, by the sigmoid's polynomial. Takes
    /// [`probability_levels`](Self::probability_levels), and one more to clear padding that may lie
    /// outside the bound.
    pub fn probabilities<A: CkksOps>(
        &self,
        eval: &A,
        scores: &A::Ciphertext,
    ) -> Result<A::Ciphertext> {
        eval.composed("predict probabilities", || {
            let metadata = eval.metadata(scores);
            error::check_slots(&metadata.meta, self.slots())?;
            refresh::check_levels(eval, self.probability_levels(), metadata.level)?;
            // The bound is a statement about the scores. Padding is brought there.
            let (bound, levels) = (self.spec.bound, self.probability_levels());
            let scores = padding::inside(eval, scores, &Interval::between(-bound, bound), levels)?;
            let u = eval.mul_scalar(&scores, 1.0 / bound)?;
            let u = eval.with_range(u, Interval::real(-1.0, 1.0)?);
            let odd =
                self.sigmoid.times(eval, &u, &eval.mul_scalar(&u, self.sigmoid.leading())?)?;
            eval.add_scalar(&odd, 0.5)
        })
    }

    /// The same procedure on plain data, with the same polynomial: the result that encrypted
    /// training approximates. Returns the weights of the constant and of the features.
    pub fn train_clear(&self, rows: &[Vec<f64>], labels: &[bool]) -> Result<Vec<f64>> {
        let z = self.pack_training(rows, labels)?;
        let n = self.spec.rows;
        let width = self.spec.features + 1;
        let (mut beta, mut ahead) = (vec![0.0; width], vec![0.0; width]);
        for t in 1..=self.spec.iterations {
            let mut next = ahead.clone();
            for i in 0..rows.len() {
                let score: f64 = (0..width).map(|f| z[f * self.block + i] * ahead[f]).sum();
                let pull = self.rate(t) / n as f64 * self.sigmoid.eval(-score);
                next.iter_mut().enumerate().for_each(|(f, w)| *w += pull * z[f * self.block + i]);
            }
            let gamma = momentum(t);
            ahead = next.iter().zip(&beta).map(|(new, old)| new + gamma * (old - new)).collect();
            beta = next;
        }
        Ok(beta)
    }

    fn rate(&self, t: usize) -> f64 {
        self.spec.rate / (t + 1) as f64
    }
}

/// Nesterov's `gamma_t = (1 - lambda_t) / lambda_{t+1}` with `lambda_0 = 0`,
/// `lambda_{t+1} = (1 + sqrt(1 + 4 lambda_t^2)) / 2`: zero or negative.
fn momentum(t: usize) -> f64 {
    let next = |lambda: f64| (1.0 + (1.0 + 4.0 * lambda * lambda).sqrt()) / 2.0;
    let lambda = (0..t).fold(0.0, |lambda, _| next(lambda));
    (1.0 - lambda) / next(lambda)
}

/// A vector with the noise of an earlier one on top, in the units of the message.
fn carried<A: CkksOps>(eval: &A, x: A::Ciphertext, before: &Metadata) -> A::Ciphertext {
    let meta = eval.metadata(&x).meta;
    let earlier = before.meta.noise * (meta.scale / before.meta.scale).powi(2);
    let noise = meta.noise.sum(earlier, Relation::Independent);
    eval.with_metadata(x, CiphertextMeta { noise, ..meta })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn momentum_starts_at_rest() {
        assert_eq!(momentum(1), 0.0);
        assert!((momentum(2) + 0.618_033_988_75 / 2.193_527_085_3).abs() < 1e-9);
        assert!((1..30).all(|t| momentum(t + 1) < momentum(t) && momentum(t) > -1.0));
    }
}
