//! Galois keys by exponent: in memory, or loaded on demand.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;
use rand::CryptoRng;

use crate::error;
use crate::galois::GaloisKey;
use crate::params::Params;
use crate::secret::SecretKey;

/// A store of keys outside memory: a file, for example.
pub trait GaloisSource: Send + Sync {
    /// Loads the key of an exponent that was registered with [`GaloisKeys::insert_stored`].
    fn load(&self, exponent: usize) -> Result<Arc<GaloisKey>>;
}

/// Galois keys by exponent. Cheap to clone: the keys are shared.
#[derive(Debug, Clone, Default)]
pub struct GaloisKeys {
    keys: BTreeMap<usize, Entry>,
}

/// A key in memory, or a reference to its store.
#[derive(Clone)]
enum Entry {
    InMemory(Arc<GaloisKey>),
    Stored { limbs: usize, source: Arc<dyn GaloisSource> },
}

impl Entry {
    fn limbs(&self) -> usize {
        match self {
            Self::InMemory(key) => key.key().shape().limbs,
            Self::Stored { limbs, .. } => *limbs,
        }
    }

    fn load(&self, exponent: usize) -> Result<Arc<GaloisKey>> {
        match self {
            Self::InMemory(key) => Ok(key.clone()),
            Self::Stored { source, .. } => source.load(exponent),
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InMemory(key) => key.fmt(f),
            Self::Stored { limbs, .. } => write!(f, "stored, of {limbs} limbs"),
        }
    }
}

impl FromIterator<GaloisKey> for GaloisKeys {
    fn from_iter<I: IntoIterator<Item = GaloisKey>>(keys: I) -> Self {
        let mut set = Self::default();
        keys.into_iter().for_each(|key| set.insert(key));
        set
    }
}

impl GaloisKeys {
    /// Generates one key per distinct exponent, for ciphertexts of up to `limbs` limbs.
    pub fn generate<R: CryptoRng + ?Sized>(
        secret: &SecretKey,
        exponents: impl IntoIterator<Item = usize>,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        let mut keys = Self::default();
        for exponent in exponents {
            if !keys.keys.contains_key(&(exponent % (2 * secret.params().degree()))) {
                keys.insert(GaloisKey::generate(secret, exponent, limbs, rng)?);
            }
        }
        Ok(keys)
    }

    /// Adds a key. If the exponent already has one, the key with more limbs is kept.
    pub fn insert(&mut self, key: impl Into<Arc<GaloisKey>>) {
        let key = key.into();
        self.insert_entry(key.exponent(), Entry::InMemory(key));
    }

    /// Registers a stored key for an exponent in `[1, 2N)`, for ciphertexts of up to `limbs` limbs.
    /// If the exponent already has a key, the one with more limbs is kept. Each use loads the key
    /// again; caching is up to the source.
    pub fn insert_stored(
        &mut self,
        params: &Params,
        exponent: usize,
        limbs: usize,
        source: Arc<dyn GaloisSource>,
    ) -> Result<()> {
        params.check_limbs(limbs)?;
        self.insert_entry(exponent, Entry::Stored { limbs, source });
        Ok(())
    }

    fn insert_entry(&mut self, exponent: usize, key: Entry) {
        match self.keys.get(&exponent) {
            Some(present) if present.limbs() >= key.limbs() => {}
            _ => {
                self.keys.insert(exponent, key);
            }
        }
    }

    /// The key of an exponent in `[1, 2N)`.
    pub fn get(&self, exponent: usize) -> Result<Arc<GaloisKey>> {
        match self.keys.get(&exponent) {
            Some(key) => key.load(exponent),
            None => Err(error::missing_galois_key(exponent, self.keys.len())),
        }
    }

    /// The largest number of limbs that the key of an exponent accepts, if there is a key.
    pub fn limbs(&self, exponent: usize) -> Option<usize> {
        self.keys.get(&exponent).map(Entry::limbs)
    }

    /// Whether there is a key for the exponent that accepts `limbs` limbs.
    pub fn covers(&self, exponent: usize, limbs: usize) -> bool {
        self.limbs(exponent).is_some_and(|most| most >= limbs)
    }

    /// The exponents in ascending order.
    pub fn exponents(&self) -> impl ExactSizeIterator<Item = usize> {
        self.keys.keys().copied()
    }

    /// The keys in memory, in ascending order of their exponents.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<GaloisKey>> {
        self.keys.values().filter_map(|key| match key {
            Entry::InMemory(key) => Some(key),
            Entry::Stored { .. } => None,
        })
    }

    /// Size in bytes of all keys in seeded, bit-packed form.
    pub fn byte_len(&self, params: &Params) -> usize {
        let limbs = self.keys.values().map(Entry::limbs);
        // The keys of a set share one parameter set: either all have a size or none has.
        limbs.filter_map(|limbs| GaloisKey::seeded_byte_len(params, limbs).ok()).sum()
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;
    use crate::testing::{params, rng};

    struct Shelf(Vec<Arc<GaloisKey>>);

    impl GaloisSource for Shelf {
        fn load(&self, exponent: usize) -> Result<Arc<GaloisKey>> {
            let found = self.0.iter().find(|key| key.exponent() == exponent);
            found.cloned().ok_or_else(|| error::stored(exponent, "not on the shelf".into()))
        }
    }

    #[test]
    fn stored_keys_serve_as_those_in_memory_do() {
        let params = params(64, 2, 3, 1);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let key = |exponent, limbs| {
            Arc::new(GaloisKey::generate(&secret, exponent, limbs, &mut rng(2)).unwrap())
        };
        let shelf = Arc::new(Shelf(vec![key(5, 3), key(25, 3)]));
        let mut keys = GaloisKeys::from_iter([]);
        for exponent in [5, 25, 125] {
            keys.insert_stored(&params, exponent, 3, shelf.clone()).unwrap();
        }
        let refused = keys.insert_stored(&params, 9, 4, shelf.clone());
        assert!(refusal(&refused).is(&ErrorKind::Level, "4 limbs where"));
        // One with fewer limbs does not replace a stored one; one with as many neither.
        keys.insert(key(5, 2));
        keys.insert(key(7, 2));
        assert_eq!((keys.exponents().len(), keys.iter().count()), (4, 1));
        assert_eq!(keys.exponents().collect::<Vec<_>>(), [5, 7, 25, 125]);
        assert!(keys.covers(25, 3) && keys.covers(7, 2) && !keys.covers(7, 3));
        assert!(Arc::ptr_eq(&keys.get(25).unwrap(), &shelf.0[1]));
        assert_eq!(keys.get(5).unwrap().key().shape().limbs, 3);
        let refused = keys.get(125);
        assert!(refusal(&refused).is(&ErrorKind::Io, "X -> X^125 cannot be loaded"));
        let refused = keys.get(3);
        assert!(
            refusal(&refused).is(
                &ErrorKind::MissingKey { need: "" },
                "generate it with the others (there are 4"
            )
        );
        let sizes = [3, 3, 3, 2].map(|limbs| GaloisKey::seeded_byte_len(&params, limbs).unwrap());
        assert_eq!(keys.byte_len(&params), sizes.iter().sum());
        assert_eq!(key(5, 2).key().seeded_byte_len(&params), sizes[3]);
    }
}
