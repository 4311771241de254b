//! Numbers of values, padding, repetition: the rule of the [crate](crate#lengths-and-padding).

use crate::{Bounds, Error, Interval, Meta, Plaintext, Result};

/// The slots, length and ranges of the result of a slotwise operation on two vectors of one length.
///
/// A vector of fewer slots repeats itself under one of more, where both have padding then.
pub(crate) fn pair(
    op: &'static str,
    x: &Meta,
    y: &Meta,
    f: impl Fn(&Interval, &Interval) -> Interval,
) -> Result<Meta> {
    check_len(op, x.len, y.len)?;
    let slots = x.slots.max(y.slots);
    let [of_x, of_y] = [x, y].map(|z| match z.slots == slots {
        true => z.bounds,
        false => Bounds { padding: z.bounds.slots(), ..z.bounds },
    });
    Ok(Meta { slots, bounds: of_x.zip(&of_y, f), ..*x })
}

/// Refuses operands of unequal numbers of values.
pub(crate) fn check_len(op: &'static str, left: usize, right: usize) -> Result<()> {
    if left != right {
        return Err(Error::LengthMismatch { op, left, right });
    }
    Ok(())
}

impl Meta {
    /// The exact value of every slot in the range, with the same noise on top. Padding that is known to be
    /// zero stays so where that agrees.
    pub(crate) fn within(mut self, range: Interval) -> Self {
        let zero = self.len < self.slots
            && self.bounds.padding_is_zero()
            && range.lo() <= 0.0
            && range.hi() >= 0.0;
        self.bounds = Bounds::padded(range, zero);
        self
    }

    /// The first `len` slots as the values.
    pub(crate) fn with_len(mut self, len: usize) -> Result<Self> {
        let op = "set the number of values";
        if len == 0 {
            return Err(Error::NoValues { op });
        }
        if len > self.slots {
            return Err(Error::TooManyValues { op, found: len, slots: self.slots });
        }
        if len > self.len {
            self.bounds = self.bounds.mixed();
        } else if len < self.len {
            self.bounds.padding = self.bounds.slots();
        }
        self.len = len;
        Ok(self)
    }

    /// Whether reductions take all slots as they are: there is no padding, or it is zero but for
    /// noise.
    pub fn is_clear(&self) -> bool {
        self.len == self.slots || self.bounds.padding_is_zero()
    }

    /// A vector without padding, repeated to `len` values.
    pub(crate) fn broadcast(self, len: usize, most: usize) -> Result<Self> {
        let op = "broadcast";
        let Self { slots, len: found, .. } = self;
        if found != slots {
            let reason = format!(
                "{found} values in {slots} slots: a vector with padding does not repeat its values \
                 alone; take the padding for values first (`with_len({slots})`), or copy one value to \
                 all slots (`replicate_slot`)"
            );
            return Err(Error::Shape { op, reason });
        }
        if len < slots || len > most {
            return Err(Error::SlotCount { op, found: len, least: slots, most });
        }
        self.repeated(len.next_power_of_two(), most)?.with_len(len)
    }

    /// The vector repeated in `slots` of at most `most` slots.
    pub(crate) fn repeated(mut self, slots: usize, most: usize) -> Result<Self> {
        if !slots.is_power_of_two() || slots < self.slots || slots > most {
            let (op, least) = ("repeat", self.slots);
            return Err(Error::SlotCount { op, found: slots, least, most });
        }
        if slots > self.slots {
            self.bounds.padding = self.bounds.slots();
        }
        self.slots = slots;
        Ok(self)
    }
}

impl Plaintext {
    /// A plaintext of one value as that value in every slot: the same polynomial.
    pub(crate) fn in_all_slots(mut self, slots: usize, len: usize) -> Self {
        (self.slots, self.len) = (slots, len);
        self
    }
}
