//! Repeated sending of whatever has not arrived at the server.

use serde::Serialize;

use super::Place;
use super::common::console::{Console, Stages};
use super::common::output;
use super::common::program::Failure;
use super::home::Home;
use super::remote::Remote;

/// Send keys and jobs that the server lacks
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct Report<'a> {
    sent_again: usize,
    #[serde(serialize_with = "Stages::as_seconds")]
    stages: &'a Stages,
}

/// Sends whatever the server lacks.
pub fn run(place: &Place, Arguments {}: &Arguments) -> Result<(), Failure> {
    if place.server.is_none() {
        return Err(Failure::input("--server: name the server to send to"));
    }
    let console = Console::new(place.json);
    let home = Home::at(&place.dir);
    let remote = Remote::open(place, &home)?;
    let mut stages = Stages::default();
    let sent_again = stages.run("sending", || remote.send_open(&home, &[]))?;
    console.say(format_args!("{sent_again} jobs sent again"));
    let report = Report { sent_again, stages: &stages };
    if place.json { output::print_json(&report) } else { Ok(()) }
}
