//! Tables in the clear to Parquet files of encrypted columns.
//!
//! A value of an encrypted column is a vector of rows in the byte format of the library. A row
//! group has a few vectors, uncompressed, without dictionary and statistics: ciphertexts look
//! random. With a group column, the rows of a vector belong to one group, whose name stays in the
//! clear. **The groups, their sizes, the declared ranges and the owner's identity are public.**
//!
//! A column that may have missing values ([`EncryptedColumn::nullable`]) is written as two, `name`
//! and the mask `name_present`: 0 and 0 where a value is missing, the value and 1 elsewhere. Both
//! are encrypted, so a server does not learn which values are missing, or how many.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    ops::RangeInclusive,
    sync::Arc,
};

use bellerophon::{ClientKey, PublicKey, ckks::Interval};
use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, BinaryArray, Float64Array, StringArray},
        compute::cast,
        csv::{ReaderBuilder, reader::Format},
        datatypes::{DataType, Field, Schema, SchemaRef},
        record_batch::RecordBatch,
    },
    common::DataFusionError,
    parquet::{
        arrow::ArrowWriter,
        basic::Compression,
        file::properties::{EnabledStatistics, WriterProperties},
    },
};
use rayon::prelude::*;

use crate::{Error, Hash, Result, author::Author, gaps::Gaps, shape::Shape};

/// Rows of comma-separated values in memory at a time.
pub const CSV_ROWS: usize = 1 << 13;

/// Vectors in a row group.
const ROW_GROUP: usize = 4;

/// A column to encrypt.
#[derive(Debug, Clone)]
pub struct EncryptedColumn {
    /// Its name, in the table and in the file.
    pub name: String,
    /// The range of its values, which becomes public: that of the measured quantity, not that of
    /// the data.
    pub range: RangeInclusive<f64>,
    /// Whether values may be missing (NULL, or an empty field). The file then has a second column,
    /// the mask `name_present`, with 1 for a value and 0 for a missing one, which `name` holds as
    /// zero: the public range of `name` is the declared one with zero. Sums of `name` are those of
    /// the values, sums of the mask their number.
    pub nullable: bool,
}

impl EncryptedColumn {
    /// A column in which no value is missing.
    pub fn new(name: impl Into<String>, range: RangeInclusive<f64>) -> Self {
        Self { name: name.into(), range, nullable: false }
    }

    /// The name of the mask.
    fn mask(&self) -> String {
        format!("{}_present", self.name)
    }
}

/// What a file holds.
#[derive(Debug, Clone)]
pub struct TableOptions {
    /// The name of the parameters in the key store.
    pub params: Hash,
    /// The columns to encrypt; others are left out.
    pub columns: Vec<EncryptedColumn>,
    /// The column whose values are the groups. It stays in the clear.
    pub group: Option<String>,
    /// A bound on the number of vectors, for the predictions of sums: rows divided by the slots of
    /// a vector, rounded up, for every group. The file has no more. Files that become one table
    /// have this number in common: a bound on all their vectors.
    pub most_vectors: usize,
}

/// What was written so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableProgress {
    /// Rows of the table in the clear.
    pub rows: usize,
    /// Vectors of each column.
    pub vectors: usize,
}

/// Encrypts record batches into a Parquet file, in memory of one vector for each group and column.
#[derive(Debug)]
pub struct TableWriter<'k, W: Write + Send> {
    author: Author<'k>,
    options: TableOptions,
    /// Declared ranges of the columns.
    declared: Vec<Interval>,
    /// Ranges of the columns of the file, masks included.
    ranges: Vec<Interval>,
    schema: SchemaRef,
    writer: ArrowWriter<W>,
    /// For each group, the rows of a vector that is not full yet, column by column.
    open: BTreeMap<String, Vec<Vec<f64>>>,
    /// Vectors that wait for their row group.
    full: Vec<(String, Vec<Vec<f64>>)>,
    progress: TableProgress,
}

impl<'k, W: Write + Send> TableWriter<'k, W> {
    /// Begins a file.
    ///
    /// # Errors
    /// [`Error::Plan`] without a column to encrypt, [`Error::Library`] for ranges that do not fit
    /// the parameters; those of the writer.
    pub fn new(client: &'k ClientKey, options: TableOptions, file: W) -> Result<Self> {
        Self::begin(Author::Owner(client), options, file)
    }

    /// Begins a file that somebody else provides, with the public key of the owner: who writes it
    /// cannot decrypt it. Its vectors take twice the bytes, as their masks are no seeds.
    ///
    /// Files of several providers are one table if their options are equal. The owner provides to
    /// it as others do.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn provided(key: &PublicKey, options: TableOptions, file: W) -> Result<Self> {
        Self::begin(Author::provider(key)?, options, file)
    }

    fn begin(author: Author<'k>, options: TableOptions, file: W) -> Result<Self> {
        if options.columns.is_empty() {
            return Err(Error::plan("TableWriter", "no column to encrypt: need one or more"));
        }
        let mut fields = Vec::new();
        if let Some(group) = &options.group {
            fields.push(Field::new(group, DataType::Utf8, false));
        }
        // Step 1: the public description of every column. The last vector of a group has padding.
        let (mut declared, mut ranges) = (Vec::new(), Vec::new());
        let failed = |error: bellerophon::ckks::Error| Error::Library(error);
        for column in &options.columns {
            let range = Interval::real(*column.range.start(), *column.range.end());
            let range = range.map_err(failed)?;
            declared.push(range);
            let mut write = |name: &str, range: Interval, gaps: Gaps| -> Result<()> {
                let x = author.describe(range)?;
                let (id, most) = (author.id(), options.most_vectors);
                let mut shape = Shape::new(options.params, id, most, &x);
                shape.gaps = gaps;
                let field = Field::new(name, DataType::Binary, false);
                fields.push(shape.on("TableWriter", field)?);
                ranges.push(range);
                Ok(())
            };
            if !column.nullable {
                write(&column.name, range, Gaps::None)?;
                continue;
            }
            let zero = Interval::real(range.lo().min(0.0), range.hi().max(0.0)).map_err(failed)?;
            let (mask, gaps) = (column.mask(), Gaps::Zeros(column.mask()));
            write(&column.name, zero, gaps.clone())?;
            write(&mask, Interval::real(0.0, 1.0).map_err(failed)?, gaps)?;
        }
        let mut names: Vec<&String> = fields.iter().map(Field::name).collect();
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            let reason = format!("two columns of the file have the name {:?}", pair[0]);
            return Err(Error::plan("TableWriter", reason));
        }
        // Step 2: the file.
        let schema = Arc::new(Schema::new(fields));
        let properties = WriterProperties::builder()
            .set_compression(Compression::UNCOMPRESSED)
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .build();
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties));
        let writer = writer.map_err(DataFusionError::from)?;
        let (open, full, progress) = Default::default();
        Ok(Self { author, options, declared, ranges, schema, writer, open, full, progress })
    }

    /// Encrypts the rows of a batch. Vectors that are full go to the file.
    ///
    /// # Errors
    /// [`Error::Column`] for a column that is not there, or a value that is not a number, outside
    /// the declared range, or missing where the column is not nullable, with its row; the value
    /// itself is not repeated.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<TableProgress> {
        let slots = self.author.params().ckks().max_slots();
        // Step 1: the columns as numbers, the groups as text.
        let groups = match &self.options.group {
            Some(name) => Some(column(batch, name, &DataType::Utf8)?),
            None => None,
        };
        let mut columns = Vec::<Vec<f64>>::new();
        for (column, range) in self.options.columns.iter().zip(&self.declared) {
            let values = self::column(batch, &column.name, &DataType::Float64)?;
            // Text that is no number would become a missing value.
            let given = batch.column_by_name(&column.name);
            let is_missing = |row| match given.map(|given| (given, given.as_string_opt::<i32>())) {
                Some((_, Some(text))) => text.is_null(row) || text.value(row).trim().is_empty(),
                Some((given, None)) => given.is_null(row),
                None => false,
            };
            let values: Float64Array = values.as_primitive().clone();
            let is_good = |row| match values.is_null(row) {
                true => column.nullable && is_missing(row),
                false => (range.lo()..=range.hi()).contains(&values.value(row)),
            };
            if let Some(row) = (0..values.len()).find(|&row| !is_good(row)) {
                let row = self.progress.rows + row + 1;
                let remedy = match !column.nullable && is_missing(row - self.progress.rows - 1) {
                    true => ": declare the column nullable, so that it gets a mask",
                    false => "",
                };
                let reason = format!(
                    "row {row} has no number in the declared range [{}, {}]{remedy}",
                    range.lo(),
                    range.hi()
                );
                return Err(Error::Column { column: column.name.clone(), reason });
            }
            columns.push(values.iter().map(|value| value.unwrap_or(0.0)).collect());
            if column.nullable {
                let present = values.iter().map(|value| f64::from(u8::from(value.is_some())));
                columns.push(present.collect());
            }
        }
        // Step 2: rows to the open vectors of their groups.
        for row in 0..batch.num_rows() {
            let group = groups.as_ref().map_or("", |groups| groups.as_string::<i32>().value(row));
            if !self.open.contains_key(group) {
                self.open.insert(group.to_string(), vec![Vec::new(); columns.len()]);
            }
            let Some(open) = self.open.get_mut(group) else { continue };
            open.iter_mut().zip(&columns).for_each(|(open, values)| open.push(values[row]));
            if open[0].len() == slots {
                let vectors = std::mem::replace(open, vec![Vec::new(); columns.len()]);
                self.full.push((group.to_string(), vectors));
            }
        }
        self.progress.rows += batch.num_rows();
        // Step 3: row groups that are complete.
        while self.full.len() >= ROW_GROUP {
            let vectors = self.full.drain(..ROW_GROUP).collect();
            self.row_group(vectors)?;
        }
        Ok(self.progress)
    }

    /// Encrypts the rows of comma-separated values under a line of column names, while they are
    /// read. `progress` gets what was written so far, after every [`CSV_ROWS`] rows.
    ///
    /// # Errors
    /// As [`write`](Self::write), those of the reader, names that semicolons or tabs separate, and
    /// rows with another number of fields.
    pub fn write_csv(
        &mut self,
        csv: impl Read,
        mut progress: impl FnMut(TableProgress),
    ) -> Result<TableProgress> {
        // Step 1: the names of the columns. All are text: `write` makes numbers of them, and
        // repeats no value in its errors.
        let mut csv = BufReader::new(csv);
        let mut names = Vec::new();
        csv.read_until(b'\n', &mut names).map_err(DataFusionError::from)?;
        if let Some(separators) = separators(&names) {
            let reason = format!(
                "the cells are separated by {separators}; save the file with commas between cells \
                 and points in numbers"
            );
            let column = self.options.columns[0].name.clone();
            return Err(Error::Column { column, reason });
        }
        let named = Format::default().with_header(true).infer_schema(&names[..], Some(0));
        let (named, _) = named.map_err(DataFusionError::from)?;
        let fields =
            named.fields().iter().map(|field| Field::new(field.name(), DataType::Utf8, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        // Step 2: the rows.
        let rows = ReaderBuilder::new(schema).with_batch_size(CSV_ROWS).build_buffered(csv);
        for batch in rows.map_err(DataFusionError::from)? {
            progress(self.write(&batch.map_err(DataFusionError::from)?)?);
        }
        Ok(self.progress)
    }

    /// Encrypts the rows that are left, and ends the file.
    ///
    /// # Errors
    /// Those of the library and of the writer.
    pub fn finish(mut self) -> Result<TableProgress> {
        let open = std::mem::take(&mut self.open);
        let left = open.into_iter().filter(|(_, vectors)| !vectors[0].is_empty());
        let mut left: Vec<_> = std::mem::take(&mut self.full).into_iter().chain(left).collect();
        while !left.is_empty() {
            let vectors = left.drain(..ROW_GROUP.min(left.len())).collect();
            self.row_group(vectors)?;
        }
        self.writer.close().map_err(DataFusionError::from)?;
        Ok(self.progress)
    }

    /// Encrypts the vectors of a row group, in parallel.
    fn row_group(&mut self, vectors: Vec<(String, Vec<Vec<f64>>)>) -> Result<()> {
        self.progress.vectors += vectors.len();
        if self.progress.vectors > self.options.most_vectors {
            let reason = format!(
                "more than {} vectors, the declared bound: count one more for every group",
                self.options.most_vectors
            );
            let column = self.options.columns[0].name.clone();
            return Err(Error::Column { column, reason });
        }
        let mut arrays: Vec<ArrayRef> = Vec::new();
        if self.options.group.is_some() {
            let groups = vectors.iter().map(|(group, _)| group.as_str());
            arrays.push(Arc::new(StringArray::from_iter_values(groups)));
        }
        for (i, range) in self.ranges.iter().enumerate() {
            let author = &self.author;
            let vectors = vectors.par_iter();
            let column: Result<Vec<_>> =
                vectors.map(|(_, columns)| author.encrypt(&columns[i], *range)).collect();
            arrays.push(Arc::new(BinaryArray::from_iter_values(column?)));
        }
        let batch = RecordBatch::try_new(self.schema.clone(), arrays);
        let batch = batch.map_err(DataFusionError::from)?;
        let written = self.writer.write(&batch).and_then(|()| self.writer.flush());
        Ok(written.map_err(DataFusionError::from)?)
    }
}

/// What separates the cells of a first line instead of commas. Separators in quotes do not count.
fn separators(line: &[u8]) -> Option<&'static str> {
    let unquoted = || line.split(|&byte| byte == b'"').step_by(2).flatten();
    let count = |sought: u8| unquoted().filter(|&&byte| byte == sought).count();
    [(b';', "semicolons"), (b'\t', "tabs")]
        .into_iter()
        .find(|&(separator, _)| count(separator) > count(b','))
        .map(|(_, name)| name)
}

/// A column of a batch, as this type.
fn column(batch: &RecordBatch, name: &str, data_type: &DataType) -> Result<ArrayRef> {
    let failed = |reason: String| Error::Column { column: name.into(), reason };
    let column = batch.column_by_name(name).ok_or_else(|| failed("there is none".into()))?;
    let column = cast(column, data_type).map_err(|error| failed(error.to_string()))?;
    if *data_type == DataType::Utf8 && column.null_count() > 0 {
        return Err(failed("a group has no name".into()));
    }
    Ok(column)
}
