//! Packing: many LWE or ring ciphertexts become one ring ciphertext.
//!
//! Values under the secret of a ring are packed in that ring by automorphisms, or by two key
//! switches through modules of a middle rank.
//!
//! | item | contents |
//! | --- | --- |
//! | [`pack_rows`], [`pack_values`] | ring packing of ring ciphertexts, or of LWE values |
//! | [`mod@ring_packing`] | the same in parts, for schemes with ciphertexts of their own |
//! | [`ModulePacking`] | the same for LWE values through modules of a middle rank, for comparison |
//! | [`row_packing_noise`] | the noise of a packed value |
//! | [`Seeds`] | the seeds of many keys in one byte string |
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod error;
mod module_packing;
pub mod ring_packing;
mod seeds;

pub use bellerophon_ring::{Error, ErrorKind, Result};
pub use module_packing::{ModulePacking, ModulePackingKeys, SeededModulePackingKeys};
pub use ring_packing::{
    pack_rows, pack_values, row_packing_exponents, row_packing_keys, row_packing_noise,
};
pub use seeds::Seeds;
