//! A survey: many providers, one server, one owner of the results.
//!
//! Each provider (a hospital, a shop, a school) holds answers from 0 to 10. It reads the owner's
//! public key and sends its answers encrypted. The server adds up what all of them sent and
//! computes the mean of the answers and their histogram. The owner decrypts these results and
//! nothing else: a single answer never leaves its provider in the clear.
//!
//! A bar of the histogram is the sum of a polynomial that is 1 at one answer and 0 at the others.
//! The results are shares of all answers; times their number, they round to the exact counts.
//!
//! The numbers of providers and of answers are public, and so is the scale of the answers. The
//! owner must not work together with the server: it could decrypt what a provider sent.

use std::path::PathBuf;
use std::process::ExitCode;

use bellerophon::{Error, ProgramBounds, format, mlwe::Security, prelude::*};
use bellerophon::{
    circuits::{chebyshev::Chebyshev, polynomial::Polynomial},
    ckks::{self, CkksOps, Interval, simulator::Simulator},
};
use common::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Beta, Binomial, Distribution};

/// The one parameter set, chosen for this program.
const PRESET: &str = "survey";
/// The largest answer; the smallest is 0.
const LARGEST: usize = 10;
const SEED: u64 = 1968;
const SMALL: usize = 50;
/// Levels: a polynomial of degree 10 and the removal of the padding.
const DEPTH: usize = 5;
/// Correct bits of a share. A count of a million answers needs 21.
const BITS: f64 = 25.0;
/// The error of a polynomial, relative to its largest value, that the owner allows for.
const TOLERANCE: f64 = 1.0 / 1024.0;
/// Limits of the command line: the counts stay exact.
const MOST_PROVIDERS: usize = 100;
const MOST_ANSWERS: usize = 4096;

const ENCRYPTION: &str = "encryption by the providers";
const STATISTICS: &str = "mean and histogram";
const DECRYPTION: &str = "decryption";

/// Computes the mean and the histogram of answers that many providers encrypt for one owner
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Number of providers
    #[arg(long, value_name = "P", default_value_t = 12)]
    providers: usize,

    /// Answers of each provider [default: 500]
    #[arg(long, value_name = "N")]
    answers: Option<usize>,

    /// Write a table of input (the answer), expected (how many gave it) and got
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn main() -> ExitCode {
    program::report(Defaults::of(&[PRESET]), |arguments: &Arguments, console| {
        output::check_out(arguments.out.as_deref(), None)?;
        let providers = arguments.providers;
        let each = arguments.common.size(arguments.answers, SMALL, 500);
        if !(1..=MOST_PROVIDERS).contains(&providers) {
            return Err(Failure::input(format!("--providers: need 1 to {MOST_PROVIDERS}")));
        }
        if !(1..=MOST_ANSWERS).contains(&each) {
            return Err(Failure::input(format!("--answers: need 1 to {MOST_ANSWERS}")));
        }
        let mut rng = random::seeded(SEED);
        let answers = (0..providers).map(|_| answers(each, &mut rng)).collect::<Result<_, _>>()?;
        compute(arguments, answers, console)
    })
}

/// The answers of one provider, where people are more or less content than elsewhere.
fn answers(count: usize, rng: &mut ChaCha20Rng) -> Result<Vec<u64>, Failure> {
    let content = Beta::new(4.0, 2.0).map_err(Failure::run)?.sample(rng);
    let answer = Binomial::new(LARGEST as u64, content).map_err(Failure::run)?;
    Ok(answer.sample_iter(rng).take(count).collect())
}

/// An answer as a number of `[0, 1]`.
fn encoded(answer: u64) -> f64 {
    answer as f64 / LARGEST as f64
}

/// What the server computes of all that was sent: the mean of the answers, and the share of each.
struct Program {
    /// Answers of all providers.
    total: usize,
    /// Each is `1 / total` at one answer, and 0 at the others.
    bars: Vec<Polynomial>,
}

impl Program {
    fn new(total: usize) -> Self {
        let bar = |answer: usize| {
            // Lagrange's polynomial of the nodes 0, 1/10, .., 1.
            let at = |x: f64| {
                let others = (0..=LARGEST).filter(|&other| other != answer);
                let factor = |other: usize| {
                    (x * LARGEST as f64 - other as f64) / (answer as f64 - other as f64)
                };
                others.map(factor).product::<f64>() / total as f64
            };
            Polynomial::new(Chebyshev::interpolate(at, 0.0, 1.0, LARGEST))
        };
        Self { total, bars: (0..=LARGEST).map(bar).collect() }
    }

    /// The range of a share, with its error.
    fn shares(total: f64) -> ckks::Result<Interval> {
        Interval::real(-TOLERANCE / total, (1.0 + TOLERANCE) / total)
    }

    fn run<A: CkksOps>(&self, a: &A, sent: &[A::Ciphertext]) -> ckks::Result<Vec<A::Ciphertext>> {
        // The mean is the sum of all answers over their number.
        let all = a.add_many(&sent.iter().collect::<Vec<_>>())?;
        let mean = a.sum_slots(&a.mul_scalar(&all, LARGEST as f64 / self.total as f64)?)?;
        // The bars of each provider, then of all.
        let bars: Vec<(&Polynomial, Option<f64>)> = self.bars.iter().map(|p| (p, None)).collect();
        let mut shares: Vec<Vec<A::Ciphertext>> = vec![vec![]; bars.len()];
        for x in sent {
            for (share, y) in shares.iter_mut().zip(a.polynomials(x, &bars)?) {
                // Every slot holds an answer, or the 0 of the padding.
                let range = Self::shares(self.total as f64)?;
                share.push(a.assume_range_with_padding(y, range));
            }
        }
        let mut results = vec![mean];
        for share in shares {
            results.push(a.sum_slots(&a.add_many(&share.iter().collect::<Vec<_>>())?)?);
        }
        Ok(results)
    }

    /// The declarations of the results, which depend on no answer.
    fn declared(&self) -> impl Iterator<Item = Declaration> {
        let mean = std::iter::once(Declaration::from(0.0..=LARGEST as f64).with_noise(1e-3));
        let share = Declaration::from(-TOLERANCE..=1.0 + TOLERANCE).with_noise(1e-6);
        mean.chain(self.bars.iter().map(move |_| share))
    }
}

/// The protocol: owner, providers, server, owner.
fn compute(
    arguments: &Arguments,
    answers: Vec<Vec<u64>>,
    console: &Console,
) -> Result<Facts, Failure> {
    let (providers, each) = (answers.len(), answers[0].len());
    let total = providers * each;
    let program = Program::new(total);
    let stages = Stages::default();

    // The owner. A simulation of the program tells which keys the server needs.
    let params = Params::choose(&ProgramBounds {
        security: Security::Bits128,
        slots: each,
        depth: DEPTH,
        accuracy: Accuracy::bits(BITS),
        bootstraps: false,
    })?;
    let needs = needs(&params, &program, providers, each)?;
    let (owner, keys) = session::keys(&params, &needs, &stages)?;
    let public = owner.public_key()?.to_bytes()?;
    let eval_key_bytes = keys.byte_len() as u64;

    // The providers: each has the parameters and the bytes of the public key.
    let sent = stages.run(ENCRYPTION, || {
        let send = |answers: &Vec<u64>| {
            let key = PublicKey::from_bytes(&params, &public)?;
            let values: Vec<f64> = answers.iter().map(|&answer| encoded(answer)).collect();
            format::to_bytes(&params, &key.encrypt(&values, 0.0..=1.0)?)
        };
        answers.iter().map(send).collect::<Result<Vec<_>, Error>>()
    })?;
    let ciphertext_bytes = sent.iter().map(|bytes| bytes.len() as u64).sum();
    stages.made(ciphertext_bytes);

    // The server: it checks what it reads, and publishes results as the program declares them.
    let server = Evaluator::new(keys)?;
    let results = stages.run(STATISTICS, || {
        let read = |bytes: &Vec<u8>| Ok(format::from_bytes::<Provided>(&params, bytes)?.into());
        let sent: Vec<Ciphertext> = sent.iter().map(read).collect::<Result<_, Error>>()?;
        let results = program.run(&server, &sent)?;
        let publish = |(x, declared)| server.publish(x, declared);
        results.iter().zip(program.declared()).map(publish).collect::<Result<Vec<_>, Error>>()
    })?;

    // The owner: every slot of a result holds the same number.
    let found = stages.run(DECRYPTION, || {
        let first = |result| Ok(owner.decrypt(result)?[0]);
        results.iter().map(first).collect::<Result<Vec<f64>, Error>>()
    })?;
    let (mean, shares) = (found[0], &found[1..]);
    let got: Vec<f64> = shares.iter().map(|share| share * total as f64).collect();
    let histogram: Vec<u64> = got.iter().map(|count| count.round() as u64).collect();

    // The comparison, which needs all answers in the clear.
    let mut counts = vec![0u64; LARGEST + 1];
    answers.iter().flatten().for_each(|&answer| counts[answer as usize] += 1);
    let sum: u64 = answers.iter().flatten().sum();
    let expected: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
    let scale: Vec<f64> = (0..=LARGEST).map(|answer| answer as f64).collect();
    output::write_out(arguments.out.as_deref(), &scale, &expected, &got)?;
    let most = histogram.iter().copied().max().unwrap_or(0).max(1);
    for (answer, &count) in histogram.iter().enumerate() {
        let bar = "#".repeat((count * 50 / most) as usize);
        console.say(format_args!("{answer:>4} {count:>7} {bar}"));
    }
    let report = Report {
        security_bits: params.security_bits(),
        eval_s: stages.seconds(&[STATISTICS]),
        eval_key_bytes,
        ciphertext_bytes,
        ..Report::of(total, PRESET, &stages, &Errors::between(&expected, &got))
    };
    Ok(Facts::of(report)
        .with("providers", providers)
        .with("answers_each", each)
        .with("mean", mean)
        .with("mean_error", (mean - sum as f64 / total as f64).abs())
        .with("histogram_exact", histogram == counts)
        .with("histogram", histogram)
        .with("public_key_bytes", public.len())
        .stages(&stages))
}

/// The keys of the program, from a run on plain vectors of the same shape.
fn needs(params: &Params, program: &Program, providers: usize, each: usize) -> ckks::Result<Needs> {
    let simulator = Simulator::new(params.ckks());
    let any = simulator.encrypt(&vec![0.0; each], Interval::real(0.0, 1.0)?, params.levels())?;
    program.run(&simulator, &vec![any; providers])?;
    Ok(Needs::new().keys(&simulator.report().keys))
}
