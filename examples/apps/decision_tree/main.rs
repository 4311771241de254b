//! Private classification by a decision tree (PEGASUS, section V-B).
//!
//! The server trains a tree in the clear on 80% of a table (iris, or `--csv FILE --label NAME`) and
//! keeps it secret. The client standardises the features of other rows, encrypts them in one
//! ciphertext and sends it. The server evaluates its tree by look-ups on encrypted values and
//! returns one LWE ciphertext per row, which holds the class.
//!
//! The server learns nothing about the rows. The client learns the classes, and may learn more
//! about the tree: this program has no circuit privacy.
//! - Noise. The noise of a class depends on the tree, because of the tables. The server adds
//!   uniform noise of its own, as far as the encoding of the classes leaves room. The report states
//!   the statistical distance of the noise of one row from noise that does not depend on the tree
//!   (`row_log2_distance`); that of `r` rows is `r` times as large. For iris it is 2^-5.5 with
//!   RGSW, which guarantees nothing from 46 rows on. It cannot be 2^-40: the modulus of 45 bits has
//!   no room for that.
//! - Mask. The mask of the LWE ciphertext is computed from tree and query without randomness of the
//!   server. One row is enough to confirm a guess of the whole tree, and there is no bound on what
//!   else a mask reveals.
//!
//! Private look-up re-randomises masks and has enough room (`docs/private-lookup.md`), for a single
//! table.

mod cart;
mod data;
mod plan;
mod server;

use std::path::PathBuf;
use std::process::ExitCode;

use bellerophon::{lwe, prelude::*};
use cart::{Limits, Tree};
use common::prelude::*;
use common::stats::equal;
use data::{Data, REACH};
use plan::Plan;
use server::Server;

const SMALL: usize = 8;

/// The largest number of features of all rows in one ciphertext: extracted values stay in memory,
/// 32 KiB each.
const LARGEST_QUERY: usize = 4096;

/// Rows whose look-ups run together, each with tables of its own.
const ROWS_TOGETHER: usize = 16;

/// The declared standard deviation of the noise of a class, most of which is the server's own.
const NOISE: f64 = 0.25;

/// The factor by which training overestimates the noise of values.
const CAUTION: f64 = 2.0;

/// Classifies encrypted rows by a decision tree that the server keeps secret
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    tables: Tables,

    /// Numeric table to read (comma separated, first line = column names) instead of iris
    #[arg(long, value_name = "FILE", requires = "label")]
    csv: Option<PathBuf>,

    /// Column with the labels, 2 to 16 distinct integers [default: species]
    #[arg(long, value_name = "NAME")]
    label: Option<String>,

    /// Seed of the split into rows for training and for tests
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// Largest number of rows to classify encrypted
    #[arg(long, value_name = "R", default_value_t = 150)]
    rows: usize,

    /// Largest number of tests from the root to a leaf
    #[arg(long, value_name = "D", default_value_t = 12)]
    depth: usize,

    /// Largest number of inner nodes
    #[arg(long, value_name = "N", default_value_t = 64)]
    nodes: usize,

    /// Write a table of input (the label in the data), expected (the class of the tree in the
    /// clear) and got, one line per classified row
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn main() -> ExitCode {
    program::report(Defaults::of(&WITH_VALUES), |arguments: &Arguments, _| {
        output::check_out(arguments.out.as_deref(), arguments.csv.as_deref())?;
        let label = arguments.label.as_deref().unwrap_or("species");
        let mut data = Data::load(arguments.csv.as_deref(), label, arguments.seed)?;
        let most = if arguments.common.small { SMALL } else { arguments.rows };
        if most == 0 || arguments.depth == 0 || arguments.nodes == 0 {
            return Err(Failure::input("--rows, --depth and --nodes: need at least 1"));
        }
        data.testing.truncate(most);
        let params = session::params(&arguments.common)?;
        let features = data.features[0].len();
        let largest = LARGEST_QUERY.min(params.slots());
        if features > largest {
            return Err(Failure::input(format!(
                "{}: {features} features: at most {largest} for the preset {}",
                data.source,
                params.name()
            )));
        }
        compute(arguments, params, &data)
    })
}

fn compute(arguments: &Arguments, params: Params, data: &Data) -> Result<Facts, Failure> {
    let level = params.lookups().map_err(Failure::input)?.levels();
    let (lattice, needs) = arguments.tables.of(&params)?;
    let lattice = lattice.clone();
    let mut session = Session::open(params, &needs)?;

    // The server trains its tree.
    let limits = Limits {
        depth: arguments.depth,
        inner: arguments.nodes,
        noise: CAUTION * server::reading_noise(&lattice, 2.0 * REACH),
    };
    let (rows, classes) = data.rows(&data.training);
    let tree = session.prepare(|| Tree::train(&rows, &classes, limits));
    let plan = Plan::new(&tree, server::capacity(&lattice));
    debug_assert!(rows.iter().all(|row| plan.classify(row) == tree.classify(row)));
    let server = Server { params: &lattice, plan: &plan, classes: data.labels.len() };
    let mut rng = random::fresh()?;

    let (rows, classes) = data.rows(&data.testing);
    let features = rows[0].len();
    let together = (LARGEST_QUERY.min(session.params.slots()) / features).min(rows.len());
    let mut found: Vec<f64> = vec![];
    let (mut ciphertexts, mut distance) = (0, server::LEAST_DISTANCE);
    for query in rows.chunks(together) {
        // The client: feature by feature, so that the values of all rows of a feature are adjacent.
        let columns = (0..features).flat_map(|f| query.iter().map(move |row| row[f]));
        let x = session.encrypt(&columns.collect::<Vec<_>>(), -REACH..=REACH, level)?;
        ciphertexts += 1;

        // The server.
        let classes = session.follow(|evaluator| {
            let values = evaluator.extract(&x, -REACH..=REACH)?;
            let tables = evaluator.tables()?;
            let batches = (0..query.len()).step_by(ROWS_TOGETHER);
            let classes = batches.map(|first| {
                let count = ROWS_TOGETHER.min(query.len() - first);
                let places: Vec<usize> = (0..features)
                    .flat_map(|f| (0..count).map(move |row| f * query.len() + first + row))
                    .collect();
                let classes = server.classify(&tables, &values.select(&places)?, count)?;
                distance = distance.max(server::row_log2_distance(&classes));
                server.drowned(&classes, &mut rng)
            });
            let classes = classes.collect::<lwe::Result<Vec<_>>>()?;
            Ok::<_, bellerophon::Error>(classes)
        })?;
        // The declaration of the classes does not depend on the tree.
        let last = (data.labels.len() - 1) as f64;
        for part in classes {
            let sent = part.publish(0.0..=last, NOISE)?;
            found.extend(session.decrypt(|client| client.decrypt_lwe(&sent))?);
        }
    }

    let last = data.labels.len() - 1;
    let seen: Vec<usize> =
        found.iter().map(|v| v.round().clamp(0.0, last as f64) as usize).collect();
    let clear: Vec<usize> = rows.iter().map(|row| tree.classify(row)).collect();
    let labels = |classes: &[usize]| classes.iter().map(|&c| data.labels[c]).collect::<Vec<_>>();
    let (expected, got) = (labels(&clear), labels(&seen));
    let errors = Errors::between(&expected, &got);
    output::write_out(arguments.out.as_deref(), &labels(&classes), &expected, &got)?;
    let bits = lattice.ring_modulus().bits() as u64;
    let right = [equal(&seen, &classes), equal(&clear, &classes)];
    // PEGASUS takes one look-up for every inner node and one for every leaf
    // (`lookups_per_row_paper`). `row_log2_distance` bounds the statistical distance of the noise
    // of one row from noise that does not depend on the tree; that of `r` rows is `r` times as
    // large. Since the mask of a row is not re-randomised, a client can confirm a guess of the
    // tree. `agreement` counts rows for which the encrypted tree returns the class of the clear
    // one.
    Ok(session
        .outcome("decision_tree", seen.len(), session.engine(), &errors, right)
        .with("features", features)
        .with("classes", data.labels.len())
        .with("inner_nodes", tree.inner())
        .with("depth", tree.depth(0))
        .with("trained_on", data.training.len())
        .with("lookups_per_row", plan.lookups())
        .with("lookups_per_row_paper", 2 * tree.inner() + 1)
        .with("row_log2_distance", distance)
        .with("mask_rerandomised", false)
        .with("agreement", equal(&seen, &clear))
        .with("ciphertexts_up", ciphertexts)
        .with("bytes_up", session.sent_bytes)
        .with("bytes_down_per_row", ((lattice.spec().ring_degree as u64 + 1) * bits).div_ceil(8))
        .with("seed", arguments.seed)
        .with("source", &data.source)
        .with("label", &data.label))
}
