//! The options, the data and the report: `1 - f(a x^2 + b x + c)` of a column.

use common::args::{parse_numbers, parse_range, parse_within};
use common::data::{self, Column};
use common::function::Function;
use common::prelude::*;
use common::stats::{self, Standardised};

const SMALL: usize = 16;

/// What the second round of `--preset full` leaves free at both ends of the domain for the error of
/// the first, as a part of its width.
const MARGIN: f64 = 1.0 / 128.0;

const MOST_DEVIATIONS: f64 = 256.0;

/// Encrypts a column, computes 1 - f(a x^2 + b x + c) without decrypting, compares with exact
/// values
#[derive(Debug, Parser)]
#[command(version)]
pub struct Arguments {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    data: Data,

    /// The quadratic in the standardised column [default: 0.25,1,-0.5; the constant is 1 for sqrt
    /// and 2 for reciprocal, whose arguments must not be negative]
    #[arg(long, value_name = "A,B,C", value_parser = parse_numbers::<3>,
          allow_hyphen_values = true)]
    quadratic: Option<[f64; 3]>,

    /// The function to look up
    #[arg(long, value_name = "NAME", default_value = "sigmoid")]
    function: Function,

    /// Its domain, which must contain all values of the quadratic [default: -8,8; 0,16 for sqrt and
    /// 0.5,16.5 for reciprocal]
    #[arg(long, value_name = "LO,HI", value_parser = parse_range, allow_hyphen_values = true)]
    range: Option<[f64; 2]>,

    /// The standardised column is declared in [-D, D], which becomes public; a column with a value
    /// more than D standard deviations from its mean is refused
    #[arg(long, value_name = "D", default_value_t = stats::DEVIATIONS,
          value_parser = |text: &str| parse_within(text, 1.0..=MOST_DEVIATIONS))]
    deviations: f64,
}

/// The computation, and its exact results.
pub struct Task {
    pub column: Column,
    pub x: Standardised,
    /// The standardised values are declared in `[-deviations, deviations]`.
    pub deviations: f64,
    pub quadratic: [f64; 3],
    pub function: Function,
    pub range: [f64; 2],
    /// How often the program bootstraps: once for each round after the first.
    pub refreshes: usize,
    /// `1 - f(a x^2 + b x + c)` in f64, in the second round of that again.
    expected: Vec<f64>,
}

impl Task {
    /// Reads, standardises and checks the data. All errors of the user are found here.
    pub fn prepare(arguments: &Arguments) -> Result<Self, Failure> {
        let Arguments { common, data, function, deviations, .. } = arguments;
        output::check_out(data.out.as_deref(), data.csv.as_deref())?;
        let mut column = data::load(data, "sepal_length")?;
        if common.small {
            column.values.truncate(SMALL);
        }
        let range @ [lo, hi] = arguments.range.unwrap_or(function.default_range());
        function.check_range(range).map_err(Failure::Input)?;
        if *function == Function::Sqrt && lo < 0.0 {
            return Err(Failure::input(format!(
                "sqrt needs nonnegative arguments: [{lo:?}, {hi:?}] begins below 0; give another \
                 --range"
            )));
        }
        let x = stats::standardise(&column.values).ok_or_else(|| {
            let Column { source, name, .. } = &column;
            let why = "the values, or their differences, are too large or too small";
            Failure::input(format!("{source}: column '{name}': {why}"))
        })?;
        let mut task = Self {
            column,
            x,
            deviations: *deviations,
            quadratic: arguments.quadratic.unwrap_or(function.default_quadratic()),
            function: *function,
            range,
            refreshes: usize::from(common.preset == bellerophon::Preset::Full.name()),
            expected: vec![],
        };
        let exact = task.x.values.iter().enumerate().map(|(row, &x)| {
            // The messages repeat no value.
            task.exact(x).map_err(|why| {
                let Column { source, name, .. } = &task.column;
                Failure::input(format!("{source}: row {}, column '{name}': {why}", row + 1))
            })
        });
        task.expected = exact.collect::<Result<_, _>>()?;
        Ok(task)
    }

    /// The exact result for a value, or the reason why it is refused.
    fn exact(&self, x: f64) -> Result<f64, String> {
        let ([a, b, c], [lo, hi], deviations) = (self.quadratic, self.range, self.deviations);
        if x.abs() > deviations {
            return Err(format!(
                "the value lies more than {deviations:?} standard deviations from the mean; give \
                 more --deviations"
            ));
        }
        let mut z = x;
        for round in 0..=self.refreshes {
            let v = (a * z + b) * z + c;
            let margin = if round == 0 { 0.0 } else { MARGIN * (hi - lo) };
            if !(lo + margin..=hi - margin).contains(&v) {
                return Err(format!(
                    "{} of the standardised value{} lies outside the domain [{lo:?}, {hi:?}]; \
                     give another --range or --quadratic",
                    self.formula(),
                    if round == 0 { "" } else { ", in the second round," }
                ));
            }
            z = 1.0 - self.function.value(v);
        }
        Ok(z)
    }

    /// Writes the table of `--out`, shows some values and reports.
    pub fn report(
        &self,
        session: &Session,
        got: &[f64],
        arguments: &Arguments,
        console: &Console,
    ) -> Result<Facts, Failure> {
        let Column { values, .. } = &self.column;
        output::write_out(arguments.data.out.as_deref(), values, &self.expected, got)?;
        let twice = if self.refreshes > 0 { ", twice in a row" } else { "" };
        let (name, formula) = (self.function.name(), self.formula());
        console.say(format_args!("1 - {name}({formula}) of encrypted values{twice}\n"));
        console.values(values, &self.expected, got);
        let errors = Errors::between(&self.expected, got);
        let facts = session
            .report(got.len(), session.engine(), &errors)
            .with("max_err_bits", errors.max_bits())
            .with("mean_err_bits", errors.mean_bits())
            .with("function", name)
            .with("range", self.range)
            .with("deviations", self.deviations)
            .with("quadratic", self.quadratic)
            .with("refreshes", self.refreshes)
            .with("mean", self.x.mean)
            .with("deviation", self.x.deviation)
            .stages(&session.stages);
        Ok(self.column.named(facts))
    }

    /// `a x^2 + b x + c` in the usual notation.
    fn formula(&self) -> String {
        let [a, b, c] = self.quadratic;
        let term = |k: f64| format!("{} {:?}", if k < 0.0 { '-' } else { '+' }, k.abs());
        format!("{a:?} x^2 {} x {}", term(b), term(c))
    }
}
