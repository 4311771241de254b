//! The report of a program: named facts in order, printed for people and as one JSON object.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::console::{Console, Stage, Stages};
use super::memory::human;
use super::output::Report;

/// Named facts, in the order in which people read them.
#[derive(Debug, Clone, Default)]
pub struct Facts(Vec<(String, Fact)>);

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum Fact {
    Value(Value),
    Rows(Vec<Facts>),
    Group(Facts),
}

/// The largest number of elements of an array that people see.
const SHOWN: usize = 6;

impl Facts {
    /// The fields of every report.
    pub fn of(report: Report) -> Self {
        Self::default()
            .with("n", report.n)
            .with("preset", report.preset)
            .with("security_bits", report.security_bits)
            .with("engine", report.engine)
            .with("keygen_s", report.keygen_s)
            .with("eval_s", report.eval_s)
            .with("max_abs_err", report.max_abs_err)
            .with("mean_abs_err", report.mean_abs_err)
            .with("eval_key_bytes", report.eval_key_bytes)
            .with("ciphertext_bytes", report.ciphertext_bytes)
            .with("peak_rss_bytes", report.peak_rss_bytes)
            .with("threads", report.threads)
    }

    /// Adds a fact. A name that ends in `_s`, `_ms` or `_bytes` states the unit of a number.
    ///
    /// # Panics
    /// If the value has no JSON form.
    pub fn with(self, name: impl Into<String>, value: impl Serialize) -> Self {
        let value = serde_json::to_value(value).expect("facts have a JSON form");
        self.add(name, Fact::Value(value))
    }

    fn add(mut self, name: impl Into<String>, fact: Fact) -> Self {
        self.0.push((name.into(), fact));
        self
    }

    /// Adds a table of rows. For people, names stand above the first row that has them.
    pub fn rows(self, name: &str, rows: impl IntoIterator<Item = Facts>) -> Self {
        self.add(name, Fact::Rows(rows.into_iter().collect()))
    }

    /// Adds the seconds of the stages.
    pub fn seconds(self, name: &str, stages: &Stages) -> Self {
        let each = |facts: Self, stage: &Stage| facts.with(stage.name, stage.seconds);
        let all = stages.rows().iter().fold(Self::default(), each);
        self.add(name, Fact::Group(all))
    }

    /// Adds the seconds of the stages as `stages` and the bytes of their results as `stage_bytes`.
    pub fn stages(self, stages: &Stages) -> Self {
        let rows = stages.rows();
        let sized = rows.iter().filter_map(|stage| Some((stage.name, stage.bytes?)));
        let sizes = sized.fold(Self::default(), |facts, (name, bytes)| facts.with(name, bytes));
        self.seconds("stages", stages).add("stage_bytes", Fact::Group(sizes))
    }

    /// Adds the facts of others.
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// A number among the facts.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(known, _)| known == name).and_then(|(_, fact)| match fact {
            Fact::Value(value) => value.as_f64(),
            _ => None,
        })
    }

    /// Prints the facts for people: first the single ones, then tables and groups.
    pub fn say(&self, console: &Console) {
        let (single, several): (Vec<_>, Vec<_>) =
            self.0.iter().partition(|(_, fact)| matches!(fact, Fact::Value(_)));
        for (name, fact) in single.into_iter().chain(several) {
            match fact {
                Fact::Value(Value::Null) => {}
                Fact::Value(value) => console.say(format_args!("{name:28} {}", shown(name, value))),
                Fact::Rows(rows) => {
                    console.say(format_args!("\n{name}"));
                    for (i, row) in rows.iter().enumerate() {
                        if i == 0 || row.names().ne(rows[i - 1].names()) {
                            console.say(row.line(|name, _| name.to_string()));
                        }
                        console.say(row.line(shown));
                    }
                }
                Fact::Group(facts) => {
                    console.say(format_args!("\n{name}"));
                    facts.say(console);
                }
            }
        }
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        self.0.iter().map(|(name, _)| name)
    }

    /// A line of a table, whose columns are as wide as their names.
    fn line(&self, cell: impl Fn(&str, &Value) -> String) -> String {
        let cells = self.0.iter().filter_map(|(name, fact)| match fact {
            Fact::Value(value) => {
                Some(format!("{:>width$}", cell(name, value), width = name.len().max(12)))
            }
            _ => None,
        });
        cells.collect::<Vec<_>>().join("  ")
    }
}

/// A value as people read it.
fn shown(name: &str, value: &Value) -> String {
    match (value, value.as_u64()) {
        (_, Some(bytes)) if name.ends_with("bytes") => human(bytes),
        (Value::String(text), _) => text.clone(),
        (Value::Number(number), _) if number.is_f64() => {
            let value = number.as_f64().unwrap_or(f64::NAN);
            match (1e-3..1e7).contains(&value.abs()) || value == 0.0 {
                true => format!("{value:.4}"),
                false => format!("{value:.3e}"),
            }
        }
        (Value::Array(parts), _) => {
            let texts: Vec<_> = parts.iter().take(SHOWN).map(|part| shown(name, part)).collect();
            let more = if parts.len() > SHOWN { ", ..." } else { "" };
            format!("[{}{more}]", texts.join(", "))
        }
        (other, _) => other.to_string(),
    }
}

impl Serialize for Facts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, fact)| (name, fact)))
    }
}
