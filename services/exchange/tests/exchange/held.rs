//! What the review found to hold: tokens, names, the protocol, limits. `disk.rs` has restarts and
//! disks that fail.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use bellerophon::ckks::{self, LevelGroup, ModulusChain};
use bellerophon::mlwe::Security;
use bellerophon::prelude::*;
use bellerophon_exchange::protocol::{Hex, State};
use bellerophon_exchange::server::store::{OwnerRecord, Store, owner_change};

use super::processes::{Scratch, Server, program, report, until};
use super::requests::{Peer, job_id, read_answer, serving, setting};

fn place(salt: &str) -> String {
    format!("/v1/jobs/{}", job_id(salt))
}

/// Every route answers a missing, malformed, foreign or random token with a refusal or with what is
/// the caller's own.
#[test]
fn tokens_show_nothing_of_others() {
    let scratch = Scratch::new("held-tokens");
    let server = Server::start(&scratch.path("data"), None, &["--log", "debug"]);
    let ours = setting(&scratch.path("ours"), &server);
    let theirs = setting(&scratch.path("theirs"), &server);
    ours.submit("a", "mean");
    assert_eq!(ours.wait("a").state, State::Done);
    let (keys, job) = (format!("/v1/keys/{}", ours.keys), place("a"));
    let routes = [
        ("GET", keys.clone()),
        ("DELETE", keys),
        ("PUT", ours.path("b", "mean")),
        ("GET", job.clone()),
        ("GET", format!("{job}/result")),
        ("DELETE", job.clone()),
        ("GET", format!("/v1/jobs?after={}", job_id("a"))),
    ];
    let random = Peer::new(server.address(), &"7".repeat(64));
    let body = |method: &str| if method == "PUT" { &ours.input[..] } else { b"" };
    for (method, path) in &routes {
        for token in ["", "none", &"7".repeat(63), &"G".repeat(64), &"A".repeat(64)] {
            let answer = Peer::new(server.address(), token).send(method, path, body(method));
            assert_eq!(answer.refused(), "unauthorised", "{method} {path}");
        }
        for peer in [&theirs.peer, &random] {
            let answer = peer.send(method, path, body(method));
            let nothing =
                path.contains("after") && answer.json.as_array().is_some_and(Vec::is_empty);
            assert!(answer.status == 404 || nothing, "{method} {path}: {answer:?}");
        }
    }
    for path in ["/v1/keys", "/v1/jobs"] {
        let own = random.send("GET", path, b"");
        assert_eq!((own.status, own.json), (200, serde_json::json!([])));
    }
    let upload = random.send("PUT", &format!("/v1/keys/{}", ours.keys), b"");
    assert_eq!(upload.refused(), "malformed");
    // Nothing was changed, and no token is in the log or on the disk.
    assert_eq!(ours.peer.send("GET", &format!("{job}/result"), b"").status, 200);
    let token = fs::read_to_string(ours.folder.join("token")).unwrap();
    until("it is in the log", || server.log().contains("keys accepted"));
    assert!(!server.log().contains(&token[..16]));
    let database = fs::read(scratch.path("data").join("exchange.redb")).unwrap();
    let has = |text: &str| database.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has(ours.peer.name().as_str()) && !has(&token));
}

/// Lengths that are doubled, malformed or in chunks; requests behind requests.
#[test]
fn no_request_hides_another() {
    let scratch = Scratch::new("smuggling");
    let server = Server::start(&scratch.path("data"), None, &[]);
    let ours = setting(&scratch.path("ours"), &server);
    let token = fs::read_to_string(ours.folder.join("token")).unwrap();
    let head = |path: &str, more: &str| {
        format!(
            "PUT {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{more}\r\n"
        )
    };
    let job = ours.path("a", "mean");
    for lengths in [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 5x\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\n",
    ] {
        let answer = ours
            .peer
            .raw(&format!("{}hello", head(&job, &format!("{lengths}Connection: close\r\n"))));
        assert!(answer.is_none_or(|answer| (400..500).contains(&answer.status)), "{lengths}");
    }
    // A second request in the same packet is answered after the first, as itself.
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let get = |path: &str, more: &str| head(path, more).replace("PUT", "GET");
    let both = get("/v1/keys", "") + &get("/v1/jobs", "Connection: close\r\n");
    stream.write_all(both.as_bytes()).unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut stream, &mut said).unwrap();
    assert_eq!(said.matches("HTTP/1.1 200").count(), 2, "{said}");
    assert!(said.ends_with("[]") && said.contains(&ours.keys));
}

#[test]
fn the_protocol_is_kept() {
    let (scratch, data, server, ours) =
        serving("protocol", &["--job-bytes", "1M", "--log", "info"]);
    let theirs = setting(&scratch.path("theirs"), &server);

    let info = ours.peer.send("GET", "/v1", b"");
    assert_eq!((info.status, &info.json["protocol"]), (200, &"v1".into()));
    let nobody = Peer::new(server.address(), "none");
    assert_eq!(nobody.send("GET", "/v1/jobs", b"").refused(), "unauthorised");
    for (method, path, code) in [
        ("GET", "/v1/nothing", "unknown_path"),
        ("GET", "/", "unknown_path"),
        ("POST", "/v1/jobs", "method"),
        ("POST", "/v1", "method"),
        ("GET", "/v1/jobs/../../secret", "unknown_path"),
        ("GET", "/v1/jobs/..", "bad_request"),
        ("GET", "/v1/jobs/ABCDEF", "bad_request"),
        ("DELETE", "/v1/keys/00", "bad_request"),
    ] {
        assert_eq!(ours.peer.send(method, path, b"").refused(), code, "{method} {path}");
    }
    // Refusals of the layers in front have a code and a reason, too.
    assert_eq!(ours.peer.send("GET", "/v1/keys", &[0; 5000]).refused(), "too_large");

    // A job, sent twice: one job. Another one under its name is refused.
    let path = ours.path("a", "mean");
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).status, 202);
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).status, 202);
    let other = ours.path("a", "square-plus");
    assert_eq!(ours.peer.send("PUT", &other, &ours.input).refused(), "job_exists");
    assert_eq!(ours.wait("a").state, State::Done);
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).status, 202, "known after it has ended");
    let listed = ours.peer.send("GET", "/v1/jobs", b"").json;
    assert_eq!(listed.as_array().map(Vec::len), Some(1));

    // Others see nothing of it, and cannot use the keys.
    let place = format!("/v1/jobs/{}", job_id("a"));
    assert_eq!(theirs.peer.send("GET", &place, b"").refused(), "unknown_job");
    assert_eq!(theirs.peer.send("DELETE", &place, b"").refused(), "unknown_job");
    assert_eq!(theirs.peer.send("PUT", &path, &ours.input).refused(), "unknown_keys");
    assert_eq!(ours.peer.send("GET", &format!("{place}/result"), b"").status, 200);

    // Deleted, it is gone, here and on disk.
    assert_eq!(ours.peer.send("DELETE", &place, b"").status, 204);
    assert_eq!(ours.peer.send("GET", &place, b"").refused(), "unknown_job");
    let left = fs::read_dir(ours.peer.folder(&data)).unwrap();
    assert_eq!(left.count(), 1, "the keys alone");

    // What is named must be there.
    let absent = Hex::<64>::of(&[7; 32]);
    let path = format!("/v1/jobs/{}?program=mean&keys={absent}", job_id("b"));
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).refused(), "unknown_keys");
    let path = ours.path("b", "nothing");
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).refused(), "unknown_program");
    let path = format!("/v1/jobs/{}", job_id("b"));
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).refused(), "bad_request");
    // A program for which the keys were not made ends as refused.
    assert_eq!(ours.peer.send("PUT", &ours.path("c", "sigmoid"), &ours.input).status, 202);
    let status = ours.wait("c");
    let refusal = status.refusal.expect("why");
    assert_eq!((status.state, refusal.code.to_string()), (State::Refused, "not_computable".into()));
    let path = format!("/v1/jobs/{}/result", job_id("c"));
    assert_eq!(ours.peer.send("GET", &path, b"").refused(), "not_computable");
    // The kind alone, wherever it is told and kept: inner errors may repeat what only the server
    // knows. Its log has them.
    let path = format!("/v1/jobs/{}", job_id("c"));
    let told = ours.peer.send("GET", &path, b"").json;
    assert_eq!(told["refusal"], serde_json::json!({"code": "not_computable"}));
    until("it is in the log", || {
        server.log().lines().any(|line| line.contains("not_computable: ") && line.contains(" ("))
    });

    // Keys: under another name, damaged, and in the place of keys a ciphertext.
    let mut keys = fs::read(scratch.path("ours").join("shared").join("keys")).unwrap();
    let path = format!("/v1/keys/{absent}");
    assert_eq!(theirs.peer.send("PUT", &path, &keys).refused(), "hash_mismatch");
    let middle = keys.len() / 2;
    keys[middle] ^= 16;
    let damaged = format!("/v1/keys/{}", ours.keys);
    assert_eq!(theirs.peer.send("PUT", &damaged, &keys).refused(), "malformed");
    assert_eq!(theirs.peer.send("PUT", &damaged, &ours.input).refused(), "malformed");
    assert_eq!(theirs.peer.send("GET", &damaged, b"").refused(), "unknown_keys");
    assert_eq!(ours.peer.send("DELETE", &damaged, b"").status, 204);
    assert_eq!(ours.peer.send("PUT", &damaged, &keys).refused(), "malformed", "not from memory");
    assert_eq!(ours.peer.send("DELETE", &damaged, b"").refused(), "unknown_keys");
}

#[test]
fn limits_hold() {
    let scratch = Scratch::new("limits");
    let flags = ["--job-bytes", "1M", "--queued-jobs", "2", "--job-seconds", "600"];
    let more = ["--head-seconds", "1", "--body-seconds", "1", "--client-requests", "3"];
    let data = scratch.path("data");
    let server = Server::start(&data, None, &[&flags[..], &more].concat());
    let ours = setting(&scratch.path("ours"), &server);
    let begin = |path: &str, announced| ours.peer.begin("PUT", path, announced).unwrap();

    // Too large, before a single byte of it is sent; and of no stated length.
    let mut stream = begin(&ours.path("large", "mean"), Some(1 << 40));
    assert_eq!(read_answer(&mut stream).unwrap().refused(), "too_large");
    let mut stream = begin(&ours.path("endless", "mean"), None);
    assert_eq!(read_answer(&mut stream).unwrap().refused(), "length_required");

    // Two jobs that never arrive hold both places; they are let go when their time is up.
    let length = Some(ours.input.len() as u64);
    let start = Instant::now();
    let mut slow = [begin(&ours.path("s", "mean"), length), begin(&ours.path("t", "mean"), length)];
    slow.iter_mut().for_each(|stream| stream.write_all(&ours.input[..100]).unwrap());
    std::thread::sleep(Duration::from_millis(200));
    let path = ours.path("u", "mean");
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).refused(), "queue_full");
    for stream in &mut slow {
        assert_eq!(read_answer(stream).unwrap().refused(), "too_slow");
    }
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).status, 202);
    assert_eq!(ours.wait("u").state, State::Done);

    // A head that never ends: the connection is closed, with or without a word.
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(b"GET /v1 HTTP/1.1\r\nHost: x\r\n").unwrap();
    let start = Instant::now();
    let answer = read_answer(&mut stream);
    assert!(answer.is_none_or(|answer| answer.status == 408));
    assert!(start.elapsed() < Duration::from_secs(20), "it was let go");

    // A transfer that breaks off leaves nothing: no file, and both places are free again.
    let arriving = || fs::read_dir(data.join("incoming")).unwrap().count();
    let mut stream = begin(&ours.path("broken", "mean"), length);
    stream.write_all(&ours.input[..1000]).unwrap();
    until("it arrives", || arriving() > 0);
    drop(stream);
    until("it is forgotten", || arriving() == 0);
    let place = format!("/v1/jobs/{}", job_id("broken"));
    assert_eq!(ours.peer.send("GET", &place, b"").refused(), "unknown_job");
    for stream in
        &mut [begin(&ours.path("v", "mean"), length), begin(&ours.path("w", "mean"), length)]
    {
        assert_eq!(read_answer(stream).unwrap().refused(), "too_slow", "and not without a place");
    }
}

#[test]
fn places_are_limited() {
    let scratch = Scratch::new("places");
    let data = scratch.path("data");
    let flags = ["--client-requests", "2", "--clients", "1"];
    let server = Server::start(&data, None, &[&flags[..], &["--body-seconds", "600"]].concat());
    let ours = setting(&scratch.path("ours"), &server);
    let length = Some(ours.input.len() as u64);
    let begin = |salt: &str| ours.peer.begin("PUT", &ours.path(salt, "mean"), length).unwrap();
    let stranger = Peer::new(server.address(), &"7".repeat(64));
    ours.submit("first", "mean");
    let keys = fs::read(ours.folder.join("shared").join("keys")).unwrap();
    let upload = stranger.send("PUT", &format!("/v1/keys/{}", ours.keys), &keys);
    assert_eq!(upload.refused(), "too_many_clients");
    until("it has ended", || ours.is("first", State::Done));

    // Two stalled requests, and the third of the same client. The place of an earlier request may
    // not be free yet when one of them comes, which is refused then: another one is begun.
    let stalled = |salt: &str| {
        let mut stream = begin(salt);
        stream.write_all(&ours.input[..100]).unwrap();
        stream
    };
    let mut slow = vec![stalled("a")];
    let third = || ours.peer.send("GET", "/v1/keys", b"");
    until("both have begun", || {
        slow.push(stalled(&format!("b{}", slow.len())));
        third().status == 429
    });
    assert_eq!(third().refused(), "too_many_requests");
}

#[test]
fn parameters_that_protect_nothing_are_refused() {
    let scratch = Scratch::new("insecure");
    let server = Server::start_strict(&scratch.path("data"), None, &[]);
    let why = program("exchange_client")
        .args(["keygen", "--preset", "toy-insecure", "--programs", "mean", "--count", "2"])
        .args(["--server", &server.url(), "--dir"])
        .arg(scratch.path("ours"))
        .output()
        .unwrap();
    let why = String::from_utf8(why.stderr).unwrap();
    assert!(why.contains("refused: insecure"), "{why}");
}

/// Keys of guests that had only been checked filled the memory for keys.
#[test]
fn memory_for_keys_is_bounded() {
    let scratch = Scratch::new("memory");
    let data = scratch.path("data");
    let server = Server::start(&data, None, &[]);
    setting(&scratch.path("ours"), &server);
    let keys = fs::read(scratch.path("ours").join("shared").join("keys")).unwrap();
    let profile = fs::read(scratch.path("ours").join("client.json")).unwrap();
    let profile: serde_json::Value = serde_json::from_slice(&profile).unwrap();
    let path = format!("/v1/keys/{}", profile["keys"].as_str().unwrap());
    drop(server);
    // The same keys are other keys for each client. By the estimate there is room for four: of
    // clients that are invited, and of guests none are kept before they have a job.
    let memory = (30 * keys.len() as u64 + (80 << 20)).to_string();
    for (flags, invited) in [(&["--key-memory", &memory][..], true), (&[], false)] {
        let tokens: Vec<Hex<64>> = (0..32).map(|n| Hex::of(&[n + 40; 32])).collect();
        let (store, _) = Store::open(&data).unwrap();
        let record = OwnerRecord { invited, ..OwnerRecord::default() };
        let clients = tokens.iter().map(|token| Peer::new("", token.as_str()).name());
        let records: Vec<_> = clients.map(|client| owner_change(client, Some(&record))).collect();
        store.write(&records).unwrap();
        drop(store);
        let server = Server::start(&data, None, flags);
        let upload = |token: &Hex<64>| {
            let peer = Peer::new(server.address(), token.as_str());
            peer.send("DELETE", &path, b"");
            assert_eq!(peer.send("PUT", &path, &keys).status, 201);
        };
        tokens[..8].iter().for_each(upload);
        let few = server.peak_rss_bytes();
        tokens[8..].iter().for_each(upload);
        let many = server.peak_rss_bytes();
        if cfg!(target_os = "linux") {
            let grown = many.unwrap() - few.unwrap();
            // Kept all, 24 more sets would take more than twice their bytes.
            assert!(grown < 24 * keys.len() as u64, "{grown} bytes for sets of {}", keys.len());
        }
    }
}

#[test]
fn storage_and_memory_are_limited() {
    let (scratch, data, server, ours) = serving("storage", &[]);
    let keys = fs::metadata(scratch.path("ours").join("shared").join("keys")).unwrap().len();
    let address = server.kill();

    // Room for the keys that are there, and for less than a job beside them.
    let storage = (keys + 1000).to_string();
    let server = Server::start(&data, Some(&address), &["--client-storage", &storage]);
    let path = ours.path("a", "mean");
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).refused(), "storage_full");
    let address = server.kill();

    // No room for the keys in memory.
    let _server = Server::start(&data, Some(&address), &["--key-memory", "1M"]);
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).refused(), "too_large");
}

/// A program is stopped when its time is up.
#[test]
fn look_ups_travel_and_all_programs_stop_in_time() {
    let scratch = Scratch::new("look-ups");
    let (data, home) = (scratch.path("data"), scratch.path("client"));
    let mut server = Server::start(&data, None, &["--job-seconds", "0"]);
    let url = server.url();
    let client = |command: &str, flags: &[&str]| {
        let mut call = program("exchange_client");
        call.arg(command).args(flags).arg("--dir").arg(&home);
        report(call.args(["--server", &url]))
    };
    client("keygen", &["--preset", "toy-insecure", "--programs", "sigmoid,square-plus"]);
    let values = "--values=-8,-1.5,0,0.25,3";
    client("encrypt", &["--program", "sigmoid", values]);
    client("encrypt", &["--program", "square-plus", "--values=0.5"]);
    let late = client("decrypt", &[]);
    for answer in 0..2 {
        assert_eq!(late["answers"][answer]["refusal"]["code"], "time_limit", "{late}");
    }

    server.restart(&data, &[]);
    client("encrypt", &["--program", "sigmoid", values]);
    let got = client("decrypt", &[]);
    let found: Vec<f64> = serde_json::from_value(got["answers"][0]["values"].clone()).unwrap();
    assert_eq!(found.len(), 5);
    for (found, x) in found.iter().zip([-8.0, -1.5, 0.0, 0.25, 3.0f64]) {
        // Tables of degree 1024 over [-8, 8]: a value is read a few cells beside its own.
        assert!((found - 1.0 / (1.0 + (-x).exp())).abs() < 0.1, "{found} at {x}");
    }
}

#[test]
fn keys_stay_while_a_job_for_them_arrives() {
    let (_scratch, data, _server, ours) = serving("keys-stay", &[]);
    let path = ours.path("a", "mean");
    let mut stream = ours.peer.begin("PUT", &path, Some(ours.input.len() as u64)).unwrap();
    let (first, rest) = ours.input.split_at(1000);
    stream.write_all(first).unwrap();
    let keys = format!("/v1/keys/{}", ours.keys);
    until("it arrives", || fs::read_dir(data.join("incoming")).unwrap().count() > 0);
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).refused(), "too_many_requests");
    assert_eq!(ours.peer.send("DELETE", &keys, b"").refused(), "in_use");
    stream.write_all(rest).unwrap();
    assert_eq!(read_answer(&mut stream).unwrap().status, 202);
    assert_eq!(ours.wait("a").state, State::Done);
    assert_eq!(ours.peer.send("DELETE", &keys, b"").status, 204);
    assert_eq!(ours.peer.send("PUT", &path, &ours.input).status, 202, "known without its keys");
}

#[test]
fn uploads_are_exactly_as_stated_and_keep_a_pace() {
    let scratch = Scratch::new("uploads");
    let server = Server::start(&scratch.path("data"), None, &["--body-seconds", "5"]);
    let ours = setting(&scratch.path("ours"), &server);
    let mut keys = fs::read(scratch.path("ours").join("shared").join("keys")).unwrap();
    keys.push(0);
    let path = format!("/v1/keys/{}", ours.keys);
    assert_eq!(ours.peer.send("DELETE", &path, b"").status, 204);
    assert_eq!(
        ours.peer.send("PUT", &path, &keys).refused(),
        "malformed",
        "a byte behind the keys"
    );

    // A gigabyte announced, a byte now and then: hours, if every byte gave more time.
    let path = format!("/v1/keys/{}", Hex::<64>::of(&[7; 32]));
    let mut stream = ours.peer.begin("PUT", &path, Some(1 << 30)).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let answered = |stream: &mut TcpStream| stream.peek(&mut [0]).is_ok_and(|bytes| bytes > 0);
    for _ in 0..300 {
        if stream.write_all(&[0]).is_err() || answered(&mut stream) {
            break;
        }
    }
    assert_eq!(read_answer(&mut stream).unwrap().refused(), "too_slow");
}

/// Also when their client is gone.
#[test]
fn requests_count_until_their_check_has_ended() {
    let (scratch, data, _server, ours) = serving("gone", &["--client-requests", "1"]);
    let keys = fs::read(scratch.path("ours").join("shared").join("keys")).unwrap();
    let path = format!("/v1/keys/{}", ours.keys);
    assert_eq!(ours.peer.send("DELETE", &path, b"").status, 204);
    let known = || ours.peer.send("GET", &path, b"").status;
    let arriving = || fs::read_dir(data.join("incoming")).unwrap().count() > 0;
    // A client that disconnects early is forgotten; its check, once begun, continues.
    for attempt in 0..100 {
        let mut stream = ours.peer.begin("PUT", &path, Some(keys.len() as u64)).unwrap();
        stream.write_all(&keys).unwrap();
        until("it arrives", || arriving() || known() != 429);
        std::thread::sleep(Duration::from_millis(2 * attempt));
        drop(stream);
        let mut status = 429;
        until("its place is free", || {
            status = known();
            status != 429
        });
        if status == 200 {
            return;
        }
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(known(), 404, "the check went on, and no request was under way");
    }
    panic!("no upload was ever checked");
}

/// Before these are read.
#[test]
fn expanding_parameters_are_refused_before_their_keys() {
    let scratch = Scratch::new("rank");
    let server = Server::start(&scratch.path("data"), None, &[]);
    let ours = setting(&scratch.path("ours"), &server);
    let levels = vec![LevelGroup::single(45, 2)];
    let chain = ModulusChain { degree: 1 << 10, first_bits: 50, levels, special: (50, 1) };
    let mut slots = ckks::ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap();
    slots.lattice.rank = 16;
    let spec = bellerophon::ParamsSpec::arithmetic("wide", slots);
    let params = Params::new(spec).unwrap().to_bytes().unwrap();
    let path = format!("/v1/keys/{}", Hex::<64>::of(&[7; 32]));
    assert_eq!(ours.peer.send("PUT", &path, &params).refused(), "too_large");
    // Features that no program here uses: the matrices of bootstrapping, and a second ring.
    let params = Params::preset(Preset::Insecure(Toy::Bootstrapping)).unwrap().to_bytes().unwrap();
    assert_eq!(ours.peer.send("PUT", &path, &params).refused(), "not_served");
    let params = Params::preset(Preset::Insecure(Toy::Functions)).unwrap();
    let client = ClientKey::generate(&params).unwrap();
    let keys = client.evaluation_keys(&Needs::new().multiply().rotate_any()).unwrap();
    let mut bytes = params.to_bytes().unwrap();
    let name = keys.write_to(&mut bytes).unwrap();
    let path = format!("/v1/keys/{}", Hex::<64>::of(&name.0));
    assert_eq!(ours.peer.send("PUT", &path, &bytes).refused(), "not_served");
}
