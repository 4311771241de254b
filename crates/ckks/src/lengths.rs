//! Numbers of values, padding and repetition.
//!
//! A vector of `n` values has the next power of two of slots, unless it is encoded in more. Its
//! slots repeat over the ring. The slots behind the values are *padding*, zero after encryption.
//! - Slotwise operations act on padding as on values: `x + 1` makes it 1, `2 x` and `x y` leave
//!   zeros. A polynomial whose domain it leaves moves it there first.
//! - Bootstraps make it zero, and so do products with values or masks:
//!   [`mul_values`](crate::CkksOps::mul_values), [`mask`](crate::ComposedOps::mask),
//!   [`clear_padding`](crate::ComposedOps::clear_padding).
//! - Rotations move slots: padding becomes values, values become padding.
//! - Reductions take the values alone: [`sum_slots`](crate::ComposedOps::sum_slots),
//!   [`inner_sum`](crate::ComposedOps::inner_sum), [`replicate`](crate::ComposedOps::replicate),
//!   [`replicate_slot`](crate::ComposedOps::replicate_slot), and the statistics and matrices of
//!   `bellerophon_circuits`.
//! - Linear transforms act on all slots: the columns behind the values multiply the padding.
//! - Operands of unequal length are refused ([`ErrorKind::Length`](crate::ErrorKind::Length)): two
//!   vectors, or a vector and values.
//! - Nothing is repeated unless asked for: [`broadcast`](crate::Vectors::broadcast) repeats values,
//!   [`repeated`](crate::Vectors::repeated) slots.
//! - One number for all values is a scalar: [`add_scalar`](crate::CkksOps::add_scalar),
//!   [`mul_scalar`](crate::CkksOps::mul_scalar).
//! - [`with_len`](crate::CkksOps::with_len) makes padding into values, or values into padding.
//!
//! [`Bounds::padding`] carries the range of the padding. A reduction uses padding as it is if that
//! is [known to be zero](Bounds::padding_is_zero) up to noise. Otherwise it clears the padding
//! first, which takes one level; with no level left it returns `ErrorKind::Length`.

use bellerophon_ring::Result;
use bellerophon_ring::error::ensure;

use crate::ciphertext::CiphertextMeta;
use crate::encode::Plaintext;
use crate::error;
use crate::interval::{Bounds, Interval};

/// Slots, length and ranges of the result of a slotwise operation on two vectors of equal length.
///
/// A vector of fewer slots repeats against one of more slots. Its repetitions then meet padding.
pub fn pair(
    x: &CiphertextMeta,
    y: &CiphertextMeta,
    f: impl Fn(&Interval, &Interval) -> Interval,
) -> Result<CiphertextMeta> {
    check_len(x.len, y.len)?;
    // The repetitions of the shorter vector's values lie in the padding of the result.
    let slots = x.slots.max(y.slots);
    let [of_x, of_y] = [x, y].map(|z| match z.slots == slots {
        true => z.bounds,
        false => Bounds { padding: z.bounds.slots(), ..z.bounds },
    });
    Ok(CiphertextMeta { slots, bounds: of_x.zip(&of_y, f), ..*x })
}

/// Refuses operands of unequal numbers of values.
pub fn check_len(left: usize, right: usize) -> Result<()> {
    ensure(left == right, || error::length_mismatch(left, right))
}

impl CiphertextMeta {
    /// The metadata with the exact value of every slot in `range`, and the same noise on top.
    /// Padding that is known to be zero stays known to be zero if the range contains 0.
    pub fn within(mut self, range: Interval) -> Self {
        // Without padding, the bounds carry the range of the values twice.
        let zero = self.len < self.slots
            && self.bounds.padding_is_zero()
            && range.lo() <= 0.0
            && range.hi() >= 0.0;
        self.bounds = Bounds::padded(range, zero);
        self
    }

    /// The metadata with zeros, up to noise, in the padding.
    pub fn with_zero_padding(mut self) -> Self {
        self.bounds = Bounds::padded(self.bounds.values, self.len < self.slots);
        self
    }

    /// The metadata with the first `len` slots as the values.
    pub fn with_len(mut self, len: usize) -> Result<Self> {
        ensure(len != 0, error::no_values)?;
        ensure(len <= self.slots, || error::too_many_values(len, self.slots))?;
        if len > self.len {
            // Some padding becomes values.
            self.bounds = self.bounds.mixed();
        } else if len < self.len {
            // Some values become padding.
            self.bounds.padding = self.bounds.slots();
        }
        self.len = len;
        Ok(self)
    }

    /// Whether reductions can use all slots as they are: there is no padding, or the padding is
    /// zero up to noise.
    pub fn is_clear(&self) -> bool {
        self.len == self.slots || self.bounds.padding_is_zero()
    }

    /// The metadata of a vector without padding that is repeated to `len` values.
    pub fn broadcast(self, len: usize, most: usize) -> Result<Self> {
        let Self { slots, len: found, .. } = self;
        if found != slots {
            let reason = format!(
                "{found} values in {slots} slots: need a vector without padding; make the padding \
                 values first (`with_len({slots})`), or copy one value to all slots \
                 (`replicate_slot`)"
            );
            return Err(error::shape(reason));
        }
        if len < slots || len > most {
            return Err(error::count_out_of_range("values", len, slots, most));
        }
        self.repeated(len.next_power_of_two(), most)?.with_len(len)
    }

    /// The metadata of the vector repeated over `slots` slots, at most `most`.
    pub fn repeated(mut self, slots: usize, most: usize) -> Result<Self> {
        if !slots.is_power_of_two() || slots < self.slots || slots > most {
            let least = self.slots;
            return Err(error::slot_count(slots, least, most));
        }
        if slots > self.slots {
            // The repetitions are padding that may hold any of the values.
            self.bounds.padding = self.bounds.slots();
        }
        self.slots = slots;
        Ok(self)
    }
}

impl Plaintext {
    /// A plaintext of one value read as that value in every slot: the polynomial is the same.
    pub fn in_all_slots(mut self, slots: usize, len: usize) -> Self {
        (self.slots, self.len) = (slots, len);
        self
    }
}
