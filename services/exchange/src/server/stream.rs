//! Connections whose peer must receive data at a minimum rate.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket};
use tokio::time::{Sleep, sleep};

/// Bytes that must be sent in every span of time.
const PROGRESS: usize = 64 << 10;

/// The send buffer of the system in bytes. The system may report progress only after a third of it:
/// a small buffer, or a steady reader would seem to stall.
const AHEAD: u32 = 64 << 10;

/// Connections to listen for, before they are accepted.
const BACKLOG: u32 = 1024;

/// Listens on an address. The progress of its connections can be observed.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // On other systems this would let two servers share a port.
    socket.set_reuseaddr(cfg!(unix))?;
    // Accepted connections inherit it.
    socket.set_send_buffer_size(AHEAD)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A stream that fails if too few bytes are sent within a span of time.
pub struct Prompt<S> {
    inner: S,
    span: Duration,
    /// Runs while data waits to be sent.
    end: Option<Pin<Box<Sleep>>>,
    /// Bytes sent since its start.
    gone: usize,
}

impl<S> Prompt<S> {
    /// A stream that may take this long for 64 KiB.
    pub fn new(inner: S, span: Duration) -> Self {
        Self { inner, span, end: None, gone: 0 }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Prompt<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Prompt<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if let Poll::Ready(written) = Pin::new(&mut this.inner).poll_write(context, bytes) {
            this.gone += *written.as_ref().unwrap_or(&0);
            if this.gone >= PROGRESS {
                this.end = None;
            }
            return Poll::Ready(written);
        }
        let end = this.end.get_or_insert_with(|| {
            this.gone = 0;
            Box::pin(sleep(this.span))
        });
        ready!(end.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Called once all data has been sent.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.end = None;
        Pin::new(&mut this.inner).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(context)
    }
}
