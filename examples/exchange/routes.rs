//! The paths of the server.

use std::convert::Infallible;
use std::io::Read;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::board::Deleted;
use super::exchange::{Exchange, fault};
use super::programs::Program;
use super::protocol::{
    ClientId, Code, Hash, Info, JobId, KeyStatus, Offer, Refusal, State, Status, Token, VERSION,
    client_id,
};
use super::store::{Spool, Ticket};
use super::uploads;

/// Seconds that an answer waits for a job to end, at most.
const LONGEST_WAIT: u64 = 30;

/// Bytes of a result that are in memory at a time.
const PIECE: usize = 64 << 10;

/// The body of an answer.
pub type Answer = BoxBody<Bytes, std::io::Error>;

/// What a request comes to: an answer, always.
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
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    if parts == [VERSION] {
        return match *request.method() {
            Method::GET => json(StatusCode::OK, &info(&exchange)),
            _ => Err(method()),
        };
    }
    let client = client(&request)?;
    let under_way = exchange.board.enter(client)?;
    let caller = Caller { exchange, client };
    let response = match (request.method(), &parts[..]) {
        (&Method::GET, [VERSION, "keys"]) => {
            json(StatusCode::OK, &caller.exchange.board.key_list(client))
        }
        (&Method::PUT, [VERSION, "keys", keys]) => caller.put_keys(name(keys)?, request).await,
        (&Method::GET, [VERSION, "keys", keys]) => {
            let record = caller.exchange.board.keys(client, name(keys)?)?;
            let (keys, bytes, params) = (record.keys, record.bytes, record.params);
            json(StatusCode::OK, &KeyStatus { keys, bytes, params })
        }
        (&Method::DELETE, [VERSION, "keys", keys]) => caller.delete_keys(name(keys)?).await,
        (&Method::GET, [VERSION, "jobs"]) => {
            json(StatusCode::OK, &caller.exchange.board.job_list(client))
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
    drop(under_way);
    response
}

/// Who asks.
struct Caller {
    exchange: Arc<Exchange>,
    client: ClientId,
}

impl Caller {
    /// Work that blocks, away from the connections.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Exchange, ClientId) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (exchange, client) = (self.exchange.clone(), self.client);
        let done = tokio::task::spawn_blocking(move || work(&exchange, client)).await;
        done.map_err(fault)?
    }

    /// As [`blocking`](Self::blocking), for what takes memory for what arrived: a few at a time.
    async fn checking<T: Send + 'static>(
        &self,
        places: &Semaphore,
        work: impl FnOnce(&Exchange, ClientId) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let _place = places.acquire().await.map_err(fault)?;
        self.blocking(work).await
    }

    async fn receive(&self, body: Incoming, length: u64) -> Result<Spool, Refusal> {
        let Exchange { store, limits, .. } = &*self.exchange;
        uploads::receive(store, body, length, limits.body_seconds).await
    }

    async fn put_keys(
        &self,
        keys: Hash,
        request: Request<Incoming>,
    ) -> Result<Response<Answer>, Refusal> {
        let Exchange { board, limits, .. } = &*self.exchange;
        if board.keys(self.client, keys).is_err() {
            let length = uploads::declared(request.headers(), limits.key_bytes)?;
            let room = board.reserve_keys(self.client, keys, length)?;
            let spool = self.receive(request.into_body(), length).await?;
            self.checking(&self.exchange.key_sets, move |exchange, client| {
                exchange.accept_keys(client, keys, spool)?;
                drop(room);
                Ok(())
            })
            .await?;
        }
        let record = board.keys(self.client, keys)?;
        let (bytes, params) = (record.bytes, record.params);
        json(StatusCode::CREATED, &KeyStatus { keys, bytes, params })
    }

    async fn delete_keys(&self, keys: Hash) -> Result<Response<Answer>, Refusal> {
        self.blocking(move |exchange, client| {
            exchange.board.remove_keys(client, keys)?;
            exchange.store.forget_keys(client, keys).map_err(fault)
        })
        .await?;
        Ok(empty(StatusCode::NO_CONTENT))
    }

    async fn put_job(
        &self,
        id: JobId,
        request: Request<Incoming>,
    ) -> Result<Response<Answer>, Refusal> {
        let Exchange { board, limits, .. } = &*self.exchange;
        let program = query(&request, "program").ok_or_else(|| bad("name a program"))?;
        let program: Program =
            program.parse().map_err(|e| Refusal::new(Code::UnknownProgram, e))?;
        let keys = name(query(&request, "keys").ok_or_else(|| bad("name the keys"))?)?;
        let record = board.keys(self.client, keys)?;
        let length = uploads::declared(request.headers(), limits.job_bytes)?;
        let known = board.ticket(self.client, id);
        let room = match known {
            None => Some(board.reserve_job(self.client, id, length)?),
            Some(_) => None,
        };
        let spool = self.receive(request.into_body(), length).await?;
        let digest = spool.hash();
        let name = program.name().to_string();
        match (known, room) {
            (Some(ticket), _) => {
                // Sent again, because the answer did not arrive.
                if (ticket.program, ticket.keys, ticket.digest) != (name, keys, digest) {
                    let why = format!("the job {id} is another one");
                    return Err(Refusal::new(Code::JobExists, why));
                }
            }
            (None, room) => {
                self.checking(&self.exchange.ciphertexts, move |exchange, client| {
                    exchange.check_ciphertext(client, &record, &spool)?;
                    let number = room.as_ref().map_or(0, |room| room.number);
                    let ticket = Ticket { id, program: name, keys, number, digest, bytes: length };
                    exchange.store.keep_job(client, spool, &ticket).map_err(fault)?;
                    exchange.board.add_job(client, ticket);
                    drop(room);
                    Ok(())
                })
                .await?;
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
                let bytes = status.result_bytes.unwrap_or(0);
                let reader = self
                    .blocking(move |exchange, client| {
                        exchange.store.result(client, job).map_err(fault)
                    })
                    .await?;
                let response = Response::builder()
                    .header(CONTENT_TYPE, "application/octet-stream")
                    .body(Stored { reader, left: bytes }.boxed());
                response.map_err(fault)
            }
            (_, Some(refusal)) => Err(refusal),
            _ => Err(Refusal::new(Code::NotReady, "the job has not ended")),
        }
    }

    async fn delete_job(&self, job: JobId) -> Result<Response<Answer>, Refusal> {
        let status = self
            .blocking(move |exchange, client| match exchange.board.delete(client, job)? {
                Deleted::Soon => Ok(StatusCode::ACCEPTED),
                Deleted::Gone => {
                    exchange.store.forget_job(client, job).map_err(fault)?;
                    Ok(StatusCode::NO_CONTENT)
                }
            })
            .await?;
        Ok(empty(status))
    }
}

/// A result, read piece by piece.
struct Stored<R> {
    reader: R,
    left: u64,
}

impl<R: Read + Unpin> Body for Stored<R> {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        if this.left == 0 {
            return Poll::Ready(None);
        }
        // A local file that was written moments ago: reading a piece hardly ever waits.
        let mut piece = vec![0; this.left.min(PIECE as u64) as usize];
        let read = this.reader.read_exact(&mut piece).map(|()| {
            this.left -= piece.len() as u64;
            Frame::data(Bytes::from(piece))
        });
        Poll::Ready(Some(read))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
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

/// Who asks, by the token that the request carries.
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
    Refusal::new(Code::Method, "the path does not take this method")
}

fn json(status: StatusCode, value: &impl Serialize) -> Result<Response<Answer>, Refusal> {
    let text = serde_json::to_vec(value).map_err(fault)?;
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed();
    let response = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
    response.body(body).map_err(fault)
}

fn empty(status: StatusCode) -> Response<Answer> {
    let mut response = Response::new(Full::default().map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    response
}

fn refused(refusal: &Refusal) -> Response<Answer> {
    let status = StatusCode::from_u16(refusal.code.status());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json(status, refusal).unwrap_or_else(|_| empty(status));
    if refusal.code.passes() {
        response.headers_mut().insert(RETRY_AFTER, hyper::header::HeaderValue::from_static("1"));
    }
    response
}
