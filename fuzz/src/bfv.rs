//! Private look-up and the exact ciphertexts that it is made of: what can be read of them.

use bellerophon::{
    bfv,
    format::SecretBytes,
    mlwe::Security,
    pir::{Client, Function, Query, QueryLayout, Server},
    ring::{prime, wire::SecretWire},
};

use crate::{
    World,
    target::{ANY, sample},
    world::rng,
};

/// Exact plaintexts with keys in digits, and with special primes.
///
/// # Panics
/// If the parameters are refused, which would be a fault of this program.
pub fn sets(degree: usize) -> [bfv::Params; 2] {
    let primes = prime::ntt_primes_below(degree, 50, 3, &[]).unwrap();
    let value = |i: usize| primes[i].value();
    let gadgets = [
        (vec![value(0)], bfv::KeyGadget::Digits { base_log: 9, count: 4 }),
        (vec![value(1), value(2)], bfv::KeyGadget::Special(vec![value(0)])),
    ];
    gadgets.map(|(q, gadget)| {
        let security = Security::Insecure;
        let spec = bfv::ParamsSpec { degree, q, plain: 257, gadget, sigma: 3.2, security };
        bfv::Params::new(spec).unwrap()
    })
}

fn exact_set(world: &'static World, index: usize) -> (&'static bfv::Params, bfv::SecretKey) {
    let params = &world.exact()[index];
    (params, bfv::SecretKey::generate(params, &mut rng(41)).unwrap())
}

pub fn exact_params(world: &'static World) -> Vec<Vec<u8>> {
    world.exact().iter().map(|params| sample(&ANY, params)).collect()
}

fn message(params: &bfv::Params) -> Vec<u64> {
    (0..params.degree() as u64).map(|i| i * 31 % 257).collect()
}

pub fn exact_ciphertexts(world: &'static World) -> Vec<Vec<u8>> {
    let (params, secret) = exact_set(world, 1);
    let ct = secret.encrypt(&message(params), &mut rng(42)).unwrap();
    let short = ct.clone().to_one_limb(params).unwrap();
    vec![sample(params, &ct), sample(params, &short)]
}

pub fn fresh_exact_ciphertexts(world: &'static World) -> Vec<Vec<u8>> {
    let (params, secret) = exact_set(world, 1);
    vec![sample(params, &secret.encrypt_seeded(&message(params), &mut rng(43)).unwrap())]
}

fn client(world: &'static World) -> (&'static bfv::Params, Client) {
    let params = &world.exact()[0];
    (params, Client::generate(params, &mut rng(44)).unwrap())
}

pub fn exact_public_keys(world: &'static World) -> Vec<Vec<u8>> {
    let (params, secret) = exact_set(world, 1);
    vec![sample(params, &bfv::PublicKey::generate(&secret, &mut rng(45)))]
}

pub fn packing_keys(world: &'static World) -> Vec<Vec<u8>> {
    let (params, secret) = exact_set(world, 1);
    let of = |n: usize| {
        let keys = bfv::SeededPackingKeys::generate(&secret, n, &mut rng(46)).unwrap();
        sample(params, &keys)
    };
    vec![of(1), of(params.degree() / 2)]
}

pub fn lookup_server_keys(world: &'static World) -> Vec<Vec<u8>> {
    let (params, client) = client(world);
    vec![sample(params, &client.server_keys(&mut rng(45)).unwrap())]
}

/// What is asked for.
const POINTS: [usize; 3] = [0, 39, 7];

fn domain(params: &bfv::Params) -> usize {
    2 * params.degree() + params.degree() / 2
}

fn ask(client: Client, params: &bfv::Params, form: QueryLayout) -> Query {
    client.query(domain(params), &POINTS, form, &mut rng(48)).unwrap().0
}

pub fn queries(world: &'static World) -> Vec<Vec<u8>> {
    let (params, client) = client(world);
    let of = |client: &Client, form| sample(params, &ask(client.clone(), params, form));
    let masks = client.clone().sending_masks();
    vec![
        of(&client, QueryLayout::Paper),
        of(&client, QueryLayout::Compact),
        of(&masks, QueryLayout::Paper),
    ]
}

fn function(params: &bfv::Params) -> Function {
    let table: Vec<u64> = (0..domain(params) as u64).map(|i| i * i % 257).collect();
    Function::new(params, &table).unwrap()
}

pub fn responses(world: &'static World) -> Vec<Vec<u8>> {
    let (params, client) = client(world);
    let server = Server::new(params, &client.server_keys(&mut rng(45)).unwrap()).unwrap();
    let query = ask(client, params, QueryLayout::Paper);
    let response = server.evaluate(&function(params), &query).unwrap();
    let whole = sample(params, &response);
    vec![whole, sample(params, &response.truncated(params).unwrap())]
}

pub fn encrypted_functions(world: &'static World) -> Vec<Vec<u8>> {
    let (params, client) = client(world);
    let encrypted = client.encrypt_function(&function(params), &mut rng(49)).unwrap();
    vec![sample(params, &encrypted)]
}

fn secret<T>(params: &'static bfv::Params, secret: &T) -> Vec<u8>
where
    T: SecretWire<Params = bfv::Params>,
{
    SecretBytes::of(params, secret).expect("samples can be written").expose().to_vec()
}

pub fn secret_keys(world: &'static World) -> Vec<Vec<u8>> {
    let (params, key) = exact_set(world, 1);
    vec![secret(params, &key)]
}

pub fn clients(world: &'static World) -> Vec<Vec<u8>> {
    let (params, client) = client(world);
    vec![secret(params, &client), secret(params, &client.sending_masks())]
}

pub fn pendings(world: &'static World) -> Vec<Vec<u8>> {
    let (params, client) = client(world);
    let of = |form| {
        secret(params, &client.query(domain(params), &POINTS, form, &mut rng(48)).unwrap().1)
    };
    vec![of(QueryLayout::Paper), of(QueryLayout::Compact)]
}
