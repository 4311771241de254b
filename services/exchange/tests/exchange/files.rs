//! The programs on files in a folder, and what they refuse to do.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use super::processes::{Scratch, Server, finish, program, report, until};
use super::requests::Peer;

fn client(command: &str, folder: &Path) -> Command {
    let mut call = program("exchange_client");
    call.arg(command).arg("--dir").arg(folder);
    call
}

fn keygen(folder: &Path) -> serde_json::Value {
    report(client("keygen", folder).args([
        "--preset",
        "toy-insecure",
        "--programs",
        "square-plus,mean",
        "--count",
        "8",
    ]))
}

fn evaluate(shared: &Path) -> Command {
    let mut call = program("exchange_server");
    call.args(["evaluate", "--dir"]).arg(shared);
    call
}

/// Runs a program that must refuse: status 2 and one line on standard error.
fn refused(command: &mut Command) -> String {
    let output = finish(command);
    let errors = String::from_utf8(output.stderr).expect("text");
    let lines: Vec<&str> = errors.lines().filter(|line| line.starts_with("error:")).collect();
    assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{command:?}: {errors}");
    assert_eq!(lines.len(), 1, "{errors}");
    lines[0].to_string()
}

#[test]
fn files_go_there_and_back() {
    let scratch = Scratch::new("files");
    let home = scratch.path("client");
    let made = keygen(&home);
    assert_eq!(made["sent"], false);
    let shared = home.join("shared");
    let sent = report(client("encrypt", &home).args([
        "--program",
        "mean",
        "--values=0.5,-0.25,1",
        "--values=-1",
    ]));
    let broken = report(client("encrypt", &home).args(["--program", "mean", "--values", "0.5"]));
    let broken = broken["jobs"][0].as_str().expect("a name");
    let path = shared.join(format!("{broken}.input"));
    let mut bytes = fs::read(&path).unwrap();
    bytes.pop();
    fs::write(&path, bytes).unwrap();

    let done = report(evaluate(&shared).arg("--accept-insecure"));
    let counts = (&done["jobs"], &done["done"], &done["refused"]);
    assert_eq!(counts, (&3.into(), &2.into(), &1.into()));
    // What is answered is not done again.
    assert_eq!(report(evaluate(&shared).arg("--accept-insecure"))["jobs"], 0);

    let got = report(&mut client("decrypt", &home));
    let answers = got["answers"].as_array().expect("answers");
    assert_eq!(answers.len(), 3);
    for (answer, (id, mean, count)) in answers.iter().zip([(0, 1.25 / 3.0, 3), (1, -1.0, 1)]) {
        assert_eq!(answer["id"], sent["jobs"][id]);
        let values: Vec<f64> = serde_json::from_value(answer["values"].clone()).unwrap();
        assert_eq!(values.len(), count);
        assert!(values.iter().all(|v| (v - mean).abs() < 1e-5), "{values:?}");
    }
    assert_eq!((&answers[2]["id"], &answers[2]["values"]), (&broken.into(), &().into()));
    assert_eq!(answers[2]["refusal"]["code"], "malformed");
    let left = fs::read_dir(&shared).unwrap().count();
    assert_eq!(left, 2, "the keys alone, for evaluation and for providers");
}

/// The first answer without room ended the run.
#[test]
fn evaluation_names_what_it_cannot_write_and_goes_on() {
    let scratch = Scratch::new("unwritten");
    let home = scratch.path("client");
    keygen(&home);
    let values = ["--program", "mean", "--values=0.5", "--values=0.25", "--values=1"];
    let sent = report(client("encrypt", &home).args(values));
    let shared = home.join("shared");
    let blocked: Vec<_> = sent["jobs"].as_array().unwrap()[..2]
        .iter()
        .map(|id| shared.join(format!("{}.result.part", id.as_str().unwrap())))
        .collect();
    blocked.iter().for_each(|path| fs::create_dir(path).unwrap());
    let output = finish(evaluate(&shared).args(["--accept-insecure", "--json"]));
    let done: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &done["done"]), (Some(2), &1.into()));
    assert_eq!(done["unwritten"], 2);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.lines().filter(|line| line.contains("is not written")).count(), 2, "{said}");
    blocked.iter().for_each(|path| fs::remove_dir(path).unwrap());
    assert_eq!(report(evaluate(&shared).arg("--accept-insecure"))["done"], 2);
}

/// Values were cut at 1000 characters and their answer deleted, also if nobody could read them.
#[test]
fn answers_are_kept_until_all_their_values_are_out() {
    let scratch = Scratch::new("in-full");
    let home = scratch.path("client");
    let keys = ["--preset", "toy-insecure", "--programs", "square-plus", "--count", "120"];
    report(client("keygen", &home).args(keys));
    let values: Vec<String> = (0..120).map(|i| format!("{}", f64::from(i) / 120.0)).collect();
    let encrypt = ["--program", "square-plus", "--values", &values.join(",")];
    report(client("encrypt", &home).args(encrypt));
    report(evaluate(&home.join("shared")).arg("--accept-insecure"));
    let jobs = || fs::read_dir(home.join("jobs")).unwrap().count();
    // A full disk and a closed pipe.
    for json in [&[][..], &["--json"]] {
        if cfg!(target_os = "linux") {
            let full = fs::File::options().write(true).open("/dev/full").unwrap();
            let outcome = client("decrypt", &home).args(json).stdout(full).output().unwrap();
            assert_eq!((outcome.status.code(), jobs()), (Some(1), 1), "{outcome:?}");
        }
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let outcome = client("decrypt", &home).args(json).stdout(writer).output().unwrap();
        assert_eq!((outcome.status.code(), jobs()), (Some(1), 1), "{outcome:?}");
    }
    let said = String::from_utf8(finish(&mut client("decrypt", &home)).stdout).unwrap();
    let found: Vec<f64> =
        serde_json::from_str(said.split_once("square-plus: ").unwrap().1).expect("a list");
    assert_eq!((found.len(), jobs()), (120, 0));
    let right = |(i, y): (usize, &f64)| {
        let x = i as f64 / 120.0;
        (y - x * x - x).abs() < 1e-3
    };
    assert!(said.len() > 1000 && found.iter().enumerate().all(right), "{said}");
}

#[test]
fn providers_encrypt_for_an_owner() {
    let scratch = Scratch::new("providers");
    let (home, other) = (scratch.path("owner"), scratch.path("other"));
    [&home, &other].iter().for_each(|home| drop(keygen(home)));
    let provide = |public: &Path, to: &str, values: &str| {
        let mut call = program("exchange_client");
        call.args(["provide", "--accept-insecure", "--program", "mean", "--values", values]);
        call.arg("--public").arg(public).arg("--to").arg(scratch.path(to));
        call
    };
    let public = home.join("shared").join("public");
    for (to, values) in [("a", "0.5,0.25"), ("b", "-1"), ("long", "0,0,0,0,0,0,0,0,0")] {
        report(&mut provide(&public, to, values));
    }
    report(&mut provide(&other.join("shared").join("public"), "foreign", "1"));
    // For a program of another range.
    let mut wide = program("exchange_client");
    wide.args(["provide", "--accept-insecure", "--program", "sigmoid", "--values", "1"]);
    report(wide.arg("--public").arg(&public).arg("--to").arg(scratch.path("wide")));
    // Under the secret key, as nobody but the owner can: a provider may not state the noise.
    let own = report(client("encrypt", &home).args(["--program", "mean", "--values", "1"]));
    let own = own["jobs"][0].as_str().unwrap();
    fs::rename(home.join("shared").join(format!("{own}.input")), scratch.path("own")).unwrap();
    fs::remove_file(home.join("shared").join(format!("{own}.request"))).unwrap();
    fs::remove_file(home.join("jobs").join(own)).unwrap();
    // Outside the range of the program; parameters that protect nothing; no public key.
    let why = refused(&mut provide(&public, "never", "9"));
    assert!(why.contains("the value at position 0 of 1 lies outside"), "{why}");
    let mut strict = program("exchange_client");
    strict.args(["provide", "--program", "mean", "--values", "0"]).arg("--public").arg(&public);
    let why = refused(strict.arg("--to").arg(scratch.path("never")));
    assert!(why.contains("insecure"), "{why}");
    refused(&mut provide(&home.join("shared").join("keys"), "never", "0"));
    assert!(!scratch.path("never").exists());

    let encrypt = |files: &[&str]| {
        let mut call = client("encrypt", &home);
        call.args(["--program", "mean"]);
        files.iter().for_each(|file| {
            call.arg("--provided").arg(scratch.path(file));
        });
        call
    };
    for (file, reason) in [
        ("foreign", "another client"),
        ("long", "9 values"),
        ("absent", "absent"),
        ("wide", "another range"),
        ("own", "own"),
    ] {
        let why = refused(&mut encrypt(&[file]));
        assert!(why.contains(reason), "{why}");
    }
    let server = Server::start(&scratch.path("data"), None, &[]);
    let made = report(encrypt(&["a", "b"]).args(["--values", "1", "--server", &server.url()]));
    assert_eq!((made["jobs"].as_array().unwrap().len(), &made["n"]), (3, &4.into()));
    let means = |got: &serde_json::Value, close: f64| {
        for (answer, mean) in got["answers"].as_array().unwrap().iter().zip([1.0, 0.375, -1.0]) {
            let values: Vec<f64> = serde_json::from_value(answer["values"].clone()).unwrap();
            assert!(values.iter().all(|v| (v - mean).abs() < close), "{answer}");
        }
    };
    let to = ["--server", &server.url(), "--keep"];
    // What a provider may have crafted is shared only when told so.
    let shared = finish(client("decrypt", &home).args(to).args(["--share", "--json"]));
    let got: serde_json::Value = serde_json::from_slice(&shared.stdout).unwrap();
    assert_eq!(shared.status.code(), Some(2));
    assert!(got["answers"][0]["values"].is_array(), "its own vector: {got}");
    for provided in [1, 2] {
        let why = got["answers"][provided]["trouble"].as_str().unwrap();
        assert!(why.contains("--share-provided"), "{why}");
    }
    let told = ["--share", "--share-provided"];
    means(&report(client("decrypt", &home).args(to).args(told)), 0.05);
    means(&report(client("decrypt", &home).args(&to[..2])), 1e-4);
}

#[test]
fn what_comes_back_is_checked() {
    let scratch = Scratch::new("answers");
    let (ours, theirs) = (scratch.path("ours"), scratch.path("theirs"));
    let result = |home: &Path| {
        keygen(home);
        let values = "--values=0.5,0.25";
        let sent = report(client("encrypt", home).args(["--program", "square-plus", values]));
        report(evaluate(&home.join("shared")).arg("--accept-insecure"));
        let id = sent["jobs"][0].as_str().unwrap().to_string();
        home.join("shared").join(format!("{id}.result"))
    };
    let (our, their) = (result(&ours), result(&theirs));
    let mut bytes = fs::read(&our).unwrap();
    fs::copy(their, &our).unwrap();
    let why = refused(&mut client("decrypt", &ours));
    assert!(why.contains("of client"), "{why}");
    bytes[1000] ^= 1;
    fs::write(&our, bytes).unwrap();
    let why = refused(&mut client("decrypt", &ours));
    assert!(why.contains("damaged"), "{why}");
}

#[test]
fn what_did_not_arrive_is_sent_again() {
    let scratch = Scratch::new("again");
    let (home, data) = (scratch.path("client"), scratch.path("data"));
    // Made while no server is there: the keys, and two jobs.
    let made = keygen(&home);
    let name = made["keys"].as_str().unwrap().to_string();
    let values = ["--program", "mean", "--values=0.5,1", "--values=0.25"];
    let made = report(client("encrypt", &home).args(values));
    let absent = ["--server", "http://127.0.0.1:1", "--patience", "0"];
    refused(client("send", &home).args(absent));
    refused(&mut client("send", &home));

    let server = Server::start(&data, None, &[]);
    let to = ["--server".to_string(), server.url()];
    let peer = Peer::of(server.address(), &home);
    let why = refused(client("decrypt", &home).args(&to));
    assert!(why.contains("2 of 2 jobs") && why.contains("unknown_job"), "{why}");
    assert!(why.contains("`send` brings it"), "{why}");
    // In words, each is named.
    let said = finish(client("decrypt", &home).args(&to)).stderr;
    let said = String::from_utf8(said).unwrap();
    assert_eq!(said.lines().filter(|line| line.contains("has no answer")).count(), 2, "{said}");
    // What is wrong with the first keeps the second from nothing.
    let input = home.join("shared").join(format!("{}.input", made["jobs"][0].as_str().unwrap()));
    let away = scratch.path("away");
    fs::rename(&input, &away).unwrap();
    let why = refused(client("send", &home).args(&to));
    assert!(why.contains(".input"), "{why}");
    // A new job has a name, also if the first file is in the way again.
    let new = finish(client("encrypt", &home).args(&values[..3]).args(&to));
    assert_eq!(new.status.code(), Some(2));
    let named = String::from_utf8(new.stdout).unwrap();
    let third = named.lines().find_map(|line| line.strip_prefix("job ")).expect("its name");
    until("it is gone", || peer.send("DELETE", &format!("/v1/jobs/{third}"), b"").status == 404);
    fs::remove_file(home.join("jobs").join(third)).unwrap();
    assert_eq!(peer.send("GET", "/v1/jobs", b"").json.as_array().map(Vec::len), Some(1));
    fs::rename(&away, &input).unwrap();
    assert_eq!(report(client("send", &home).args(&to))["sent_again"], 1);
    assert_eq!(peer.send("GET", &format!("/v1/keys/{name}"), b"").status, 200);
    assert_eq!(report(client("send", &home).args(&to))["sent_again"], 0);

    // One that the server loses does not keep the others from their answers.
    let lost = made["jobs"][0].as_str().unwrap();
    let place = format!("/v1/jobs/{lost}");
    until("it is gone", || peer.send("DELETE", &place, b"").status == 404);
    let output = finish(client("decrypt", &home).args(&to).arg("--json"));
    assert_eq!(output.status.code(), Some(2));
    let got: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(got["answers"][0]["trouble"].as_str().unwrap().contains("unknown_job"), "{got}");
    assert!(got["answers"][1]["values"].is_array(), "{got}");
    // The next vector takes it along.
    let sent = report(client("encrypt", &home).args(&values[..3]).args(&to));
    assert_eq!(sent["sent_again"], 1);
    let got = report(client("decrypt", &home).args(&to));
    assert_eq!(got["answers"].as_array().map(Vec::len), Some(2));

    // A result that came and whose job is deleted, as a kill in between leaves it.
    let sent = report(client("encrypt", &home).args(&values[..3]).args(&to));
    report(client("decrypt", &home).args(&to).arg("--keep"));
    let place = format!("/v1/jobs/{}", sent["jobs"][0].as_str().unwrap());
    assert_eq!(peer.send("DELETE", &place, b"").status, 204);
    let got = report(client("decrypt", &home).args(&to));
    assert!(got["answers"][0]["values"].is_array(), "{got}");
}

#[test]
fn clients_hear_why_uploads_are_refused_midway() {
    let scratch = Scratch::new("middle");
    let home = scratch.path("client");
    report(client("keygen", &home).args(["--preset", "toy-insecure", "--programs", "sigmoid"]));
    let path = home.join("shared").join("keys");
    let mut keys = fs::read(&path).unwrap();
    assert!(keys.len() > 20 << 20, "more than all buffers: {}", keys.len());
    keys[300_000] ^= 1;
    fs::write(&path, keys).unwrap();
    let server = Server::start(&scratch.path("data"), None, &[]);
    let why = refused(client("send", &home).args(["--server", &server.url(), "--patience", "0"]));
    assert!(why.contains("refused: malformed"), "{why}");
}

#[cfg(unix)]
#[test]
fn links_in_the_shared_folder_lead_nowhere() {
    use std::os::unix::fs::symlink;
    let scratch = Scratch::new("links");
    let home = scratch.path("client");
    keygen(&home);
    let shared = home.join("shared");
    let values = ["--values=0.5", "--values=1", "--values=0"];
    let made = report(client("encrypt", &home).args(["--program", "mean"]).args(values));
    let part = |job: usize, what: &str| {
        shared.join(format!("{}.{what}", made["jobs"][job].as_str().unwrap()))
    };
    // Where the server is about to write stands a link to a file of its owner; where it reads, one
    // to something without an end; and one request is none.
    let precious = scratch.path("precious");
    fs::write(&precious, b"mine").unwrap();
    for what in ["part", "result.part", "refused.part"] {
        symlink(&precious, part(0, what)).unwrap();
    }
    fs::remove_file(part(1, "input")).unwrap();
    symlink("/dev/zero", part(1, "input")).unwrap();
    fs::write(part(2, "request"), b"{").unwrap();
    let done = report(evaluate(&shared).arg("--accept-insecure"));
    assert_eq!((&done["done"], &done["refused"]), (&1.into(), &2.into()));
    assert_eq!(fs::read(&precious).unwrap(), b"mine");

    // The other direction: a result in the folder must not make the client send its own files.
    let sent = report(client("encrypt", &home).args(["--program", "mean", "--values=1"]));
    let input = shared.join(format!("{}.input", sent["jobs"][0].as_str().unwrap()));
    fs::remove_file(&input).unwrap();
    symlink(home.join("secret"), &input).unwrap();
    let server = Server::start(&scratch.path("data"), None, &[]);
    let why = refused(client("send", &home).args(["--server", &server.url()]));
    assert!(why.contains("not a regular file"), "{why}");
}

#[test]
fn bad_arguments_and_bad_files_are_one_line() {
    let scratch = Scratch::new("arguments");
    let home = scratch.path("client");
    let why = refused(client("encrypt", &home).args(["--program", "mean", "--values", "1"]));
    assert!(why.contains("client.json"), "{why}");
    let why = refused(client("keygen", &home).args(["--count", "0"]));
    assert!(why.contains("--count") && !home.exists(), "{why}");
    keygen(&home);
    let cases: [(&[&str], &str); 7] = [
        (&["--program", "mean", "--values", "987654"], "value at position 0 of 1 lies outside"),
        (&["--program", "mean", "--values", "1,987654x"], "not a finite number"),
        (&["--program", "mean", "--values", "0,0,0,0,0,0,0,0,0"], "--count"),
        (&["--program", "polynomial", "--values", "0"], "keys were made for"),
        (&["--program", "nothing", "--values", "0"], "no program"),
        (&["--program", "mean"], "--values"),
        (&["--program", "mean", "--csv", "absent.csv", "--column", "a"], "absent.csv"),
    ];
    for (flags, reason) in cases {
        let why = refused(client("encrypt", &home).args(flags));
        assert!(why.contains(reason), "{flags:?}: {why}");
        assert!(!why.contains("98765"), "a value is repeated: {why}");
    }
    // What is to be encrypted is not repeated.
    for values in ["0.5,7.1932", "0.5,7.19x32"] {
        let why = refused(client("encrypt", &home).args(["--program", "mean", "--values", values]));
        assert!(!why.contains("7.19") && why.contains(" 2 "), "{why}");
    }
    for (text, reason) in [
        ("a;b\n0,5;1\n", "separated by semicolons"),
        ("a\tb\n0.5\t1\n", "separated by tabs"),
        ("b,c\n0.5,1\n", "no column a"),
        // Separators in quotes are part of a name.
        ("\"b;c;d\",e\n0.5,1\n", "no column a"),
    ] {
        let path = scratch.path("cells.csv");
        fs::write(&path, text).unwrap();
        let flags = ["--program", "mean", "--column", "a", "--csv"];
        let why = refused(client("encrypt", &home).args(flags).arg(&path));
        assert!(why.contains(reason), "{text:?}: {why}");
    }
    // Rows of empty cells at the end are none.
    let path = scratch.path("rows.csv");
    fs::write(&path, "b,a,c\n1,0.5,2\n1,-1,2\n,,\n, ,\n").unwrap();
    let flags = ["--program", "mean", "--column", "a", "--csv"];
    report(client("encrypt", &home).args(flags).arg(&path));
    let again = client("keygen", &home).args(["--preset", "toy-insecure"]).output().unwrap();
    assert_eq!(again.status.code(), Some(2), "a secret key is never overwritten");
    let why = refused(&mut evaluate(&home.join("shared")));
    assert!(why.contains("insecure"), "{why}");
    let why = refused(client("decrypt", &home).args(["--table", "/no/such/folder/table.csv"]));
    assert!(why.contains("/no/such/folder"), "{why}");
    let absent = ["--server", "http://127.0.0.1:1", "--patience", "0"];
    let why = refused(client("decrypt", &home).args(absent));
    assert!(why.contains("http://127.0.0.1:1"), "{why}");
    let why = refused(program("exchange_server").args(["--listen", "nowhere"]));
    assert!(why.contains("--listen"), "{why}");
}

#[cfg(unix)]
#[test]
fn secrets_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("modes");
    let home = scratch.path("client");
    keygen(&home);
    for name in ["secret", "token"] {
        let mode = fs::metadata(home.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let server = Server::start(&scratch.path("data"), None, &[]);
    let relay = Relay::start(server.address());
    let to = ["--server".to_string(), format!("http://{}", relay.address)];
    report(client("encrypt", &home).args(["--program", "mean", "--values=0.5"]).args(&to));
    report(client("decrypt", &home).args(&to));
    let sent = relay.sent.lock().unwrap().clone();
    let has = |part: &[u8]| sent.windows(part.len()).any(|window| window == part);
    // The relay has seen everything: the token and the keys.
    let middle = |bytes: &[u8]| bytes[bytes.len() / 2..bytes.len() / 2 + 64].to_vec();
    let keys = fs::read(home.join("shared").join("keys")).unwrap();
    assert!(has(&fs::read(home.join("token")).unwrap()) && has(&middle(&keys)));
    // The coefficients, behind header and identity, as they stand in the file: nowhere.
    let secret = middle(&fs::read(home.join("secret")).unwrap());
    assert!(!has(&secret) && !keys.windows(secret.len()).any(|window| window == secret));
}

#[test]
fn a_secret_key_may_have_a_passphrase() {
    let scratch = Scratch::new("passphrase");
    let home = scratch.path("client");
    let named = |name: &str, text: &str| {
        let path = scratch.path(name);
        fs::write(&path, text).unwrap();
        path
    };
    let [right, wrong, none] =
        [named("right", "correct horse\n"), named("wrong", "correct  horse"), named("none", "\n")];
    let call = |command: &str, passphrase: &Path| {
        let mut call = client(command, &home);
        call.arg("--passphrase").arg(passphrase);
        call
    };
    let made = ["--preset", "toy-insecure", "--programs", "mean", "--count", "8"];
    assert!(refused(call("keygen", &none).args(made)).contains("no passphrase"));
    report(call("keygen", &right).args(made));
    assert!(fs::read(home.join("secret")).unwrap().starts_with(b"BELLLOCK"));
    let values = ["--program", "mean", "--values=0.5,0.25"];
    assert!(refused(client("encrypt", &home).args(values)).contains("--passphrase"));
    assert!(refused(call("encrypt", &wrong).args(values)).contains("passphrase"));
    report(call("encrypt", &right).args(values));
    report(evaluate(&home.join("shared")).arg("--accept-insecure"));
    assert!(refused(&mut client("decrypt", &home)).contains("--passphrase"));
    let got = report(&mut call("decrypt", &right));
    let values: Vec<f64> = serde_json::from_value(got["answers"][0]["values"].clone()).unwrap();
    assert!(values.iter().all(|v| (v - 0.375).abs() < 1e-5), "{values:?}");
    // Commands that read no secret key take no passphrase.
    let unread = refused(&mut call("send", &right));
    assert!(unread.contains("unexpected argument '--passphrase'"), "{unread}");
    // A key without one is not read as if it had one.
    let plain = scratch.path("plain");
    keygen(&plain);
    let why = refused(client("decrypt", &plain).arg("--passphrase").arg(&right));
    assert!(why.contains("leave --passphrase out"), "{why}");
}

/// Stands before a server and keeps what clients send.
struct Relay {
    address: SocketAddr,
    sent: Arc<Mutex<Vec<u8>>>,
}

impl Relay {
    fn start(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, sent) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<u8>>>::default());
        let (server, seen) = (server.to_string(), sent.clone());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(&server) else { return };
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let seen = seen.clone();
                thread::spawn(move || pass(from, to, |bytes| seen.lock().unwrap().extend(bytes)));
                thread::spawn(move || pass(server, client, |_| {}));
            }
        });
        Self { address, sent }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, mut tell: impl FnMut(&[u8])) {
    let mut piece = [0; 1 << 14];
    while let Ok(bytes @ 1..) = from.read(&mut piece) {
        tell(&piece[..bytes]);
        if to.write_all(&piece[..bytes]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
