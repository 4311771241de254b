//! What a session does with a query before the rules of the engine.

use datafusion::{
    common::Result as EngineResult, config::ConfigOptions, logical_expr::LogicalPlan,
    optimizer::AnalyzerRule,
};

use crate::{Functions, admission, comparison, guide, means, rows};

/// The rule in front of those of the engine, some of which fail for comparisons of bytes.
#[derive(Debug)]
pub(crate) struct EncryptedColumns(pub(crate) Functions);

impl AnalyzerRule for EncryptedColumns {
    fn name(&self) -> &str {
        "encrypted_columns"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> EngineResult<LogicalPlan> {
        // Step 1: the functions of the engine, which named ours while the query was planned.
        let plan = guide::unguided(plan)?;
        // Step 2: what would compare ciphertexts, count vectors or state the range of another mean
        // is refused or rewritten.
        comparison::check(&plan)?;
        means::check(&plan)?;
        let plan = rows::counted(plan, &self.0)?;
        // Step 3: the vectors of every table are admitted.
        admission::admitted(plan, &self.0)
    }
}
