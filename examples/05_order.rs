//! Median, the five largest values, and the nearest of the server's points.
//!
//! Sorting and searching compare values by look-ups on LWE ciphertexts. Toy parameters protect
//! nothing; a comment names the preset of real programs.

use bellerophon::circuits::lintrans::LinearOptions;
use bellerophon::circuits::matrix::{Matrix, MatrixVector};
use bellerophon::{SortOrder, prelude::*};

fn main() -> bellerophon::Result<()> {
    // The server's points. |q - p|^2 = |q|^2 - 2 p q + |p|^2, and |q|^2 is the same for all points.
    let points = [[0.5, 0.5], [-0.75, 0.25], [0.0, -0.5], [0.75, -0.75]];
    let rows: Vec<Vec<f64>> = points.iter().map(|p| p.iter().map(|v| -2.0 * v).collect()).collect();
    let norms: Vec<f64> = points.iter().map(|p| p.iter().map(|v| v * v).sum()).collect();

    let params = Params::preset(Preset::Insecure(Toy::Functions))?; // programs: `Preset::Functions`
    let (rows, options) = (Matrix::from_rows(&rows)?, LinearOptions::default());
    let products = MatrixVector::new(params.ckks(), &rows, params.levels(), options)?;
    let client = ClientKey::generate(&params)?;
    let needs = Needs::new().map().keys(&products.keys());
    let server = Evaluator::new(client.evaluation_keys(&needs)?)?;

    let values = [0.3, -0.8, 0.9, -0.1, 0.6, -0.4, 0.1];
    let x = client.encrypt(&values, -1.0..=1.0)?;
    let within = server.within(-1.0..=1.0);
    let median = client.decrypt(&within.sort(&x, SortOrder::Ascending)?)?[values.len() / 2];
    let largest = client.decrypt(&within.largest(&x, 5)?)?;
    assert!((median - 0.1).abs() < 0.1);
    assert!(largest.iter().zip([0.9, 0.6, 0.3, 0.1, -0.1]).all(|(a, b)| (a - b).abs() < 0.1));

    let query = client.encrypt(&[0.6, -0.5], -1.0..=1.0)?;
    let distances = server.add_values(&products.apply(&server, &query)?, &norms)?;
    let nearest = server.within(-4.0..=6.0).argmin_index(&distances)?;
    assert_eq!(client.decrypt(&nearest)?[0].round(), 3.0);
    Ok(())
}
