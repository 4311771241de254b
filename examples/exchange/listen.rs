//! Connections: their number and duration.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::exchange::Exchange;
use super::routes::answer;
use super::stream::{self, Prompt};
use super::tell::tell;

/// The largest request head in bytes.
const LARGEST_HEAD: usize = 16 << 10;

/// The pause after a failure to accept a connection, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Listens on an address, passes it to `ready`, and serves until the program ends.
pub fn serve(
    exchange: Arc<Exchange>,
    address: SocketAddr,
    ready: impl FnOnce(SocketAddr) -> io::Result<()>,
) -> io::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    // A connection has one blocking operation at a time; operations that outlive their connection
    // are few.
    let blocking = exchange.limits.connections.saturating_add(64);
    runtime.worker_threads(2).max_blocking_threads(blocking);
    let runtime = runtime.enable_all().build()?;
    runtime.block_on(async move {
        let listener = stream::listen(address)?;
        ready(listener.local_addr()?)?;
        let places = Arc::new(Semaphore::new(exchange.limits.connections));
        let head = Duration::from_secs(exchange.limits.head_seconds);
        let taking = Duration::from_secs(exchange.limits.body_seconds);
        let longest = Duration::from_secs(exchange.limits.connection_seconds);
        loop {
            let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(e) => {
                    tell(format_args!("a connection: {e}"));
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let exchange = exchange.clone();
            tokio::spawn(async move {
                let service = service_fn(move |request| answer(exchange.clone(), request));
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(head)
                    .max_buf_size(LARGEST_HEAD)
                    .serve_connection(TokioIo::new(Prompt::new(stream, taking)), service);
                // A fault of a connection concerns its other side, which sees it break.
                let _ = timeout(longest, connection).await;
                drop(place);
            });
        }
    })
}
