//! What the operator may do: on the folder of a server that does not run, or through the socket in
//! the folder of one that does. Whoever may enter the folder is the operator.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Exchange;
use super::store::owner_change;
use crate::protocol::{ClientId, Token};

/// A command of the operator.
#[derive(Debug, Clone, Serialize, Deserialize, clap::Subcommand)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Admit a client: prints what its `keygen --invitation` reads
    Invite {
        /// A name for the list
        #[arg(long)]
        name: String,
        /// Bytes that it may store, which stay free for it [default: the server's limit]
        #[arg(long, value_name = "BYTES", value_parser = crate::cli::parse_bytes)]
        quota: Option<u64>,
    },
    /// List the clients for whom something is kept
    List,
    /// Refuse the token of a client from now on
    Revoke {
        /// The client, as in the list
        client: ClientId,
    },
    /// Change the bytes that a client may store
    Quota {
        /// The client, as in the list
        client: ClientId,
        /// The bytes
        #[arg(value_parser = crate::cli::parse_bytes)]
        bytes: u64,
    },
    /// Remove the keys and jobs of a client
    Purge {
        /// The client, as in the list
        client: ClientId,
    },
}

impl Exchange {
    /// Runs a command of the operator.
    ///
    /// # Errors
    /// A sentence about an unknown or busy client, or the disk.
    pub fn command(&self, command: Command) -> Result<Value, String> {
        // Nobody stores the record of a client as it was before.
        let changes = !matches!(command, Command::List);
        let _writer = changes.then(|| self.forgetting.write());
        let keep = |client, record: Option<super::store::OwnerRecord>| {
            let record = record.ok_or_else(|| format!("no client {client}"))?;
            let kept = self.store.write(&[owner_change(client, Some(&record))]);
            kept.map_err(|e| e.to_string())?;
            Ok::<_, String>(json!({"client": client, "name": record.name, "quota": record.quota,
                "left": self.board.left_beside(None)}))
        };
        match command {
            Command::Invite { name, quota } => {
                let token = Token::new(&rand::random());
                quota.map_or(Ok(()), |quota| self.check_quota(token.client(), quota))?;
                let record = self.board.change_owner(token.client(), true, |record| {
                    (record.name, record.invited, record.quota) = (name, true, quota);
                });
                let mut answer = keep(token.client(), record)?;
                answer["invitation"] = token.expose().into();
                Ok(answer)
            }
            Command::List => Ok(json!({"clients": self.board.owners()})),
            Command::Revoke { client } => {
                keep(client, self.board.change_owner(client, false, |record| record.revoked = true))
            }
            Command::Quota { client, bytes } => {
                self.check_quota(client, bytes)?;
                let change = |record: &mut super::store::OwnerRecord| record.quota = Some(bytes);
                keep(client, self.board.change_owner(client, false, change))
            }
            Command::Purge { client } => {
                let gone = self.board.purge(client).ok_or_else(|| {
                    format!("no client {client}, or it is busy: revoke it and try again")
                })?;
                let records = gone.0.len();
                self.store.purge(client, gone.0, gone.1).map_err(|e| e.to_string())?;
                Ok(json!({"client": client, "removed": records}))
            }
        }
    }

    /// Refuses a quota that is nothing, or that cannot stay free beside what others have. A smaller
    /// one than before is welcome.
    fn check_quota(&self, client: ClientId, quota: u64) -> Result<(), String> {
        if quota == 0 {
            return Err("a quota of 0 bytes stores nothing: revoke the client instead".to_string());
        }
        let left = self.board.left_beside(Some(client));
        let grows = self.board.promise(client).is_none_or(|promise| quota > promise);
        match grows && quota > left {
            false => Ok(()),
            true => Err(format!(
                "a quota of {quota} bytes: {left} of the server's {} (--storage) are not promised \
                 to other clients, nor taken by what they store",
                self.limits.storage
            )),
        }
    }
}

/// The socket of the operator. Closed on drop.
pub struct Operator(Option<tokio::task::JoinHandle<()>>);

impl Drop for Operator {
    fn drop(&mut self) {
        self.0.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

/// Serves the operator's commands: one line of JSON each.
///
/// # Errors
/// If there can be no socket, for example below a folder with a long path.
#[cfg(unix)]
pub fn listen(exchange: Arc<Exchange>, path: &Path) -> io::Result<Operator> {
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
    crate::files::remove(path)?;
    let listener = tokio::net::UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(Operator(Some(tokio::spawn(async move {
        loop {
            let mut stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(e) => {
                    tracing::warn!(%e, "a command was not accepted");
                    tokio::time::sleep(super::listen::ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let exchange = exchange.clone();
            tokio::spawn(async move {
                let mut line = String::new();
                let mut reader = BufReader::new(&mut stream).take(1 << 16);
                reader.read_line(&mut line).await?;
                let done = tokio::task::spawn_blocking(move || {
                    let command = serde_json::from_str(&line).map_err(|e| e.to_string());
                    command.and_then(|command| exchange.command(command))
                });
                let done: Result<Value, String> = done.await.map_err(io::Error::other)?;
                let answer = done.unwrap_or_else(|why| json!({"error": why}));
                stream.write_all(format!("{answer}\n").as_bytes()).await
            });
        }
    }))))
}

/// Elsewhere the operator stops the server first.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn listen(_: Arc<Exchange>, _: &Path) -> io::Result<Operator> {
    Ok(Operator(None))
}

/// Sends a command to a server that runs; `None` if there is none.
///
/// # Errors
/// A sentence about a server that does not answer, or refuses.
#[cfg(unix)]
pub fn send(path: &Path, command: &Command) -> Option<Result<Value, String>> {
    use std::io::{BufRead, BufReader, Write};
    let mut stream = std::os::unix::net::UnixStream::connect(path).ok()?;
    let ask = || -> io::Result<Value> {
        writeln!(stream, "{}", serde_json::to_string(command)?)?;
        let mut line = String::new();
        BufReader::new(&mut stream).read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    };
    let mut ask = ask;
    Some(match ask() {
        Err(e) => Err(e.to_string()),
        Ok(answer) => match answer["error"].as_str() {
            Some(why) => Err(why.to_string()),
            None => Ok(answer),
        },
    })
}

/// Elsewhere the operator stops the server first.
#[cfg(not(unix))]
pub fn send(_: &Path, _: &Command) -> Option<Result<Value, String>> {
    None
}
