//! The settings of a query on a cluster: made by the client, checked by the executors.

use ballista_core::{
    config::{
        BALLISTA_ADAPTIVE_PLANNER_ENABLED, BALLISTA_CLIENT_GRPC_MAX_MESSAGE_SIZE,
        BALLISTA_CLIENT_GRPC_TIMEOUT_SECONDS, BALLISTA_CLIENT_IO_RETRY_WAIT_TIME_MS,
        BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK, BALLISTA_SHUFFLE_COMPRESSION_CODEC,
        BALLISTA_SHUFFLE_SORT_BASED_BATCH_SIZE, BallistaConfig,
    },
    extension::SessionConfigExt,
};
use bellerophon_datafusion::{Error, MOST_VECTORS, Result, check_settings};
use datafusion::{config::ConfigOptions, prelude::SessionConfig};

use crate::Tls;

/// Bytes of a message between processes: a batch has a few vectors of megabytes.
pub(crate) const MESSAGE: u32 = 1 << 30;

/// Seconds until a request fails that gets no answer.
pub(crate) const REQUEST_SECONDS: u64 = 300;

/// Milliseconds between attempts to fetch a part of a shuffle.
const RETRY_MS: usize = 500;

/// Settings with one allowed value.
const NEEDED: [(&str, &str); 3] = [
    // It replaces parts of a running plan.
    (BALLISTA_ADAPTIVE_PLANNER_ENABLED, "false"),
    // Ciphertexts look random.
    (BALLISTA_SHUFFLE_COMPRESSION_CODEC, "none"),
    // A task is what is lost with an executor.
    (BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK, "1"),
];

/// The settings of a session on a cluster, from those of a session in the process.
pub(crate) fn cluster(config: SessionConfig, tls: Option<&Tls>) -> SessionConfig {
    let batch = config.batch_size();
    let mut config = config.upgrade_for_ballista();
    for (name, value) in NEEDED {
        config = config.set_str(name, value);
    }
    let config = config
        .set_usize(BALLISTA_SHUFFLE_SORT_BASED_BATCH_SIZE, batch)
        .set_usize(BALLISTA_CLIENT_GRPC_MAX_MESSAGE_SIZE, MESSAGE as usize)
        .set_usize(BALLISTA_CLIENT_GRPC_TIMEOUT_SECONDS, REQUEST_SECONDS as usize)
        .set_usize(BALLISTA_CLIENT_IO_RETRY_WAIT_TIME_MS, RETRY_MS);
    match tls {
        Some(tls) => config
            .with_ballista_use_tls(true)
            .with_ballista_override_create_grpc_client_endpoint(tls.endpoint()),
        None => config,
    }
}

/// Refuses the settings of a task that came without those of [`cluster`].
pub(crate) fn check(config: &ConfigOptions) -> Result<()> {
    check_settings(config)?;
    let refused = |name, found, needed: &str| Error::SessionSetting {
        name,
        found,
        needed: format!("{needed}, as `connect()` sets it"),
    };
    let Some(ballista) = config.extensions.get::<BallistaConfig>() else {
        return Err(refused("ballista", "missing".into(), "the settings of the engine"));
    };
    let found: Vec<_> = datafusion::config::ExtensionOptions::entries(ballista);
    let value = |name: &str| {
        let entry = found.iter().find(|entry| entry.key == name);
        entry.and_then(|entry| entry.value.clone()).unwrap_or_else(|| "missing".into())
    };
    for (name, needed) in NEEDED {
        let found = value(name);
        if found != needed {
            return Err(refused(name, found, needed));
        }
    }
    let found = value(BALLISTA_SHUFFLE_SORT_BASED_BATCH_SIZE);
    match found.parse::<usize>() {
        Ok(batch) if batch <= MOST_VECTORS => Ok(()),
        _ => {
            let needed = format!("at most {MOST_VECTORS}");
            Err(refused(BALLISTA_SHUFFLE_SORT_BASED_BATCH_SIZE, found, &needed))
        }
    }
}
