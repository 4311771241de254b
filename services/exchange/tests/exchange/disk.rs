//! Restarts, damaged folders and disks that refuse.

use std::fs;
use std::io::Write;
use std::net::TcpListener;

use bellerophon_exchange::protocol::{Code, Hex, JobId, Refusal, State};
use bellerophon_exchange::server::store::{JobRecord, Store, job_change, key_change, owner_change};

use super::parts::{client, record};
use super::processes::{Scratch, Server, program, until};
use super::requests::{Peer, Setting, job_id, serving, setting, setting_for};

/// Puts a job where a server that was killed after its answer would have left it.
fn leave_job(store: &Store, ours: &Setting, salt: &str, number: u64, tries: u32) {
    let mut spool = store.spool().unwrap();
    spool.write_all(&ours.input).unwrap();
    let (digest, bytes) = (spool.hash(), ours.input.len() as u64);
    let (program, keys) = ("mean".to_string(), ours.keys.parse().unwrap());
    let (state, refusal, answer, work) = (State::Accepted, None, None, 1);
    let id: JobId = job_id(salt);
    let record =
        JobRecord { id, program, keys, number, digest, bytes, work, tries, state, refusal, answer };
    store.keep_job(ours.peer.name(), spool, &record).unwrap();
}

#[test]
fn stored_jobs_run_after_restarts_but_not_for_ever() {
    let (_scratch, data, server, ours) = serving("restart", &[]);
    let address = server.kill();

    // What a server leaves that is killed between the acknowledgement and the run, and one that
    // ends each time that it runs the job.
    let (store, _) = Store::open(&data).expect("the folder of the server");
    assert!(Store::open(&data).is_err(), "two servers in one folder");
    leave_job(&store, &ours, "once", 0, 1);
    leave_job(&store, &ours, "always", 1, 5);
    drop(store);
    let server = Server::start(&data, Some(&address), &[]);
    assert_eq!(server.recovered, 2);
    assert_eq!(ours.wait("once").state, State::Done);
    let refusal = ours.wait("always").refusal.expect("why");
    assert_eq!(refusal.code.to_string(), "crashed");
    // What was refused stays refused.
    let address = server.kill();
    let server = Server::start(&data, Some(&address), &[]);
    assert_eq!(server.recovered, 0);
    assert_eq!(ours.wait("once").state, State::Done);
    assert_eq!(ours.wait("always").state, State::Refused);
    let place = format!("/v1/jobs/{}/result", job_id("once"));
    assert_eq!(ours.peer.send("GET", &place, b"").status, 200);
}

/// A server was killed between the deletion of a job that a worker had and the worker's next look
/// at it: the job came back, and so did its answer.
#[test]
fn deleted_jobs_leave_nothing_even_after_a_crash() {
    let scratch = Scratch::new("deletion");
    let data = scratch.path("data");
    let owner = client(1);
    let outcomes: [Option<Result<Vec<u8>, Refusal>>; 3] =
        [None, Some(Ok(b"answer".to_vec())), Some(Err(Refusal::new(Code::TimeLimit, "late")))];
    for outcome in outcomes {
        let (store, _) = Store::open(&data).unwrap();
        // Step 1: two jobs are accepted.
        let mut records = [1, 2].map(|n| {
            let mut spool = store.spool().unwrap();
            spool.write_all(b"request").unwrap();
            let record = JobRecord { digest: spool.hash(), bytes: spool.written, ..record(n, 1) };
            store.keep_job(owner, spool, &record).unwrap();
            record
        });
        // Step 2: one is deleted while a worker has it, which writes afterwards.
        store.note_deletion(owner, records[0].id, records[0].number).unwrap();
        records[0].tries += 1;
        store.write(&[job_change(owner, records[0].id, Some(&records[0]))]).unwrap();
        if let Some(outcome) = outcome {
            store.keep_outcome(owner, &mut records[0], outcome).unwrap();
        }
        // Step 3: an answer arrives on the disk, and the server is killed before it is recorded.
        fs::write(store.job(owner, records[1].id, "answer"), b"answer").unwrap();
        drop(store);
        // Step 4: the other job alone is found, without an answer, and the next start is the same.
        for _ in 0..2 {
            let (store, found) = Store::open(&data).unwrap();
            let jobs: Vec<_> = found.jobs.iter().map(|(_, job)| job).collect();
            assert_eq!(jobs, [&records[1]]);
            let files = fs::read_dir(data.join("blobs").join(owner.as_str())).unwrap();
            let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
            assert_eq!(files, [store.job(owner, records[1].id, "request")]);
        }
        // Step 5: a later job of the same name is another one.
        let (store, _) = Store::open(&data).unwrap();
        store.note_deletion(owner, records[1].id, records[1].number + 1).unwrap();
        drop(store);
        let (store, found) = Store::open(&data).unwrap();
        assert_eq!(found.jobs.len(), 1);
        // Step 6: the record of another one, written late, does not undo a deletion.
        for number in [records[1].number, records[1].number + 1] {
            store.note_deletion(owner, records[1].id, number).unwrap();
        }
        drop(store);
        let (_, found) = Store::open(&data).unwrap();
        assert_eq!(found.jobs.len(), 0);
    }
}

/// As the test above, with a server that is killed.
#[test]
fn jobs_deleted_while_running_do_not_come_back() {
    let scratch = Scratch::new("deleted");
    let data = scratch.path("data");
    let mut server = Server::start(&data, None, &[]);
    let ours = setting_for(&scratch.path("ours"), &server, "sigmoid");
    ours.submit("a", "sigmoid");
    until("it runs", || !ours.is("a", State::Accepted));
    let place = format!("/v1/jobs/{}", job_id("a"));
    // It may have ended meanwhile.
    assert!(matches!(ours.peer.send("DELETE", &place, b"").status, 202 | 204));
    server.restart(&data, &[]);
    assert_eq!(server.recovered, 0);
    assert_eq!(ours.peer.send("GET", &place, b"").refused(), "unknown_job");
    let left = fs::read_dir(ours.peer.folder(&data)).unwrap();
    assert_eq!(left.count(), 1, "the keys alone");
}

#[test]
fn what_the_disk_has_lost_ends_its_job_alone() {
    let scratch = Scratch::new("lost");
    let data = scratch.path("data");
    let server = Server::start(&data, None, &[]);
    let (ours, theirs) =
        (setting(&scratch.path("ours"), &server), setting(&scratch.path("theirs"), &server));
    let address = server.kill();
    let (store, _) = Store::open(&data).expect("the folder of the server");
    for (number, salt) in ["a", "b"].into_iter().enumerate() {
        leave_job(&store, &ours, salt, number as u64, 0);
    }
    leave_job(&store, &theirs, "d", 9, 0);
    leave_job(&store, &theirs, "e", 10, 0);
    drop(store);
    fs::remove_file(ours.peer.folder(&data).join(format!("{}.keys", ours.keys))).unwrap();
    // A ciphertext that is there in part: its client has sent all of it.
    let cut = theirs.peer.folder(&data).join(format!("{}.request", job_id("e")));
    let bytes = fs::read(&cut).unwrap();
    fs::write(&cut, &bytes[..bytes.len() - 100]).unwrap();
    // What a disk has by itself, and what is not a file, in every place.
    for folder in ["incoming", "blobs"] {
        fs::create_dir(data.join(folder).join("lost+found")).unwrap();
    }
    fs::create_dir(ours.peer.folder(&data).join(format!("{}.answer", "7".repeat(32)))).unwrap();
    // More jobs without keys than there are workers.
    let server = Server::start(&data, Some(&address), &[]);
    assert_eq!(server.recovered, 3);
    for salt in ["a", "b"] {
        assert_eq!(ours.wait(salt).refusal.unwrap().code, Code::UnknownKeys);
    }
    assert_eq!(theirs.wait("d").state, State::Done);
    assert_eq!(theirs.wait("e").refusal.unwrap().code, Code::Lost);
}

#[test]
fn only_attempts_that_a_crash_ended_are_counted() {
    let scratch = Scratch::new("attempts");
    let data = scratch.path("data");
    let (owner, id) = (client(1), record(1, 1).id);
    let (store, _) = Store::open(&data).unwrap();
    let mut spool = store.spool().unwrap();
    spool.write_all(b"request").unwrap();
    let kept = JobRecord { digest: spool.hash(), bytes: spool.written, ..record(1, 1) };
    store.keep_job(owner, spool, &kept).unwrap();
    let tries = || Store::open(&data).unwrap().1.jobs[0].1.tries;
    let marks = || fs::read_dir(data.join("attempts")).unwrap().count();
    // One that ends, and one in which the server is killed.
    drop(store.attempt(owner, id, 1).unwrap());
    assert_eq!(marks(), 0);
    drop(store);
    assert_eq!(tries(), 0);
    for crashes in 1..=3 {
        let (store, _) = Store::open(&data).unwrap();
        // A mark that was counted before its removal is counted once.
        std::mem::forget(store.attempt(owner, id, 1).unwrap());
        std::mem::forget(store.attempt(owner, id, crashes).unwrap());
        drop(store);
        assert_eq!([tries(), tries()], [crashes; 2]);
        assert_eq!(marks(), 0);
    }
}

/// Attempts whose outcome the disk refused counted as crashes: a disk that was full for a minute
/// ended every job.
#[test]
fn refusing_disks_and_killed_servers_cost_no_job() {
    let scratch = Scratch::new("refusing");
    let data = scratch.path("data");
    let mut server = Server::start(&data, None, &[]);
    let (ours, theirs) =
        (setting(&scratch.path("ours"), &server), setting(&scratch.path("theirs"), &server));
    // Results that cannot be stored: something is in their place.
    let bad = |salt: &str| ours.peer.folder(&data).join(format!("{}.answer", job_id(salt)));
    let refusals = |server: &Server, salt: &str| {
        let (log, id) = (server.log(), job_id(salt).to_string());
        log.lines().filter(|line| line.contains("it waits") && line.contains(&id)).count()
    };
    let submit = |salt: &str| {
        fs::create_dir(bad(salt)).unwrap();
        ours.submit(salt, "mean");
    };
    // Step 1: the server is killed after an attempt, more often than a job may crash it.
    submit("a");
    for _ in 0..7 {
        until("an outcome is refused", || refusals(&server, "a") > 0);
        server.restart(&data, &[]);
    }
    // Step 2: more such jobs than there are workers, for more attempts than any counter allows. The
    // job of another client runs all the same.
    ["b", "c"].into_iter().for_each(submit);
    theirs.submit("d", "mean");
    assert_eq!(theirs.wait("d").state, State::Done);
    let jobs = ["a", "b", "c"];
    until("it lasts", || jobs.iter().all(|salt| refusals(&server, salt) > 9));
    // Step 3: nothing can be written for a while.
    let away = scratch.path("away");
    fs::rename(data.join("incoming"), &away).unwrap();
    let before = jobs.map(|salt| refusals(&server, salt));
    until("a new attempt", || refusals(&server, "a") > before[0] + 1);
    for salt in jobs {
        assert!(ours.is(salt, State::Accepted) || ours.is(salt, State::Running), "{salt}");
    }
    // Step 4: there is room again.
    fs::rename(&away, data.join("incoming")).unwrap();
    jobs.iter().for_each(|salt| fs::remove_dir(bad(salt)).unwrap());
    for salt in jobs {
        assert_eq!(ours.wait(salt).state, State::Done);
    }
    assert!(bad("a").is_file() && !bad("a").with_extension("request").exists());
}

#[test]
fn a_server_that_cannot_listen_begins_with_no_job() {
    let (_scratch, data, server, ours) = serving("no-port", &[]);
    let address = server.kill();
    let (store, _) = Store::open(&data).expect("the folder of the server");
    leave_job(&store, &ours, "a", 0, 0);
    drop(store);
    let taken = TcpListener::bind(&address).unwrap();
    let failed = program("exchange_server")
        .args(["--accept-insecure", "--listen", &address, "--data"])
        .arg(&data)
        .output()
        .unwrap();
    assert_eq!(failed.status.code(), Some(2));
    let request = ours.peer.folder(&data).join(format!("{}.request", job_id("a")));
    assert!(request.exists() && !request.with_extension("answer").exists());
    drop(taken);
    let _server = Server::start(&data, Some(&address), &[]);
    assert_eq!(ours.wait("a").state, State::Done);
}

/// Records that could not be read were left out, and their files removed at the start.
#[test]
fn files_of_unreadable_records_stay() {
    let (scratch, data, server, ours) = serving("unreadable", &[]);
    let theirs = setting(&scratch.path("theirs"), &server);
    for salt in ["a", "b"] {
        ours.submit(salt, "mean");
        assert_eq!(ours.wait(salt).state, State::Done);
    }
    let address = server.kill();
    let (store, _) = Store::open(&data).unwrap();
    let (client, keys) = (ours.peer.name(), ours.keys.parse().unwrap());
    for (key, _) in [
        key_change(client, keys, None),
        job_change(client, job_id("a"), None),
        owner_change(theirs.peer.name(), None),
    ] {
        store.write(&[(key, Some(b"of a newer server".to_vec()))]).unwrap();
    }
    drop(store);
    let server = Server::start(&data, Some(&address), &[]);
    let folder = ours.peer.folder(&data);
    assert!(folder.join(format!("{keys}.keys")).exists());
    let answer = |salt| folder.join(format!("{}.answer", job_id(salt)));
    assert!(answer("a").exists() && answer("b").exists());
    assert_eq!(ours.wait("b").state, State::Done);
    let place = format!("/v1/jobs/{}", job_id("a"));
    assert_eq!(ours.peer.send("GET", &place, b"").refused(), "unknown_job");
    // Nobody knows whether this token was refused.
    assert_eq!(theirs.peer.send("GET", "/v1/keys", b"").refused(), "unauthorised");
    until("it is named", || server.log().contains("a damaged record is left out"));
}

/// No file may grow beyond this limit: the system refuses the next byte, as a full disk does, and
/// sends a signal that ends a process which does not expect it.
#[cfg(unix)]
#[test]
fn full_disks_refuse_and_cost_nothing_stored() {
    let (_scratch, data, server, ours) = serving("full", &[]);
    ours.submit("a", "mean");
    assert_eq!(ours.wait("a").state, State::Done);
    let address = server.kill();
    let keys = fs::read(ours.folder.join("shared").join("keys")).unwrap();
    let path = format!("/v1/keys/{}", ours.keys);
    let stranger = Peer::new(&address, Hex::<64>::of(&[7; 32]).as_str());
    let size = |path: &std::path::Path| fs::metadata(path).unwrap().len();
    let database = size(&data.join("exchange.redb"));

    // Step 1: room for records and jobs, and for half of the keys.
    let limit = (keys.len() as u64 / 2).max(database);
    assert!(limit < keys.len() as u64, "{limit} bytes, and keys of {}", keys.len());
    let server = Server::start_with("ulimit -f", limit / 512, &data, Some(&address), &[]);
    for _ in 0..3 {
        assert_eq!(stranger.send("PUT", &path, &keys).refused(), "storage_full");
    }
    assert_eq!(fs::read_dir(data.join("incoming")).unwrap().count(), 0);
    ours.submit("b", "mean");
    assert_eq!(ours.wait("b").state, State::Done);
    server.kill();

    // Step 2: no room for the ciphertext of a job. What is there is served.
    let limit = ours.input.len() as u64 / 2;
    let server = Server::start_with("ulimit -f", limit / 512, &data, Some(&address), &[]);
    for salt in ["c", "d"] {
        let answer = ours.peer.send("PUT", &ours.path(salt, "mean"), &ours.input);
        assert_eq!(answer.refused(), "storage_full");
    }
    for salt in ["a", "b"] {
        let place = format!("/v1/jobs/{}/result", job_id(salt));
        assert_eq!(ours.peer.send("GET", &place, b"").status, 200);
    }
    server.kill();

    // Step 3: with room again, everything goes on.
    let _server = Server::start(&data, Some(&address), &[]);
    ours.submit("c", "mean");
    assert_eq!(ours.wait("c").state, State::Done);
    assert_eq!(stranger.send("PUT", &path, &keys).status, 201);
    assert_eq!(ours.wait("a").state, State::Done);
}
