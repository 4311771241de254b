//! A vector of numbers, generated or read, and its declared range.

use bellerophon::Ciphertext;

use super::args::{Common, Data, Tables, parse_range};
use super::data::{self, Column};
use super::output;
use super::program::Failure;
use super::session::{self, Session};
use super::unit::Unit;

const SEED: u64 = 1968;

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

/// A column that its client has sent to a server in one ciphertext.
pub struct Sent {
    pub column: Column,
    pub range: [f64; 2],
    /// The map of the range onto [-1, 1], the range of the ciphertext.
    pub unit: Unit,
    pub session: Session,
    pub x: Ciphertext,
}

impl Numbers {
    /// Reads the values, or generates the requested number, `small` or `usual` ones; checks them
    /// and the file of the results; makes keys for plain look-ups; encrypts the values.
    pub fn send(
        &self,
        common: &Common,
        tables: &Tables,
        small: usize,
        usual: usize,
    ) -> Result<Sent, Failure> {
        output::check_out(self.data.out.as_deref(), self.data.csv.as_deref())?;
        let most = self.count.or(common.small.then_some(small));
        if most == Some(0) {
            return Err(Failure::input("--count 0: need at least one value"));
        }
        let own = |count| data::generated(self.range.unwrap_or(RANGE), count, SEED);
        let column = data::load_or(&self.data, most, most.unwrap_or(usual), own)?;
        let range = column.declared(self.range)?;
        let params = session::params(common)?;
        column.check_fits(&params)?;
        let (mut session, level) = Session::with_tables(params, tables)?;
        let unit = Unit::of(range);
        let scaled: Vec<f64> = column.values.iter().map(|&value| unit.enter(value)).collect();
        let x = session.encrypt(&scaled, -1.0..=1.0, level)?;
        Ok(Sent { column, range, unit, session, x })
    }
}
