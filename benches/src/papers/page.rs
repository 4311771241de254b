//! Tables, and the documentation pages that show them.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use common::program::Failure;
use common::text;

/// The page of Full-RNS HEAAN.
pub const HEAAN: &str = "full-rns-heaan.md";

/// A table to be shown beside the paper's.
#[derive(Debug, Clone, Serialize)]
pub struct Table {
    /// The page inside the folder of documents.
    #[serde(skip)]
    pub page: &'static str,
    /// The marker of its place in the page.
    pub name: &'static str,
    /// Its caption.
    pub title: &'static str,
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// Cells, row by row.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// The table in Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        let line = |cells: &[&str]| format!("| {} |\n", cells.join(" | "));
        text.push_str(&line(&self.columns));
        text.push_str(&line(&vec!["---"; self.columns.len()]));
        for row in &self.rows {
            text.push_str(&line(&row.iter().map(String::as_str).collect::<Vec<_>>()));
        }
        text
    }
}

/// Names of columns, from one line with bars between them.
pub fn columns(names: &'static str) -> Vec<&'static str> {
    names.split(" | ").collect()
}

fn marks(name: &str) -> (String, String) {
    (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"))
}

fn read(docs: &Path, page: &str) -> Result<String, Failure> {
    text::read(&docs.join(page))
}

/// Refuses a folder without the page.
pub fn check(docs: &Path, page: &str) -> Result<(), Failure> {
    read(docs, page)?;
    std::fs::create_dir_all(docs.join("figures")).map_err(Failure::input)
}

/// Replaces a table in the page.
pub fn write(docs: &Path, table: &Table) -> Result<(), Failure> {
    let text = read(docs, table.page)?;
    let (begin, end) = marks(table.name);
    let missing = || Failure::input(format!("{} has no place marked {}", table.page, begin.trim()));
    let (head, rest) = text.split_once(&begin).ok_or_else(missing)?;
    let (_, tail) = rest.split_once(&end).ok_or_else(missing)?;
    let mut page = String::new();
    let _ = write!(page, "{head}{begin}{}{end}{tail}", table.markdown());
    std::fs::write(docs.join(table.page), page).map_err(Failure::run)
}

/// Milliseconds with three figures.
pub fn ms(time: f64) -> String {
    if time >= 99.95 {
        format!("{time:.0}")
    } else if time >= 9.995 {
        format!("{time:.1}")
    } else {
        format!("{time:.2}")
    }
}
