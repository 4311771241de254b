//! Backup, restore and upgrade; databases that are lost, older than the files, or of a newer
//! server.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use bellerophon_exchange::protocol::{Code, Refusal, State};
use bellerophon_exchange::server::store::{JobRecord, Store};
use redb::{ReadableDatabase, TableDefinition};

use super::parts::{client, job, keys, record};
use super::processes::{Scratch, Server, finish, program, until};
use super::requests::{job_id, serving, setting};

/// Why a server does not start on a folder.
fn refused(data: &Path) -> String {
    // One that starts all the same cannot listen there, and ends.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut server = program("exchange_server");
    server.args(["--accept-insecure", "--listen", &taken.local_addr().unwrap().to_string()]);
    let output = finish(server.arg("--data").arg(data));
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}

/// All files below a folder, without its locks and sockets.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.retain(|path| path.is_file() && !path.ends_with("lock"));
    found.sort();
    found
}

/// Copies the files of a folder, as an operator does.
fn bring(from: &Path, to: &Path) {
    for path in files(from) {
        let to = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(path, to).unwrap();
    }
}

/// A server without its database removed the files of all clients.
#[test]
fn a_lost_database_disowns_nobody() {
    let (scratch, data, server, ours) = serving("lost-database", &[]);
    ours.submit("a", "mean");
    assert_eq!(ours.wait("a").state, State::Done);
    let address = server.kill();
    let (database, away) = (data.join("exchange.redb"), scratch.path("away"));
    fs::rename(&database, &away).unwrap();
    let before = files(&data);
    assert_eq!(before.len(), 3, "keys, an answer, and the mark of a start");
    let why = refused(&data);
    assert!(why.contains("exchange.redb is missing") && why.contains("backup"), "{why}");
    let list = finish(program("exchange_admin").arg("--data").arg(&data).arg("list"));
    assert_eq!(list.status.code(), Some(2));
    assert_eq!(files(&data), before);
    // One that is there without its contents.
    fs::write(&database, b"").unwrap();
    let why = refused(&data);
    assert!(why.contains("exchange.redb is missing or empty"), "{why}");
    fs::rename(&away, &database).unwrap();
    let _server = Server::start(&data, Some(&address), &[]);
    assert_eq!(ours.wait("a").state, State::Done);
}

/// Without files of clients, a lost database began anew, and a revoked token uploaded as a guest.
#[test]
fn a_lost_database_revives_nobody() {
    let scratch = Scratch::new("revived");
    let data = scratch.path("data");
    Server::start(&data, None, &[]).kill();
    let admin = |flags: &[&str]| {
        let output = finish(program("exchange_admin").arg("--data").arg(&data).args(flags));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let invited = admin(&["invite", "--name", "eve"]);
    admin(&["revoke", invited["client"].as_str().unwrap()]);
    let (database, away) = (data.join("exchange.redb"), scratch.path("away"));
    fs::rename(&database, &away).unwrap();
    assert_eq!(fs::read_dir(data.join("blobs")).unwrap().count(), 0);
    for empty in [false, true] {
        if empty {
            fs::write(&database, b"").unwrap();
        }
        let why = refused(&data);
        assert!(why.contains("exchange.redb is missing") && why.contains("backup"), "{why}");
    }
    fs::rename(&away, &database).unwrap();
    assert_eq!(Store::open(&data).unwrap().1.owners.len(), 1);
}

/// An older database names a job by a name that has another job's files since. They were removed.
#[test]
fn files_of_later_jobs_of_one_name_are_moved_aside() {
    let scratch = Scratch::new("same-name");
    let data = scratch.path("data");
    let owner = client(1);
    let (store, _) = Store::open(&data).unwrap();
    let refusal = || Err(Refusal::new(Code::TimeLimit, "late"));
    let outcomes = [Some(Ok(b"answer".to_vec())), Some(refusal()), None, Some(refusal())];
    let mut records = vec![];
    for (n, outcome) in (1..).zip(outcomes) {
        let mut spool = store.spool().unwrap();
        spool.write_all(b"request").unwrap();
        let mut job = JobRecord { digest: spool.hash(), bytes: spool.written, ..record(n, 1) };
        store.keep_job(owner, spool, &job).unwrap();
        match outcome {
            Some(outcome) => store.keep_outcome(owner, &mut job, outcome).unwrap(),
            // It is deleted while a worker has it.
            None => store.note_deletion(owner, job.id, job.number).unwrap(),
        }
        records.push(job);
    }
    for job in &records[..3] {
        fs::write(store.job(owner, job.id, "request"), b"another").unwrap();
    }
    for job in &records[1..3] {
        fs::write(store.job(owner, job.id, "answer"), b"its answer").unwrap();
    }
    // What a job has left that ended is removed as before.
    fs::write(store.job(owner, records[3].id, "request"), b"request").unwrap();
    drop(store);
    let (store, found) = Store::open(&data).unwrap();
    assert_eq!(found.jobs.len(), 3);
    assert_eq!(files(&data.join("blobs")), [store.job(owner, records[0].id, "answer")]);
    let aside = files(&data.join("aside"));
    let contents = aside.iter().map(|path| fs::read(path).unwrap());
    let another = contents.filter(|bytes| bytes == b"another").count();
    assert_eq!((aside.len(), another), (5, 3));
}

/// A server with an older database removed what it does not name, without a word.
#[test]
fn files_newer_than_the_database_are_moved_aside() {
    let (scratch, data, server, ours) = serving("older-database", &[]);
    let (database, older) = (data.join("exchange.redb"), scratch.path("older"));
    let address = server.address().to_string();
    assert!(server.stop().success());
    fs::copy(&database, &older).unwrap();
    let server = Server::start(&data, Some(&address), &[]);
    let theirs = setting(&scratch.path("theirs"), &server);
    ours.submit("a", "mean");
    assert_eq!(ours.wait("a").state, State::Done);
    assert!(server.stop().success());
    let all = files(&data.join("blobs"));
    let newest = scratch.path("newest");
    fs::rename(&database, &newest).unwrap();
    fs::copy(&older, &database).unwrap();
    let server = Server::start(&data, Some(&address), &[]);
    until("it is named", || server.log().contains("no record names these files"));
    let gone = ours.peer.send("GET", &format!("/v1/jobs/{}", job_id("a")), b"");
    assert_eq!(gone.refused(), "unknown_job");
    server.kill();
    let aside = data.join("aside");
    assert_eq!(files(&aside).len(), 2, "an answer, and the keys of the other client");
    // They are brought back with the right database.
    fs::rename(&newest, &database).unwrap();
    bring(&aside, &data.join("blobs"));
    fs::remove_dir_all(&aside).unwrap();
    assert_eq!(files(&data.join("blobs")), all);
    let server = Server::start(&data, Some(&address), &[]);
    let place = format!("/v1/jobs/{}/result", job_id("a"));
    assert_eq!(ours.peer.send("GET", &place, b"").status, 200);
    let keys = format!("/v1/keys/{}", theirs.keys);
    assert_eq!(theirs.peer.send("GET", &keys, b"").status, 200);
    assert!(!aside.exists() && !server.log().contains("no record names"));
}

#[test]
fn a_backup_of_the_folder_is_restored() {
    let (scratch, data, server, ours) = serving("backup", &[]);
    ours.submit("a", "mean");
    assert_eq!(ours.wait("a").state, State::Done);
    let address = server.address().to_string();
    assert!(server.stop().success());
    let backup = scratch.path("backup");
    bring(&data, &backup);
    let server = Server::start(&data, Some(&address), &[]);
    let place = |salt: &str| format!("/v1/jobs/{}", job_id(salt));
    assert_eq!(ours.peer.send("DELETE", &place("a"), b"").status, 204);
    ours.submit("b", "mean");
    assert_eq!(ours.wait("b").state, State::Done);
    server.kill();
    fs::remove_dir_all(&data).unwrap();
    bring(&backup, &data);
    let _server = Server::start(&data, Some(&address), &[]);
    assert_eq!(ours.peer.send("GET", &format!("{}/result", place("a")), b"").status, 200);
    // What is newer than the backup is sent again.
    assert_eq!(ours.peer.send("GET", &place("b"), b"").refused(), "unknown_job");
    ours.submit("b", "mean");
    assert_eq!(ours.wait("b").state, State::Done);
}

#[test]
fn the_schema_of_the_database_is_numbered() {
    let scratch = Scratch::new("schema");
    let data = scratch.path("data");
    let number = || {
        let database = redb::Database::open(data.join("exchange.redb")).unwrap();
        let records = TableDefinition::<&str, &[u8]>::new("records");
        let table = database.begin_read().unwrap().open_table(records).unwrap();
        table.get("schema").unwrap().map(|number| number.value().to_vec())
    };
    drop(Store::open(&data).unwrap());
    assert_eq!(number(), Some(b"1".to_vec()));
    // Records from before the number, with fields that came and went since.
    let (store, _) = Store::open(&data).unwrap();
    let (owner, id, keys) = (client(1), job(1), keys(1));
    let client = r#"{"name": "alice", "invited": true, "revoked": false, "quota": null}"#;
    let job = serde_json::json!({"id": id, "program": "mean", "keys": keys, "number": 7,
        "digest": keys, "bytes": 10, "work": 1, "tries": 0, "state": "refused", "answer": null,
        "refusal": {"code": "not_computable", "reason": "in words"}});
    let old = [
        ("schema".to_string(), None),
        (format!("owner/{owner}"), Some(client.as_bytes().to_vec())),
        (format!("jobs/{owner}/{id}"), Some(job.to_string().into_bytes())),
    ];
    store.write(&old).unwrap();
    drop(store);
    assert_eq!(number(), None);
    let (store, found) = Store::open(&data).unwrap();
    assert_eq!((found.owners[0].1.name.as_str(), found.jobs[0].1.number), ("alice", 7));
    assert_eq!(found.jobs[0].1.refusal.as_ref().unwrap().code, Code::NotComputable);
    drop(store);
    assert_eq!(number(), Some(b"1".to_vec()));
    // The record of a newer server.
    let (store, _) = Store::open(&data).unwrap();
    store.write(&[("schema".to_string(), Some(b"2".to_vec()))]).unwrap();
    drop(store);
    let why = refused(&data);
    assert!(why.contains("the schema 2,") && why.contains("backup"), "{why}");
    assert!(Store::open(&data).is_err());
    assert_eq!(number(), Some(b"2".to_vec()), "it stays as it is");
}
