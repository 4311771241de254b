//! Private set intersection: a client learns which of its passwords are in a server's list of
//! leaked passwords, and the server learns nothing about them.
//!
//! The server puts every entry of its list into one of three places of a table, by cuckoo hashing
//! under a public salt, as a tag of 32 bits: two tables of 16 bits. The client looks up the three
//! places of each of its passwords, with one query for both tables, and compares tags. A password
//! that is not in the list passes for one that is with a probability of `3 / 2^32`.
//!
//! The client learns more than which of its passwords are in the list: three places and their tags
//! for each password, up to 1536 tags of other entries for 512 passwords. Salt and hash
//! (BLAKE3) are public and fast, so it can test words against these tags offline; a word that
//! matches tag and place is almost certainly in the list. A list that must stay secret from its
//! clients needs tags from an oblivious pseudorandom function, which this program does not
//! implement.

use std::process::ExitCode;

use bellerophon::bfv::{Params, ParamsSpec};
use bellerophon::pir::{Function, Shape};
use common::lookup::{DECRYPTION, ENCRYPTION, EVALUATION, PLAIN, Parties};
use common::prelude::*;
use rand::RngExt;

const SEED: u64 = 2013;

/// The number of possible places of an entry.
const PLACES: u64 = 3;

const PREPARATION: &str = "tables of the list";

/// Checks passwords against a server's list, privately
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// The list has 2^B entries [default: 16, 12 under --small]
    #[arg(long, value_name = "B", value_parser = clap::value_parser!(u32).range(4..=20))]
    set_bits: Option<u32>,

    /// Number of passwords of the client [default: 512, 64 under --small]
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    points: Option<u32>,
}

fn main() -> ExitCode {
    program::report(Defaults::of(&["lookup"]), run)
}

/// Salted hash number `i` of a password.
fn hash(salt: u64, i: u64, password: &str) -> u64 {
    let mut key = [0; blake3::KEY_LEN];
    key[..8].copy_from_slice(&salt.to_le_bytes());
    key[8..16].copy_from_slice(&i.to_le_bytes());
    let hash = blake3::keyed_hash(&key, password.as_bytes());
    u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("32 bytes"))
}

fn places(salt: u64, domain: usize, password: &str) -> [usize; PLACES as usize] {
    std::array::from_fn(|i| (hash(salt, i as u64, password) % domain as u64) as usize)
}

/// The two halves of its tag. Neither is 0, which marks an empty place.
fn tag(salt: u64, password: &str) -> [u64; 2] {
    let tag = hash(salt, PLACES, password);
    [tag & 0xffff, tag >> 16 & 0xffff].map(|half| half + 1)
}

/// The tables of a list; none if this salt leaves an entry without a place.
fn tables(salt: u64, domain: usize, list: &[String]) -> Option<[Vec<u64>; 2]> {
    let mut owners: Vec<Option<usize>> = vec![None; domain];
    let mut rng = random::seeded(salt);
    for entry in 0..list.len() {
        let mut homeless = entry;
        let mut moves = 0;
        loop {
            let places = places(salt, domain, &list[homeless]);
            if let Some(&free) = places.iter().find(|&&place| owners[place].is_none()) {
                owners[free] = Some(homeless);
                break;
            }
            // Evict another entry.
            moves += 1;
            if moves > 1000 {
                return None;
            }
            let place = places[rng.random_range(0..places.len())];
            homeless = owners[place].replace(homeless)?;
        }
    }
    let half = |i: usize| {
        let entry = |owner: &Option<usize>| owner.map_or(0, |owner| tag(salt, &list[owner])[i]);
        owners.iter().map(entry).collect()
    };
    Some([half(0), half(1)])
}

fn run(arguments: &Arguments, _: &Console) -> Result<Facts, Failure> {
    let common = &arguments.common;
    let set = 1usize << common.size(arguments.set_bits, 12, 16);
    let count = common.size(arguments.points, 64, 512) as usize;
    let domain = set / 4 * 5;
    let params = Params::new(ParamsSpec::lookup(PLAIN)?)?;
    let asked = PLACES as usize * count;
    let form = Shape::best_form(&params, &[domain], asked);
    Shape::new(&params, form, &[domain], asked).map_err(Failure::input)?;
    let mut draw = random::seeded(SEED);
    let mut word = || format!("{:016x}", draw.random::<u64>());
    let list: Vec<String> = (0..set).map(|_| word()).collect();
    // Every other password is in the list.
    let passwords: Vec<String> = (0..count)
        .map(|i| if i % 2 == 0 { list[i * 7919 % set].clone() } else { word() })
        .collect();

    let clock = Stages::default();
    let mut rng = random::fresh()?;
    let prepared = clock.run(PREPARATION, || {
        let mut salts = (0..16).map(|_| rng.random::<u64>());
        salts.find_map(|salt| Some((salt, tables(salt, domain, &list)?)))
    });
    let (salt, tables) =
        prepared.ok_or_else(|| Failure::run("no salt gives every entry of the list a place"))?;
    let functions = tables.map(|table| Function::new(&params, &table));
    let parties = Parties::open(&params, &clock, &mut rng)?;
    let Parties { client, server, .. } = &parties;
    let asked = clock.run(ENCRYPTION, || {
        let points: Vec<usize> =
            passwords.iter().flat_map(|password| places(salt, domain, password)).collect();
        client.query(domain, &points, form, &mut rng)
    });
    let (query, pending) = asked?;
    let (mut halves, mut responses) = (vec![], vec![]);
    for function in functions {
        let function = function?;
        let answered = clock.run(EVALUATION, || {
            server.evaluate(&function, &query).and_then(|response| response.truncated(&params))
        });
        let response = answered?;
        halves.push(clock.run(DECRYPTION, || client.read(&pending, &response))?);
        responses.push(response);
    }
    let found: Vec<bool> = passwords
        .iter()
        .enumerate()
        .map(|(i, password)| {
            let own = tag(salt, password);
            let mut places = 3 * i..3 * i + 3;
            places.any(|place| [halves[0][place], halves[1][place]] == own)
        })
        .collect();
    let known: std::collections::HashSet<&String> = list.iter().collect();
    let wrong = |(password, found): (&String, &bool)| known.contains(password) != *found;
    let errors: Vec<f64> =
        passwords.iter().zip(&found).map(|pair| f64::from(u8::from(wrong(pair)))).collect();

    Ok(parties
        .outcome(&common.preset, &clock, &query, &responses, &errors)
        .with("set", set)
        .with("domain", domain)
        .with("found", found.iter().filter(|&&found| found).count())
        .with("form", form.to_string()))
}
