//! The body of a request on its way to its destination: only a few pieces are in memory, and never
//! more bytes are read than were declared and allowed.

use std::io::{self, Write};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header::CONTENT_LENGTH};
use http_body_util::BodyExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::{disk, fault};
use crate::protocol::{Code, Refusal};

/// Pieces between the network and the disk.
const PIECES: usize = 4;

/// Bytes that must arrive in every span of time.
const PROGRESS: u64 = 64 << 10;

/// The longest time for which the rest of a refused body is read and forgotten, and for which its
/// sender may be quiet meanwhile.
const LINGER: Duration = Duration::from_secs(3);
const QUIET: Duration = Duration::from_millis(200);

/// The declared length of a request, if it is allowed.
pub fn declared(headers: &HeaderMap, most: u64) -> Result<u64, Refusal> {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let Some(length) = length else {
        let why = "declare the length of the body in Content-Length";
        return Err(Refusal::new(Code::LengthRequired, why));
    };
    if length > most {
        let why = format!("{length} bytes: this server accepts at most {most}");
        return Err(Refusal::new(Code::TooLarge, why));
    }
    Ok(length)
}

/// Receives a body of the declared length, at 64 KiB per span of time or faster. `look` sees the
/// bytes, and their number so far, before they reach the sink.
pub async fn receive<S: Write + Send + 'static>(
    mut sink: S,
    mut body: Body,
    length: u64,
    span: Duration,
    mut look: impl FnMut(&[u8], u64) -> Result<(), Refusal>,
) -> Result<S, Refusal> {
    let (pieces, mut waiting) = mpsc::channel::<Bytes>(PIECES);
    let writer = tokio::task::spawn_blocking(move || {
        while let Some(piece) = waiting.blocking_recv() {
            sink.write_all(&piece)?;
        }
        Ok::<_, io::Error>(sink)
    });
    let bad = |why: String| Refusal::new(Code::BadRequest, why);
    let (mut arrived, mut goal, mut end) = (0, PROGRESS, Instant::now() + span);
    let outcome = loop {
        let frame = match timeout_at(end, body.frame()).await {
            Err(_) => {
                let why = format!(
                    "{arrived} of {length} bytes have arrived: at least {PROGRESS} more must \
                     arrive within {} s",
                    span.as_secs()
                );
                break Err(Refusal::new(Code::TooSlow, why));
            }
            Ok(None) => break Ok(()),
            Ok(Some(Err(e))) => {
                break Err(bad(format!("broken off after {arrived} of {length} bytes: {e}")));
            }
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(piece) = frame.into_data() else { continue };
        arrived += piece.len() as u64;
        if arrived > length {
            break Err(bad("more bytes than declared".to_string()));
        }
        if let Err(refusal) = look(&piece, arrived) {
            break Err(refusal);
        }
        if pieces.send(piece).await.is_err() {
            // The disk has refused; the writer reports why.
            break Ok(());
        }
        if arrived >= goal {
            (goal, end) = (arrived + PROGRESS, Instant::now() + span);
        }
    };
    drop(pieces);
    let written = writer.await.map_err(fault)?;
    let received = outcome.and_then(|()| written.map_err(disk));
    if received.as_ref().is_err_and(|refusal| refusal.code != Code::TooSlow) {
        // A client that still sends would find a broken connection instead of the refusal.
        let end = Instant::now() + LINGER;
        let soon = || end.min(Instant::now() + QUIET);
        while let Ok(Some(Ok(_))) = timeout_at(soon(), body.frame()).await {}
    }
    let sink = received?;
    match arrived < length {
        true => Err(bad(format!("{arrived} of {length} bytes arrived"))),
        false => Ok(sink),
    }
}
