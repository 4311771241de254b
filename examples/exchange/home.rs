//! The folder of the client.
//!
//! ```text
//! secret         the secret key: mode 0600, never sent
//! token          what the server knows the client by: mode 0600, sent to the server alone
//! client.json    names of parameters and keys
//! jobs/ID        what the client asked for, in JSON; removed once the answer is decrypted
//! shared/        what the server may see
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use bellerophon::prelude::*;
use rand::rngs::SysRng;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::common::program::Failure;
use super::programs::parameters;
use super::protocol::{Hash, JobId, Token};
use super::shared::{self, Shared, about};
use super::wire;

/// What the client remembers of its keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Profile {
    /// The name of the parameters.
    pub parameters: String,
    /// The programs that the keys are for.
    pub programs: Vec<String>,
    /// The longest vector that they are for.
    pub count: usize,
    /// The name of the keys.
    pub keys: Hash,
}

/// What the client remembers of a job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    pub program: String,
    /// Values that were encrypted.
    pub count: usize,
    /// Place in the order in which the jobs were made.
    pub number: usize,
}

/// Bytes of the file with the token, at most.
const LONGEST_TOKEN: u64 = 1024;

/// The folder.
pub struct Home {
    root: PathBuf,
    pub shared: Shared,
}

impl Home {
    /// The folder, which need not be there.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_path_buf(), shared: Shared(root.join("shared")) }
    }

    /// Makes the folder; refuses one that has a secret key.
    pub fn make(&self) -> Result<(), Failure> {
        if self.secret().exists() {
            let why = "there is a secret key already: take another folder, or remove it";
            return Err(about(&self.secret(), why));
        }
        for folder in [self.jobs(), self.shared.0.clone()] {
            fs::create_dir_all(&folder).map_err(|e| about(&folder, e))?;
        }
        Ok(())
    }

    fn secret(&self) -> PathBuf {
        self.root.join("secret")
    }

    fn jobs(&self) -> PathBuf {
        self.root.join("jobs")
    }

    /// Keeps the secret key, and a token drawn at random. A folder without a secret key is as good as
    /// empty: this comes last.
    pub fn keep_secret(&self, secret: &[u8]) -> Result<(), Failure> {
        use std::io::Write;
        let token = Token::new(&random()?);
        let text = token.expose().as_bytes();
        shared::write_with(&self.root.join("token"), true, |file| file.write_all(text))?;
        shared::write_with(&self.secret(), true, |file| file.write_all(secret))
    }

    /// The parameters and the secret key.
    pub fn client(&self) -> Result<ClientKey, Failure> {
        let params = parameters(&self.profile()?.parameters).map_err(Failure::input)?;
        wire::read_secret(&params, &self.secret())
    }

    /// The token.
    pub fn token(&self) -> Result<Token, Failure> {
        let path = self.root.join("token");
        let bytes = shared::read(&path, LONGEST_TOKEN)?;
        let text = String::from_utf8(bytes).map_err(|e| about(&path, e))?;
        text.trim_end().parse().map_err(|e| about(&path, e))
    }

    /// What is remembered of the keys.
    pub fn profile(&self) -> Result<Profile, Failure> {
        shared::read_json(&self.root.join("client.json"))
    }

    /// Remembers the keys.
    pub fn keep_profile(&self, profile: &Profile) -> Result<(), Failure> {
        shared::write_json(&self.root.join("client.json"), profile)
    }

    /// Remembers a job.
    pub fn keep_job(&self, id: JobId, job: &Job) -> Result<(), Failure> {
        shared::write_json(&self.jobs().join(id.as_str()), job)
    }

    /// The jobs that are not decrypted, in the order in which they were made.
    pub fn open_jobs(&self) -> Result<Vec<(JobId, Job)>, Failure> {
        let folder = self.jobs();
        let mut jobs = vec![];
        for file in fs::read_dir(&folder).map_err(|e| about(&folder, e))? {
            let path = file.map_err(|e| about(&folder, e))?.path();
            let name = path.file_name().and_then(|name| name.to_str()?.parse::<JobId>().ok());
            if let Some(id) = name {
                jobs.push((id, shared::read_json::<Job>(&path)?));
            }
        }
        jobs.sort_by_key(|(_, job)| job.number);
        Ok(jobs)
    }

    /// Forgets a job that has come to its end.
    pub fn forget_job(&self, id: JobId) {
        for what in ["request", "input", "result", "refused"] {
            let _ = fs::remove_file(self.shared.part(id, what));
        }
        let _ = fs::remove_file(self.jobs().join(id.as_str()));
    }
}

/// Bytes from the operating system.
pub fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    let mut rng = ChaCha20Rng::try_from_rng(&mut SysRng).map_err(Failure::run)?;
    rng.fill_bytes(&mut bytes);
    Ok(bytes)
}
