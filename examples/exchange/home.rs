//! The folder of the client.
//!
//! ```text
//! secret         the secret key: mode 0600, never sent
//! token          identifies the client to the server: mode 0600, sent to the server only
//! client.json    names of parameters and keys
//! jobs/ID        the client's record of a job, in JSON; removed once the answer is decrypted
//! shared/        visible to the server
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use bellerophon::prelude::*;
use rand::rngs::SysRng;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::common::program::Failure;
use super::programs::params;
use super::protocol::{Hash, JobId, Token};
use super::shared::{self, Shared, about};
use super::wire;

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
    /// The position in the order in which the jobs were made.
    pub number: usize,
}

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
            let why = "the folder has a secret key already: take another folder, or remove the key";
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

    /// Stores the secret key, and a random token. The secret key is stored last: a folder without
    /// one counts as empty.
    pub fn keep_secret(&self, secret: &[u8]) -> Result<(), Failure> {
        use std::io::Write;
        let token = Token::new(&random()?);
        let text = token.expose().as_bytes();
        shared::write_with(&self.root.join("token"), true, |file| file.write_all(text))?;
        shared::write_with(&self.secret(), true, |file| file.write_all(secret))
    }

    /// The parameters and the secret key.
    pub fn client(&self) -> Result<ClientKey, Failure> {
        let params = params(&self.profile()?.parameters).map_err(Failure::input)?;
        wire::read_secret(&params, &self.secret())
    }

    /// The token.
    pub fn token(&self) -> Result<Token, Failure> {
        let path = self.root.join("token");
        let bytes = shared::read(&path, LONGEST_TOKEN)?;
        let text = String::from_utf8(bytes).map_err(|e| about(&path, e))?;
        text.trim_end().parse().map_err(|e| about(&path, e))
    }

    /// Reads the record of the keys.
    pub fn profile(&self) -> Result<Profile, Failure> {
        shared::read_json(&self.root.join("client.json"))
    }

    /// Stores the record of the keys.
    pub fn keep_profile(&self, profile: &Profile) -> Result<(), Failure> {
        shared::write_json(&self.root.join("client.json"), profile)
    }

    /// Stores the record of a job.
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

    /// Removes the record of a job that has ended.
    pub fn forget_job(&self, id: JobId) {
        for what in ["request", "input", "result", "refused"] {
            let _ = fs::remove_file(self.shared.part(id, what));
        }
        let _ = fs::remove_file(self.jobs().join(id.as_str()));
    }
}

/// Random bytes from the operating system.
pub fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    let mut rng = ChaCha20Rng::try_from_rng(&mut SysRng).map_err(Failure::run)?;
    rng.fill_bytes(&mut bytes);
    Ok(bytes)
}
