//! The routes of the server.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::middleware::{Next, from_fn, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, put};
use axum::{Extension, Json, Router};
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};
use tokio_util::io::ReaderStream;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::request_id::{
    MakeRequestId, PropagateRequestIdLayer, RequestId, SetRequestIdLayer,
};
use tower_http::timeout::TimeoutLayer;
use tower_http::trace::{DefaultOnResponse, TraceLayer};
use tracing::{Level, Span, info, warn};

use super::board::{Brought, Deleted, Standing, UnderWay};
use super::checks::{Party, Upload};
use super::places::{Connection, Places};
use super::store::JobRecord;
use super::{Exchange, disk, fault, uploads};
use crate::files;
use crate::programs::Program;
use crate::protocol::{
    ClientId, Code, Hash, Hex, Info, JobId, KeyStatus, Offer, Refusal, State as JobState, Status,
    Token, VERSION,
};
use crate::scanner::Scanner;

/// The longest time in seconds that an answer waits for a job to end.
const LONGEST_WAIT: u64 = 30;

/// The longest time for an answer to a request without an upload, and its largest body.
const LONGEST_ANSWER: Duration = Duration::from_secs(60);
const LARGEST_BODY: usize = 4096;

type Answer = Result<Response, Refusal>;

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        // The details are for the operator alone.
        info!(refusal = %self, "refused");
        let status = StatusCode::from_u16(self.code.status());
        let passes = self.code.passes();
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self)).into_response();
        if passes {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// The connections of the server and the names by which it may be called.
#[derive(Clone)]
pub struct Front {
    /// The server.
    pub exchange: Arc<Exchange>,
    /// Its connections.
    pub places: Arc<Places>,
    /// Values of `Host`, beside addresses and `localhost`.
    pub hosts: Arc<[String]>,
}

/// A route for requests without an upload.
fn light(route: MethodRouter<Arc<Exchange>>) -> MethodRouter<Arc<Exchange>> {
    let timeout = TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, LONGEST_ANSWER);
    route.layer((RequestBodyLimitLayer::new(LARGEST_BODY), timeout))
}

/// The routes for the operator's monitoring.
fn watching() -> Router<Arc<Exchange>> {
    Router::new()
        .route("/healthz", light(get(async || Json(serde_json::json!({"status": "ok"})))))
        .route("/metrics", light(get(metrics)))
}

/// The routes of an address for monitoring alone, whose callers count as local.
pub fn monitor(front: Front) -> Router {
    let routes = watching().fallback(unknown_path).method_not_allowed_fallback(method);
    layered(routes.layer(Extension(Local(true))), front)
}

/// All routes.
pub fn router(front: Front) -> Router {
    let closed = Router::new()
        .route("/v1/keys", light(get(list_keys)))
        .route("/v1/keys/{keys}", light(get(get_keys).delete(delete_keys)).merge(put(put_keys)))
        .route("/v1/jobs", light(get(list_jobs)))
        .route("/v1/jobs/{job}", light(get(get_job).delete(delete_job)).merge(put(put_job)))
        .route("/v1/jobs/{job}/result", light(get(result)))
        .fallback(unknown_path)
        .method_not_allowed_fallback(method)
        .layer(from_fn_with_state(front.clone(), authenticate));
    let open = watching()
        .route("/v1", light(get(describe)))
        .method_not_allowed_fallback(method)
        .layer(from_fn(close));
    layered(open.merge(closed), front)
}

/// Routes below the layers that all requests pass.
fn layered(routes: Router<Arc<Exchange>>, front: Front) -> Router {
    let span = |request: &Request| {
        let id = request.extensions().get::<RequestId>();
        let id = id.and_then(|id| id.header_value().to_str().ok()).unwrap_or_default();
        // No headers: they hold tokens.
        let (method, path) = (request.method().as_str(), request.uri().path());
        tracing::info_span!("request", id, method, path)
    };
    routes
        .layer(map_response(explain))
        .layer(from_fn_with_state(front.clone(), check_host))
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(
            TraceLayer::new_for_http()
                .make_span_with(span)
                .on_response(DefaultOnResponse::new().level(Level::INFO)),
        )
        .layer(SetRequestIdLayer::x_request_id(RandomId))
        .with_state(front.exchange)
}

/// Gives refusals of the layers below their code and reason.
async fn explain(response: Response) -> Response {
    let json = response.headers().get(CONTENT_TYPE).is_some_and(|t| t == "application/json");
    let refusal = match response.status() {
        status if json || !(status.is_client_error() || status.is_server_error()) => {
            return response;
        }
        StatusCode::REQUEST_TIMEOUT => {
            let why = format!("no answer within {} s", LONGEST_ANSWER.as_secs());
            Refusal::new(Code::TooSlow, why)
        }
        StatusCode::PAYLOAD_TOO_LARGE => {
            Refusal::new(Code::TooLarge, format!("a body of more than {LARGEST_BODY} bytes"))
        }
        status if status.is_client_error() => bad(status),
        status => fault(status),
    };
    refusal.into_response()
}

/// Whether the other side of a connection is on this machine.
#[derive(Debug, Clone, Copy)]
pub struct Local(pub bool);

#[derive(Clone, Copy)]
struct RandomId;

impl MakeRequestId for RandomId {
    fn make_request_id<B>(&mut self, _: &axum::http::Request<B>) -> Option<RequestId> {
        let id = HeaderValue::from_str(&format!("{:016x}", rand::random::<u64>()));
        id.ok().map(RequestId::new)
    }
}

/// Refuses names that are not the server's: a page in a browser may have made its own name point
/// here.
async fn check_host(State(front): State<Front>, request: Request, next: Next) -> Response {
    let mut hosts = request.headers().get_all(HOST).iter();
    let known = |host: &str| {
        let host = host.to_ascii_lowercase();
        let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let address = host.parse::<SocketAddr>().is_ok()
            || host.parse::<IpAddr>().is_ok()
            || inner.is_some_and(|inner| inner.parse::<Ipv6Addr>().is_ok());
        address || name == "localhost" || front.hosts.iter().any(|own| *own == host || *own == name)
    };
    let one = hosts.next().and_then(|host| host.to_str().ok());
    let one = one.filter(|host| known(host) && hosts.next().is_none());
    // The target of a request may name a server, too.
    let target = request.uri().authority().is_none_or(|authority| known(authority.as_str()));
    let response = match one.is_some() && target {
        true => next.run(request).await,
        false => bad("Host: not a name of this server (--host)").into_response(),
    };
    front.exchange.metrics.answered(!response.status().is_success());
    response
}

/// Closes the connection behind an answer to somebody unknown.
async fn close(request: Request, next: Next) -> Response {
    closing(next.run(request).await)
}

fn closing(mut response: Response) -> Response {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Finds out who asks. The request counts until its answer has been sent.
async fn authenticate(State(front): State<Front>, mut request: Request, next: Next) -> Response {
    let connection = request.extensions().get::<Arc<Connection>>().cloned();
    let network = connection.as_ref().map(|connection| connection.network);
    let entered = client(request.headers())
        .and_then(|client| Ok((client, front.exchange.board.enter(client, network)?)));
    let (client, (under_way, standing)) = match entered {
        Ok(entered) => entered,
        Err(refusal) => return closing(refusal.into_response()),
    };
    let (known, invited) = (standing != Standing::Unknown, standing == Standing::Invited);
    let kept = known && connection.is_some_and(|c| front.places.know(&c, client, invited));
    let under_way = Arc::new(under_way);
    let exchange = front.exchange.clone();
    let party = if invited { Party::Client(client) } else { Party::Network(network) };
    let caller = Caller { exchange, under_way: under_way.clone(), client, party, known };
    request.extensions_mut().insert(caller);
    let response = next.run(request).await;
    let response = response.map(|body| {
        // The body owns the guard as long as it is sent.
        Body::new(body.map_err(move |e| {
            let _counts = &under_way;
            e
        }))
    });
    if kept { response } else { closing(response) }
}

/// The client of a request, by its token.
fn client(headers: &HeaderMap) -> Result<ClientId, Refusal> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let header = all.next().and_then(|value| value.to_str().ok());
    if all.next().is_some() {
        return Err(bad("more than one Authorization header"));
    }
    let (scheme, token) = header.and_then(|value| value.split_once(' ')).unwrap_or_default();
    let token = token.parse::<Token>().ok().filter(|_| scheme.eq_ignore_ascii_case("Bearer"));
    token.map(|token| token.client()).ok_or_else(|| {
        let why = "send `Authorization: Bearer TOKEN`, a token of 64 hexadecimal digits";
        Refusal::new(Code::Unauthorised, why)
    })
}

/// The client of a request.
#[derive(Clone)]
struct Caller {
    exchange: Arc<Exchange>,
    /// A guard for work that continues after the connection breaks.
    under_way: Arc<UnderWay>,
    client: ClientId,
    /// Who waits for a check.
    party: Party,
    /// Whether something is kept for it.
    known: bool,
}

impl Caller {
    /// Runs blocking work away from the connections.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Exchange, ClientId) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (exchange, client) = (self.exchange.clone(), self.client);
        // What it logs carries the id of the request.
        let (under_way, span) = (self.under_way.clone(), Span::current());
        let done = tokio::task::spawn_blocking(move || {
            let _under_way = under_way;
            span.in_scope(|| work(&exchange, client))
        });
        done.await.map_err(fault)?
    }

    /// As [`blocking`](Self::blocking), for work that takes memory for an upload: only a few at a
    /// time, also after their connections break.
    async fn checking<T: Send + 'static>(
        &self,
        upload: Upload,
        work: impl FnOnce(&Exchange, ClientId) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let check = self.exchange.checks.begin(self.party, upload).await.map_err(fault)?;
        self.blocking(move |exchange, client| {
            let _check = check;
            work(exchange, client)
        })
        .await
    }
}

async fn describe(State(exchange): State<Arc<Exchange>>) -> Json<Info> {
    let offer = |p: Program| Offer { name: p.name().into(), computes: p.computes().into() };
    Json(Info {
        protocol: VERSION.to_string(),
        programs: Program::ALL.into_iter().map(offer).collect(),
        limits: exchange.limits.bounds,
    })
}

/// Counts are for the operator: clients have them on the machine itself alone.
async fn metrics(
    State(exchange): State<Arc<Exchange>>,
    Extension(Local(local)): Extension<Local>,
) -> Answer {
    match local {
        true => Ok(exchange.metrics.text(exchange.board.counts()).into_response()),
        false => Err(Refusal::new(Code::UnknownPath, "no path /metrics")),
    }
}

async fn list_keys(Extension(caller): Extension<Caller>) -> Json<Vec<KeyStatus>> {
    Json(caller.exchange.board.key_list(caller.client))
}

async fn get_keys(Extension(caller): Extension<Caller>, Path(keys): Path<String>) -> Answer {
    let record = caller.exchange.board.keys(caller.client, name(&keys)?)?;
    Ok(Json(record.status()).into_response())
}

async fn put_keys(
    Extension(caller): Extension<Caller>,
    Path(keys): Path<String>,
    request: Request,
) -> Answer {
    let Exchange { board, store, limits, metrics, .. } = &*caller.exchange;
    let (client, keys): (_, Hash) = (caller.client, name(&keys)?);
    let length = uploads::declared(request.headers(), limits.bounds.key_bytes)?;
    if let Some(mut held) = board.expect_keys(client, keys, length)? {
        let (spool, body) = (store.spool().map_err(disk)?, request.into_body());
        let mut scanner = Scanner::default();
        let look = |piece: &[u8], arrived| {
            metrics.received.fetch_add(piece.len() as u64, Ordering::Relaxed);
            scanner.take(piece)?;
            held.grow(arrived)
        };
        let spool = uploads::receive(spool, body, length, limits.body(), look).await?;
        scanner.finish(keys)?;
        let upload = if caller.known { Upload::KnownKeys } else { Upload::NewKeys };
        let check = move |exchange: &Exchange, client| {
            exchange.accept_keys(client, keys, &scanner.parameters, spool)?;
            drop(held);
            Ok(())
        };
        caller.checking(upload, check).await?;
    }
    let status = board.keys(client, keys)?.status();
    Ok((StatusCode::CREATED, Json(status)).into_response())
}

async fn delete_keys(Extension(caller): Extension<Caller>, Path(keys): Path<String>) -> Answer {
    let keys = name(&keys)?;
    let delete = move |exchange: &Exchange, client| {
        let record = exchange.board.keys(client, keys)?;
        let _held = exchange.board.remove_keys(client, keys)?;
        exchange.store.forget_keys(client, keys).map_err(|e| {
            // Until the scheduler forgets them, they exist.
            exchange.board.add_keys(client, record);
            fault(e)
        })
    };
    caller.blocking(delete).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn list_jobs(Extension(caller): Extension<Caller>, uri: Uri) -> Answer {
    let after = query(&uri, "after").map(name).transpose()?;
    Ok(Json(caller.exchange.board.job_list(caller.client, after)?).into_response())
}

async fn put_job(
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Answer {
    let Exchange { board, store, limits, metrics, .. } = &*caller.exchange;
    let (client, id): (_, JobId) = (caller.client, name(&id)?);
    let program = query(request.uri(), "program").ok_or_else(|| bad("name a program"))?;
    let program: Program = program.parse().map_err(|e| Refusal::new(Code::UnknownProgram, e))?;
    let keys = name(query(request.uri(), "keys").ok_or_else(|| bad("name the keys"))?)?;
    let length = uploads::declared(request.headers(), limits.bounds.job_bytes)?;
    let (brought, body) = (board.expect_job(client, id, keys, length)?, request.into_body());
    match brought {
        Brought::New(mut held, keys_record) => {
            let spool = store.spool().map_err(disk)?;
            let look = |piece: &[u8], arrived| {
                metrics.received.fetch_add(piece.len() as u64, Ordering::Relaxed);
                held.grow(arrived)
            };
            let spool = uploads::receive(spool, body, length, limits.body(), look).await?;
            let accept = move |exchange: &Exchange, client| {
                let work = exchange.check_ciphertext(client, &keys_record, program, &spool)?;
                let (number, digest) = (held.number, spool.hash());
                let record = JobRecord {
                    id,
                    program: program.name().to_string(),
                    keys,
                    number,
                    digest,
                    bytes: length,
                    work,
                    tries: 0,
                    state: JobState::Accepted,
                    refusal: None,
                    answer: None,
                };
                exchange.accept_job(client, spool, record)?;
                drop(held);
                Ok(())
            };
            caller.checking(Upload::Ciphertext, accept).await?;
        }
        // A repeated request, because the answer was lost.
        Brought::Again(known) => {
            let other = || Refusal::new(Code::JobExists, format!("the job {id} is another one"));
            if (known.bytes, known.program.as_str(), known.keys) != (length, program.name(), keys) {
                return Err(other());
            }
            let hasher = blake3::Hasher::new();
            let look = |_: &[u8], _| Ok(());
            let hasher = uploads::receive(hasher, body, length, limits.body(), look).await?;
            if Hex::of(hasher.finalize().as_bytes()) != known.digest {
                return Err(other());
            }
        }
    }
    Ok((StatusCode::ACCEPTED, Json(board.status(client, id)?)).into_response())
}

/// The state of a job, once it has ended or the time is up.
async fn get_job(
    Extension(caller): Extension<Caller>,
    Path(job): Path<String>,
    uri: Uri,
) -> Answer {
    let job = name(&job)?;
    let seconds = query(&uri, "wait").map_or(Ok(0), str::parse::<u64>);
    let seconds = seconds.map_err(|_| bad("wait: expected a whole number of seconds"))?;
    let end = Instant::now() + Duration::from_secs(seconds.min(LONGEST_WAIT));
    let mut news = caller.exchange.board.news();
    loop {
        news.mark_unchanged();
        let status: Status = caller.exchange.board.status(caller.client, job)?;
        if status.state.is_final() || timeout_at(end, news.changed()).await.is_err() {
            return Ok(Json(status).into_response());
        }
    }
}

async fn result(Extension(caller): Extension<Caller>, Path(job): Path<String>) -> Answer {
    let job = name(&job)?;
    let status = caller.exchange.board.status(caller.client, job)?;
    match (status.state, status.refusal) {
        (JobState::Done, _) => {
            let open = move |exchange: &Exchange, client| {
                files::open_regular(&exchange.store.job(client, job, "answer")).map_err(|e| match e
                    .kind()
                {
                    io::ErrorKind::NotFound => Refusal::new(Code::UnknownJob, "it is deleted"),
                    _ => fault(e),
                })
            };
            let file = tokio::fs::File::from_std(caller.blocking(open).await?);
            let length = status.result_bytes.unwrap_or(0).to_string();
            let body = Body::from_stream(ReaderStream::new(file));
            let headers = [(CONTENT_TYPE, "application/octet-stream".to_string())];
            let mut response = (headers, body).into_response();
            if let Ok(length) = HeaderValue::from_str(&length) {
                response.headers_mut().insert("content-length", length);
            }
            Ok(response)
        }
        (_, Some(refusal)) => Err(refusal),
        _ => Err(Refusal::new(Code::NotReady, "the job has not ended")),
    }
}

async fn delete_job(Extension(caller): Extension<Caller>, Path(job): Path<String>) -> Answer {
    let job = name(&job)?;
    let delete = move |exchange: &Exchange, client| match exchange.board.delete(client, job)? {
        Deleted::Running(number) => {
            exchange.store.note_deletion(client, job, number).map_err(fault)?;
            Ok(StatusCode::ACCEPTED)
        }
        Deleted::Taken(taken) => match exchange.forget(&taken) {
            Ok(()) => Ok(StatusCode::NO_CONTENT),
            Err(e) => {
                warn!(%job, %e, "its files stay; a worker tries again");
                exchange.board.put_back(*taken);
                Ok(StatusCode::ACCEPTED)
            }
        },
    };
    Ok(caller.blocking(delete).await?.into_response())
}

async fn unknown_path(uri: Uri) -> Refusal {
    Refusal::new(Code::UnknownPath, format!("no path {}", uri.path()))
}

async fn method() -> Refusal {
    Refusal::new(Code::Method, "the path does not support this method")
}

fn name<T: FromStr<Err = String>>(text: &str) -> Result<T, Refusal> {
    text.parse().map_err(|why| bad(format!("a name: {why}")))
}

/// A field of the query; names and numbers need no escapes.
fn query<'r>(uri: &'r Uri, field: &str) -> Option<&'r str> {
    let fields = uri.query()?.split('&');
    fields.filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == field).map(|(_, v)| v)
}

fn bad(why: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::BadRequest, why)
}
