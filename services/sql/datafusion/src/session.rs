//! Sessions with the functions and the settings of encrypted columns.

use std::sync::Arc;

use datafusion::{
    execution::{SessionState, SessionStateBuilder, runtime_env::RuntimeEnvBuilder},
    optimizer::Analyzer,
    prelude::{SessionConfig, SessionContext},
};

use crate::{
    Functions, Hash, Node, Result,
    analysis::EncryptedColumns,
    compose::{self, Composer},
    explain::Planner,
    function::Function,
    guide,
    lookup::LookupFunction,
    scalar::ScalarFunction,
    settings::{KEYS, MOST_VECTORS, Settings},
    sum::{self, Sum},
};

/// The settings of a session.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// The evaluation keys of the owner; `SET bellerophon.keys` changes them.
    pub keys: Option<Hash>,
    /// Encrypted vectors in a record batch, at most [`MOST_VECTORS`].
    pub vectors_per_batch: usize,
    /// Partitions that run at the same time. Vectors of a batch run in parallel anyway, on the
    /// threads of the node. With several partitions, some are read while others compute;
    /// `DataFrame::collect_partitioned` returns them in the order of the rows.
    pub partitions: usize,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self { keys: None, vectors_per_batch: 4, partitions: 1 }
    }
}

/// A session of DataFusion for encrypted columns, in this process.
///
/// # Errors
/// Those of the engine for settings that it does not take.
pub fn session(node: &Arc<Node>, options: &SessionOptions) -> Result<SessionContext> {
    Ok(SessionContext::new_with_state(state(node, options)?))
}

/// The state of such a session, for programs that add to it.
///
/// # Errors
/// As [`session`].
pub fn state(node: &Arc<Node>, options: &SessionOptions) -> Result<SessionState> {
    let memory = RuntimeEnvBuilder::new().with_memory_pool(node.memory().clone());
    let mut rules = Analyzer::new().rules;
    rules.insert(0, Arc::new(EncryptedColumns(Functions::new(node))));
    let mut builder = SessionStateBuilder::new()
        .with_config(config(options)?)
        .with_runtime_env(memory.build_arc()?)
        .with_default_features()
        .with_analyzer_rules(rules)
        .with_query_planner(Arc::new(Planner));
    let functions = Function::ALL.map(|function| Arc::new(ScalarFunction::udf(function, node)));
    let scalars = builder.scalar_functions().get_or_insert_default();
    scalars.iter_mut().for_each(|function| *function = guide::scalar(function.clone()));
    scalars.extend(functions);
    let aggregates = builder.aggregate_functions().get_or_insert_default();
    aggregates.push(Arc::new(Sum::udaf(node, sum::NAME)));
    aggregates.push(Arc::new(LookupFunction::udaf(node)));
    aggregates.extend(compose::names());
    let composer = Arc::new(Composer(Functions::new(node)));
    builder.expr_planners().get_or_insert_default().insert(0, composer);
    Ok(builder.build())
}

/// The settings that encrypted columns need. Functions refuse to run under others.
pub(crate) fn config(options: &SessionOptions) -> Result<SessionConfig> {
    let batch = options.vectors_per_batch.clamp(1, MOST_VECTORS);
    let mut config = SessionConfig::new()
        .with_option_extension(Settings::default())
        .with_batch_size(batch)
        .with_target_partitions(options.partitions.max(1))
        // A batch has few rows of megabytes: joining batches copies them for nothing.
        .with_coalesce_batches(false)
        // Statistics of ciphertexts say nothing.
        .with_collect_statistics(false)
        .with_parquet_pruning(false);
    let settings = config.options_mut();
    settings.execution.parquet.skip_metadata = false;
    settings.execution.parquet.schema_force_view_types = false;
    // A partition reads its own part of a table: results keep the order of the rows.
    settings.execution.enable_file_stream_work_stealing = false;
    if let Some(keys) = options.keys {
        settings.set(KEYS, &keys.to_string())?;
    }
    Ok(config)
}
