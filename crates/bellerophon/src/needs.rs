//! The operations of a program that need evaluation keys.

use std::collections::BTreeSet;

#[cfg(doc)]
use bellerophon_ckks as ckks;
use bellerophon_ckks::{KeyLevels, simulator::Report};
use bellerophon_lookup::{Bridge, Engine};
use bellerophon_ring::Result;

use crate::error;
use crate::params::Params;

/// The operations for which evaluation keys are made.
///
/// Additions, and products with numbers and plain vectors, need no keys. Each method adds a need.
/// Keys are large: ask for what the program uses and nothing else.
///
/// ```
/// use bellerophon::Needs;
/// let needs = Needs::new().multiply().map().rotate([1, -1]);
/// ```
///
/// Needs that a server sends in bytes ([`format`](crate::format)) choose no assumption beyond those
/// of the parameters: keys of NTRU and of temporary module ranks take the word of the client
/// ([`allow_ntru`](Self::allow_ntru), [`allow_temporary_ranks`](Self::allow_temporary_ranks)).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    pub(crate) multiply: bool,
    pub(crate) conjugate: bool,
    pub(crate) lookups: bool,
    /// The bridges that were asked for.
    pub(crate) bridges: BTreeSet<Bridge>,
    pub(crate) corrected: bool,
    /// The engine of the blind rotation, if one was named: RGSW or NTRU.
    pub(crate) engine: Option<Engine>,
    pub(crate) bootstrap: bool,
    pub(crate) functional: bool,
    pub(crate) rotate_any: bool,
    pub(crate) rotations: BTreeSet<i64>,
    /// The most values of a vector whose slots are summed.
    pub(crate) sums: Option<usize>,
    /// Rows and columns of the tables whose statistics are computed.
    pub(crate) tables: BTreeSet<(usize, usize)>,
    pub(crate) keys: KeyLevels,
    /// Whether the client named NTRU, and temporary ranks. Bytes do not.
    pub(crate) allowed_ntru: bool,
    pub(crate) allowed_ranks: bool,
}

impl Needs {
    /// No keys: additions and products with plain vectors only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Products and squares of encrypted vectors at every level: one relinearization key.
    ///
    /// [`map`](Self::map) and [`bootstrap`](Self::bootstrap) do not include it: they ask for a
    /// relinearization key that serves the low levels of their own steps. A program that also
    /// multiplies asks for both.
    pub fn multiply(mut self) -> Self {
        self.multiply = true;
        self
    }

    /// Any function of every value ([`Evaluator::map`](crate::Evaluator::map)): the blind-rotation
    /// key, the keys of the bridge between slots and LWE, and the relinearization key that the
    /// return to the slots uses. For parameters with functional bootstrapping and no look-ups: the
    /// keys of functional bootstrapping and of products.
    pub fn map(mut self) -> Self {
        self.lookups = true;
        self
    }

    /// As [`map`](Self::map), for given engines. There is one blind-rotation key: that of NTRU if
    /// it is named, else that of corrected tables if they are named. The key of corrected tables
    /// also serves plain tables, with lower noise; it is slightly larger and slower. NTRU is
    /// faster, but adds assumptions to that of LWE ([`Engine::Ntru`]): it is used only if this
    /// method names it.
    ///
    /// ```
    /// use bellerophon::{Engine, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// let params = Params::preset(Preset::Insecure(Toy::Functions))?;
    /// let client = ClientKey::generate(&params)?;
    /// let needs = Needs::new().map_with([Engine::Ntru]);
    /// println!("{} bytes of keys", params.evaluation_key_bytes(&needs)?);
    /// let server = Evaluator::new(client.evaluation_keys(&needs)?)?;
    /// let x = client.encrypt(&[0.25, -2.0], -4.0..=4.0)?;
    /// let y = client.decrypt(&server.map(&x, f64::abs)?)?;
    /// assert!((y[0] - 0.25).abs() < 0.3 && (y[1] - 2.0).abs() < 0.3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn map_with(self, engines: impl IntoIterator<Item = Engine>) -> Self {
        engines.into_iter().fold(self, |needs, engine| match engine {
            Engine::Poly => needs.multiply(),
            Engine::Fbt => needs.functional(),
            // A named NTRU engine stays, in whatever order the engines are named.
            Engine::Rgsw => Self { engine: needs.engine.or(Some(engine)), ..needs.map() },
            Engine::Corrected => Self { corrected: true, ..needs.map() },
            Engine::Ntru => Self { engine: Some(engine), ..needs.map().allow_ntru() },
            // There are no other engines.
            _ => needs,
        })
    }

    /// The bridge of [`map`](Self::map), by default the cheaper one; corrected tables always have
    /// the ring bridge. Two calls ask for the keys of both bridges; the server then chooses by the
    /// number of values, or is told ([`MapRequest::bridge`](crate::MapRequest::bridge)).
    pub fn bridge(mut self, bridge: Bridge) -> Self {
        self.bridges.insert(bridge);
        self
    }

    /// Bootstrapping: all its keys, each at the level at which it is used. Only for parameters with
    /// bootstrapping ([`Preset::Bootstrapping`](crate::Preset::Bootstrapping)).
    ///
    /// Its matrices take rotations by 1 to 7 and others, at high levels. These keys also serve the
    /// rotations of the program, alone or composed: a composed rotation takes the time and the
    /// noise of several. Programs that rotate ask for their steps ([`rotate`](Self::rotate)).
    pub fn bootstrap(mut self) -> Self {
        self.bootstrap = true;
        self
    }

    /// Functional bootstrapping: all the keys of tables and functions of whole vectors, each at the
    /// level at which it is used. Only for parameters with functional bootstrapping
    /// ([`Preset::Tables`](crate::Preset::Tables) and others). Beside
    /// [`bootstrap`](Self::bootstrap), for [`Preset::Full`](crate::Preset::Full), it takes the same
    /// keys and adds none.
    pub fn functional(mut self) -> Self {
        self.functional = true;
        self
    }

    /// The same needs with [`map`](Self::map) resolved for the engines of the parameters:
    /// functional bootstrapping replaces look-ups where the parameters have no look-ups.
    pub(crate) fn resolved(&self, params: &Params) -> Self {
        let mut needs = self.clone();
        let instead = params.optional_lookups().is_none() && params.functional().is_ok();
        let any = !self.corrected && self.engine.is_none() && self.bridges.is_empty();
        if instead && any && needs.lookups {
            (needs.lookups, needs.multiply, needs.functional) = (false, true, true);
        }
        needs
    }

    /// The bridges of look-ups without repetition, if there are any; `None` is the cheaper one.
    pub(crate) fn bridges(&self) -> Vec<Option<Bridge>> {
        let own = self.corrected.then_some(Bridge::Ring);
        let asked: BTreeSet<_> = self.bridges.iter().copied().chain(own).map(Some).collect();
        match (self.lookups, asked.is_empty()) {
            (false, _) => vec![],
            (true, true) => vec![None],
            (true, false) => asked.into_iter().collect(),
        }
    }

    /// Rotations by the given steps, positive steps to the left: one key each.
    pub fn rotate(mut self, steps: impl IntoIterator<Item = i64>) -> Self {
        self.rotations.extend(steps);
        self
    }

    /// Sums over the values of vectors of up to `most` values:
    /// [`sum_slots`](ckks::ComposedOps::sum_slots),
    /// [`replicate_slot`](ckks::ComposedOps::replicate_slot), and
    /// [`inner_sum`](ckks::ComposedOps::inner_sum) of consecutive slots. This takes about `1.5
    /// log2(most)` rotation keys.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// let client = ClientKey::generate(&Params::preset(Preset::Insecure(Toy::Functions))?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().sums(100))?)?;
    /// let x = client.encrypt(&[0.5, 1.0, 2.0], 0.0..=2.0)?;
    /// let sum = client.decrypt(&server.sum_slots(&x)?)?; // in every slot
    /// assert!(sum.iter().all(|sum| (sum - 3.5).abs() < 1e-3));
    /// # Ok(())
    /// # }
    /// ```
    pub fn sums(mut self, most: usize) -> Self {
        self.sums = self.sums.max(Some(most));
        self
    }

    /// All [statistics](crate::circuits::statistics) of tables of up to `rows` rows and exactly
    /// `columns` columns: sums, means, variances, covariances, deviations and correlations. A
    /// vector is a table of one column. Includes [`multiply`](Self::multiply); another call adds
    /// tables of another number of columns.
    pub fn statistics(mut self, rows: usize, columns: usize) -> Self {
        self.tables.insert((rows, columns));
        self.multiply()
    }

    /// Rotations by every step at a temporary module rank ([`KeyLevels::rotate_hoisted`]): about
    /// `2 log2(slots)` keys in all. A rotation takes as long as several rotations with keys of
    /// their own. Only for parameters whose security admits a larger rank.
    pub fn rotate_any(self) -> Self {
        Self { rotate_any: true, ..self.allow_temporary_ranks() }
    }

    /// Accepts a key of NTRU in needs that were read from bytes: it adds assumptions to that of LWE
    /// ([`Engine::Ntru`]). [`map_with`](Self::map_with) with that engine accepts it too.
    pub fn allow_ntru(self) -> Self {
        Self { allowed_ntru: true, ..self }
    }

    /// Accepts keys at a temporary module rank in needs that were read from bytes or that contain
    /// [`KeyLevels::rotate_hoisted`]: the client then also publishes keys of a secret of a larger
    /// rank. [`rotate_any`](Self::rotate_any) accepts them too.
    pub fn allow_temporary_ranks(self) -> Self {
        Self { allowed_ranks: true, ..self }
    }

    /// Refuses needs for which the word of the client is missing.
    pub(crate) fn allowed(&self) -> Result<()> {
        let refused = |what, allow| Err(error::not_allowed(what, allow));
        if self.engine == Some(Engine::Ntru) && !self.allowed_ntru {
            return refused("a key of NTRU, which assumes more than LWE", "allow_ntru");
        }
        if (self.rotate_any || self.keys.hoisted.is_some()) && !self.allowed_ranks {
            let what = "keys at a temporary module rank, of a further secret";
            return refused(what, "allow_temporary_ranks");
        }
        Ok(())
    }

    /// Complex conjugation of the slots: one key.
    pub fn conjugate(mut self) -> Self {
        self.conjugate = true;
        self
    }

    /// The keys that a simulation of the program used
    /// ([`Report::keys`](bellerophon_ckks::simulator::Report::keys)), or that a circuit lists, each
    /// up to the level at which it is used.
    pub fn keys(mut self, keys: &KeyLevels) -> Self {
        self.keys = self.keys.and(keys);
        self
    }

    /// Everything that a simulation of the program used: [`keys`](Self::keys), and those of
    /// [`bootstrap`](Self::bootstrap) and [`functional`](Self::functional). The simulator runs the
    /// program on plain vectors.
    ///
    /// ```
    /// use bellerophon::ckks::{self, CkksOps, Interval, simulator::Simulator};
    /// use bellerophon::prelude::*;
    ///
    /// fn program<A: CkksOps>(a: &A, x: &A::Ciphertext) -> ckks::Result<A::Ciphertext> {
    ///     (0..5).try_fold(x.clone(), |x, _| a.square(&x))
    /// }
    ///
    /// # fn main() -> bellerophon::Result<()> {
    /// let params = Params::preset(Preset::Insecure(Toy::Bootstrapping))?;
    /// let simulator = Simulator::new(params.ckks())
    ///     .with_bootstrapping(params.bootstrapper()?.clone())?
    ///     .with_auto_bootstrap()?;
    /// let unit = Interval::real(-1.0, 1.0)?;
    /// let x = simulator.encrypt(&[0.9, -1.0], unit, params.levels())?;
    /// let expected = program(&simulator, &x)?;
    /// let report = simulator.report();
    /// assert_eq!((report.bootstraps, expected.metadata().level), (1, 3));
    /// let client = ClientKey::generate(&params)?;
    /// let keys = client.evaluation_keys(&Needs::new().program(&report))?;
    /// let server = Evaluator::new(keys)?.with_auto_bootstrap()?;
    /// let y = program(&server, &client.encrypt(&[0.9, -1.0], -1.0..=1.0)?)?;
    /// assert!(y.level() == 3 && (client.decrypt(&y)?[0] - 0.9f64.powi(32)).abs() < 1e-5);
    /// # Ok(())
    /// # }
    /// ```
    pub fn program(mut self, report: &Report) -> Self {
        self.bootstrap |= report.bootstraps > 0;
        self.functional |= report.functional > 0;
        self.keys(&report.keys)
    }
}
