//! The settings of a query.

use std::any::Any;

use datafusion::{
    common::{Result as EngineResult, config_err},
    config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions},
};

use crate::{Error, Hash, Result};

/// The settings `bellerophon.*` of a session. An unknown name is an error of `SET`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// SHA-256 of the evaluation keys of the owner, the name of an object of the key store.
    pub keys: Option<String>,
    /// The version of these functions where the query was planned: where they run, it must be the
    /// same.
    pub version: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { keys: None, version: VERSION.into() }
    }
}

/// The version of the functions of this build.
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl ConfigExtension for Settings {
    const PREFIX: &'static str = "bellerophon";
}

/// Engines send the settings of a query to other processes by their whole names, prefix included.
impl ExtensionOptions for Settings {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, value: &str) -> EngineResult<()> {
        match key {
            "keys" => self.keys = Some(value.into()),
            "version" => self.version = value.into(),
            _ => return config_err!("there is no setting bellerophon.{key}"),
        }
        Ok(())
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        let entry = |key: &str, value, description| ConfigEntry {
            key: format!("{}.{key}", Self::PREFIX),
            value,
            description,
        };
        vec![
            entry("keys", self.keys.clone(), "SHA-256 of the evaluation keys of the owner"),
            entry("version", Some(self.version.clone()), "Version of the functions"),
        ]
    }
}

/// The setting that names the evaluation keys.
pub const KEYS: &str = "bellerophon.keys";

/// The largest number of encrypted vectors in a record batch: a vector takes megabytes.
pub const MOST_VECTORS: usize = 64;

/// The name of the evaluation keys.
pub(crate) fn keys(function: &'static str, config: &ConfigOptions) -> Result<Hash> {
    let settings = checked(config)?;
    let Some(keys) = &settings.keys else {
        return Err(Error::Setting { function, name: KEYS });
    };
    keys.parse().map_err(|reason| Error::plan(function, format!("{KEYS}: {reason}")))
}

/// Refuses settings with which encrypted columns cannot be computed: for engines that receive the
/// settings of a query from elsewhere.
///
/// # Errors
/// [`Error::SessionSetting`] with the setting, its value and what is needed.
pub fn check_settings(config: &ConfigOptions) -> Result<()> {
    checked(config).map(|_| ())
}

/// The settings, if the engine runs as encrypted columns need it. Every function calls this where
/// it runs, so that an executor without these settings refuses its task.
pub(crate) fn checked(config: &ConfigOptions) -> Result<&Settings> {
    let refused = |name, found: String, needed: &str| {
        Err(Error::SessionSetting { name, found, needed: needed.into() })
    };
    let Some(settings) = config.extensions.get::<Settings>() else {
        return refused("bellerophon", "missing".into(), "the settings of this crate");
    };
    if settings.version != VERSION {
        let needed = format!("{VERSION}, the version of the functions here");
        return refused("bellerophon.version", settings.version.clone(), &needed);
    }
    let batch = config.execution.batch_size.get();
    if batch > MOST_VECTORS {
        let needed = format!("at most {MOST_VECTORS} encrypted vectors");
        return refused("datafusion.execution.batch_size", batch.to_string(), &needed);
    }
    if config.execution.parquet.skip_metadata {
        let name = "datafusion.execution.parquet.skip_metadata";
        return refused(name, "true".into(), "false: it removes the owner of a column");
    }
    Ok(settings)
}
