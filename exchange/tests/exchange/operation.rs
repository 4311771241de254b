//! The operator's side: invitations, quotas, health, counts, logs, certificates and the end.

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use bellerophon_exchange::protocol::State;
use serde_json::Value;

use super::processes::{Scratch, Server, finish, program, report, until};
use super::requests::{Peer, job_id, read_answer, setting, setting_for};

fn admin(data: &std::path::Path, arguments: &[&str]) -> Result<Value, String> {
    let output = finish(program("exchange_admin").arg("--data").arg(data).args(arguments));
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout).expect("JSON")),
        false => Err(String::from_utf8(output.stderr).unwrap()),
    }
}

#[test]
fn the_operator_invites_limits_and_removes_clients() {
    let scratch = Scratch::new("admin");
    let (data, home) = (scratch.path("data"), scratch.path("client"));
    // Before the server runs for the first time.
    let invited = admin(&data, &["invite", "--name", "alice", "--quota", "64M"]).unwrap();
    let id = invited["client"].as_str().unwrap().to_string();
    let server = Server::start(&data, None, &["--clients", "0", "--storage", "100M"]);
    let invitation = scratch.path("invitation");
    fs::write(&invitation, format!("{}\n", invited["invitation"].as_str().unwrap())).unwrap();
    let keygen = |home: &std::path::Path| {
        let mut call = program("exchange_client");
        call.args(["keygen", "--preset", "toy-insecure", "--programs", "mean", "--count", "8"]);
        call.args(["--server", &server.url(), "--dir"]).arg(home);
        call
    };
    let stranger = finish(&mut keygen(&scratch.path("stranger")));
    let why = String::from_utf8(stranger.stderr).unwrap();
    assert!(why.contains("unauthorised") && why.contains("invitation"), "{why}");
    report(keygen(&home).arg("--invitation").arg(&invitation));
    let client = |command: &str, flags: &[&str]| {
        let mut call = program("exchange_client");
        call.arg(command).args(["--server", &server.url(), "--dir"]).arg(&home).args(flags);
        call
    };
    report(&mut client("encrypt", &["--program", "mean", "--values=0.5"]));
    report(&mut client("decrypt", &[]));

    // While it runs: through its socket.
    let list = admin(&data, &["list"]).unwrap();
    let alice = &list["clients"][0];
    assert_eq!((&alice["client"], &alice["name"]), (&Value::from(id.as_str()), &"alice".into()));
    assert!(alice["stored_bytes"].as_u64().unwrap() > 0 && alice["invited"] == true, "{list}");
    admin(&data, &["quota", &id, "1K"]).unwrap();
    let full = finish(&mut client("encrypt", &["--program", "mean", "--values=1"]));
    let why = String::from_utf8(full.stderr).unwrap();
    assert!(why.contains("storage_full"), "{why}");
    admin(&data, &["quota", &id, "64M"]).unwrap();
    report(&mut client("send", &[]));
    admin(&data, &["revoke", &id]).unwrap();
    let refused = finish(&mut client("decrypt", &["--patience", "1"]));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("unauthorised"));
    until("its job has ended", || admin(&data, &["purge", &id]).is_ok());
    let list = admin(&data, &["list"]).unwrap();
    assert_eq!((&list["clients"][0]["jobs"], &list["clients"][0]["keys"]), (&0.into(), &0.into()));
    assert!(!data.join("blobs").join(&id).exists());
    assert!(admin(&data, &["revoke", &"7".repeat(32)]).unwrap_err().contains("no client"));
    // A second invitation, and the same without a server.
    let second = admin(&data, &["invite", "--name", "bob"]).unwrap();
    assert_ne!(second["client"], invited["client"]);
    drop(server);
    assert_eq!(admin(&data, &["list"]).unwrap()["clients"].as_array().unwrap().len(), 2);
}

/// A revocation during an upload was undone by the record that the upload brought back.
#[test]
fn a_revocation_during_an_upload_stays() {
    let scratch = Scratch::new("revoked");
    let (data, home) = (scratch.path("data"), scratch.path("client"));
    let invited = admin(&data, &["invite", "--name", "eve"]).unwrap();
    let invitation = scratch.path("invitation");
    fs::write(&invitation, invited["invitation"].as_str().unwrap()).unwrap();
    let mut keygen = program("exchange_client");
    keygen.args(["keygen", "--preset", "toy-insecure", "--programs", "mean", "--count", "8"]);
    let made = report(keygen.arg("--dir").arg(&home).arg("--invitation").arg(&invitation));
    let server = Server::start(&data, None, &["--clients", "0"]);
    let peer = Peer::of(server.address(), &home);
    let keys = fs::read(home.join("shared").join("keys")).unwrap();
    let path = format!("/v1/keys/{}", made["keys"].as_str().unwrap());
    let mut stream = peer.begin("PUT", &path, Some(keys.len() as u64)).unwrap();
    let (first, rest) = keys.split_at(keys.len() / 2);
    stream.write_all(first).unwrap();
    until("it arrives", || fs::read_dir(data.join("incoming")).unwrap().count() > 0);
    admin(&data, &["revoke", invited["client"].as_str().unwrap()]).unwrap();
    stream.write_all(rest).unwrap();
    assert_eq!(read_answer(&mut stream).unwrap().refused(), "unauthorised");
    for _ in 0..2 {
        let list = admin(&data, &["list"]).unwrap();
        assert_eq!(list["clients"][0]["revoked"], true, "{list}");
        assert_eq!(list["clients"][0]["keys"], 0);
    }
    let address = server.kill();
    let _server = Server::start(&data, Some(&address), &[]);
    assert_eq!(peer.send("GET", "/v1/keys", b"").refused(), "unauthorised");
}

#[test]
fn what_is_promised_to_the_invited_stays_free() {
    let scratch = Scratch::new("promised");
    let data = scratch.path("data");
    admin(&data, &["invite", "--name", "alice", "--quota", "90M"]).unwrap();
    let server = Server::start(&data, None, &["--storage", "91M"]);
    let stranger = Peer::new(server.address(), &"7".repeat(64));
    let path = format!("/v1/keys/{}", "7".repeat(64));
    let answer = stranger.send("PUT", &path, &vec![0; 2 << 20]);
    assert_eq!(answer.refused(), "storage_full");
}

#[test]
fn health_and_counts_are_told_and_logs_are_lines_of_json() {
    let scratch = Scratch::new("metrics");
    let server = Server::start(&scratch.path("data"), None, &["--log", "info"]);
    let ours = setting(&scratch.path("ours"), &server);
    ours.submit("a", "mean");
    assert_eq!(ours.wait("a").state, State::Done);
    let health = Peer::new(server.address(), "none").send("GET", "/healthz", b"");
    assert_eq!((health.status, &health.json["status"]), (200, &"ok".into()));
    let has = |line: &str| {
        let (mut stream, mut text) =
            (ours.peer.begin("GET", "/metrics", None).unwrap(), String::new());
        std::io::Read::read_to_string(&mut stream, &mut text).unwrap();
        text.lines().any(|found| found == line)
    };
    for line in ["exchange_jobs_done_total 1", "exchange_clients 1", "exchange_jobs_ended 1"] {
        until(line, || has(line));
    }
    until("it is in the log", || server.log().contains("job ended"));
    let log = server.log();
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert!(line["level"].is_string() && line["timestamp"].is_string());
    }
    // What a request did away from its connection carries the id of the request.
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let accepted: Vec<Value> =
        lines.filter(|line| line["fields"]["message"] == "keys accepted").collect();
    let [accepted] = &accepted[..] else { panic!("{log}") };
    let id = accepted["span"]["id"].as_str().expect("the id of the request");
    assert!(id.len() == 16 && accepted["span"]["path"].to_string().contains(&ours.keys), "{log}");
    let token = fs::read_to_string(ours.folder.join("token")).unwrap();
    assert!(log.contains("/v1/keys/") && !log.contains(&token[..16]), "{log}");
}

/// Too many open files ended the operator's socket for good.
#[cfg(unix)]
#[test]
fn the_operator_is_heard_after_too_many_open_files() {
    let scratch = Scratch::new("files");
    let data = scratch.path("data");
    let server = Server::start_with("ulimit -n", 64, &data, None, &[]);
    let socket = data.join("admin.sock");
    let open = || std::os::unix::net::UnixStream::connect(&socket).unwrap();
    let many: Vec<_> = (0..100).map(|_| open()).collect();
    until("there are too many", || server.log().contains("a command was not accepted"));
    drop(many);
    let list = admin(&data, &["list"]).unwrap();
    assert_eq!(list["clients"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_server_that_is_told_to_stop_finishes_or_puts_back_its_jobs() {
    let scratch = Scratch::new("stop");
    let data = scratch.path("data");
    let server = Server::start(&data, None, &["--stop-seconds", "0", "--running-jobs", "1"]);
    let ours = setting_for(&scratch.path("ours"), &server, "mean,sigmoid");
    let address = server.address().to_string();
    for salt in 0..4 {
        ours.submit(&salt.to_string(), "sigmoid");
    }
    until("one runs", || (0..4).any(|salt| ours.is(&salt.to_string(), State::Running)));
    let start = Instant::now();
    assert!(server.stop().success());
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    let (store, found) = bellerophon_exchange::server::store::Store::open(&data).unwrap();
    let waiting = found.jobs.iter().filter(|(_, job)| job.state == State::Accepted);
    assert!(waiting.clone().count() >= 2, "{found:?}");
    assert!(waiting.clone().all(|(_, job)| job.tries == 0), "no try is counted: {found:?}");
    drop(store);
    let server = Server::start(&data, Some(&address), &[]);
    assert!(server.recovered >= 2);
    for salt in 0..4 {
        assert_eq!(ours.wait(&salt.to_string()).state, State::Done);
    }
    // With time to end, a running job ends.
    ours.submit("last", "mean");
    until("it runs or has ended", || !ours.is("last", State::Accepted));
    assert!(server.stop().success());
    let _server = Server::start(&data, Some(&address), &[]);
    assert_eq!(ours.wait("last").state, State::Done);
    let place = format!("/v1/jobs/{}/result", job_id("last"));
    assert_eq!(ours.peer.send("GET", &place, b"").status, 200);
}

#[test]
fn connections_are_encrypted_and_plain_http_stays_at_home() {
    let scratch = Scratch::new("tls");
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
    let (certificate, key) = (scratch.path("cert.pem"), scratch.path("key.pem"));
    fs::write(&certificate, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let files = [certificate.to_str().unwrap(), key.to_str().unwrap()];
    let flags = ["--tls-cert", files[0], "--tls-key", files[1], "--head-seconds", "2"];
    let server = Server::start(&scratch.path("data"), None, &flags);
    let url = server.url().replace("http://127.0.0.1", "https://localhost");
    let client = |command: &str, home: &str, flags: &[&str]| {
        let mut call = program("exchange_client");
        call.arg(command).arg("--dir").arg(scratch.path(home)).args(flags);
        call
    };
    let keys = ["--preset", "toy-insecure", "--programs", "mean", "--count", "8"];
    let to = ["--server", &url, "--ca", files[0], "--patience", "2"];
    report(&mut client("keygen", "ours", &[&keys[..], &to].concat()));
    report(&mut client(
        "encrypt",
        "ours",
        &[&["--program", "mean", "--values=0.5"][..], &to].concat(),
    ));
    let got = report(&mut client("decrypt", "ours", &[&to[..4], &["--patience", "60"]].concat()));
    assert!((got["answers"][0]["values"][0].as_f64().unwrap() - 0.5).abs() < 1e-4);
    // A certificate that nobody vouches for, and plain HTTP, to the same server.
    for to in
        [&["--server", &url, "--patience", "0"], &["--server", &server.url(), "--patience", "0"]]
    {
        assert_eq!(finish(&mut client("send", "ours", to)).status.code(), Some(2));
    }
    // A peer that never shakes hands is let go.
    let mut silent = std::net::TcpStream::connect(server.address()).unwrap();
    silent.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert!(matches!(std::io::Read::read(&mut silent, &mut [0]), Ok(0) | Err(_)));
    // Off loopback the client does not show its token in the clear, unless told.
    for (url, more, refused) in [
        ("http://192.0.2.1:1", &[][..], true),
        ("http://exchange.example", &[], true),
        ("http://127.0.0.1.exchange.example", &[], true),
        ("ftp://localhost", &[], true),
        ("http://[::1]:1", &[], false),
        ("http://127.0.0.2:1", &["--allow-http"], false),
    ] {
        let flags = [&["--server", url, "--patience", "0"][..], more].concat();
        let why = String::from_utf8(finish(&mut client("send", "ours", &flags)).stderr).unwrap();
        assert_eq!(why.contains("--server:"), refused, "{url}: {why}");
    }
}

#[test]
fn the_soak_runs_and_judges() {
    let strict = finish(program("exchange_soak").args(["--seconds", "6", "--most-ratio", "0"]));
    assert_eq!(strict.status.code(), Some(1));
    assert!(String::from_utf8(strict.stderr).unwrap().contains("times as long"));
    let soak = report(program("exchange_soak").args(["--seconds", "6"]));
    assert_eq!((&soak["lost"], &soak["wrong"]), (&0.into(), &0.into()), "{soak}");
    assert!(
        soak["jobs"].as_u64() > Some(5) && soak["hostile_attempts"].as_u64() > Some(100),
        "{soak}"
    );
}
