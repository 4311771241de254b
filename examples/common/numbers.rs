//! A vector of numbers, generated or read, and its declared range.

use super::args::{Common, Data, parse_range};
use super::data::{self, Column};
use super::output;
use super::program::Failure;

/// The seed of the generated values.
const SEED: u64 = 1968;

/// The default range.
const RANGE: [f64; 2] = [-1.0, 1.0];

/// Flags of programs that take the first values of a column.
#[derive(Debug, Clone, clap::Args)]
pub struct Numbers {
    #[command(flatten)]
    pub data: Data,

    /// Number of values: generated, or the first of a column [default: a few, or the whole column]
    #[arg(long, value_name = "N")]
    pub count: Option<usize>,

    /// The declared range, which must contain all values and becomes public [default: -1,1, or the
    /// documented range of a column of iris; a table of --csv needs it]
    #[arg(long, value_name = "LO,HI", value_parser = parse_range, allow_hyphen_values = true)]
    pub range: Option<[f64; 2]>,
}

impl Numbers {
    /// Checks the file of the results, and [chooses](Self::choose) the values: `small` ones with
    /// `--small`.
    pub fn prepared(
        &self,
        common: &Common,
        small: usize,
        usual: usize,
    ) -> Result<(Column, [f64; 2]), Failure> {
        output::check_out(self.data.out.as_deref(), self.data.csv.as_deref())?;
        self.choose(common.small.then_some(small), usual)
    }

    /// The values and their declared range: the requested number of values, or `small`, or else
    /// `usual` generated ones.
    fn choose(&self, small: Option<usize>, usual: usize) -> Result<(Column, [f64; 2]), Failure> {
        let most = self.count.or(small);
        if most == Some(0) {
            return Err(Failure::input("--count 0: need at least one value"));
        }
        let own = |count| data::generated(self.range.unwrap_or(RANGE), count, SEED);
        let column = data::load_or(&self.data, most, most.unwrap_or(usual), own)?;
        let range = column.declared(self.range)?;
        Ok((column, range))
    }
}
