//! The types of objects: the numbers of those of this crate, and the names of all for messages
//! about bytes of another type than expected.

use bellerophon_circuits::bootstrap::BootstrapKeys;
use bellerophon_circuits::{fbt, rank_bootstrap::RankBootstrap};
use bellerophon_ckks as ckks;
use bellerophon_lookup as lookup;
use bellerophon_lwe as lwe;
use bellerophon_mlwe as mlwe;
use bellerophon_pir::{self as pir, bfv};
use bellerophon_ring::wire::{SecretWire, Wire};

/// Type numbers of the objects of this crate; see [`Wire::KIND`].
pub mod kind {
    /// [`Params`](crate::Params).
    pub const PARAMS: u16 = 0x0500;
    /// The secrets of a [`ClientKey`](crate::ClientKey).
    pub const SECRET_KEY: u16 = 0x0501;
    /// The list of the keys of [`EvaluationKeys`](crate::EvaluationKeys), in front of the keys.
    pub const KEY_LIST: u16 = 0x0502;
    /// [`Needs`](crate::Needs). (The number in between, `0x0503`, is of a key of the crate `mlwe`.)
    pub const NEEDS: u16 = 0x0504;
}

/// The name of [`Params`](crate::Params) in messages.
pub(super) const PARAMS: &str = "a parameter set";
/// The name of the secrets of a [`ClientKey`](crate::ClientKey) in messages.
pub(super) const SECRET_KEY: &str = "a client's secret key";
/// The name of [`EvaluationKeys`](crate::EvaluationKeys) in messages.
pub(super) const KEY_LIST: &str = "evaluation keys";
/// The name of [`Needs`](crate::Needs) in messages.
pub(super) const NEEDS: &str = "the needs of a program";

/// The number and the name of each type.
macro_rules! names {
    ($($as:ident: $($type:ty),+;)*) => {
        [$($((<$type as $as>::KIND, <$type as $as>::NAME)),+),*]
    };
}

/// All types of objects: number and name. Secrets are among them, keys and needs too.
pub fn kinds() -> impl Iterator<Item = (u16, &'static str)> {
    let objects = names! {
        Wire: mlwe::Ciphertext, mlwe::SeededCiphertext, mlwe::PublicKey, mlwe::KeySwitchKey,
            mlwe::GaloisKey, mlwe::RankReduceKey, mlwe::RelinKeys, mlwe::ModRaiseKey, mlwe::Params,
            mlwe::RingConversion, mlwe::RingSwitchKeys, mlwe::wire::HoistedKey;
        Wire: ckks::Params, ckks::Ciphertext, ckks::Published, ckks::Provided,
        ckks::SeededCiphertext,
            fbt::PairedVec, fbt::SeededPairedVec, ckks::Published<fbt::PairedVec>,
            fbt::IntVec, fbt::SeededIntVec, ckks::Published<fbt::IntVec>, BootstrapKeys,
            ckks::Provided<fbt::IntVec>, ckks::RankReduction, ckks::RankConversion,
            ckks::RingSwitch, RankBootstrap, ckks::ReducingKeys, ckks::KeyLevels;
        Wire: lwe::Ciphertext, lwe::LweVec, lwe::PublishedValues, lwe::SeededKeySwitchKey,
            lwe::SeededLookupKeys, lwe::RotationPart, lwe::SeededBlindRotationKey;
        Wire: lookup::SeededRepackKey, lookup::RingBridgeKeys;
        Wire: bfv::Params, bfv::SeededCiphertext, bfv::Ciphertext, bfv::PublicKey,
            bfv::SeededPackingKeys, pir::ServerKeys, pir::Query, pir::Response,
            pir::EncryptedFunction;
        SecretWire: bfv::SecretKey, pir::Client, pir::Pending;
    };
    let own = [
        (kind::PARAMS, PARAMS),
        (kind::SECRET_KEY, SECRET_KEY),
        (kind::KEY_LIST, KEY_LIST),
        (kind::NEEDS, NEEDS),
    ];
    objects.into_iter().chain(own)
}

/// The name of a type, if this library knows it.
fn name(kind: u16) -> Option<&'static str> {
    kinds().find(|&(number, _)| number == kind).map(|(_, name)| name)
}

/// The name of a type and its number.
pub(crate) fn printed(kind: u16) -> String {
    match name(kind) {
        Some(name) => format!("{name} (type {kind:#06x})"),
        None => format!("an object of the type {kind:#06x}, which this library does not know"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The list is that of the numbers in the sources of all crates.
    #[test]
    fn every_number_is_listed_once() {
        let sources = [
            include_str!("../../../mlwe/src/wire/mod.rs"),
            include_str!("../../../ckks/src/wire/mod.rs"),
            include_str!("../../../circuits/src/wire/mod.rs"),
            include_str!("../../../lwe/src/wire/mod.rs"),
            include_str!("../../../lookup/src/wire/kind.rs"),
            include_str!("../../../pir/src/wire/mod.rs"),
            include_str!("kinds.rs"),
        ];
        let number = |line: &str| {
            let digits = line.trim().strip_prefix("pub const ")?.split_once(": u16 = 0x")?.1;
            u16::from_str_radix(&digits[..4], 16).ok()
        };
        let numbers: Vec<u16> = sources.iter().flat_map(|s| s.lines().filter_map(number)).collect();
        let listed: Vec<u16> = kinds().map(|(kind, _)| kind).collect();
        let set = |kinds: &[u16]| kinds.iter().copied().collect::<BTreeSet<u16>>();
        assert_eq!(set(&numbers), set(&listed));
        assert_eq!((numbers.len(), listed.len()), (set(&numbers).len(), set(&listed).len()));
    }

    /// Every type in the table of the format has a name.
    #[test]
    fn all_types_of_the_format_have_names() {
        let table = include_str!("../../../../docs/FORMAT.md");
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `0x0"));
        let kinds: Vec<u16> = rows.map(|row| u16::from_str_radix(&row[..3], 16).unwrap()).collect();
        assert!(kinds.len() > 30, "{}", kinds.len());
        for kind in kinds {
            assert!(name(kind).is_some(), "{kind:#06x}");
        }
        assert!(printed(0x0502).contains("evaluation keys") && printed(0x0599).contains("0x0599"));
    }
}
