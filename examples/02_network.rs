//! A neural network on an encrypted input: 16 inputs, 8 hidden neurons with ReLU, one output with a
//! sigmoid.
//!
//! The server multiplies by plain matrices, one level each, and applies every activation by
//! look-up. Toy parameters protect nothing; a comment names the preset of real programs.

use bellerophon::circuits::lintrans::LinearOptions;
use bellerophon::circuits::matrix::{Matrix, MatrixVector};
use bellerophon::prelude::*;

fn main() -> bellerophon::Result<()> {
    // The server's model. The rows are neurons.
    let hidden: Vec<Vec<f64>> = (0..8)
        .map(|i| (0..16).map(|j| ((i * 5 + j * 3) % 7) as f64 / 24.0 - 0.125).collect())
        .collect();
    let output: Vec<Vec<f64>> = vec![(0..8).map(|i| (i % 3) as f64 - 1.0).collect()];

    let params = Params::preset(Preset::Insecure(Toy::Functions))?; // programs: `Preset::Functions`
    let options = LinearOptions::default();
    let (top, after) = (params.levels(), params.lookups()?.level_after()); // where look-ups return
    let first = MatrixVector::new(params.ckks(), &Matrix::from_rows(&hidden)?, top, options)?;
    let second = MatrixVector::new(params.ckks(), &Matrix::from_rows(&output)?, after, options)?;

    let client = ClientKey::generate(&params)?;
    let needs = Needs::new().map().keys(&first.keys()).keys(&second.keys());
    let server = Evaluator::new(client.evaluation_keys(&needs)?)?;

    let input: Vec<f64> = (0..16).map(|j| (j % 4) as f64 / 4.0).collect();
    let x = client.encrypt(&input, 0.0..=1.0)?;
    let relu = MapRequest::new(|v: f64| v.max(0.0)).leaving(after); // where `second` begins
    let h = server.map_with(&first.apply(&server, &x)?, &relu)?;
    let y = server.map(&second.apply(&server, &h)?, |v| 1.0 / (1.0 + (-v).exp()))?;

    let dot = |row: &[f64], x: &[f64]| row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
    let relu: Vec<f64> = hidden.iter().map(|row| dot(row, &input).max(0.0)).collect();
    let expected = 1.0 / (1.0 + (-dot(&output[0], &relu)).exp());
    assert!((client.decrypt(&y)?[0] - expected).abs() < 0.1);
    Ok(())
}
