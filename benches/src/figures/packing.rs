//! Group `pack`: LWE values of dimension 4096 into one ring ciphertext, by Algorithm 1 (`rows`) and
//! through modules of middle rank (`module`). Group `lookup`: private look-up of points by the
//! split-domain method and by repacking.

use bellerophon::ckks::{SecretKind, Security};
use bellerophon::pir::{Client, Function, QueryLayout, Server, SplitDomainKeys, bfv};
use bellerophon::repack::{ModulePacking, pack_values, row_packing_keys};
use bellerophon::ring::prime;
use bellerophon::{lwe, mlwe};
use common::program::Failure;
use common::random::seeded;

use crate::measure::Bench;

/// Degree of the ring in which values are packed.
const DEGREE: usize = 4096;

/// Numbers of values; the first in a small run.
const COUNTS: [usize; 2] = [256, DEGREE];

/// Degrees of the modules; the first in a small run.
const MODULES: [usize; 3] = [512, 64, 2048];

/// Measures the group `pack`.
pub fn pack(bench: &mut Bench) -> Result<(), Failure> {
    let rng = &mut seeded(1);
    let q = prime::ntt_primes_around(DEGREE, 45, 1, &[])?;
    let p = prime::ntt_primes_below(DEGREE, 50, 1, &q)?;
    let of_degree = |degree: usize| {
        mlwe::Params::new(mlwe::ParamsSpec {
            degree,
            rank: DEGREE / degree,
            q: vec![q[0].value()],
            p: vec![p[0].value()],
            secret: SecretKind::Ternary,
            sigma: 3.2,
            security: Security::Bits128,
        })
    };
    let params = of_degree(DEGREE)?;
    let secret = mlwe::SecretKey::generate(&params, rng)?;
    let own = lwe::SecretKey::from_coefficients(secret.coefficients(0).to_vec().into())?;
    let values = (0..DEGREE).map(|_| lwe::encrypt(&q[0], &own, 1 << 40, 3.2, rng));
    let values = values.collect::<bellerophon::Result<Vec<lwe::Ciphertext>>>()?;
    let counts = if bench.small { &COUNTS[..1] } else { &COUNTS };

    let keys = row_packing_keys(&secret, 1, 1, rng)?;
    let key_bytes: usize = keys.iter().map(|key| key.key().seeded_byte_len(&params)).sum();
    for &count in counts {
        let timed = bench.time(format!("pack/rows_of_{count}"), 1, || {
            // Places as the packing of few values likes them.
            let places = (0..count).map(|i| i * (DEGREE / count));
            pack_values(&params, &keys, secret.id(), 1, places.map(|i| (i, &values[i])))
        })?;
        bench.rows.push(timed.row.with("key_bytes", key_bytes));
    }
    for degree in MODULES.into_iter().take(if bench.small { 1 } else { MODULES.len() }) {
        let (rank, middle) = (DEGREE / degree, of_degree(degree)?);
        let packing = ModulePacking::new(&params, &middle)?;
        let keys = packing.keys(&secret, rng)?;
        let (key_bytes, keys) = (keys.byte_len(&packing), keys.expand(&packing)?);
        for &count in counts {
            // As few groups as hold them.
            let groups = count.div_ceil(degree);
            let place = |i: usize| i % groups + (i / groups) * rank;
            let timed = bench.time(format!("pack/module_{degree}_of_{count}"), 1, || {
                packing.pack(&keys, (0..count).map(|i| (place(i), &values[i])))
            })?;
            let products = packing.multiplications(rank);
            bench.rows.push(timed.row.with("key_bytes", key_bytes).with("products", products));
        }
    }
    Ok(())
}

/// Measures the group `lookup`.
pub fn private_lookup(bench: &mut Bench) -> Result<(), Failure> {
    let rng = &mut seeded(1);
    let params = bfv::Params::new(bfv::ParamsSpec::lookup(65537)?)?;
    let client = Client::generate(&params, rng)?.sending_masks();
    let server = Server::new(&params, &client.server_keys(rng)?)?;
    let domain = params.degree();
    let table: Vec<usize> = (0..domain).map(|x| x * 5 % domain).collect();
    let values: Vec<u64> = table.iter().map(|&y| y as u64).collect();
    let function = Function::new(&params, &values)?;
    let split = SplitDomainKeys::generate(&client, rng)?;
    for points in [1, 4] {
        let asked: Vec<usize> = (0..points).map(|i| 100 * i).collect();
        let (query, _) = client.query(domain, &asked, QueryLayout::Paper, rng)?;
        let name = format!("lookup/split_domain_of_{points}");
        let timed = bench.time(name, 1, || split.count(&table, &query))?;
        bench.rows.push(timed.row.with("key_bytes", split.byte_len()));
        let name = format!("lookup/repacking_of_{points}");
        bench.rows.push(bench.time(name, 1, || server.evaluate(&function, &query))?.row);
    }
    Ok(())
}
