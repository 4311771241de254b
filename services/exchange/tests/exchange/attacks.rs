//! What strangers did to a server, and must not do again. The numbers are those of the review.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use bellerophon::ckks::SeededCiphertext;
use bellerophon::format::{self, Header};
use bellerophon::prelude::*;
use bellerophon_exchange::protocol::{Code, Hex, State};

use super::processes::{Scratch, Server, program, report, until};
use super::requests::{Peer, job_id, read_answer, serving, setting};

fn stranger(server: &Server, n: u8) -> Peer {
    Peer::new(server.address(), Hex::<64>::of(&[n; 32]).as_str())
}

/// Found 1: uploads under fresh tokens locked out every new client for good.
#[test]
fn found_1_fresh_tokens_lock_nobody_out() {
    let scratch = Scratch::new("tokens");
    let data = scratch.path("data");
    // All from one address.
    let flags = ["--clients", "4", "--address-clients", "4"];
    let server = Server::start(&data, None, &flags);
    let ours = setting(&scratch.path("ours"), &server);
    ours.submit("a", "mean");
    assert_eq!(ours.wait("a").state, State::Done);
    // A set of no keys, 337 bytes or so, is none.
    let params = Params::preset(Preset::Insecure(Toy::Functions)).unwrap();
    let client = ClientKey::generate(&params).unwrap();
    let mut empty = params.to_bytes().unwrap();
    let name = client.evaluation_keys(&Needs::new()).unwrap().write_to(&mut empty).unwrap();
    let path = format!("/v1/keys/{}", Hex::<64>::of(&name.0));
    for n in 0..20 {
        assert_eq!(stranger(&server, n).send("PUT", &path, &empty).refused(), "malformed");
    }
    assert_eq!(fs::read_dir(data.join("blobs")).unwrap().count(), 1);
    // Real keys under five times as many tokens as there are places: unused ones make room.
    let keys = fs::read(ours.folder.join("shared").join("keys")).unwrap();
    let path = format!("/v1/keys/{}", ours.keys);
    let upload = |server: &Server, n| stranger(server, n).send("PUT", &path, &keys).status;
    (0..20).for_each(|n| assert_eq!(upload(&server, n), 201));
    assert_eq!(fs::read_dir(data.join("blobs")).unwrap().count(), 4);
    let address = server.kill();
    let server = Server::start(&data, Some(&address), &flags);
    (20..30).for_each(|n| assert_eq!(upload(&server, n), 201, "also after a restart"));
    // Whoever has a job keeps its place.
    assert_eq!(ours.peer.send("GET", &path, b"").status, 200);
    assert_eq!(ours.wait("a").state, State::Done);
    assert_eq!(stranger(&server, 0).send("GET", &path, b"").status, 404);
}

/// Found 1, the other half: what nobody uses expires.
#[test]
fn found_1_unused_clients_expire() {
    let scratch = Scratch::new("expiry");
    let server = Server::start(&scratch.path("data"), None, &["--unused-seconds", "1"]);
    let ours = setting(&scratch.path("ours"), &server);
    let folder = ours.peer.folder(&scratch.path("data"));
    until("it is forgotten", || !folder.exists());
}

/// Found 2: silent sockets starved honest clients for up to 46 s, and a connection without a token
/// held its place for an hour.
#[test]
fn found_2_silent_connections_starve_nobody() {
    let scratch = Scratch::new("silent");
    let server = Server::start(&scratch.path("data"), None, &["--head-seconds", "3"]);
    let ours = setting(&scratch.path("ours"), &server);
    // More than all places, from one address.
    let silent: Vec<TcpStream> =
        (0..400).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    for _ in 0..5 {
        let start = Instant::now();
        assert_eq!(ours.peer.send("GET", "/v1/keys", b"").status, 200);
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    }
    drop(silent);

    // Answered without a token, a connection ends.
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let request = |token: &str| format!("GET /v1/keys HTTP/1.1\r\nHost: localhost\r\n{token}\r\n");
    for stranger in ["", &format!("Authorization: Bearer {}\r\n", "7".repeat(64))] {
        stream.write_all(request(stranger).as_bytes()).unwrap();
        let mut answer = vec![];
        stream.read_to_end(&mut answer).expect("it is closed at once");
        assert!(answer.starts_with(b"HTTP/1.1"));
        stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    }
    // Silence ends as soon, before a head and behind an answer to somebody known.
    let token = fs::read_to_string(ours.folder.join("token")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for _ in 0..2 {
        stream
            .write_all(request(&format!("Authorization: Bearer {token}\r\n")).as_bytes())
            .unwrap();
        assert!(stream.read(&mut [0; 4096]).unwrap() > 0, "kept for the next request");
    }
    let start = Instant::now();
    let _ = stream.read_to_end(&mut vec![]);
    let mut second = TcpStream::connect(server.address()).unwrap();
    second.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let _ = second.read_to_end(&mut vec![]);
    assert!(start.elapsed() < Duration::from_secs(12), "{:?}", start.elapsed());
}

/// Found 3: a gigabyte of empty envelopes occupied the only check, with memory for its keys.
#[test]
fn found_3_empty_envelopes_are_refused_as_they_arrive() {
    let scratch = Scratch::new("envelopes");
    let server = Server::start(&scratch.path("data"), None, &[]);
    let ours = setting(&scratch.path("ours"), &server);
    let keys = fs::read(ours.folder.join("shared").join("keys")).unwrap();
    let before = server.peak_rss_bytes();
    let path = format!("/v1/keys/{}", Hex::<64>::of(&[7; 32]));
    // Parameters and list as they should be, then empty keys; too many keys; another type.
    let lengths = |bytes: &[u8]| Header::parse(bytes).unwrap().total() as usize;
    let list = lengths(&keys);
    let first = list + lengths(&keys[list..]);
    let key = &keys[first..first + lengths(&keys[first..])];
    let mut empty = key[..Header::LEN].to_vec();
    empty[48..].copy_from_slice(&0u64.to_le_bytes());
    empty.extend(blake3::hash(&empty).as_bytes());
    let mut hoisted = key.to_vec();
    hoisted[10..12].copy_from_slice(&bellerophon::mlwe::wire::kind::HOISTED_KEY.to_le_bytes());
    for (front, part, code) in [
        (&keys[..first], &empty[..], Code::Malformed),
        (&keys[..first], &hoisted, Code::NotServed),
        (&[][..], key, Code::Malformed),
        (&keys[..list], key, Code::Malformed),
    ] {
        let start = Instant::now();
        let mut stream = ours.peer.begin("PUT", &path, Some(1 << 30)).unwrap();
        let _ = stream.write_all(front);
        // It is refused long before the gigabyte has come.
        let sent = (0..1000).take_while(|_| stream.write_all(part).is_ok()).count();
        let answer = read_answer(&mut stream);
        let answer = answer.unwrap_or_else(|| panic!("no answer to {code} after {sent} parts"));
        assert_eq!(answer.refused(), code.to_string(), "{sent} sent");
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        until("nothing arrives", || {
            fs::read_dir(scratch.path("data").join("incoming")).unwrap().count() == 0
        });
    }
    if let (Some(before), Some(after)) = (before, server.peak_rss_bytes()) {
        assert!(after < before + (32 << 20), "{before}, then {after}");
    }
    // The number of keys is bounded, and honest uploads do not wait behind stalled ones.
    let mut slow: Vec<TcpStream> =
        (0..20).map(|n| stranger(&server, n).begin("PUT", &path, Some(1 << 30)).unwrap()).collect();
    slow.iter_mut().for_each(|stream| stream.write_all(&keys[..first]).unwrap());
    let start = Instant::now();
    setting(&scratch.path("theirs"), &server);
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

/// Found 8: an answer that the disk has cut was served, and broke off each time.
#[test]
fn found_8_damaged_answers_are_named_and_not_served() {
    let (_scratch, data, server, ours) = serving("damaged", &[]);
    for salt in ["whole", "cut", "flipped", "again"] {
        ours.submit(salt, "mean");
        assert_eq!(ours.wait(salt).state, State::Done);
    }
    let address = server.kill();
    let folder = ours.peer.folder(&data);
    let part = |salt: &str, what: &str| folder.join(format!("{}.{what}", job_id(salt)));
    let bytes = fs::read(part("cut", "answer")).unwrap();
    fs::write(part("cut", "answer"), &bytes[..bytes.len() - 100]).unwrap();
    let mut bytes = fs::read(part("flipped", "answer")).unwrap();
    bytes[1000] ^= 1;
    fs::write(part("flipped", "answer"), bytes).unwrap();
    // Where the request is still there, the job runs again.
    fs::write(part("again", "answer"), b"").unwrap();
    fs::write(part("again", "request"), &ours.input).unwrap();

    let server = Server::start(&data, Some(&address), &[]);
    assert_eq!(ours.wait("whole").state, State::Done);
    for salt in ["cut", "flipped"] {
        assert_eq!(ours.wait(salt).refusal.unwrap().code, Code::Lost);
        let place = format!("/v1/jobs/{}/result", job_id(salt));
        assert_eq!(ours.peer.send("GET", &place, b"").refused(), "lost");
        until("it is named", || server.log().contains(&format!("{}.answer", job_id(salt))));
    }
    assert_eq!(ours.wait("again").state, State::Done);
    assert!(!part("again", "request").exists());
}

/// Found 9: names of others that point here, and two Authorization headers.
#[test]
fn found_9_host_and_authorization_are_checked() {
    let scratch = Scratch::new("host");
    let flags = ["--host", "exchange.example"];
    let server = Server::start(&scratch.path("data"), None, &flags);
    let peer = stranger(&server, 7);
    let bearer = format!("Authorization: Bearer {}\r\n", "07".repeat(32));
    let ask = |host: &str, more: &str| {
        let head = format!("GET /v1/keys HTTP/1.1\r\n{host}Connection: close\r\n{more}\r\n");
        peer.raw(&head).expect("an answer").status
    };
    for host in
        ["exchange.example", "Exchange.Example:443", "localhost:1", "127.0.0.1", "[::1]:9", "[::1]"]
    {
        assert_eq!(ask(&format!("Host: {host}\r\n"), &bearer), 200, "{host}");
    }
    assert_eq!(ask("Host: localhost\r\n", &bearer.replace("Bearer", "bearer")), 200);
    // A target that names a server is a name, too.
    for (target, status) in [("http://localhost", 200), ("http://evil.example", 400)] {
        let head = format!("GET {target}/v1/keys HTTP/1.1\r\nHost: localhost\r\n");
        let answer = peer.raw(&format!("{head}Connection: close\r\n{bearer}\r\n"));
        assert_eq!(answer.expect("an answer").status, status, "{target}");
    }
    for host in ["Host: evil.example\r\n", "Host: localhost.evil.example\r\n", "Host: [1]\r\n", ""]
    {
        assert_eq!(ask(host, &bearer), 400, "{host:?}");
    }
    assert_eq!(ask("Host: localhost\r\nHost: localhost\r\n", &bearer), 400);
    assert_eq!(ask("Host: localhost\r\n", &format!("{bearer}{bearer}")), 400);
    assert_eq!(ask("Host: localhost\r\n", ""), 401);
}

/// Unpublished results, whose range and noise nobody vouches for, were taken as inputs.
#[test]
fn inputs_are_fresh_provided_or_published() {
    let (scratch, _, _server, ours) = serving("inputs", &[]);
    let params = Params::preset(Preset::Insecure(Toy::Functions)).unwrap();
    let fresh: SeededCiphertext = format::from_bytes(&params, &ours.input).unwrap();
    let x = fresh.expand(params.ckks()).unwrap();
    let unpublished = format::to_bytes(&params, &x).unwrap();
    let refused = ours.peer.send("PUT", &ours.path("a", "mean"), &unpublished);
    assert_eq!(refused.refused(), "malformed");
    let shared = ours.folder.join("shared");
    // A provider's.
    let to = scratch.path("provided");
    let mut provide = program("exchange_client");
    provide.args(["provide", "--accept-insecure", "--program", "mean", "--values=0.5"]);
    report(provide.arg("--public").arg(shared.join("public")).arg("--to").arg(&to));
    let provided = fs::read(to).unwrap();
    assert_eq!(ours.peer.send("PUT", &ours.path("b", "mean"), &provided).status, 202);
    // A published result, behind its head.
    ours.submit("c", "mean");
    assert_eq!(ours.wait("c").state, State::Done);
    let place = format!("/v1/jobs/{}/result", job_id("c"));
    let (mut stream, mut answer) = (ours.peer.begin("GET", &place, None).unwrap(), vec![]);
    stream.read_to_end(&mut answer).unwrap();
    let start = answer.windows(8).position(|magic| magic == b"BELLEROP").unwrap();
    let again = ours.peer.send("PUT", &ours.path("d", "square-plus"), &answer[start..]);
    assert_eq!(again.status, 202);
}

/// Found 9: a FIFO in the folder stopped the start for good.
#[cfg(unix)]
#[test]
fn found_9_fifo_in_the_folder_does_not_stop_the_start() {
    let (_scratch, data, server, ours) = serving("fifo", &[]);
    ours.submit("a", "mean");
    assert_eq!(ours.wait("a").state, State::Done);
    let address = server.kill();
    let folder = ours.peer.folder(&data);
    let answer = folder.join(format!("{}.answer", job_id("a")));
    fs::remove_file(&answer).unwrap();
    let strange = folder.join(format!("{}.request", job_id("b")));
    for path in [&answer, &strange, &data.join("incoming").join("0"), &data.join("clients")] {
        let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
        assert!(made.success());
    }
    let _server = Server::start(&data, Some(&address), &[]);
    assert_eq!(ours.wait("a").refusal.unwrap().code, Code::Lost);
}
