//! The routes of the server.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::answers::{Answer, empty, json, keeping, refused, stored};
use super::board::{Brought, UnderWay};
use super::exchange::{Exchange, disk, fault};
use super::programs::Program;
use super::protocol::{
    ClientId, Code, Hash, Hex, Info, JobId, KeyStatus, Offer, Refusal, State, Status, Token,
    VERSION, client_id,
};
use super::store::{KeyRecord, Ticket};
use super::tell::tell;
use super::uploads;

/// The longest time in seconds that an answer waits for a job to end.
const LONGEST_WAIT: u64 = 30;

/// Handles a request. There is always an answer.
pub async fn answer(
    exchange: Arc<Exchange>,
    request: Request<Incoming>,
) -> Result<Response<Answer>, Infallible> {
    Ok(route(exchange, request).await.unwrap_or_else(|refusal| refused(&refusal)))
}

async fn route(
    exchange: Arc<Exchange>,
    request: Request<Incoming>,
) -> Result<Response<Answer>, Refusal> {
    let path = request.uri().path().to_string();
    let parts: Vec<&str> = path.strip_prefix('/').unwrap_or(&path).split('/').collect();
    if parts == [VERSION] {
        return match *request.method() {
            Method::GET => json(StatusCode::OK, &info(&exchange)),
            _ => Err(method()),
        };
    }
    let client = client(&request)?;
    let under_way = Arc::new(exchange.board.enter(client)?);
    let caller = Caller { exchange, under_way: under_way.clone(), client };
    let response = match (request.method(), &parts[..]) {
        (&Method::GET, [VERSION, "keys"]) => {
            json(StatusCode::OK, &caller.exchange.board.key_list(client))
        }
        (&Method::PUT, [VERSION, "keys", keys]) => caller.put_keys(name(keys)?, request).await,
        (&Method::GET, [VERSION, "keys", keys]) => {
            let record = caller.exchange.board.keys(client, name(keys)?)?;
            json(StatusCode::OK, &key_status(record))
        }
        (&Method::DELETE, [VERSION, "keys", keys]) => caller.delete_keys(name(keys)?).await,
        (&Method::GET, [VERSION, "jobs"]) => {
            let after = query(&request, "after").map(name).transpose()?;
            json(StatusCode::OK, &caller.exchange.board.job_list(client, after)?)
        }
        (&Method::PUT, [VERSION, "jobs", job]) => caller.put_job(name(job)?, request).await,
        (&Method::GET, [VERSION, "jobs", job]) => {
            let wait = query(&request, "wait").map_or(Ok(0), str::parse);
            let wait = wait.map_err(|_| bad("wait: expected a whole number of seconds"))?;
            json(StatusCode::OK, &caller.wait(name(job)?, wait).await?)
        }
        (&Method::GET, [VERSION, "jobs", job, "result"]) => caller.result(name(job)?).await,
        (&Method::DELETE, [VERSION, "jobs", job]) => caller.delete_job(name(job)?).await,
        (_, [VERSION, "keys" | "jobs"] | [VERSION, "keys" | "jobs", _])
        | (_, [VERSION, "jobs", _, "result"]) => Err(method()),
        _ => Err(Refusal::new(Code::UnknownPath, format!("no path {path}"))),
    };
    // The request counts until its answer has been sent.
    Ok(keeping(response.unwrap_or_else(|refusal| refused(&refusal)), under_way))
}

/// The client of a request.
struct Caller {
    exchange: Arc<Exchange>,
    /// A guard for work that continues after the connection breaks.
    under_way: Arc<UnderWay>,
    client: ClientId,
}

impl Caller {
    /// Runs blocking work away from the connections.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Exchange, ClientId) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (exchange, client) = (self.exchange.clone(), self.client);
        let under_way = self.under_way.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _under_way = under_way;
            work(&exchange, client)
        });
        done.await.map_err(fault)?
    }

    /// As [`blocking`](Self::blocking), for work that takes memory for an upload: only a few at a
    /// time, also after their connections break.
    async fn checking<T: Send + 'static>(
        &self,
        places: &Arc<Semaphore>,
        work: impl FnOnce(&Exchange, ClientId) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let place = places.clone().acquire_owned().await.map_err(fault)?;
        self.blocking(move |exchange, client| {
            let _place = place;
            work(exchange, client)
        })
        .await
    }

    async fn put_keys(
        &self,
        keys: Hash,
        request: Request<Incoming>,
    ) -> Result<Response<Answer>, Refusal> {
        let Exchange { board, store, limits, .. } = &*self.exchange;
        if board.keys(self.client, keys).is_err() {
            let length = uploads::declared(request.headers(), limits.key_bytes)?;
            let mut held = board.expect_keys(self.client, keys, length)?;
            let (spool, body) = (store.spool().map_err(disk)?, request.into_body());
            let room = |bytes| held.grow(bytes);
            let spool = uploads::receive(spool, body, length, limits.body_seconds, room).await?;
            self.checking(&self.exchange.key_sets, move |exchange, client| {
                exchange.accept_keys(client, keys, spool)?;
                drop(held);
                Ok(())
            })
            .await?;
        }
        json(StatusCode::CREATED, &key_status(board.keys(self.client, keys)?))
    }

    async fn delete_keys(&self, keys: Hash) -> Result<Response<Answer>, Refusal> {
        self.blocking(move |exchange, client| {
            let record = exchange.board.keys(client, keys)?;
            let _held = exchange.board.remove_keys(client, keys)?;
            exchange.store.forget_keys(client, keys).map_err(|e| {
                // Until the scheduler forgets them, they exist.
                exchange.board.add_keys(client, record);
                fault(e)
            })
        })
        .await?;
        Ok(empty(StatusCode::NO_CONTENT))
    }

    async fn put_job(
        &self,
        id: JobId,
        request: Request<Incoming>,
    ) -> Result<Response<Answer>, Refusal> {
        let Exchange { board, store, limits, .. } = &*self.exchange;
        let program = query(&request, "program").ok_or_else(|| bad("name a program"))?;
        let program: Program =
            program.parse().map_err(|e| Refusal::new(Code::UnknownProgram, e))?;
        let program = program.name().to_string();
        let keys = name(query(&request, "keys").ok_or_else(|| bad("name the keys"))?)?;
        let length = uploads::declared(request.headers(), limits.job_bytes)?;
        let (brought, body) =
            (board.expect_job(self.client, id, keys, length)?, request.into_body());
        match brought {
            Brought::New(mut held, record) => {
                let spool = store.spool().map_err(disk)?;
                let room = |bytes| held.grow(bytes);
                let spool =
                    uploads::receive(spool, body, length, limits.body_seconds, room).await?;
                self.checking(&self.exchange.ciphertexts, move |exchange, client| {
                    exchange.check_ciphertext(client, &record, &spool)?;
                    let (number, digest) = (held.number, spool.hash());
                    let ticket = Ticket { id, program, keys, number, digest, bytes: length };
                    exchange.store.keep_job(client, spool, &ticket).map_err(disk)?;
                    exchange.board.add_job(client, ticket);
                    drop(held);
                    Ok(())
                })
                .await?;
            }
            // A repeated request, because the answer was lost.
            Brought::Again(known) => {
                let other =
                    || Refusal::new(Code::JobExists, format!("the job {id} is another one"));
                if (known.bytes, known.program, known.keys) != (length, program, keys) {
                    return Err(other());
                }
                let (hasher, seconds) = (blake3::Hasher::new(), limits.body_seconds);
                let hasher = uploads::receive(hasher, body, length, seconds, |_| Ok(())).await?;
                if Hex::of(hasher.finalize().as_bytes()) != known.digest {
                    return Err(other());
                }
            }
        }
        json(StatusCode::ACCEPTED, &board.status(self.client, id)?)
    }

    /// The state of a job, once it has ended or the time is up.
    async fn wait(&self, job: JobId, seconds: u64) -> Result<Status, Refusal> {
        let end = Instant::now() + Duration::from_secs(seconds.min(LONGEST_WAIT));
        let mut news = self.exchange.board.news();
        loop {
            news.mark_unchanged();
            let status = self.exchange.board.status(self.client, job)?;
            if status.state.is_final() || timeout_at(end, news.changed()).await.is_err() {
                return Ok(status);
            }
        }
    }

    async fn result(&self, job: JobId) -> Result<Response<Answer>, Refusal> {
        let status = self.exchange.board.status(self.client, job)?;
        match (status.state, status.refusal) {
            (State::Done, _) => {
                let open = move |exchange: &Exchange, client| {
                    exchange.store.result(client, job).map_err(|e| match e.kind() {
                        ErrorKind::NotFound => Refusal::new(Code::UnknownJob, "it is deleted"),
                        _ => fault(e),
                    })
                };
                stored(self.blocking(open).await?, status.result_bytes.unwrap_or(0))
            }
            (_, Some(refusal)) => Err(refusal),
            _ => Err(Refusal::new(Code::NotReady, "the job has not ended")),
        }
    }

    async fn delete_job(&self, job: JobId) -> Result<Response<Answer>, Refusal> {
        let status = self
            .blocking(move |exchange, client| match exchange.board.delete(client, job)? {
                None => Ok(StatusCode::ACCEPTED),
                Some(job) => match exchange.forget(&job) {
                    Ok(()) => Ok(StatusCode::NO_CONTENT),
                    Err(e) => {
                        tell(format_args!("job {}: {e}; a worker tries again", job.ticket.id));
                        exchange.board.put_back(job);
                        Ok(StatusCode::ACCEPTED)
                    }
                },
            })
            .await?;
        Ok(empty(status))
    }
}

fn info(exchange: &Exchange) -> Info {
    let offer = |p: Program| Offer { name: p.name().into(), computes: p.computes().into() };
    Info {
        protocol: VERSION.to_string(),
        programs: Program::ALL.into_iter().map(offer).collect(),
        limits: exchange.limits.bounds(),
    }
}

fn key_status(record: KeyRecord) -> KeyStatus {
    KeyStatus { keys: record.keys, bytes: record.bytes, params: record.params }
}

/// The client of a request, by its token.
fn client(request: &Request<Incoming>) -> Result<ClientId, Refusal> {
    let header = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = header.and_then(|value| value.strip_prefix("Bearer "));
    let token = token.and_then(|token| token.parse::<Token>().ok());
    token.map(|token| client_id(&token)).ok_or_else(|| {
        let why = "send `Authorization: Bearer TOKEN`, a token of 64 hexadecimal digits";
        Refusal::new(Code::Unauthorised, why)
    })
}

fn name<T: std::str::FromStr<Err = String>>(text: &str) -> Result<T, Refusal> {
    text.parse().map_err(|why| bad(format!("a name: {why}")))
}

/// A field of the query; names and numbers need no escapes.
fn query<'r>(request: &'r Request<Incoming>, field: &str) -> Option<&'r str> {
    let fields = request.uri().query()?.split('&');
    fields.filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == field).map(|(_, v)| v)
}

fn bad(why: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::BadRequest, why)
}

fn method() -> Refusal {
    Refusal::new(Code::Method, "the path does not support this method")
}
