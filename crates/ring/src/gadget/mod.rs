//! Gadgets: the decomposition of a polynomial into digits, and the inner product of digits with the
//! rows of a key.
//!
//! | module | contents |
//! | --- | --- |
//! | `digit_gadget` | signed digits in base `2^w` of one prime |
//! | `hybrid_gadget` | RNS digits with special primes: ModUp, mod-down |
//! | `digits` | the digits of polynomials, modulo any prime |
//! | `key_rows`, `key_decomposition`, `gadget_key` | key rows; key rows cut into digits; either |
//! | `product`, `limb_sums` | the inner product of a key switch, limb by limb |
//! | `epilogue` | operations fused into the mod-down of an inner product |
//! | `double_hoisting` | sums of rotated inner products before one mod-down |
//! | `images` | sums of products of the images of one polynomial |

mod digit_gadget;
mod digits;
mod double_hoisting;
mod epilogue;
mod gadget_key;
mod hybrid_gadget;
mod images;
mod key_decomposition;
mod key_rows;
mod limb_sums;
mod product;

pub use digit_gadget::DigitGadget;
pub use digits::Digits;
pub use double_hoisting::Rotated;
pub(crate) use epilogue::AddendLimb;
pub use epilogue::{Addend, Epilogue};
pub use gadget_key::GadgetKey;
pub use hybrid_gadget::HybridGadget;
pub use key_decomposition::KeyDecomposition;
pub use key_rows::{DecomposedRows, KeyRows};
