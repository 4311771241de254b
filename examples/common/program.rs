//! The frame around every program: arguments in, an exit status and at most one error line out.

use std::io::Write;
use std::process::ExitCode;

use clap::{ArgMatches, Command, FromArgMatches, Parser, builder::PossibleValuesParser};

use super::args::Common;
use super::console::Console;
use super::facts::Facts;
use super::output;

/// The reason why a program stops early.
#[derive(Debug)]
pub enum Failure {
    /// Bad arguments, bad files or data outside the domain: exit status 2.
    Input(String),
    /// Any other failure: exit status 1.
    Run(String),
}

impl Failure {
    /// A failure that the user's input explains.
    pub fn input(why: impl ToString) -> Self {
        Self::Input(why.to_string())
    }

    /// A failure of the computation itself.
    pub fn run(why: impl ToString) -> Self {
        Self::Run(why.to_string())
    }
}

/// An error of the library: of the computation, unless the program says otherwise.
impl From<bellerophon::Error> for Failure {
    fn from(error: bellerophon::Error) -> Self {
        Self::run(error)
    }
}

/// The meaning of the common flags for a program.
#[derive(Debug, Clone, Copy)]
pub struct Defaults<'a> {
    /// The values of `--preset`, the default first.
    pub presets: &'a [&'static str],
    /// The default of `--threads`; `None` is one per core.
    pub threads: Option<usize>,
}

impl<'a> Defaults<'a> {
    /// Presets, the default first, and a thread per core.
    pub const fn of(presets: &'a [&'static str]) -> Self {
        Self { presets, threads: None }
    }

    /// The command of a program, with its own defaults in the help.
    pub fn command<A: Parser>(&self) -> Command {
        let threads = self.threads.map_or("one per core".to_string(), |n| n.to_string());
        A::command()
            .mut_arg("threads", |arg| arg.help(format!("Number of threads [default: {threads}]")))
            .mut_arg("preset", |arg| {
                arg.value_parser(PossibleValuesParser::new(self.presets))
                    .default_value(self.presets[0])
            })
    }
}

/// Parses the arguments, which include the flags of [`Common`], warns about a slow build, and runs
/// `body` on a thread pool of the requested size.
///
/// Bad arguments and [`Failure::Input`] give one line on standard error and exit status 2.
pub fn run<A: Parser + Sync>(
    defaults: Defaults<'_>,
    body: impl FnOnce(&A) -> Result<(), Failure> + Send,
) -> ExitCode {
    match defaults.command::<A>().try_get_matches() {
        Ok(matches) => run_parsed(defaults, &matches, |_, arguments: &A| body(arguments)),
        Err(error) => misunderstood(&error),
    }
}

/// As [`run`] for a program that ends with a report, which is printed for people and, with
/// `--json`, as one JSON object.
pub fn report<A: Parser + Sync>(
    defaults: Defaults<'_>,
    body: impl FnOnce(&A, &Console) -> Result<Facts, Failure> + Send,
) -> ExitCode {
    match defaults.command::<A>().try_get_matches() {
        Ok(matches) => run_parsed(defaults, &matches, |common, a: &A| reported(common, a, body)),
        Err(error) => misunderstood(&error),
    }
}

fn reported<A>(
    common: &Common,
    arguments: &A,
    body: impl FnOnce(&A, &Console) -> Result<Facts, Failure>,
) -> Result<(), Failure> {
    let console = Console::new(common.json);
    let facts = body(arguments, &console)?;
    facts.say(&console);
    if common.json { output::print_json(&facts) } else { Ok(()) }
}

/// A program of a binary with several: its command, and what runs it with the parsed arguments.
pub struct Program {
    command: Command,
    run: Box<dyn Fn(&ArgMatches) -> ExitCode>,
}

impl Program {
    /// A program of a name, which [`run`] would run alone.
    pub fn new<A: Parser + Sync + 'static>(
        name: &'static str,
        defaults: Defaults<'static>,
        body: fn(&A) -> Result<(), Failure>,
    ) -> Self {
        let run = move |m: &ArgMatches| run_parsed(defaults, m, |_, arguments| body(arguments));
        Self { command: defaults.command::<A>().name(name), run: Box::new(run) }
    }

    /// A program of a name, which [`report`] would run alone.
    pub fn reporting<A: Parser + Sync + 'static>(
        name: &'static str,
        defaults: Defaults<'static>,
        body: fn(&A, &Console) -> Result<Facts, Failure>,
    ) -> Self {
        let run = move |m: &ArgMatches| run_parsed(defaults, m, |c, a| reported(c, a, body));
        Self { command: defaults.command::<A>().name(name), run: Box::new(run) }
    }
}

/// Runs the program that the first argument names.
pub fn run_one(command: Command, programs: &[Program]) -> ExitCode {
    let commands = programs.iter().map(|program| program.command.clone());
    match command.subcommand_required(true).subcommands(commands).try_get_matches() {
        Ok(matches) => {
            let (name, of_program) = matches.subcommand().expect("a subcommand is required");
            let named = |program: &&Program| program.command.get_name() == name;
            let program = programs.iter().find(named).expect("clap takes these names alone");
            (program.run)(of_program)
        }
        Err(error) => misunderstood(&error),
    }
}

fn run_parsed<A: FromArgMatches + Sync>(
    defaults: Defaults<'_>,
    matches: &ArgMatches,
    body: impl FnOnce(&Common, &A) -> Result<(), Failure> + Send,
) -> ExitCode {
    let parsed = Common::from_arg_matches(matches)
        .and_then(|common| Ok((common, A::from_arg_matches(matches)?)));
    let (common, arguments) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return misunderstood(&error),
    };
    warn_without_optimisation();
    let threads = common.threads.or(defaults.threads).unwrap_or(0);
    let outcome = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| Failure::input(format!("--threads {threads}: {e}")))
        .and_then(|pool| pool.install(|| body(&common, &arguments)));
    outcome.map_or_else(|failure| fail(&failure), |()| ExitCode::SUCCESS)
}

/// Handles arguments that do not parse, or ask for help.
fn misunderstood(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        return fail(&Failure::Input(one_line(error)));
    }
    // --help and --version: the text goes to standard output, in clap's layout.
    if error.print().is_ok() { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

fn fail(failure: &Failure) -> ExitCode {
    let (why, status) = match failure {
        Failure::Input(why) => (why, 2),
        Failure::Run(why) => (why, 1),
    };
    let line = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let _ = writeln!(std::io::stderr(), "error: {line}");
    ExitCode::from(status)
}

/// clap's message without its usage and tips, on one line.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let message = first.strip_prefix("error: ").unwrap_or(first);
    format!("{} (see --help)", message.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn warn_without_optimisation() {
    if cfg!(debug_assertions) {
        let slow = "WARNING: without `cargo run --release` this program runs many times slower";
        let _ = writeln!(std::io::stderr(), "{slow}");
    }
}
