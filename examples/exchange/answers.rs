//! The server's answers as HTTP.

use std::io::Read;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde::Serialize;

use super::exchange::fault;
use super::protocol::Refusal;

/// Bytes of a result that are in memory at a time.
const PIECE: usize = 64 << 10;

/// The body of an answer.
pub type Answer = BoxBody<Bytes, std::io::Error>;

/// An answer in JSON.
pub fn json(status: StatusCode, value: &impl Serialize) -> Result<Response<Answer>, Refusal> {
    let text = serde_json::to_vec(value).map_err(fault)?;
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed();
    let response = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
    response.body(body).map_err(fault)
}

/// An answer without a body.
pub fn empty(status: StatusCode) -> Response<Answer> {
    let mut response = Response::new(Full::default().map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    response
}

/// A refusal as an answer.
pub fn refused(refusal: &Refusal) -> Response<Answer> {
    let status = StatusCode::from_u16(refusal.code.status());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json(status, refusal).unwrap_or_else(|_| empty(status));
    if refusal.code.passes() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// An answer with `len` bytes of a reader.
pub fn stored(
    reader: impl Read + Send + Sync + Unpin + 'static,
    bytes: u64,
) -> Result<Response<Answer>, Refusal> {
    let response = Response::builder().header(CONTENT_TYPE, "application/octet-stream");
    response.body(Stored { reader, left: bytes }.boxed()).map_err(fault)
}

/// An answer that holds a value until it has been sent.
pub fn keeping<T: Send + Sync + Unpin + 'static>(
    response: Response<Answer>,
    kept: T,
) -> Response<Answer> {
    response.map(|body| Keeping { body, _kept: kept }.boxed())
}

struct Keeping<T> {
    body: Answer,
    _kept: T,
}

impl<T: Unpin> Body for Keeping<T> {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A result, read in pieces.
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
        // A local file that was written a moment ago: reading a piece rarely blocks.
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
