//! Numbers of values, padding and repetition: the rules of the [crate](crate#lengths-and-padding).

use crate::{Bounds, CiphertextMeta, Interval, Plaintext, Result, error};

/// Slots, length and ranges of the result of a slotwise operation on two vectors of equal length.
///
/// A vector of fewer slots repeats against one of more slots. Its repetitions then meet padding.
pub(crate) fn pair(
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
pub(crate) fn check_len(left: usize, right: usize) -> Result<()> {
    if left != right {
        return Err(error::length_mismatch(left, right));
    }
    Ok(())
}

impl CiphertextMeta {
    /// The metadata with the exact value of every slot in `range`, and the same noise on top.
    /// Padding that is known to be zero stays known to be zero if the range contains 0.
    pub(crate) fn within(mut self, range: Interval) -> Self {
        // Without padding, the bounds carry the range of the values twice.
        let zero = self.len < self.slots
            && self.bounds.padding_is_zero()
            && range.lo() <= 0.0
            && range.hi() >= 0.0;
        self.bounds = Bounds::padded(range, zero);
        self
    }

    /// The metadata with zeros, up to noise, in the padding.
    pub(crate) fn with_zero_padding(mut self) -> Self {
        self.bounds = Bounds::padded(self.bounds.values, self.len < self.slots);
        self
    }

    /// The metadata with the first `len` slots as the values.
    pub(crate) fn with_len(mut self, len: usize) -> Result<Self> {
        let op = "with_len";
        if len == 0 {
            return Err(error::no_values().during(op));
        }
        if len > self.slots {
            return Err(error::too_many_values(len, self.slots).during(op));
        }
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
    pub(crate) fn broadcast(self, len: usize, most: usize) -> Result<Self> {
        let op = "broadcast";
        let Self { slots, len: found, .. } = self;
        if found != slots {
            let reason = format!(
                "{found} values in {slots} slots: need a vector without padding; make the padding \
                 values first (`with_len({slots})`), or copy one value to all slots \
                 (`replicate_slot`)"
            );
            return Err(error::shape(reason).during(op));
        }
        if len < slots || len > most {
            return Err(error::count_out_of_range("values", len, slots, most).during(op));
        }
        self.repeated(len.next_power_of_two(), most)?.with_len(len)
    }

    /// The metadata of the vector repeated over `slots` slots, at most `most`.
    pub(crate) fn repeated(mut self, slots: usize, most: usize) -> Result<Self> {
        if !slots.is_power_of_two() || slots < self.slots || slots > most {
            let (op, least) = ("repeated", self.slots);
            return Err(error::slot_count(slots, least, most).during(op));
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
    pub(crate) fn in_all_slots(mut self, slots: usize, len: usize) -> Self {
        (self.slots, self.len) = (slots, len);
        self
    }
}
