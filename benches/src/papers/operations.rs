//! Table 1: time per operation.

use bellerophon::ckks::{Params, paper::FullRnsHeaan};
use common::program::Failure;

use super::page::{HEAAN, Table, ms};
use crate::measure::Bench;
use crate::operations::Operations;

const OPERATIONS: [&str; 5] = ["encrypt", "decrypt", "add", "mul_scalar", "mul_rescale"];

/// The sets, and the paper's milliseconds: Enc, Dec, Add, Cmult, Mult & RS.
const PAPER: [(FullRnsHeaan, [f64; 5]); 3] = [
    (FullRnsHeaan::Depth5, [31.0, 4.6, 2.9, 25.0, 85.0]),
    (FullRnsHeaan::Depth10, [58.0, 7.8, 4.3, 44.0, 164.0]),
    (FullRnsHeaan::Depth15, [177.0, 10.0, 15.5, 125.0, 563.0]),
];

/// Measures the operations of every set, or of the smallest only.
pub fn measure(bench: &mut Bench) -> Result<Table, Failure> {
    let mut rows = Vec::new();
    for (set, paper) in PAPER.into_iter().take(if bench.small { 1 } else { PAPER.len() }) {
        let levels = set.depth();
        let mut operations = Operations::new(&Params::new(set.spec()?)?, &OPERATIONS)?;
        let mut times = vec![];
        for name in OPERATIONS {
            let timed = operations.time(bench, &format!("table1/L{levels}"), name)?;
            times.push(timed.ms);
            bench.rows.push(timed.row);
        }
        let (log_degree, log2_q) = (set.degree().ilog2(), operations.world.log2_q());
        let security = set.security_bits();
        for (who, times) in [("paper", &paper[..]), ("this library", &times)] {
            let times: Vec<String> = times.iter().map(|&t| ms(t)).collect();
            let times = times.join(" | ");
            rows.push(format!(
                "{levels} | 2^{log_degree} | {log2_q} | {security} | {who} | {times}"
            ));
        }
    }
    Ok(Table::new(
        HEAAN,
        "table1",
        "Table 1: milliseconds of one operation, one thread",
        "L | N | log2 Q | bits of security today |  | Enc | Dec | Add | Cmult | Mult & RS",
        rows,
    ))
}
