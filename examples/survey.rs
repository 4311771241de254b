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

use bellerophon::ckks::{
    self, CkksOps, Interval, chebyshev::Chebyshev, polynomial::Polynomial, simulator::Simulator,
};
use bellerophon::{Error, ProgramBounds, format, mlwe::Security, prelude::*};
use clap::Parser;
use common::args::Common;
use common::console::{Console, Stages};
use common::memory::{human, peak_rss_bytes};
use common::output::{self, Report};
use common::program::{self, Defaults, Failure};
use common::random;
use common::stats::Errors;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Beta, Binomial, Distribution};
use serde::Serialize;

/// The one parameter set, chosen for this program.
const PRESET: &str = "survey";
/// The largest answer; the smallest is 0.
const LARGEST: usize = 10;
/// The seed of the answers.
const SEED: u64 = 1968;
/// Answers of a provider with `--small`.
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

const KEY_GENERATION: &str = "key generation";
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

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct Survey<'a> {
    #[serde(flatten)]
    report: Report,
    providers: usize,
    answers_each: usize,
    mean: f64,
    mean_error: f64,
    histogram: Vec<u64>,
    histogram_exact: bool,
    public_key_bytes: usize,
    #[serde(serialize_with = "Stages::as_seconds")]
    stages: &'a Stages,
    #[serde(rename = "stage_bytes", serialize_with = "Stages::as_sizes")]
    sizes: &'a Stages,
}

fn main() -> ExitCode {
    let defaults = Defaults { presets: &[PRESET], threads: None };
    program::run(defaults, |arguments: &Arguments| {
        output::check_out(arguments.out.as_deref(), None)?;
        let providers = arguments.providers;
        let each = arguments.answers.unwrap_or(if arguments.common.small { SMALL } else { 500 });
        if !(1..=MOST_PROVIDERS).contains(&providers) {
            return Err(Failure::input(format!("--providers: need 1 to {MOST_PROVIDERS}")));
        }
        if !(1..=MOST_ANSWERS).contains(&each) {
            return Err(Failure::input(format!("--answers: need 1 to {MOST_ANSWERS}")));
        }
        let mut rng = random::seeded(SEED);
        let answers = (0..providers).map(|_| answers(each, &mut rng)).collect::<Result<_, _>>()?;
        compute(arguments, answers)
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
        let bars: Vec<&Polynomial> = self.bars.iter().collect();
        let mut shares: Vec<Vec<A::Ciphertext>> = vec![vec![]; bars.len()];
        for x in sent {
            for (share, y) in shares.iter_mut().zip(a.polynomials(x, &bars, None)?) {
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
fn compute(arguments: &Arguments, answers: Vec<Vec<u64>>) -> Result<(), Failure> {
    let console = Console::new(arguments.common.json);
    let (providers, each) = (answers.len(), answers[0].len());
    let total = providers * each;
    let program = Program::new(total);
    let mut stages = Stages::default();

    // The owner. A simulation of the program tells which keys the server needs.
    let (security, bootstraps) = (Security::Bits128, false);
    let bounds = ProgramBounds {
        security,
        slots: each,
        depth: DEPTH,
        accuracy: Accuracy::bits(BITS),
        bootstraps,
    };
    let params = Params::choose(&bounds).map_err(Failure::run)?;
    let (owner, keys, public) = stages
        .run(KEY_GENERATION, || {
            let owner = ClientKey::generate(&params)?;
            let keys = owner.evaluation_keys(&needs(&params, &program, providers, each)?)?;
            let public = owner.public_key()?.to_bytes()?;
            Ok((owner, keys, public))
        })
        .map_err(|error: Error| Failure::run(error))?;
    let eval_key_bytes = keys.byte_len() as u64;
    stages.made(eval_key_bytes);

    // The providers: each has the parameters and the bytes of the public key.
    let sent: Result<Vec<Vec<u8>>, Error> = stages.run(ENCRYPTION, || {
        let send = |answers: &Vec<u64>| {
            let key = PublicKey::from_bytes(&params, &public)?;
            let values: Vec<f64> = answers.iter().map(|&answer| encoded(answer)).collect();
            format::to_bytes(&params, &key.encrypt(&values, 0.0..=1.0)?)
        };
        answers.iter().map(send).collect()
    });
    let sent = sent.map_err(Failure::run)?;
    let sent_bytes = sent.iter().map(|bytes| bytes.len() as u64).sum();
    stages.made(sent_bytes);

    // The server: it checks what it reads, and publishes results as the program declares them.
    let server = Evaluator::new(keys).map_err(Failure::run)?;
    let results: Result<Vec<Published>, Error> = stages.run(STATISTICS, || {
        let read = |bytes: &Vec<u8>| Ok(format::from_bytes::<Provided>(&params, bytes)?.into());
        let sent: Vec<Ciphertext> = sent.iter().map(read).collect::<Result<_, Error>>()?;
        let results = program.run(&*server, &sent)?;
        let publish = |(x, declared)| server.publish(x, declared);
        results.iter().zip(program.declared()).map(publish).collect()
    });
    let results = results.map_err(Failure::run)?;

    // The owner: every slot of a result holds the same number.
    let found: Result<Vec<f64>, Error> = stages
        .run(DECRYPTION, || results.iter().map(|result| Ok(owner.decrypt(result)?[0])).collect());
    let found = found.map_err(Failure::run)?;
    let (mean, shares) = (found[0], &found[1..]);
    let got: Vec<f64> = shares.iter().map(|share| share * total as f64).collect();
    let histogram: Vec<u64> = got.iter().map(|count| count.round() as u64).collect();

    // The comparison, which needs all answers in the clear.
    let mut counts = vec![0u64; LARGEST + 1];
    answers.iter().flatten().for_each(|&answer| counts[answer as usize] += 1);
    let sum: u64 = answers.iter().flatten().sum();
    let expected: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
    let errors = Errors::between(&expected, &got);
    let scale: Vec<f64> = (0..=LARGEST).map(|answer| answer as f64).collect();
    if let Some(path) = &arguments.out {
        output::write_out(path, &scale, &expected, &got)?;
    }
    let survey = Survey {
        report: Report {
            n: total,
            preset: PRESET.to_string(),
            security_bits: params.security_bits(),
            engine: "none".to_string(),
            keygen_s: stages.seconds(&[KEY_GENERATION]),
            eval_s: stages.seconds(&[STATISTICS]),
            max_abs_err: errors.max,
            mean_abs_err: errors.mean,
            eval_key_bytes,
            ciphertext_bytes: sent_bytes,
            peak_rss_bytes: peak_rss_bytes(),
            threads: rayon::current_num_threads(),
        },
        providers,
        answers_each: each,
        mean,
        mean_error: (mean - sum as f64 / total as f64).abs(),
        histogram_exact: histogram == counts,
        histogram,
        public_key_bytes: public.len(),
        stages: &stages,
        sizes: &stages,
    };
    show(&console, &survey);
    if arguments.common.json {
        output::print_json(&survey)?;
    }
    Ok(())
}

/// The keys of the program, from a run on plain vectors of the same shape.
fn needs(params: &Params, program: &Program, providers: usize, each: usize) -> ckks::Result<Needs> {
    let simulator = Simulator::new(params.ckks());
    let any = simulator.encrypt(&vec![0.0; each], Interval::real(0.0, 1.0)?, params.levels())?;
    program.run(&simulator, &vec![any; providers])?;
    Ok(Needs::new().keys(&simulator.report().keys))
}

/// The report for people.
fn show(console: &Console, survey: &Survey) {
    let Survey { report, providers, answers_each, histogram, .. } = survey;
    console.say(format_args!(
        "{} answers of {providers} providers, {answers_each} each, under one public key of {}",
        report.n,
        human(survey.public_key_bytes as u64)
    ));
    console.say(format_args!(
        "{:.1}-bit security, {} threads\n",
        report.security_bits, report.threads
    ));
    console.say(format_args!("mean {:.6}, error {:.1e}", survey.mean, survey.mean_error));
    let most = histogram.iter().copied().max().unwrap_or(0).max(1);
    for (answer, &count) in histogram.iter().enumerate() {
        let bar = "#".repeat((count * 50 / most) as usize);
        console.say(format_args!("{answer:>4} {count:>7} {bar}"));
    }
    console.say(match survey.histogram_exact {
        true => "the histogram is exact\n",
        false => "the histogram is WRONG\n",
    });
    console.stages(survey.stages);
}
