//! The operator's side: invitations, quotas, health, counts, logs, certificates and the end.

use std::fs;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use bellerophon_exchange::protocol::State;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use super::processes::{Scratch, Server, finish, program, report, until};
use super::requests::{Peer, job_id, read_answer, setting, setting_for};

fn admin(data: &std::path::Path, arguments: &[&str]) -> Result<Value, String> {
    let output = finish(program("exchange_admin").arg("--data").arg(data).args(arguments));
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout).expect("JSON")),
        false => Err(String::from_utf8(output.stderr).unwrap()),
    }
}

/// The limit of the system is a fault of the disk for every program: its signal ends none.
#[cfg(unix)]
#[test]
fn programs_that_may_write_nothing_say_so() {
    let scratch = Scratch::new("limit");
    let data = scratch.path("data");
    Server::start(&data, None, &[]).stop();
    let (data, home) = (data.display().to_string(), scratch.path("home").display().to_string());
    for (name, flags) in [
        ("exchange_admin", &["invite", "--name", "alice", "--data", &data][..]),
        (
            "exchange_client",
            &[
                "keygen",
                "--preset",
                "toy-insecure",
                "--programs",
                "mean",
                "--count",
                "8",
                "--dir",
                &home,
            ],
        ),
    ] {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "ulimit -f 0; exec \"$0\" \"$@\""]);
        let output = finish(shell.arg(program(name).get_program()).args(flags));
        let why = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code().is_some_and(|code| code != 0), "{name}: {:?}", output.status);
        assert!(why.contains("File too large"), "{name}: {why}");
    }
}

#[test]
fn the_operator_invites_limits_and_removes_clients() {
    let scratch = Scratch::new("admin");
    let (data, home) = (scratch.path("data"), scratch.path("client"));
    // A folder that no server has used stays as it is.
    for command in [&["list"][..], &["invite", "--name", "alice"]] {
        assert!(admin(&data, command).unwrap_err().contains("no exchange.redb"));
        assert!(!data.exists());
    }
    let server = Server::start(&data, None, &["--clients", "0", "--storage", "100M"]);
    let invited = admin(&data, &["invite", "--name", "alice", "--quota", "64M"]).unwrap();
    let id = invited["client"].as_str().unwrap().to_string();
    // As it was printed.
    let invitation = scratch.path("invitation");
    fs::write(&invitation, format!("{invited}\n")).unwrap();
    let keygen = |home: &std::path::Path| {
        let mut call = program("exchange_client");
        call.args(["keygen", "--preset", "toy-insecure", "--programs", "mean", "--count", "8"]);
        call.args(["--server", &server.url(), "--dir"]).arg(home);
        call
    };
    let stranger = finish(&mut keygen(&scratch.path("stranger")));
    let why = String::from_utf8(stranger.stderr).unwrap();
    assert!(why.contains("unauthorised") && why.contains("invitation"), "{why}");
    assert!(why.contains("`send` tries again"), "{why}");
    let again = finish(&mut keygen(&scratch.path("stranger")));
    let why = String::from_utf8(again.stderr).unwrap();
    assert!(why.contains("secret key already") && why.contains("`send`"), "{why}");
    let other = scratch.path("other");
    fs::write(&other, r#"{"invitation": "none"}"#).unwrap();
    let wrong = finish(keygen(&scratch.path("wrong")).arg("--invitation").arg(&other));
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("exchange_admin invite"));
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
    // That does not pass, and is asked once.
    let start = Instant::now();
    let refused = finish(&mut client("decrypt", &["--patience", "300"]));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("unauthorised"));
    assert!(start.elapsed() < Duration::from_secs(150), "{:?}", start.elapsed());
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

/// A revocation during an upload was undone by the record that the upload brought back, and a job
/// that arrived meanwhile was computed.
#[test]
fn a_revocation_during_an_upload_stays() {
    let scratch = Scratch::new("revoked");
    let (data, home) = (scratch.path("data"), scratch.path("client"));
    let server = Server::start(&data, None, &["--clients", "0"]);
    let invited = admin(&data, &["invite", "--name", "eve"]).unwrap();
    let invitation = scratch.path("invitation");
    fs::write(&invitation, invited["invitation"].as_str().unwrap()).unwrap();
    let mut keygen = program("exchange_client");
    keygen.args(["keygen", "--preset", "toy-insecure", "--programs", "mean", "--count", "8"]);
    let made = report(keygen.arg("--dir").arg(&home).arg("--invitation").arg(&invitation));
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
    let server = Server::start(&data, Some(&address), &[]);
    assert_eq!(peer.send("GET", "/v1/keys", b"").refused(), "unauthorised");
    // The same with a job, of a client without an invitation.
    let ours = setting(&scratch.path("ours"), &server);
    let job = ours.path("a", "mean");
    let mut stream = ours.peer.begin("PUT", &job, Some(ours.input.len() as u64)).unwrap();
    let (first, rest) = ours.input.split_at(ours.input.len() / 2);
    stream.write_all(first).unwrap();
    until("it arrives", || fs::read_dir(data.join("incoming")).unwrap().count() > 0);
    admin(&data, &["revoke", ours.peer.name().as_str()]).unwrap();
    stream.write_all(rest).unwrap();
    assert_eq!(read_answer(&mut stream).unwrap().refused(), "unauthorised");
    let list = admin(&data, &["list"]).unwrap();
    let jobs = list["clients"].as_array().unwrap().iter().map(|client| &client["jobs"]);
    assert!(jobs.clone().all(|jobs| *jobs == 0) && jobs.count() == 2, "{list}");
}

/// One quota above the storage locked out everybody without one.
#[test]
fn no_more_is_promised_than_there_is() {
    let scratch = Scratch::new("quotas");
    let data = scratch.path("data");
    let server = Server::start(&data, None, &["--storage", "100M"]);
    let invite = |quota: &str| admin(&data, &["invite", "--name", "a", "--quota", quota]);
    for quota in ["101M", &u64::MAX.to_string()] {
        let why = invite(quota).unwrap_err();
        assert!(why.contains("104857600") && why.contains("--storage"), "{why}");
    }
    assert!(invite("0").unwrap_err().contains("revoke"));
    let id = invite("60M").unwrap()["client"].as_str().unwrap().to_string();
    assert!(invite("41M").unwrap_err().contains("not promised"));
    invite("40M").unwrap();
    let quota = |bytes: &str| admin(&data, &["quota", &id, bytes]);
    for bytes in ["61M", &u64::MAX.to_string(), "0"] {
        assert!(quota(bytes).is_err(), "{bytes}");
    }
    quota("60M").unwrap();
    quota("50M").unwrap();
    drop(server);
    // While no server runs, and by one with less.
    let more = ["--storage", "100M", "invite", "--name", "b", "--quota"];
    assert!(admin(&data, &[&more[..], &["11M"]].concat()).is_err());
    admin(&data, &[&more[..], &["10M"]].concat()).unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut less = program("exchange_server");
    less.args(["--storage", "99M", "--listen", &taken.local_addr().unwrap().to_string()]);
    let less = finish(less.arg("--data").arg(&data));
    assert!(String::from_utf8(less.stderr).unwrap().contains("--storage"));
    // What is promised in vain can be lowered.
    admin(&data, &["--storage", "1M", "quota", &id, "49M"]).unwrap();
}

/// What others store already was promised once more: nobody of them could store anything.
#[test]
fn what_others_store_is_not_promised() {
    let scratch = Scratch::new("stored");
    let data = scratch.path("data");
    let flags = ["--storage", "100M", "--guest-storage", "100M"];
    let server = Server::start(&data, None, &flags);
    let invite = |quota: &str| admin(&data, &["invite", "--name", "a", "--quota", quota]);
    let first = invite("1M").unwrap();
    assert_eq!(first["left"], 99 << 20);
    let ours = setting(&scratch.path("ours"), &server);
    let list = admin(&data, &["list"]).unwrap();
    let stored = list["clients"].as_array().unwrap().iter();
    let stored: u64 = stored.map(|client| client["stored_bytes"].as_u64().unwrap()).sum();
    assert!(stored > 0);
    let left = (99 << 20) - stored;
    let why = invite("99M").unwrap_err();
    assert!(why.contains(&left.to_string()) && why.contains("--storage"), "{why}");
    let id = first["client"].as_str().unwrap();
    assert!(admin(&data, &["quota", id, "100M"]).is_err());
    // What a client stores is a part of its own quota.
    let own = ours.peer.name();
    let all = admin(&data, &["quota", own.as_str(), "99M"]).unwrap();
    assert_eq!(all["left"], 0);
    assert!(invite("1").is_err());
    admin(&data, &["quota", own.as_str(), &(stored / 2).to_string()]).unwrap();
    // One that stores more than it was promised keeps that.
    assert!(invite(&(left + 1).to_string()).is_err());
    assert_eq!(invite(&left.to_string()).unwrap()["left"], 0);
}

#[test]
fn what_is_promised_to_the_invited_stays_free() {
    let scratch = Scratch::new("promised");
    let data = scratch.path("data");
    let server = Server::start(&data, None, &["--storage", "91M"]);
    admin(&data, &["invite", "--name", "alice", "--quota", "90M"]).unwrap();
    let stranger = Peer::new(server.address(), &"7".repeat(64));
    let path = format!("/v1/keys/{}", "7".repeat(64));
    let answer = stranger.send("PUT", &path, &vec![0; 2 << 20]);
    assert_eq!(answer.refused(), "storage_full");
}

#[test]
fn health_and_counts_are_told_and_logs_are_json_lines() {
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

/// The status of a request without a token, from one of the machine's addresses.
fn status(path: &str, from: Option<IpAddr>, to: SocketAddr) -> u16 {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(async {
        let v6 = to.is_ipv6();
        let socket = if v6 { TcpSocket::new_v6() } else { TcpSocket::new_v4() }.unwrap();
        from.inspect(|from| socket.bind(SocketAddr::new(*from, 0)).unwrap());
        let mut stream = socket.connect(to).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    })
}

/// Only callers from 127.0.0.1 itself counted as local.
#[test]
fn counts_are_told_on_every_listener_of_the_machine() {
    let scratch = Scratch::new("listeners");
    let data = scratch.path("data");
    // This machine's address in its network, if it has one.
    let own = std::net::UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?;
        Ok(socket.local_addr()?.ip())
    });
    let own = own.ok().filter(|own| !own.is_loopback());
    let at = |address: &str, port: u16| SocketAddr::new(address.parse().unwrap(), port);
    let mut listeners = vec!["127.0.0.1:0".to_string()];
    if std::net::TcpListener::bind("[::]:0").is_ok() {
        listeners.extend(["[::]:0", "[::1]:0", "[::ffff:127.0.0.1]:0"].map(String::from));
    }
    listeners.extend(own.map(|own| format!("{own}:0")));
    for listen in &listeners {
        let flags = ["--metrics", "127.0.0.1:0"];
        let server = Server::start(&data, Some(listen), &flags);
        let listens: SocketAddr = server.address().parse().unwrap();
        let port = listens.port();
        let callers = match listen.as_str() {
            "[::]:0" => vec![at("127.0.0.1", port), at("::1", port)],
            "[::ffff:127.0.0.1]:0" => {
                // Who reaches a loopback address is a guest there.
                let stranger = Peer::new(&at("127.0.0.1", port).to_string(), &"7".repeat(64));
                assert_eq!(stranger.send("GET", "/v1/keys", b"").status, 200);
                vec![at("127.0.0.1", port)]
            }
            _ => vec![listens],
        };
        for to in callers {
            assert_eq!(status("/metrics", None, to), 200, "{listen}");
        }
        // An address of its own for the counts alone, for whoever reaches it.
        let monitor: SocketAddr = server.metrics.as_ref().unwrap().parse().unwrap();
        for (path, expected) in [("/metrics", 200), ("/healthz", 200), ("/v1", 404)] {
            assert_eq!(status(path, None, monitor), expected, "{path}");
        }
        // Others are told nothing at the address for clients.
        if let Some(own) = own.filter(|_| listen == "127.0.0.1:0") {
            assert_eq!(status("/metrics", Some(own), listens), 404);
            assert_eq!(status("/metrics", Some(own), monitor), 200);
        }
    }
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
fn stopped_servers_finish_or_put_back_their_jobs() {
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
fn connections_are_encrypted_and_plain_http_is_local() {
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
    let plain = ["--server", &server.url(), "--patience", "0"];
    assert_eq!(finish(&mut client("send", "ours", &plain)).status.code(), Some(2));
    // A wrong certificate does not pass, and is looked at once.
    let start = Instant::now();
    let wrong = finish(&mut client("send", "ours", &["--server", &url, "--patience", "300"]));
    let why = String::from_utf8(wrong.stderr).unwrap();
    assert!(wrong.status.code() == Some(2) && why.contains("no encrypted connection"), "{why}");
    assert!(start.elapsed() < Duration::from_secs(150), "{:?}", start.elapsed());
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
        ("http://[::ffff:127.0.0.1]:1", &[], false),
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
