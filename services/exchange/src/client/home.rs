//! The folder of the client.
//!
//! ```text
//! secret         the secret key, never sent; encrypted if it has a passphrase
//! token          identifies the client to the server, sent to the server only
//! client.json    names of parameters and keys
//! sharing        how many results may still be shared with others
//! sharing.lock   locked while that changes
//! jobs/ID        the client's record of a job, in JSON; removed once the answer is decrypted
//! shared/        visible to the server
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use bellerophon::{BudgetFile, DecryptionBudget, format::SecretBytes, prelude::*};
use serde::{Deserialize, Serialize};

use crate::cli::Failure;
use crate::files::{self, Shared, about};
use crate::programs::params;
use crate::protocol::{Hash, JobId, Token};
use crate::wire;

/// The client's record of its keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Profile {
    /// The name of the parameters.
    pub parameters: String,
    /// The programs that the keys support.
    pub programs: Vec<String>,
    /// The longest vector that they support.
    pub count: usize,
    /// The name of the keys.
    pub keys: Hash,
}

/// The client's record of a job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    pub program: String,
    /// The number of encrypted values.
    pub count: usize,
    /// Whether a provider has encrypted them.
    pub provided: bool,
    /// The position in the order in which the jobs were made.
    pub number: usize,
}

/// Results of one key that will ever be shared with others, and the statistical bits that hide the
/// key in them.
const SHARED_RESULTS: u64 = 1024;
const SHARED_BITS: f64 = 30.0;

/// The largest size of the token file in bytes.
const LONGEST_TOKEN: u64 = 1024;

/// The folder.
pub struct Home {
    root: PathBuf,
    pub shared: Shared,
}

impl Home {
    /// The folder, which may not exist yet.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_path_buf(), shared: Shared(root.join("shared")) }
    }

    /// Creates the folder. Refuses one that has a secret key.
    pub fn make(&self) -> Result<(), Failure> {
        if self.secret().exists() {
            let why = "the folder has a secret key already: take another folder, remove the key, \
                       or `send` its public keys to a server";
            return Err(about(&self.secret(), why));
        }
        for folder in [self.jobs(), self.shared.0.clone()] {
            files::create_folder(&folder).map_err(|e| about(&folder, e))?;
        }
        Ok(())
    }

    fn secret(&self) -> PathBuf {
        self.root.join("secret")
    }

    fn jobs(&self) -> PathBuf {
        self.root.join("jobs")
    }

    fn sharing(&self) -> PathBuf {
        self.root.join("sharing")
    }

    /// Stores the token, the budget and the secret key, encrypted if there is a passphrase. The
    /// secret key is stored last: a folder without one counts as empty.
    pub fn keep_secret(
        &self,
        token: &Token,
        client: &ClientKey,
        passphrase: Option<&SecretBytes>,
    ) -> Result<(), Failure> {
        files::write(&self.root.join("token"), token.expose().as_bytes())?;
        // One that is there belongs to a key that is not.
        let sharing = self.sharing();
        files::remove(&sharing).map_err(|e| about(&sharing, e))?;
        let budget = BudgetFile::create(&sharing, client.id(), SHARED_RESULTS, SHARED_BITS);
        budget.map_err(|e| about(&sharing, e))?;
        match passphrase {
            None => {
                let secret = client.to_secret_bytes().map_err(Failure::run)?;
                files::write(&self.secret(), secret.expose())
            }
            Some(passphrase) => {
                let secret = client.to_encrypted_bytes(passphrase.expose());
                files::write(&self.secret(), &secret.map_err(Failure::run)?)
            }
        }
    }

    /// The parameters and the secret key, which may need a passphrase.
    pub fn client(&self, passphrase: Option<&SecretBytes>) -> Result<ClientKey, Failure> {
        let params = params(&self.profile()?.parameters).map_err(Failure::input)?;
        wire::read_secret(&params, &self.secret(), passphrase)
    }

    /// The token.
    pub fn token(&self) -> Result<Token, Failure> {
        let path = self.root.join("token");
        read_token(&files::read(&path, LONGEST_TOKEN)?).map_err(|e| about(&path, e))
    }

    /// Reads the record of the keys.
    pub fn profile(&self) -> Result<Profile, Failure> {
        files::read_json(&self.root.join("client.json"))
    }

    /// Stores the record of the keys.
    pub fn keep_profile(&self, profile: &Profile) -> Result<(), Failure> {
        files::write_json(&self.root.join("client.json"), profile)
    }

    /// A budget of one result, once that is counted on the disk.
    pub fn reserve(&self, client: &ClientKey) -> Result<DecryptionBudget, Failure> {
        let path = self.sharing();
        let budget = BudgetFile::open(&path, client.id(), None).and_then(|mut all| all.reserve(1));
        budget.map_err(|e| about(&path, format_args!("{e} (a lost count counts as used up)")))
    }

    /// Stores the record of a job.
    pub fn keep_job(&self, id: JobId, job: &Job) -> Result<(), Failure> {
        files::write_json(&self.jobs().join(id.as_str()), job)
    }

    /// The jobs that are not decrypted, in the order in which they were made.
    pub fn open_jobs(&self) -> Result<Vec<(JobId, Job)>, Failure> {
        let folder = self.jobs();
        let mut jobs = vec![];
        for file in fs::read_dir(&folder).map_err(|e| about(&folder, e))? {
            let path = file.map_err(|e| about(&folder, e))?.path();
            let name = path.file_name().and_then(|name| name.to_str()?.parse::<JobId>().ok());
            if let Some(id) = name {
                jobs.push((id, files::read_json::<Job>(&path)?));
            }
        }
        jobs.sort_by_key(|(_, job)| job.number);
        Ok(jobs)
    }

    /// Removes the record of a job that has ended.
    pub fn forget_job(&self, id: JobId) {
        for what in ["request", "input", "result", "refused"] {
            let _ = fs::remove_file(self.shared.part(id, what));
        }
        let _ = fs::remove_file(self.jobs().join(id.as_str()));
    }
}

/// A failure to send what a folder has.
pub fn unsent(why: Failure) -> Failure {
    Failure::input(format!("{why}; the folder keeps everything: `send` tries again"))
}

/// A token from the bytes of a file: its digits, or what `exchange_admin invite` prints.
pub fn read_token(bytes: &[u8]) -> Result<Token, String> {
    #[derive(Deserialize)]
    struct Invited {
        invitation: String,
    }
    let text = std::str::from_utf8(bytes).map_err(|e| e.to_string())?.trim();
    let invited = serde_json::from_str::<Invited>(text).ok();
    let digits = invited.as_ref().map_or(text, |invited| invited.invitation.as_str());
    digits.parse().map_err(|e| format!("no token, and no output of `exchange_admin invite`: {e}"))
}
