//! Connections whose other side has to take what it is sent.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket};
use tokio::time::{Sleep, sleep};

/// Bytes that must go in every span of time.
const PROGRESS: usize = 64 << 10;

/// Bytes of an answer that the system takes ahead of the other side, of which it may tell that a third has
/// gone and not before: few, or one who takes them steadily would seem to stand still.
const AHEAD: u32 = 64 << 10;

/// Connections to listen for, before they are accepted.
const BACKLOG: u32 = 1024;

/// Listens on an address, for connections whose other side is seen to take what it is sent.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Elsewhere this would let two servers share a port.
    socket.set_reuseaddr(cfg!(unix))?;
    // Connections have it from here.
    socket.set_send_buffer_size(AHEAD)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A stream that fails if of what is to be written too little goes within a span of time.
pub struct Prompt<S> {
    inner: S,
    span: Duration,
    /// Runs while something waits to be written.
    end: Option<Pin<Box<Sleep>>>,
    /// Bytes that have gone since.
    gone: usize,
}

impl<S> Prompt<S> {
    /// A stream that may take so long for 64 KiB.
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

    /// Is asked for once all that was to be written has gone.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.end = None;
        Pin::new(&mut this.inner).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(context)
    }
}
