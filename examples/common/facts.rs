//! The report of a program: named facts in order, printed for people and as one JSON object.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Number, Value};

use super::console::{Console, Stage, Stages};
use super::memory::human;
use super::output::Report;

/// Named facts, in the order in which people read them.
#[derive(Debug, Clone, Default)]
pub struct Facts(Vec<(String, Fact)>);

#[derive(Debug, Clone)]
enum Fact {
    Value(Value),
    Rows(Vec<Facts>),
    Group(Facts),
}

/// Width of the names in a report for people.
const WIDTH: usize = 28;

/// The largest number of array elements that people see, and in a table.
const SHOWN: usize = 12;
const SHOWN_IN_TABLE: usize = 3;

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
    pub fn with(mut self, name: impl Into<String>, value: impl Serialize) -> Self {
        let value = serde_json::to_value(value).expect("facts have a JSON form");
        self.0.push((name.into(), Fact::Value(value)));
        self
    }

    /// Adds a table of rows with equal names.
    pub fn rows(mut self, name: &str, rows: impl IntoIterator<Item = Facts>) -> Self {
        self.0.push((name.to_string(), Fact::Rows(rows.into_iter().collect())));
        self
    }

    /// Adds the seconds of the stages.
    pub fn seconds(mut self, name: &str, stages: &Stages) -> Self {
        let each = |facts: Self, stage: &Stage| facts.with(stage.name, stage.seconds);
        let all = stages.rows().iter().fold(Self::default(), each);
        self.0.push((name.to_string(), Fact::Group(all)));
        self
    }

    /// Adds the seconds of the stages as `stages` and the bytes of their results as `stage_bytes`.
    pub fn stages(self, stages: &Stages) -> Self {
        let sized = stages.rows().iter().filter_map(|stage| Some((stage.name, stage.bytes?)));
        let sizes = sized.fold(Self::default(), |facts, (name, bytes)| facts.with(name, bytes));
        let mut facts = self.seconds("stages", stages);
        facts.0.push(("stage_bytes".to_string(), Fact::Group(sizes)));
        facts
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
        for (name, fact) in &self.0 {
            if let Fact::Value(value) = fact
                && !value.is_null()
            {
                console.say(format_args!("{name:WIDTH$} {}", shown(name, value, SHOWN)));
            }
        }
        for (name, fact) in &self.0 {
            match fact {
                Fact::Value(_) => {}
                Fact::Rows(rows) => say_rows(console, name, rows),
                Fact::Group(Self(facts)) => {
                    console.say(format_args!("\n{name}"));
                    for (part, fact) in facts {
                        if let Fact::Value(value) = fact {
                            let unit = if name.ends_with("bytes") { name } else { "_s" };
                            console.say(format_args!(
                                "  {part:WIDTH$} {:>12}",
                                shown(unit, value, SHOWN)
                            ));
                        }
                    }
                }
            }
        }
    }
}

/// Rows as a table with aligned columns.
fn say_rows(console: &Console, name: &str, rows: &[Facts]) {
    console.say(format_args!("\n{name}"));
    let Some(first) = rows.first() else { return };
    let cell = |(name, fact): &(String, Fact)| match fact {
        Fact::Value(value) => shown(name, value, SHOWN_IN_TABLE),
        _ => String::new(),
    };
    let head = first.0.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let cells = rows.iter().map(|row| row.0.iter().map(cell).collect::<Vec<_>>());
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(cells).collect();
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max()
    };
    for line in &lines {
        let padded = line.iter().enumerate().map(|(column, cell)| {
            let width = width(column).unwrap_or(0);
            if column == 0 { format!("{cell:width$}") } else { format!("{cell:>width$}") }
        });
        console.say(format_args!("  {}", padded.collect::<Vec<_>>().join("  ")));
    }
}

/// A value as people read it, with as many elements of an array as `most`.
fn shown(name: &str, value: &Value, most: usize) -> String {
    match value {
        Value::Null => "-".to_string(),
        Value::String(text) => text.clone(),
        Value::Number(number) => number_shown(name, number),
        Value::Array(parts) => {
            let mut texts: Vec<String> =
                parts.iter().take(most).map(|part| shown(name, part, most)).collect();
            if parts.len() > most {
                texts.push(format!("... ({} in all)", parts.len()));
            }
            format!("[{}]", texts.join(", "))
        }
        other => other.to_string(),
    }
}

fn number_shown(name: &str, number: &Number) -> String {
    let value = number.as_f64().unwrap_or(f64::NAN);
    if name.ends_with("bytes")
        && let Some(bytes) = number.as_u64()
    {
        return human(bytes);
    }
    let size = value.abs();
    if name.ends_with("_ms") {
        format!("{value:.3} ms")
    } else if name.ends_with("_s") {
        format!("{value:.3} s")
    } else if !number.is_f64() {
        number.to_string()
    } else if value.fract() == 0.0 && size < 1e7 {
        value.to_string()
    } else if !(1e-3..1e7).contains(&size) {
        format!("{value:.3e}")
    } else if size >= 1e3 {
        format!("{value:.1}")
    } else {
        format!("{value:.4}")
    }
}

impl Serialize for Facts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, fact) in &self.0 {
            match fact {
                Fact::Value(value) => map.serialize_entry(name, value)?,
                Fact::Rows(rows) => map.serialize_entry(name, rows)?,
                Fact::Group(facts) => map.serialize_entry(name, facts)?,
            }
        }
        map.end()
    }
}
