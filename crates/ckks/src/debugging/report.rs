//! The report of a debugged program.

use std::fmt;

use super::step::Step;
use super::violation::{Violation, figures, interval};

/// The first promise of a program that is false. [`Display`](fmt::Display) prints a sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct FalsePromise {
    /// The index of the step, from 1.
    pub step: usize,
    /// Its operation.
    pub operation: &'static str,
    /// What is false.
    pub violation: Violation,
}

/// The report of a program that ran on a [`Debugger`](super::Debugger). [`Display`](fmt::Display)
/// prints a table of the steps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The steps, in the order of the program.
    pub steps: Vec<Step>,
    /// The first false promise.
    pub false_promise: Option<FalsePromise>,
}

impl Report {
    pub(super) fn add(&mut self, step: Step, violation: Option<Violation>) {
        let operation = step.operation;
        self.steps.push(step);
        let number = self.steps.len();
        if let (None, Some(violation)) = (&self.false_promise, violation) {
            self.false_promise = Some(FalsePromise { step: number, operation, violation });
        }
    }
}

impl fmt::Display for FalsePromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}, {}: {}", self.step, self.operation, self.violation)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "step  operation                  level  noise: predicted  measured  largest value  \
             range  [largest padding  range]"
        )?;
        for (i, step) in self.steps.iter().enumerate() {
            let number = i + 1;
            let Step { operation, level, range, padding, .. } = step;
            let [predicted, measured, largest] =
                [step.predicted_noise, step.measured_noise, step.largest_value].map(figures);
            let range = interval(range);
            write!(
                f,
                "{number:>4}  {operation:<25}  {level:>5}  {predicted:>16}  {measured:>8}  \
                 {largest:>13}  {range}"
            )?;
            if let Some(padding) = padding {
                write!(f, "  [{}  {}]", figures(step.largest_padding), interval(padding))?;
            }
            writeln!(f)?;
        }
        match &self.false_promise {
            Some(promise) => write!(f, "The first false promise: {promise}"),
            None => write!(f, "No promise is false"),
        }
    }
}
