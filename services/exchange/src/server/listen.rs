//! Connections: how long they last, and how the server ends.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;
use tracing::{info, warn};

use super::Exchange;
use super::places::{Busy, Connection, Place, Places};
use super::routes::{Front, Local, monitor, router};
use super::stream::{self, Prompt};

/// The largest request head in bytes.
const LARGEST_HEAD: usize = 16 << 10;

/// The pause after a failure to accept a connection, such as too many open files.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Connections for monitoring at the same time.
const MONITORS: usize = 16;

/// The time between two looks for clients that are unused.
const EXPIRY: Duration = Duration::from_secs(10);

/// A connection that was accepted, encrypted or not.
trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Io for S {}

/// The way in which a server is reached.
pub struct Door {
    /// Where it listens.
    pub address: SocketAddr,
    /// Where it tells the counts of `/metrics` to everybody, in plain HTTP.
    pub metrics: Option<SocketAddr>,
    /// Names by which it may be called, beside addresses and `localhost`.
    pub hosts: Vec<String>,
    /// Its certificate, unless it speaks plain HTTP.
    pub tls: Option<TlsAcceptor>,
    /// Where its operator reaches it.
    pub socket: std::path::PathBuf,
}

/// Listens on its addresses, passes them to `ready`, and serves until the process is told to stop
/// (SIGTERM, SIGINT). Then running jobs have some seconds to end.
///
/// # Errors
/// If it cannot listen.
pub fn serve(
    exchange: Arc<Exchange>,
    door: Door,
    workers: usize,
    ready: impl FnOnce(SocketAddr, Option<SocketAddr>) -> io::Result<()>,
) -> io::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    // A connection has one blocking operation at a time; operations that outlive their connection
    // are few.
    let limits = exchange.limits.clone();
    runtime.worker_threads(2).max_blocking_threads(limits.connections.saturating_add(64));
    runtime.enable_all().build()?.block_on(async move {
        let listener = stream::listen(door.address)?;
        let watched = door.metrics.map(stream::listen).transpose()?;
        let operator = super::admin::listen(exchange.clone(), &door.socket);
        if let Err(e) = &operator {
            warn!(path = ?door.socket, %e, "no socket: exchange_admin needs the server stopped");
        }
        let metrics = watched.as_ref().map(TcpListener::local_addr).transpose()?;
        ready(listener.local_addr()?, metrics)?;
        // Only now: a server that cannot listen must not begin a job.
        let working: Vec<_> = (0..workers)
            .map(|_| {
                let exchange = exchange.clone();
                std::thread::Builder::new().name("worker".into()).spawn(move || exchange.work())
            })
            .collect::<io::Result<_>>()?;
        let per_address = limits.address_connections.unwrap_or(limits.connections.div_ceil(2));
        let places = Places::new(limits.connections, per_address, 2 * limits.bounds.requests);
        let places = Arc::new(places);
        let front =
            Front { exchange: exchange.clone(), places: places.clone(), hosts: door.hosts.into() };
        let (router, monitor) = (router(front.clone()), monitor(front));
        let monitors = Arc::new(Places::new(MONITORS, MONITORS, MONITORS));
        let conversations = TaskTracker::new();
        let (stop, stopped) = watch::channel(());
        let mut terminate = terminations()?;
        let mut expiry = tokio::time::interval(EXPIRY);
        loop {
            let (accepted, places, router, tls) = tokio::select! {
                accepted = listener.accept() => (accepted, &places, &router, door.tls.clone()),
                accepted = accept(watched.as_ref()) => (accepted, &monitors, &monitor, None),
                _ = expiry.tick() => {
                    let exchange = exchange.clone();
                    tokio::task::spawn_blocking(move || exchange.expire());
                    continue;
                }
                _ = terminate.recv() => break,
            };
            let (stream, address) = match accepted {
                Ok(accepted) => accepted,
                Err(e) => {
                    warn!(%e, "a connection was not accepted");
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let Some((connection, displaces)) = places.admit(address.ip()) else {
                exchange.metrics.displaced.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            exchange.metrics.connections.fetch_add(1, Ordering::Relaxed);
            exchange.metrics.displaced.fetch_add(displaces.into(), Ordering::Relaxed);
            let serving = converse(
                stream,
                tls,
                connection.clone(),
                router.clone(),
                exchange.clone(),
                stopped.clone(),
            );
            let place = Place(places.clone(), connection);
            conversations.spawn(async move {
                let _place = place;
                serving.await;
            });
        }
        drop((listener, watched, stop, operator));
        info!("stopping: running jobs end or wait for the next start");
        exchange.board.stop();
        let mut ended = tokio::task::spawn_blocking(move || {
            working.into_iter().for_each(|worker| drop(worker.join()));
        });
        if timeout(Duration::from_secs(limits.stop_seconds), &mut ended).await.is_err() {
            exchange.end_jobs();
            ended.await.map_err(io::Error::other)?;
        }
        // Answers on their way have as long as a head.
        conversations.close();
        let _ = timeout(limits.head(), conversations.wait()).await;
        Ok(())
    })
}

/// Accepts a connection where there is a listener.
async fn accept(listener: Option<&TcpListener>) -> io::Result<(TcpStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

/// Whether the other side of a stream is on this machine: it calls from a loopback address, or from
/// the address that it calls.
fn is_local(stream: &TcpStream) -> bool {
    let ip = |address: io::Result<SocketAddr>| address.map(|address| address.ip().to_canonical());
    let own = ip(stream.local_addr()).ok();
    ip(stream.peer_addr()).is_ok_and(|peer| peer.is_loopback() || Some(peer) == own)
}

/// Serves one connection until it ends, has had its time, must make room, or the server stops.
async fn converse(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    connection: Arc<Connection>,
    router: axum::Router,
    exchange: Arc<Exchange>,
    mut stopped: watch::Receiver<()>,
) {
    let limits = &exchange.limits;
    let local = Local(is_local(&stream));
    let prompt = Prompt::new(stream, limits.body());
    let of = connection.clone();
    let conversation = async move {
        let stream: Box<dyn Io> = match tls {
            None => Box::new(prompt),
            Some(tls) => match timeout(limits.head(), tls.accept(prompt)).await {
                Ok(Ok(stream)) => Box::new(stream),
                // No handshake in time.
                _ => return,
            },
        };
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            let busy = Busy::begin(of.clone());
            request.extensions_mut().insert(of.clone());
            request.extensions_mut().insert(local);
            let answer = router.clone().oneshot(request);
            async move {
                let answer = answer.await;
                drop(busy);
                answer
            }
        });
        let conversation = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head())
            .max_buf_size(LARGEST_HEAD)
            .serve_connection(TokioIo::new(stream), service);
        let mut conversation = std::pin::pin!(conversation);
        tokio::select! {
            // A fault of a connection concerns its other side, which sees it break.
            _ = conversation.as_mut() => {}
            _ = stopped.changed() => {
                conversation.as_mut().graceful_shutdown();
                let _ = conversation.await;
            }
        }
    };
    tokio::select! {
        _ = timeout(Duration::from_secs(limits.connection_seconds), conversation) => {}
        () = connection.end.notified() => {}
    }
}

/// Becomes ready when the process is told to stop.
fn terminations() -> io::Result<tokio::sync::mpsc::Receiver<()>> {
    let (tell, told) = tokio::sync::mpsc::channel(1);
    #[cfg(unix)]
    let mut signal = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::spawn(async move {
        #[cfg(unix)]
        tokio::select! {
            _ = signal.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
        let _ = tell.send(()).await;
    });
    Ok(told)
}
