//! Tables, and the documentation pages that show them.

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
    /// A table. The names of its columns, and the cells of a row, have bars between them.
    pub fn new(
        page: &'static str,
        name: &'static str,
        title: &'static str,
        columns: &'static str,
        rows: impl IntoIterator<Item = String>,
    ) -> Self {
        let cells = |row: String| row.split(" | ").map(str::to_string).collect();
        let rows = rows.into_iter().map(cells).collect();
        Self { page, name, title, columns: columns.split(" | ").collect(), rows }
    }

    /// The table in Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: String| format!("| {cells} |\n");
        let rule = vec!["---"; self.columns.len()];
        let head = [self.columns.join(" | "), rule.join(" | ")];
        head.into_iter().chain(self.rows.iter().map(|row| row.join(" | "))).map(line).collect()
    }
}

/// Refuses a folder without the page.
pub fn check(docs: &Path, page: &str) -> Result<(), Failure> {
    text::read(&docs.join(page))?;
    std::fs::create_dir_all(docs.join("figures")).map_err(Failure::input)
}

/// Replaces a table in the page.
pub fn write(docs: &Path, table: &Table) -> Result<(), Failure> {
    let path = docs.join(table.page);
    let text = text::read(&path)?;
    let begin = format!("<!-- begin {} -->\n", table.name);
    let end = format!("<!-- end {} -->", table.name);
    let missing = || Failure::input(format!("{} has no place marked {}", table.page, begin.trim()));
    let (head, rest) = text.split_once(&begin).ok_or_else(missing)?;
    let (_, tail) = rest.split_once(&end).ok_or_else(missing)?;
    let page = format!("{head}{begin}{}{end}{tail}", table.markdown());
    std::fs::write(path, page).map_err(Failure::run)
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
