//! Columns with missing values.

use std::{fs::File, sync::Arc};

use bellerophon::prelude::*;
use bellerophon_datafusion::{EncryptedColumn, TableOptions, TableWriter, Values};
use datafusion::arrow::{
    array::{ArrayRef, AsArray, Float64Array, StringArray},
    datatypes::Int64Type,
    record_batch::RecordBatch,
};

use crate::world::{ROWS, World, close, numbers};

/// Whether a row has an age.
fn is_present(row: usize) -> bool {
    row % 7 != 3 && !row.is_multiple_of(4)
}

/// An age, from 18 to 90.
fn age(row: usize) -> f64 {
    18.0 + (row * 37 % 72) as f64
}

fn options(world: &World, nullable: bool) -> TableOptions {
    let ages = EncryptedColumn { nullable, ..EncryptedColumn::new("age", 18.0..=90.0) };
    let columns = vec![ages, EncryptedColumn::new("x", -2.0..=2.0)];
    TableOptions { columns, ..world.options() }
}

async fn world() -> World {
    let world = World::of(Preset::Insecure(Toy::Functions), &Needs::new().multiply().sums(1024));
    let file = File::create(world.folder.path().join("ages.parquet")).unwrap();
    let mut writer = TableWriter::new(&world.client, options(&world, true), file).unwrap();
    // One half as columns with NULLs, the other as text with empty fields.
    let half = ROWS / 2;
    let ages: Float64Array = (0..half).map(|i| is_present(i).then(|| age(i))).collect();
    let columns: [(&str, ArrayRef); 3] = [
        ("age", Arc::new(ages)),
        ("x", Arc::new(Float64Array::from(world.x[..half].to_vec()))),
        ("g", Arc::new(StringArray::from(world.groups[..half].to_vec()))),
    ];
    writer.write(&RecordBatch::try_from_iter(columns).unwrap()).unwrap();
    let mut csv = String::from("g,age,x\n");
    for i in half..ROWS {
        let age = if is_present(i) { age(i).to_string() } else { String::new() };
        csv += &format!("{},{age},{}\n", world.groups[i], world.x[i]);
    }
    writer.write_csv(csv.as_bytes(), |_| {}).unwrap();
    writer.finish().unwrap();
    world
}

#[tokio::test]
async fn sums_and_counts_are_over_the_values_that_are_there() {
    let world = world().await;
    let session = world.session().await;
    world.register(&session, "s", "ages.parquet").await;
    let sql = "SELECT g, he_sum_slots(he_sum(age)) AS s, he_sum_slots(he_sum(age_present)) AS n, \
               he_sum_slots(he_sum(he_mul(age, x))) AS p, \
               he_sum_slots(he_sum(he_mul(he_sub(age, x), age_present))) AS d, count(*) AS rows \
               FROM s GROUP BY g ORDER BY g";
    let found = world.query(&session, sql, Values::First).await;
    for (place, group) in ["a", "b"].into_iter().enumerate() {
        let all = (0..ROWS).filter(|&i| world.groups[i] == group);
        let there: Vec<usize> = all.clone().filter(|&i| is_present(i)).collect();
        let sum = |value: &dyn Fn(usize) -> f64| there.iter().map(|&i| value(i)).sum::<f64>();
        let of = |column: &str| vec![numbers(&found, column)[place]];
        close(&of("s"), &[sum(&age)], 1e-1);
        close(&of("n"), &[there.len() as f64], 1e-2);
        close(&of("p"), &[sum(&|i| age(i) * world.x[i])], 1.0);
        close(&of("d"), &[sum(&|i| age(i) - world.x[i])], 1e-1);
        // The mean is the quotient.
        let mean = of("s")[0] / of("n")[0];
        close(&[mean], &[sum(&age) / there.len() as f64], 1e-3);
        let rows = found.column_by_name("rows").unwrap().as_primitive::<Int64Type>();
        assert_eq!(rows.value(place), all.count() as i64);
    }
    // What would take the zeros for values is refused, with what serves.
    for (call, expected) in [
        ("he_mean(age)", "he_sum_slots(he_sum(age_present))"),
        ("he_variance(age)", "he_sum_slots(he_sum(age_present))"),
        ("count(age)", "he_sum_slots(he_sum(age_present))"),
        ("he_sum(he_sub(age, x))", "he_mul(x, age_present)"),
        ("he_sum_slots(he_polynomial(age, '1,0,1'))", "he_mul(x, age_present)"),
        ("he_dot(he_polynomial(age, '1,1'), x)", "he_mul(x, age_present)"),
    ] {
        world.refuses(&session, &format!("SELECT {call} FROM s"), expected).await;
    }
    // Other columns of the table have all their values.
    let found = world.query(&session, "SELECT he_mean(x) AS m FROM s", Values::First).await;
    close(&numbers(&found, "m"), &[world.x.iter().sum::<f64>() / ROWS as f64], 1e-4);
}

#[test]
fn a_missing_value_needs_a_column_with_a_mask() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let world = runtime.block_on(world());
    let csv = |nullable, age: &str| {
        let options = options(&world, nullable);
        let mut writer = TableWriter::new(&world.client, options, Vec::new()).unwrap();
        writer.write_csv(format!("g,age,x\na,{age},0.5\n").as_bytes(), |_| {})
    };
    csv(true, "").unwrap();
    let refused = csv(false, "").unwrap_err().to_string();
    assert!(refused.contains("row 1") && refused.contains("declare the column nullable"));
    // What is no number is not missing, and zero is no value of the declared range.
    for bad in ["secret", "0", "NaN"] {
        let refused = csv(true, bad).unwrap_err().to_string();
        assert!(
            refused.contains("row 1 has no number in the declared range [18, 90]"),
            "{refused}"
        );
        assert!(!refused.contains("secret") && !refused.contains("nullable"), "{refused}");
    }
    // The name of the mask is taken.
    let mut options = options(&world, true);
    options.columns.push(EncryptedColumn::new("age_present", 0.0..=1.0));
    let refused = TableWriter::new(&world.client, options, Vec::new()).unwrap_err().to_string();
    assert!(refused.contains("two columns of the file"), "{refused}");
}
