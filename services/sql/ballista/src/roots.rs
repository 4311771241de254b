//! The folders and stores whose files plans may read and write.

use std::{
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use bellerophon_datafusion::{Error, Result};
use datafusion::{
    common::{Result as EngineResult, tree_node::TreeNodeRecursion},
    config::ConfigOptions,
    datasource::{
        file_format::{csv::CsvSink, json::JsonSink, parquet::ParquetSink},
        listing::ListingTable,
        memory::MemorySourceConfig,
        physical_plan::{FileScanConfig, FileSink, FileSinkConfig},
        sink::DataSinkExec,
        source::DataSourceExec,
        source_as_provider,
    },
    logical_expr::LogicalPlan,
    optimizer::AnalyzerRule,
    physical_plan::ExecutionPlan,
};
use url::Url;

/// The roots of a process. Without one, plans read and write no file.
#[derive(Debug, Clone)]
pub(crate) struct Roots(Vec<String>);

impl Roots {
    /// Folders, or URLs of object stores.
    ///
    /// # Errors
    /// [`Error::File`] for a folder that is not there, [`Error::Plan`] for a malformed URL.
    pub(crate) fn new(roots: &[String]) -> Result<Self> {
        let root = |name: &String| {
            if name.contains("://") {
                let url = Url::parse(name).map_err(|error| refused(name, &error.to_string()))?;
                return Ok(folder(url.as_str()));
            }
            let file = |source| Error::File { path: name.clone(), source };
            let path = std::fs::canonicalize(name).map_err(file)?;
            Ok(folder(&format!("file://{}", path.display())))
        };
        Ok(Self(roots.iter().map(root).collect::<Result<_>>()?))
    }

    /// Refuses a file outside the roots.
    fn check(&self, name: &str) -> Result<()> {
        let place = match name.strip_prefix("file://") {
            Some(path) => {
                let path = resolved(Path::new(path));
                let path = path.ok_or_else(|| refused(name, "it leaves its folder"))?;
                format!("file://{}", path.display())
            }
            None => name.into(),
        };
        match self.0.iter().any(|root| folder(&place).starts_with(root)) {
            true => Ok(()),
            false => Err(refused(
                name,
                "it lies outside the roots of this process: name its folder with --root",
            )),
        }
    }

    /// Refuses a plan that reads or writes files outside the roots.
    pub(crate) fn check_plan(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
        if let Some(source) = plan.downcast_ref::<DataSourceExec>() {
            let source: &dyn std::any::Any = source.data_source().as_ref();
            if let Some(files) = source.downcast_ref::<FileScanConfig>() {
                for file in files.file_groups.iter().flat_map(|group| group.files()) {
                    let store = files.object_store_url.as_str();
                    self.check(&format!("{store}{}", file.object_meta.location))?;
                }
            } else if !source.is::<MemorySourceConfig>() {
                return Err(refused("a table", "its kind is neither files nor memory"));
            }
        }
        if let Some(sink) = plan.downcast_ref::<DataSinkExec>() {
            let files = written(sink).ok_or_else(|| refused("a result", "it goes to no file"))?;
            for path in &files.table_paths {
                self.check(path.as_str())?;
            }
        }
        plan.children().into_iter().try_for_each(|child| self.check_plan(child))
    }
}

/// The scheduler lists the files of tables.
impl AnalyzerRule for Roots {
    fn name(&self) -> &str {
        "files_below_the_roots"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> EngineResult<LogicalPlan> {
        plan.apply_with_subqueries(|node| {
            match node {
                LogicalPlan::TableScan(scan) => {
                    let table = source_as_provider(&scan.source)?;
                    if let Some(files) = table.downcast_ref::<ListingTable>() {
                        files
                            .table_paths()
                            .iter()
                            .try_for_each(|path| self.check(path.as_str()))?;
                    }
                }
                LogicalPlan::Copy(copy) => {
                    let url = match copy.output_url.contains("://") {
                        true => copy.output_url.clone(),
                        false => format!("file://{}", absolute(&copy.output_url)?),
                    };
                    self.check(&url)?;
                }
                _ => {}
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(plan)
    }
}

/// The files that a sink writes.
fn written(sink: &DataSinkExec) -> Option<&FileSinkConfig> {
    let sink: &dyn std::any::Any = sink.sink();
    let parquet = sink.downcast_ref::<ParquetSink>().map(FileSink::config);
    let csv = || sink.downcast_ref::<CsvSink>().map(FileSink::config);
    let json = || sink.downcast_ref::<JsonSink>().map(FileSink::config);
    parquet.or_else(csv).or_else(json)
}

fn absolute(path: &str) -> Result<String> {
    let file = |source| Error::File { path: path.into(), source };
    Ok(std::path::absolute(path).map_err(file)?.display().to_string())
}

/// A path without links; none if it goes up. Its end may not exist yet.
fn resolved(path: &Path) -> Option<PathBuf> {
    let plain = |part: Component| matches!(part, Component::RootDir | Component::Normal(_));
    if !path.components().all(plain) {
        return None;
    }
    let there = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)))?;
    Some(there.1.join(path.strip_prefix(there.0).ok()?))
}

/// A name as that of a folder, so that it begins no other name.
fn folder(name: &str) -> String {
    format!("{}/", name.trim_end_matches('/'))
}

fn refused(name: &str, reason: &str) -> Error {
    let reason = format!("{name}: {reason}");
    Error::Plan { function: "a file of a plan", reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_below_a_root_alone_are_admitted() {
        let home = tempfile::tempdir().unwrap();
        let inside = home.path().join("tables");
        let outside = home.path().join("tables-of-others");
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
        let named = [inside.display().to_string(), "s3://bucket/prefix".into()];
        let roots = Roots::new(&named).unwrap();
        let url = |path: &str| format!("file://{}/{path}", home.path().display());
        for good in ["tables", "tables/", "tables/a.parquet", "tables/new/b.parquet"] {
            roots.check(&url(good)).unwrap();
        }
        roots.check("s3://bucket/prefix/a.parquet").unwrap();
        for bad in ["tables/../x", "tables-of-others/a", "tables/link/a", "", "tables/link"] {
            roots.check(&url(bad)).unwrap_err();
        }
        for bad in ["s3://bucket/prefixed/a", "s3://other/prefix/a", "file:///etc/passwd", "etc"] {
            let refused = roots.check(bad).unwrap_err().to_string();
            assert!(refused.contains("--root"), "{refused}");
        }
        assert!(Roots::new(&[]).unwrap().check(&url("tables")).is_err());
        assert!(Roots::new(&["/no/such/folder".into()]).is_err());
    }
}
