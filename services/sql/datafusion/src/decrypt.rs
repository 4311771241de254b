//! The client: results of a query to tables in the clear.

use std::{io::Write, sync::Arc};

use bellerophon::ClientKey;
use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, Float64Array, UInt32Array},
        compute::{concat_batches, take},
        csv::WriterBuilder,
        datatypes::{DataType, Field, Schema},
        record_batch::RecordBatch,
    },
    common::DataFusionError,
};

use crate::{
    Error, Result,
    values::{self, are_values},
    vector,
};

/// The values of a vector that a result has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// All: the result of a function of single values. A row of the result becomes a row for each
    /// value, and the columns in the clear repeat.
    All,
    /// The first: the result of a sum, a mean or a variance, which every slot has.
    First,
}

/// Decrypts the batches of a result into one: columns of bytes become columns of numbers.
///
/// # Errors
/// [`Error::Column`] for a column of bytes that is no encrypted or LWE vector of this client, and
/// for vectors of one row with unequal numbers of values.
pub fn decrypt(client: &ClientKey, batches: &[RecordBatch], values: Values) -> Result<RecordBatch> {
    let Some(first) = batches.first() else {
        return Ok(RecordBatch::new_empty(Arc::new(Schema::empty())));
    };
    let batch = concat_batches(&first.schema(), batches).map_err(DataFusionError::from)?;
    // Step 1: the numbers of each row and encrypted column.
    let mut decrypted: Vec<Option<Vec<Option<Vec<f64>>>>> = Vec::new();
    let mut counts = vec![None; batch.num_rows()];
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        if *field.data_type() != DataType::Binary {
            decrypted.push(None);
            continue;
        }
        let failed = |row: usize, reason: String| {
            let reason = format!("row {}: {reason}", row + 1);
            Error::Column { column: field.name().clone(), reason }
        };
        let mut column = Vec::new();
        for (row, known) in counts.iter_mut().enumerate() {
            if array.is_null(row) {
                column.push(None);
                continue;
            }
            let (params, bytes) = (client.params(), array.as_binary::<i32>().value(row));
            let x = match are_values(bytes) {
                true => values::read(params, bytes).and_then(|x| client.decrypt_lwe(&x)),
                false => vector::read(params, bytes).and_then(|x| client.decrypt(&x)),
            };
            let mut x = x.map_err(|error| failed(row, error.to_string()))?;
            if values == Values::First {
                x.truncate(1);
            }
            let count = *known.get_or_insert(x.len());
            if x.len() != count {
                let reason = format!("{} values beside {count} of another column", x.len());
                return Err(failed(row, reason));
            }
            column.push(Some(x));
        }
        decrypted.push(Some(column));
    }
    // Step 2: a row for each value. A row without encrypted values stays one row.
    let counts: Vec<usize> = counts.into_iter().map(|count| count.unwrap_or(1)).collect();
    let places = counts.iter().enumerate().flat_map(|(row, &n)| std::iter::repeat_n(row as u32, n));
    let places = UInt32Array::from_iter_values(places);
    let (mut fields, mut arrays) = (Vec::new(), Vec::<ArrayRef>::new());
    for ((field, array), column) in
        batch.schema().fields().iter().zip(batch.columns()).zip(decrypted)
    {
        match column {
            None => {
                fields.push(field.as_ref().clone());
                arrays.push(take(array, &places, None).map_err(DataFusionError::from)?);
            }
            Some(column) => {
                fields.push(Field::new(field.name(), DataType::Float64, true));
                let numbers =
                    column.into_iter().zip(&counts).flat_map(|(values, &count)| match values {
                        Some(values) => values.into_iter().map(Some).collect(),
                        None => vec![None; count],
                    });
                arrays.push(Arc::new(numbers.collect::<Float64Array>()));
            }
        }
    }
    let schema = Arc::new(Schema::new(fields));
    Ok(RecordBatch::try_new(schema, arrays).map_err(DataFusionError::from)?)
}

/// Decrypts the batches of a result, and writes them as comma-separated values under a line of
/// column names, a missing value as an empty field. Numbers have the digits that read back as the
/// same number. Returns the number of rows in the clear.
///
/// One batch is in the clear at a time. What was written before an error stays written.
///
/// # Errors
/// As [`decrypt`], and those of the writer.
pub fn write_csv(
    client: &ClientKey,
    batches: &[RecordBatch],
    values: Values,
    out: impl Write,
) -> Result<usize> {
    let mut writer = WriterBuilder::new().with_header(true).build(out);
    let mut rows = 0;
    for batch in batches {
        let clear = decrypt(client, std::slice::from_ref(batch), values)?;
        rows += clear.num_rows();
        writer.write(&clear).map_err(DataFusionError::from)?;
    }
    Ok(rows)
}
