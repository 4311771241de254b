//! The body of a request, to a file: never more in memory than a few pieces, never more on disk than was
//! declared and allowed.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::exchange::fault;
use super::protocol::{Code, Refusal};
use super::store::{Spool, Store};

/// Pieces between the network and the disk.
const PIECES: usize = 4;

/// Bytes that a second more is given for.
const SLOWEST: u64 = 64 << 10;

/// The length that a request declares, if it is allowed.
pub fn declared(headers: &hyper::HeaderMap, most: u64) -> Result<u64, Refusal> {
    let length = headers.get(hyper::header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let Some(length) = length else {
        let why = "declare the length of the body in Content-Length";
        return Err(Refusal::new(Code::LengthRequired, why));
    };
    if length > most {
        let why = format!("{length} bytes, of which this server takes at most {most}");
        return Err(Refusal::new(Code::TooLarge, why));
    }
    Ok(length)
}

/// Receives a body of the declared length, within so many seconds and one more for each 64 KiB.
pub async fn receive(
    store: &Store,
    mut body: Incoming,
    length: u64,
    seconds: u64,
) -> Result<Spool, Refusal> {
    let mut spool = store.spool().map_err(fault)?;
    let (pieces, mut arrived) = mpsc::channel::<Bytes>(PIECES);
    let writer = tokio::task::spawn_blocking(move || {
        while let Some(piece) = arrived.blocking_recv() {
            spool.take(&piece)?;
        }
        Ok::<_, std::io::Error>(spool)
    });
    let seconds = seconds + length / SLOWEST;
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut left = length;
    let outcome = loop {
        let frame = match timeout_at(end, body.frame()).await {
            Err(_) => {
                let why = format!("{left} of {length} bytes had not arrived after {seconds} s");
                break Err(Refusal::new(Code::TooSlow, why));
            }
            Ok(None) => break Ok(()),
            Ok(Some(Err(e))) => {
                let why = format!("the body broke off, {left} of {length} bytes missing: {e}");
                break Err(Refusal::new(Code::BadRequest, why));
            }
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(piece) = frame.into_data() else { continue };
        left = match left.checked_sub(piece.len() as u64) {
            Some(left) => left,
            None => break Err(Refusal::new(Code::BadRequest, "more bytes than declared")),
        };
        if pieces.send(piece).await.is_err() {
            // The disk has refused; the writer says why.
            break Ok(());
        }
    };
    drop(pieces);
    let written = writer.await.map_err(fault)?;
    outcome?;
    let spool = written.map_err(fault)?;
    match spool.written() {
        found if found == length => Ok(spool),
        found => {
            let why = format!("{found} of {length} bytes arrived");
            Err(Refusal::new(Code::BadRequest, why))
        }
    }
}
