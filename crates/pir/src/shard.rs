//! Tables in shards: each server evaluates the part of the table that it has, and the sum of the
//! responses is that of the whole table.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::sample::Seed;
use bellerophon_ring::{Result, error::operation};
use zeroize::Zeroizing;

use super::query::{Query, Shape};
use super::response::Response;
use super::server::{Factors, Selection, Server};
use crate::bfv::{LOG2_FAILURE, NoiseBound, Params, Plaintext, check_key, noise};
use crate::error;
use crate::function::selector;

/// The values of a function of one variable at consecutive points; all other points count as zero.
/// They are their owner's secret: wiped on drop, redacted in `Debug`.
#[derive(Clone, PartialEq)]
pub struct Shard {
    plain: u64,
    domain: usize,
    first: usize,
    /// Values of least magnitude.
    values: Zeroizing<Vec<i64>>,
}

impl std::fmt::Debug for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shard")
            .field("plain", &self.plain)
            .field("domain", &self.domain)
            .field("first", &self.first)
            .field("points", &self.values.len())
            .finish_non_exhaustive()
    }
}

impl Shard {
    /// The values at the points from `first` on, of a domain of `domain` points.
    pub fn new(params: &Params, domain: usize, first: usize, values: &[u64]) -> Result<Self> {
        if values.is_empty() || first >= domain || values.len() > domain - first {
            let (what, found) = ("number of values", values.len());
            let needed = format!("1 to {}, the rest of the domain", domain.saturating_sub(first));
            return Err(error::shape(what, found, needed));
        }
        let plain = params.plain();
        if let Some(index) = values.iter().position(|&value| value >= plain) {
            return Err(error::plain(index, values.len(), plain));
        }
        let values = Zeroizing::new(values.iter().map(|&value| params.center(value)).collect());
        Ok(Self { plain, domain, first, values })
    }

    /// The first block of `N` points that the shard meets, and `u_f` for each that it meets.
    fn blocks(&self, params: &Params) -> (usize, Vec<Plaintext>) {
        let n = params.degree();
        let (skipped, offset) = (self.first / n, self.first % n);
        let mut padded = Zeroizing::new(vec![0; offset]);
        padded.extend_from_slice(&self.values);
        let selector = |block| Zeroizing::new(selector(params, 0, block));
        let blocks = padded.chunks(n);
        (skipped, blocks.map(|block| Plaintext::from_signed(params, &selector(block))).collect())
    }

    /// The entries of all buckets of a compact query.
    fn buckets(&self, shape: &Shape, seed: &Seed) -> Zeroizing<Vec<i64>> {
        let mut entries = Zeroizing::new(vec![0; shape.values() * shape.entries()]);
        shape.code(seed).for_each(|point, place| {
            let value = point.checked_sub(self.first).and_then(|index| self.values.get(index));
            entries[place.bucket * shape.entries() + place.place] = value.copied().unwrap_or(0);
        });
        entries
    }

    /// Bound on the variance of a selected value: as that of the whole table, with the entries of
    /// the shard alone. The rounding error counts fully, whichever shard has the selected entry.
    fn noise(&self, params: &Params) -> f64 {
        let largest = (params.plain() as f64 / 2.0).powi(2);
        noise::product(noise::fresh(params), self.values.len() as f64 * largest) + largest / 4.0
    }
}

impl Server {
    /// Evaluates a shard at the points of the query: the answer is the value of a point that the
    /// shard has, and zero for other points. [`Response::sum`] adds the responses of all shards.
    /// Like [`evaluate`](Self::evaluate), this promises no circuit privacy.
    ///
    /// In the paper's layout this takes a product for each point and each block of `N` points that
    /// the shard meets. In the compact layout every shard takes the products of the whole table.
    /// In both it takes an automorphism for each value.
    pub fn evaluate_shard(&self, shard: &Shard, query: &Query) -> Result<Response> {
        operation("evaluate_shard", || {
            // Step 1: everything that query and shard must agree on.
            let (params, shape) = (self.params(), query.shape());
            self.check_query(query)?;
            if shard.plain != params.plain() {
                let (found, needed) = (shard.plain, params.plain());
                return Err(error::plain_modulus(found, needed));
            }
            if shape.domains() != [shard.domain] {
                let needed = format!("{:?}, as in the query", shape.domains());
                let (what, found) = ("size of the domain", shard.domain);
                return Err(error::shape(what, found, needed));
            }
            // Step 2: the factors of products. Of blocks, only those of the shard.
            let factors = match &query.batch {
                None => {
                    let (skipped, factors) = shard.blocks(params);
                    Factors::Blocks { skipped, factors }
                }
                Some(seed) => self.buckets(query, shard.buckets(shape, seed))?,
            };
            // Step 3: products and packing, with the bound of the shard.
            let noise = shard.noise(params);
            let selection = Selection { params, query, factors, noise: NoiseBound::of(noise) };
            let order: Vec<usize> = (0..shape.values()).collect();
            let packed = self.pack(&order, |value| selection.value(value))?;
            self.respond_with(query.id, shape.values(), packed, self.packing_noise(noise)?)
        })
    }
}

impl Response {
    /// The sum of the responses of shards to one query. **No point may belong to two shards**:
    /// the noise bound counts the rounding of one selected entry, and the value would be a sum.
    ///
    /// # Errors
    /// [`ErrorKind::Bytes`] for responses to different queries and for truncated ones;
    /// [`ErrorKind::Noise`] if a value could be wrong with a probability above `2^-40`.
    pub fn sum(params: &Params, responses: &[Self]) -> Result<Self> {
        operation("sum", || {
            let [first, rest @ ..] = responses else { return Err(error::no_rows()) };
            params.check(first.fingerprint)?;
            let mut sum = first.clone();
            for other in rest {
                params.check(other.fingerprint)?;
                check_key(other.key, first.key)?;
                let same = (other.id, other.values) == (first.id, first.values);
                if !same || other.parts.len() != first.parts.len() {
                    let reason = "they answer different queries";
                    return Err(error::wrong_response(reason));
                }
                let q = params.ring().modulus(0);
                for (sum, part) in sum.parts.iter_mut().flatten().zip(other.parts.iter().flatten())
                {
                    sum.iter_mut().zip(part).for_each(|(x, &y)| *x = q.add(*x, y));
                }
                sum.variance += other.variance;
            }
            for response in responses {
                if response.drop != [0; 2] || response.shuffled || response.weight != 1.0 {
                    let reason = "only whole responses of shards are added: truncate their sum";
                    return Err(error::wrong_response(reason));
                }
            }
            let log2_failure = sum.log2_failure(params);
            if log2_failure > LOG2_FAILURE {
                return Err(error::noise(log2_failure, LOG2_FAILURE));
            }
            Ok(sum)
        })
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::bfv::tests::{digits, special};
    use crate::client::{Client, Pending};
    use crate::error::refusal;
    use crate::function::Function;
    use crate::query_layout::QueryLayout;

    const DOMAIN: usize = 200;

    /// Shards that end inside blocks, at their ends, and one of a single point.
    const BORDERS: [usize; 6] = [0, 10, 64, 128, 129, DOMAIN];

    struct World {
        params: Params,
        client: Client,
        server: Server,
        table: Vec<u64>,
        random: ChaCha20Rng,
    }

    impl World {
        fn new(params: Params, seed: u64) -> Self {
            let mut random = ChaCha20Rng::seed_from_u64(seed);
            let client = Client::generate(&params, &mut random).unwrap();
            let server = Server::new(&params, &client.server_keys(&mut random).unwrap()).unwrap();
            let table = (0..DOMAIN as u64).map(|x| (x * x * 31 + 7) % params.plain()).collect();
            Self { params, client, server, table, random }
        }

        fn query(&mut self, points: &[usize], form: QueryLayout) -> (Query, Pending) {
            self.client.query(DOMAIN, points, form, &mut self.random).unwrap()
        }

        fn shard(&self, from: usize, to: usize) -> Shard {
            Shard::new(&self.params, DOMAIN, from, &self.table[from..to]).unwrap()
        }

        fn responses(&self, query: &Query) -> Vec<Response> {
            let shards = BORDERS.windows(2).map(|ends| self.shard(ends[0], ends[1]));
            shards.map(|shard| self.server.evaluate_shard(&shard, query).unwrap()).collect()
        }
    }

    #[test]
    fn responses_of_shards_add_up_to_that_of_the_table() {
        for params in [digits(64, 257, 9, 4), special(64, 257, 2)] {
            let mut world = World::new(params, 1);
            let all: Vec<usize> = (0..DOMAIN).collect();
            for form in [QueryLayout::Paper, QueryLayout::Compact] {
                let (query, pending) = world.query(&all, form);
                let parts = world.responses(&query);
                let sum = Response::sum(&world.params, &parts).unwrap();
                assert_eq!(*world.client.read(&pending, &sum).unwrap(), world.table);
                let short = sum.truncated(&world.params).unwrap();
                assert_eq!(*world.client.read(&pending, &short).unwrap(), world.table);
                // A response alone has the values of its shard, and zeros.
                let alone = world.client.read(&pending, &parts[1]).unwrap();
                let inside = |x: &usize| (BORDERS[1]..BORDERS[2]).contains(x);
                let expected = all.iter().map(|x| if inside(x) { world.table[*x] } else { 0 });
                assert_eq!(*alone, expected.collect::<Vec<_>>());
            }
        }
    }

    /// The bound of the sum is that of the whole table, with one packing more for each shard.
    #[test]
    fn the_noise_of_a_sum_is_bounded() {
        let mut world = World::new(digits(64, 257, 9, 4), 2);
        let (query, pending) = world.query(&(0..64).collect::<Vec<_>>(), QueryLayout::Paper);
        let (parts, params) = (world.responses(&query), &world.params);
        let sum = Response::sum(params, &parts).unwrap();
        let table = Function::new(params, &world.table).unwrap();
        let whole = world.server.evaluate(&table, &query).unwrap();
        let packing = noise::packed(params, 1, 1, 0.0).unwrap();
        let rounding = (params.plain() as f64 / 4.0).powi(2);
        let more = (parts.len() - 1) as f64 * (packing + rounding);
        assert!((sum.variance / (whole.variance + more) - 1.0).abs() < 1e-9);
        // Sums are refused where they could be wrong.
        let mut noisy = parts;
        noisy[0].variance = 1e30;
        let refused = Response::sum(params, &noisy);
        assert!(
            refusal(&refused).is(&ErrorKind::Noise, "use a smaller t or domain, or parameters"),
            "{refused:?}"
        );
        drop(pending);
    }

    #[test]
    fn misfits_are_refused() {
        let mut world = World::new(digits(64, 257, 9, 4), 3);
        let (query, _) = world.query(&[3, 199], QueryLayout::Paper);
        let (other, _) = world.query(&[3, 199], QueryLayout::Paper);
        for (first, values) in [(0, vec![]), (DOMAIN, vec![1]), (DOMAIN - 1, vec![1, 1])] {
            let refused = Shard::new(&world.params, DOMAIN, first, &values);
            assert!(refusal(&refused).is(&ErrorKind::Shape, "is needed"), "{refused:?}");
        }
        let refused = Shard::new(&world.params, DOMAIN, 0, &[257]);
        assert!(
            refusal(&refused).is(&ErrorKind::Range, "reduce it, or use parameters with a larger t"),
            "{refused:?}"
        );
        let short = Shard::new(&world.params, DOMAIN - 1, 0, &[1]).unwrap();
        let refused = world.server.evaluate_shard(&short, &query);
        assert!(refusal(&refused).is(&ErrorKind::Shape, "is needed"), "{refused:?}");
        let modulo = Shard { plain: 251, ..world.shard(0, 5) };
        let refused = world.server.evaluate_shard(&modulo, &query);
        assert!(
            refusal(&refused).is(&ErrorKind::ParamsMismatch, "build both with the same t"),
            "{refused:?}"
        );
        let stranger = World::new(world.params.clone(), 4);
        let refused = stranger.server.evaluate_shard(&world.shard(0, 5), &query);
        assert!(refusal(&refused).to_string().contains("key"), "{refused:?}");

        let part = |query: &Query| world.server.evaluate_shard(&world.shard(0, 5), query).unwrap();
        let refused = Response::sum(&world.params, &[]);
        assert!(
            refusal(&refused).is(&ErrorKind::Length, "no rows: at least one is needed"),
            "{refused:?}"
        );
        let short = part(&query).truncated(&world.params).unwrap();
        for parts in [[part(&query), part(&other)], [part(&query), short]] {
            let refused = Response::sum(&world.params, &parts);
            assert!(matches!(refusal(&refused).kind(), ErrorKind::Bytes), "{refused:?}");
        }
    }
}
