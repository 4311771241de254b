//! The types of objects by name, for messages about bytes of another type than expected.

use bellerophon_ckks::{self as ckks, bootstrap::BootstrapKeys};
use bellerophon_lwe as lwe;
use bellerophon_mlwe as mlwe;
use bellerophon_pir::{self as pir, bfv};
use bellerophon_repack as repack;
use bellerophon_ring::wire::{SecretWire, Wire};

use super::kind;
use crate::{ClientKey, Needs, Params};

/// The number and the name of each type.
macro_rules! names {
    ($($as:ident: $($type:ty),+;)*) => {
        [$($((<$type as $as>::KIND, <$type as $as>::NAME)),+),*]
    };
}

/// The name of a type, if this library knows it.
pub(super) fn name(kind: u16) -> Option<&'static str> {
    let objects = names! {
        Wire: mlwe::Ciphertext, mlwe::SeededCiphertext, mlwe::PublicKey, mlwe::KeySwitchKey,
            mlwe::GaloisKey, mlwe::RankReduceKey, mlwe::RelinKeys, mlwe::ModRaiseKey, mlwe::Params,
            mlwe::RingConversion, mlwe::RingSwitchKeys, mlwe::wire::HoistedKey;
        Wire: ckks::Params, ckks::Ciphertext, ckks::Published, ckks::Provided, ckks::SeededCiphertext,
            ckks::fbt::PairedVec, ckks::fbt::SeededPairedVec, ckks::fbt::PublishedPaired,
            ckks::fbt::IntVec, ckks::fbt::SeededIntVec, ckks::fbt::PublishedIntegers, BootstrapKeys,
            ckks::fbt::ProvidedIntegers, ckks::RankReduction, ckks::RankConversion,
            ckks::RingSwitch, ckks::RankBootstrap, ckks::ReducingKeys, ckks::KeyLevels;
        Wire: lwe::Ciphertext, lwe::LweVec, lwe::PublishedValues, lwe::SeededKeySwitchKey,
            lwe::SeededLookupKeys, lwe::RotationPart, lwe::SeededBlindRotationKey;
        Wire: repack::SeededRepackKey, repack::RingBridgeKeys;
        Wire: bfv::Params, bfv::SeededCiphertext, bfv::Ciphertext, bfv::PublicKey,
            bfv::SeededPackingKeys, pir::ServerKeys, pir::Query, pir::Response,
            pir::EncryptedFunction;
        SecretWire: bfv::SecretKey, pir::Client, pir::Pending, ClientKey;
        Wire: Params, Needs;
    };
    let list = [(kind::KEY_LIST, "evaluation keys")];
    objects.into_iter().chain(list).find(|&(number, _)| number == kind).map(|(_, name)| name)
}

/// The name of a type and its number.
pub(super) fn printed(kind: u16) -> String {
    match name(kind) {
        Some(name) => format!("{name} (type {kind:#06x})"),
        None => format!("an object of the type {kind:#06x}, which this library does not know"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
