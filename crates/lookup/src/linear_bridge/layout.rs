//! The placement of the rows of a matrix in the slots of the result.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Result, error::operation};

use crate::error;

/// A placement of `l` rows in slots, a power of two of them. Slots without a row hold zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// `slot -> row`, one entry per slot.
    source: Vec<Option<usize>>,
    /// `row -> slot`, the first one of each row.
    positions: Vec<usize>,
    /// The distances from its position at which every row occurs: 0, and others if rows repeat.
    repeats: Vec<usize>,
}

impl Layout {
    /// Row `i` goes to slot `i`. The number of slots is the smallest power of two from `rows` up.
    pub fn in_order(rows: usize) -> Result<Self> {
        let positions: Vec<usize> = (0..rows).collect();
        Self::new(rows.next_power_of_two(), &positions)
    }

    /// Row `i` goes to slot `positions[i]` of `slots`.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] unless `slots` is a power of two and the positions are distinct and
    /// below it.
    pub fn new(slots: usize, positions: &[usize]) -> Result<Self> {
        operation("Layout::new", || {
            let refused = |reason: String| Err(error::layout(reason));
            // Step 1: at least one row, and a power of two of slots with room for all rows.
            if positions.is_empty() {
                return Err(error::no_rows());
            }
            if !slots.is_power_of_two() {
                return refused(format!("{slots} slots: need a power of two"));
            }
            if positions.len() > slots {
                return refused(format!("{} rows do not fit {slots} slots", positions.len()));
            }
            // Step 2: the inverse map, which finds positions that are out of range or taken.
            let mut source = vec![None; slots];
            for (row, &slot) in positions.iter().enumerate() {
                match source.get(slot) {
                    None => {
                        return refused(format!(
                            "the row at position {row} of {} goes to slot {slot}, there are \
                             {slots} slots",
                            positions.len()
                        ));
                    }
                    Some(Some(other)) => {
                        return refused(format!(
                            "the rows at positions {other} and {row} of {} both go to slot {slot}",
                            positions.len()
                        ));
                    }
                    Some(None) => source[slot] = Some(row),
                }
            }
            Ok(Self { source, positions: positions.to_vec(), repeats: vec![0] })
        })
    }

    /// `rows` rows in each of `blocks` blocks, in order. Block `j` begins at slot `j stride` and
    /// repeats its rows with the given period.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] unless period and stride are powers of two with `rows <= period <=
    /// stride`.
    pub(crate) fn in_blocks(
        rows: usize,
        period: usize,
        blocks: usize,
        stride: usize,
    ) -> Result<Self> {
        // Step 1: the rows fit the period, and the period fits the stride.
        let powers = period.is_power_of_two() && stride.is_power_of_two();
        if !powers || rows > period || period > stride {
            let reason = format!(
                "blocks of {rows} rows with the period {period}, {stride} slots apart: need powers \
                 of two, each as large as the one before"
            );
            return Err(error::layout(reason));
        }
        // Step 2: the first copy of every row.
        let positions = (0..blocks).flat_map(|block| (0..rows).map(move |i| block * stride + i));
        let mut layout =
            Self::new(blocks.next_power_of_two() * stride, &positions.collect::<Vec<_>>())?;
        // Step 3: repetitions stay within the stride of a block, so blocks do not overlap.
        layout.repeats = (0..stride).step_by(period).collect();
        for (row, position) in layout.positions.iter().enumerate() {
            layout.repeats.iter().for_each(|distance| {
                layout.source[position + distance] = Some(row);
            });
        }
        Ok(layout)
    }

    /// Number of slots, a power of two.
    pub(crate) fn slots(&self) -> usize {
        self.source.len()
    }

    /// Number of rows placed, `l`.
    pub(crate) fn rows(&self) -> usize {
        self.positions.len()
    }

    /// The first slot of each row.
    pub(crate) fn positions(&self) -> &[usize] {
        &self.positions
    }

    /// The distances from its position at which every row occurs: 0, and others if rows repeat.
    pub(crate) fn repeats(&self) -> &[usize] {
        &self.repeats
    }

    /// The row in a slot, if there is one.
    pub(crate) fn row_at(&self, slot: usize) -> Option<usize> {
        self.source[slot]
    }

    /// Whether the rows fill a prefix of the slots in some order: then the first
    /// [`rows`](Self::rows) slots are the values and the rest is padding.
    pub(crate) fn is_prefix(&self) -> bool {
        self.positions.iter().all(|&slot| slot < self.rows())
    }

    /// `values[row]` in the slots of each row, zero elsewhere.
    ///
    /// # Panics
    /// Unless there is one value per row.
    pub(crate) fn place(&self, values: &[f64]) -> Vec<f64> {
        assert_eq!(values.len(), self.rows(), "one value per row");
        self.source.iter().map(|row| row.map_or(0.0, |row| values[row])).collect()
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::{ErrorKind, refusal};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Rows and their slots are a bijection for every number of rows and every order.
        #[test]
        fn rows_and_slots_correspond(
            (slots, order) in (0u32..10).prop_flat_map(|log| {
                let all: Vec<usize> = (0..1 << log).collect();
                (Just(1 << log), Just(all).prop_shuffle())
            }),
            share in 0.0..1.0,
        ) {
            let rows = 1 + (share * slots as f64) as usize;
            let layout = Layout::new(slots, &order[..rows]).unwrap();
            let values: Vec<f64> = (1..=rows).map(|row| row as f64).collect();
            let placed = layout.place(&values);
            prop_assert_eq!(placed.len(), slots);
            for (row, &slot) in layout.positions().iter().enumerate() {
                prop_assert_eq!(layout.row_at(slot), Some(row));
                prop_assert_eq!(placed[slot], values[row]);
            }
            let taken = placed.iter().filter(|&&x| x != 0.0).count();
            let sum = rows * (rows + 1) / 2;
            prop_assert_eq!((taken, placed.iter().sum::<f64>()), (rows, sum as f64));
            let sorted = order[..rows].iter().all(|&slot| slot < rows);
            prop_assert_eq!(layout.is_prefix(), sorted);
            let in_order = Layout::in_order(rows).unwrap();
            prop_assert!(in_order.is_prefix() && in_order.positions().iter().copied().eq(0..rows));
            prop_assert!(in_order.slots() >= rows && in_order.slots() < 2 * rows);
        }
    }

    #[test]
    fn places_rows_in_slots() {
        let layout = Layout::new(8, &[5, 0, 7]).unwrap();
        assert_eq!((layout.slots(), layout.rows()), (8, 3));
        assert_eq!(layout.place(&[1.0, 2.0, 3.0]), [2.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 3.0]);
        assert_eq!(layout.row_at(7), Some(2));
        assert!(!layout.is_prefix());
        assert!(Layout::new(4, &[1, 2, 0]).unwrap().is_prefix());
        let order = Layout::in_order(150).unwrap();
        assert_eq!((order.slots(), order.rows(), order.positions()[149]), (256, 150, 149));
        assert!(order.is_prefix());
        assert_eq!(Layout::in_order(1).unwrap().slots(), 1);
    }

    #[test]
    fn blocks_repeat_their_rows() {
        let layout = Layout::in_blocks(3, 4, 2, 8).unwrap();
        assert_eq!((layout.slots(), layout.rows(), layout.repeats()), (16, 6, &[0, 4][..]));
        assert_eq!(layout.positions(), [0, 1, 2, 8, 9, 10]);
        let rows = [0, 1, 2, 9, 0, 1, 2, 9, 3, 4, 5, 9, 3, 4, 5, 9].map(|i| (i < 9).then_some(i));
        let found: Vec<_> = (0..16).map(|slot| layout.row_at(slot)).collect();
        assert_eq!(found, rows);
        assert!(!layout.is_prefix());
        assert_eq!(Layout::in_blocks(5, 8, 1, 8), Layout::in_order(5));
        assert_eq!(Layout::in_blocks(2, 2, 3, 2).unwrap().slots(), 8);
        for (rows, period, stride) in [(5, 4, 8), (5, 8, 4), (5, 8, 12), (5, 6, 8)] {
            let refused = Layout::in_blocks(rows, period, 2, stride);
            assert!(
                matches!(refusal(&refused).kind(), ErrorKind::Shape),
                "{rows} {period} {stride}"
            );
        }
        assert!(
            refusal(&Layout::in_blocks(0, 1, 2, 4))
                .is(&ErrorKind::Length, "no rows: at least one is needed")
        );
    }

    #[test]
    fn refuses_what_does_not_fit() {
        assert_eq!(Layout::in_order(0), Err(error::no_rows().during("Layout::new")));
        for (slots, positions) in
            [(3, vec![0]), (0, vec![0]), (4, vec![0, 4]), (4, vec![1, 1]), (1, vec![0, 0])]
        {
            assert!(matches!(refusal(&Layout::new(slots, &positions)).kind(), ErrorKind::Shape));
        }
    }
}
