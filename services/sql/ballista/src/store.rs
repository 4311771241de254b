//! Stores by name.

use std::sync::Arc;

use bellerophon_datafusion::Result;
use datafusion::{
    common::DataFusionError,
    object_store::{ObjectStore, local::LocalFileSystem, parse_url_opts, prefix::PrefixStore},
};
use url::Url;

/// Opens a store: a folder, or the URL of an object store (`s3://bucket/prefix`). Settings of the
/// latter come from the environment (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT`, ..).
///
/// # Errors
/// Those of the store for names that it does not take.
pub fn open(place: &str) -> Result<Arc<dyn ObjectStore>> {
    if !place.contains("://") {
        return Ok(Arc::new(LocalFileSystem::new_with_prefix(place)?));
    }
    let url = Url::parse(place).map_err(|error| DataFusionError::External(Box::new(error)))?;
    let settings = std::env::vars().map(|(name, value)| (name.to_lowercase(), value));
    let (store, prefix) = parse_url_opts(&url, settings)?;
    Ok(Arc::new(PrefixStore::new(store, prefix)))
}
