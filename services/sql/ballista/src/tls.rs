//! TLS between client, scheduler and executors, by certificates of one authority on both sides.

use std::{error::Error as StdError, fmt, fs, net::IpAddr, path::PathBuf, sync::Arc};

use ballista_core::{
    extension::EndpointOverrideFn,
    utils::{GrpcClientConfig, create_grpc_client_endpoint},
};
use bellerophon_datafusion::{Error, Result};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, ServerTlsConfig};

use crate::settings::{MESSAGE, REQUEST_SECONDS};

/// Where the certificates of a process are: all three files, or none.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct TlsOptions {
    /// Certificate of the authority of the cluster (PEM). Required beyond this machine
    #[arg(long, value_name = "FILE", requires_all = ["tls_cert", "tls_key"])]
    pub tls_ca: Option<PathBuf>,

    /// Certificate of this process (PEM), for the names by which others reach it
    #[arg(long, value_name = "FILE", requires = "tls_ca")]
    pub tls_cert: Option<PathBuf>,

    /// Private key of that certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_ca")]
    pub tls_key: Option<PathBuf>,

    /// Go without TLS beyond this machine: whoever reaches the network reads and runs queries
    #[arg(long, conflicts_with = "tls_ca")]
    pub plaintext: bool,
}

/// Refuses a connection without TLS to a host beyond this machine, unless it is asked for by name.
///
/// # Errors
/// [`Error::Plan`] with the host and the remedy.
pub(crate) fn check_plaintext(host: &str, tls: bool, plaintext: bool) -> Result<()> {
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let is_here = match name.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => name.eq_ignore_ascii_case("localhost"),
    };
    if tls || plaintext || is_here {
        return Ok(());
    }
    let reason = format!(
        "{host} is not this machine, and without TLS whoever reaches the network reads and runs \
         queries: take certificates (--tls-ca, --tls-cert, --tls-key; `ClientOptions::tls`), or \
         ask for it by name (--plaintext; `ClientOptions::plaintext`)"
    );
    Err(Error::Plan { function: "a connection without TLS", reason })
}

impl TlsOptions {
    /// Reads the certificates; none if no files are named.
    ///
    /// # Errors
    /// [`Error::File`] for files that cannot be read.
    pub fn read(&self) -> Result<Option<Tls>> {
        let (Some(ca), Some(cert), Some(key)) = (&self.tls_ca, &self.tls_cert, &self.tls_key)
        else {
            return Ok(None);
        };
        let read = |path: &PathBuf| {
            let file = |source| Error::File { path: path.display().to_string(), source };
            fs::read(path).map_err(file)
        };
        let authority = Certificate::from_pem(read(ca)?);
        Ok(Some(Tls { authority, identity: Identity::from_pem(read(cert)?, read(key)?) }))
    }
}

/// The certificates of a process. Both sides of every connection show one of the same authority.
#[derive(Clone)]
pub struct Tls {
    authority: Certificate,
    identity: Identity,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl Tls {
    /// A server that refuses peers without a certificate of the authority.
    pub(crate) fn server(&self) -> ServerTlsConfig {
        ServerTlsConfig::new()
            .identity(self.identity.clone())
            .client_ca_root(self.authority.clone())
    }

    /// Connections of a client. The engine begins those to the scheduler without encryption: they
    /// are made anew.
    pub(crate) fn endpoint(&self) -> EndpointOverrideFn {
        let tls = ClientTlsConfig::new()
            .ca_certificate(self.authority.clone())
            .identity(self.identity.clone());
        let config = GrpcClientConfig {
            timeout_seconds: REQUEST_SECONDS,
            use_tls: true,
            max_message_size: MESSAGE as usize,
            ..GrpcClientConfig::default()
        };
        Arc::new(move |endpoint: Endpoint| {
            let address = endpoint.uri().to_string().replacen("http://", "https://", 1);
            let endpoint = create_grpc_client_endpoint(address, Some(&config))?;
            endpoint
                .tls_config(tls.clone())
                .map_err(|error| Box::new(error) as Box<dyn StdError + Send + Sync>)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plaintext_stays_on_this_machine_unless_asked_for() {
        for here in
            ["localhost", "LOCALHOST", "127.0.0.1", "127.8.0.1", "[::1]", "::ffff:127.0.0.1"]
        {
            check_plaintext(here, false, false).unwrap();
        }
        for there in ["0.0.0.0", "::", "10.0.0.1", "[fe80::1]", "scheduler", "localhost.example"] {
            let refused = check_plaintext(there, false, false).unwrap_err().to_string();
            assert!(refused.contains(there) && refused.contains("--plaintext"), "{refused}");
            check_plaintext(there, true, false).unwrap();
            check_plaintext(there, false, true).unwrap();
        }
    }
}
