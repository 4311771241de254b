//! The layouts of queries.

use serde::{Deserialize, Serialize};

/// The layout of encrypted points in ciphertexts. The page of [the crate](crate) compares the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum QueryLayout {
    /// A ciphertext for each block of the domain and each point, as in the paper.
    Paper,
    /// Selectors of small buckets, many in one ciphertext.
    Compact,
}

impl std::fmt::Display for QueryLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Paper => "paper",
            Self::Compact => "compact",
        })
    }
}
