//! What a program does, as far as keys depend on it.

use std::collections::BTreeSet;

use bellerophon_ckks::{KeySpec, shadow::Report};

use crate::{Bridge, MapEngine};

/// The operations for which evaluation keys are made.
///
/// Additions, and products with numbers and plain vectors, need no keys. Each method adds a need:
/// ask for what the program uses and nothing else, since keys are large.
///
/// ```
/// use bellerophon::Needs;
/// let needs = Needs::new().multiply().map().rotate([1, -1]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    pub(crate) multiply: bool,
    pub(crate) conjugate: bool,
    pub(crate) bridges: BTreeSet<Bridge>,
    pub(crate) corrected: bool,
    pub(crate) engine: MapEngine,
    pub(crate) refresh: bool,
    pub(crate) rotate_any: bool,
    pub(crate) rotations: BTreeSet<i64>,
    pub(crate) keys: KeySpec,
}

impl Needs {
    /// Nothing but additions and plain products.
    pub fn new() -> Self {
        Self::default()
    }

    /// Products and squares of encrypted vectors: one relinearisation key.
    pub fn multiply(mut self) -> Self {
        self.multiply = true;
        self
    }

    /// Look-ups of arbitrary functions, for parameters that have them: the keys of the tables, and of
    /// the bridge to LWE and back that is the cheaper one (and of products, which the way back
    /// takes).
    pub fn map(self) -> Self {
        self.map_over(Bridge::Auto)
    }

    /// As [`map`](Self::map) over a bridge of the caller's choice. Asked for one after the other, the
    /// keys of both bridges are made, and the server chooses by the number of values
    /// ([`Evaluator::over`](crate::Evaluator::over)).
    pub fn map_over(mut self, bridge: Bridge) -> Self {
        self.bridges.insert(bridge);
        self
    }

    /// What reads the tables. The default is RGSW, which rests on LWE alone; NTRU is faster, and is taken
    /// only where it is named here, since it adds assumptions ([`MapEngine::Ntru`]).
    ///
    /// ```
    /// use bellerophon::{MapEngine, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let params = Params::preset(Preset::ToyInsecure)?;
    /// let client = ClientKey::generate(&params)?;
    /// let needs = Needs::new().map().engine(MapEngine::Ntru);
    /// let server = Evaluator::new(client.evaluation_keys(&needs)?)?;
    /// let x = client.encrypt(&[0.25, -2.0], -4.0..=4.0)?;
    /// let y = client.decrypt(&server.map(&x, f64::abs)?)?;
    /// assert!((y[0] - 0.25).abs() < 0.3 && (y[1] - 2.0).abs() < 0.3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn engine(self, engine: MapEngine) -> Self {
        Self { engine, ..self }
    }

    /// Look-ups to a wanted accuracy ([`Evaluator::map_to`](crate::Evaluator::map_to)), and plain ones:
    /// as [`map`](Self::map) over the ring bridge, with a key of the tables on RGSW that has less noise. It
    /// is a little larger and slower than that of plain tables on RGSW.
    pub fn map_to(self) -> Self {
        Self { corrected: true, ..self.map_over(Bridge::Ring) }
    }

    /// Refreshing: all the keys that it takes, each at the level at which it is used. Only for
    /// parameters with refreshing ([`Preset::Bootstrapping`](crate::Preset::Bootstrapping)).
    pub fn refresh(mut self) -> Self {
        self.refresh = true;
        self
    }

    /// Rotations by the given steps, positive to the left: one key each.
    pub fn rotate(mut self, steps: impl IntoIterator<Item = i64>) -> Self {
        self.rotations.extend(steps);
        self
    }

    /// Rotations by every step, by way of a temporary module rank
    /// ([`KeySpec::rotate_hoisted`]): about `2 log2(slots)` keys in all, each rotation as long as several
    /// with a key of its own. Only for parameters whose security leaves room for a larger rank.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().rotate_any())?)?;
    /// let x = client.encrypt(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 0.0..=8.0)?;
    /// let y = client.decrypt(&server.rotate(&x, 5)?)?;
    /// assert!((y[0] - 5.0).abs() < 1e-3 && (y[3] - 0.0).abs() < 1e-3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn rotate_any(mut self) -> Self {
        self.rotate_any = true;
        self
    }

    /// Complex conjugation of the slots: one key.
    pub fn conjugate(mut self) -> Self {
        self.conjugate = true;
        self
    }

    /// Just the keys that a shadow of the program took, each up to the level at which it is used
    /// and no higher: the program runs on plain vectors first.
    ///
    /// ```
    /// use bellerophon::ckks::{self, Arithmetic, Interval, shadow::Shadow};
    /// use bellerophon::prelude::*;
    ///
    /// fn program<A: Arithmetic>(a: &A, x: &A::Ciphertext) -> ckks::Result<A::Ciphertext> {
    ///     a.add(&a.square(x)?, &a.rotate(x, 1)?)
    /// }
    ///
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let params = Params::preset(Preset::ToyInsecure)?;
    /// let shadow = Shadow::new(params.arithmetic());
    /// let unit = Interval::real(-1.0, 1.0)?;
    /// program(&shadow, &shadow.encrypt(&[0.5, 1.0], unit, params.levels())?)?;
    /// let needs = Needs::new().keys(&shadow.report().keys);
    ///
    /// let client = ClientKey::generate(&params)?;
    /// let server = Evaluator::new(client.evaluation_keys(&needs)?)?;
    /// let y = program(&*server, &client.encrypt(&[0.5, 1.0], -1.0..=1.0)?)?;
    /// assert!((client.decrypt(&y)?[0] - 1.25).abs() < 1e-3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn keys(mut self, keys: &KeySpec) -> Self {
        self.keys = self.keys.and(keys);
        self
    }

    /// Just what a shadow of the program took: its [`keys`](Self::keys), and
    /// [`refresh`](Self::refresh) where it refreshed.
    ///
    /// ```
    /// use bellerophon::ckks::{self, Arithmetic, Interval, shadow::Shadow};
    /// use bellerophon::prelude::*;
    ///
    /// fn program<A: Arithmetic>(a: &A, x: &A::Ciphertext) -> ckks::Result<A::Ciphertext> {
    ///     (0..5).try_fold(x.clone(), |x, _| a.square(&x))
    /// }
    ///
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let params = Params::preset(Preset::ToyBootstrapping)?;
    /// let shadow = Shadow::new(params.arithmetic())
    ///     .with_refresh(params.bootstrapper()?.clone())?
    ///     .refreshing_by_itself()?;
    /// let unit = Interval::real(-1.0, 1.0)?;
    /// let x = shadow.encrypt(&[0.9, -1.0], unit, params.levels())?;
    /// let expected = program(&shadow, &x)?;
    /// let report = shadow.report();
    /// assert_eq!((report.refreshes, expected.account().level), (1, 3));
    ///
    /// let client = ClientKey::generate(&params)?;
    /// let keys = client.evaluation_keys(&Needs::new().program(&report))?;
    /// let server = Evaluator::new(keys)?.refreshing_by_itself()?;
    /// let y = program(&*server, &client.encrypt(&[0.9, -1.0], -1.0..=1.0)?)?;
    /// assert_eq!(y.level(), 3);
    /// assert!((client.decrypt(&y)?[0] - 0.9f64.powi(32)).abs() < 1e-5);
    /// # Ok(())
    /// # }
    /// ```
    pub fn program(mut self, report: &Report) -> Self {
        self.refresh |= report.refreshes > 0;
        self.keys(&report.keys)
    }
}
