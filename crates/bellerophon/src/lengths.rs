//! Lengths, padding and broadcasting: one rule for all operations.
//!
//! # The rule
//! **An operation on two vectors takes vectors of one length. Nothing is repeated, cut or filled up
//! unless the program asks for it.**
//!
//! A vector of `n` values occupies the next power of two of slots. The slots behind the values are
//! *padding*. Padding is zero after encryption, and never decrypted.
//!
//! | what | rule |
//! | --- | --- |
//! | [`encrypt`](crate::ClientKey::encrypt) | from 1 value to [`Params::slots`](crate::Params::slots) values; no values, and more, are an error |
//! | [`decrypt`](crate::ClientKey::decrypt) | as many values as the vector has |
//! | `add`, `sub`, `mul`, `dot`, `greater`, `max`, .. of two vectors | equal lengths, otherwise [`Length`](ckks::ErrorKind::Length) |
//! | `add_values`, `mul_values` | one value for each value of the vector, otherwise the same error |
//! | `add_scalar`, `mul_scalar`, `mul_integer` | one number for all values |
//! | slotwise operations | act on padding as on values: `x + 1` makes padding 1, `2 x` and `x y` leave zeros |
//! | bootstraps | make padding zero |
//! | `mul_values`, `mask`, `clear_padding` | make padding zero |
//! | rotations | move slots: `[1, 2, 3]` rotated by one step is `[2, 3, 0]` |
//! | `sum_slots`, `inner_sum`, `replicate_slot`, [statistics](ckks::statistics), [matrices](ckks::matrix) | take the values alone, whatever the padding holds |
//! | [`map`](crate::Evaluator::map), look-ups of several functions | one result a value; padding becomes zero with tables, arbitrary with other engines |
//! | [`within`](crate::Evaluator::within): `max`, `min`, `arg_max`, `greater` of several vectors | equal lengths |
//! | `sort`, `largest`, `argmax_index`, `max_pool` of one vector | take the values alone; results have the length that they need |
//! | [integers](crate::Evaluator::integers), [paired vectors](crate::PairedVec) | equal lengths, and equal moduli |
//! | [LWE values](crate::lwe::LweVec) | equal lengths; no padding |
//!
//! A reduction keeps padding that is known to be zero. Any other padding it clears
//! first, which takes one level.
//!
//! Padding never spoils values. Bootstraps clear it, at no level. A polynomial or function moves it
//! into its domain by a constant, at no level ([`move_padding`](crate::Evaluator::move_padding)),
//! or clears it, at one level, where its range is wider than the domain. A declared range
//! ([`assume_range`](crate::Evaluator::assume_range)) speaks of the values alone.
//!
//! # One number for a whole vector
//! A list of one number is a vector of length one, not a number for all values.
//!
//! ```
//! use bellerophon::{ckks, prelude::*};
//! # fn main() -> bellerophon::Result<()> {
//! # // Toy dimensions, which protect nothing.
//! # let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
//! # let server = Evaluator::new(client.evaluation_keys(&Needs::new().sums(4))?)?;
//! let x = client.encrypt(&[1.0, 2.0, 3.0], 0.0..=4.0)?;
//!
//! let refused = server.mul_values(&x, &[2.0]).unwrap_err();
//! assert!(refused.to_string().contains("`mul_scalar`"));
//! let doubled = client.decrypt(&server.mul_scalar(&x, 2.0)?)?;
//! assert!(doubled.iter().zip([2.0, 4.0, 6.0]).all(|(found, v)| (found - v).abs() < 1e-3));
//!
//! // Weights: one for each value.
//! let weighted = client.decrypt(&server.mul_values(&x, &[2.0, 0.0, -1.0])?)?;
//! assert!(weighted.iter().zip([2.0, 0.0, -3.0]).all(|(found, v)| (found - v).abs() < 1e-3));
//! # Ok(())
//! # }
//! ```
//!
//! # Broadcasting
//! `broadcast` repeats a vector without padding (its length is a power of two) to any longer
//! length. `replicate_slot` copies one encrypted value to all slots.
//!
//! ```
//! use bellerophon::prelude::*;
//! # fn main() -> bellerophon::Result<()> {
//! # // Toy dimensions, which protect nothing.
//! # let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
//! # let server = Evaluator::new(client.evaluation_keys(&Needs::new().sums(4))?)?;
//! let x = client.encrypt(&[1.0, 2.0, 3.0], 0.0..=4.0)?;
//! let pair = client.encrypt(&[0.5, -0.5], -1.0..=1.0)?;
//! assert!(server.add(&x, &pair).is_err()); // lengths 3 and 2
//!
//! let sum = server.add(&x, &server.broadcast(pair, 3)?)?; // 0.5, -0.5, 0.5
//! let found = client.decrypt(&sum)?;
//! assert!(found.iter().zip([1.5, 1.5, 3.5]).all(|(found, v)| (found - v).abs() < 1e-3));
//!
//! // Each value less the first one.
//! let first = server.replicate_slot(&x, 0)?;
//! let found = client.decrypt(&server.sub(&x, &first)?)?;
//! assert!(found.iter().zip([0.0, 1.0, 2.0]).all(|(found, v)| (found - v).abs() < 1e-3));
//! # Ok(())
//! # }
//! ```
//!
//! # Padding
//! Sums are those of the values, whatever happened to the padding. Another number of values is set
//! with `with_len`: padding becomes values, or values become padding.
//!
//! ```
//! use bellerophon::prelude::*;
//! # fn main() -> bellerophon::Result<()> {
//! # // Toy dimensions, which protect nothing.
//! # let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
//! # let server = Evaluator::new(client.evaluation_keys(&Needs::new().sums(4).rotate([1]))?)?;
//! let x = client.encrypt(&[1.0, 2.0, 3.0], 0.0..=4.0)?;
//! let more = server.add_scalar(&x, 1.0)?; // 2, 3, 4, and 1 in the padding
//! assert!((client.decrypt(&server.sum_slots(&more)?)?[0] - 9.0).abs() < 1e-3);
//!
//! let moved = client.decrypt(&server.rotate(&x, 1)?)?; // the padding moves in
//! assert!(moved.iter().zip([2.0, 3.0, 0.0]).all(|(found, v)| (found - v).abs() < 1e-3));
//!
//! assert_eq!(client.decrypt(&server.with_len(x, 4)?)?.len(), 4);
//! # Ok(())
//! # }
//! ```

#[cfg(doc)]
use crate::ckks;
