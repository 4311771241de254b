//! The layouts of queries.

use serde::{Deserialize, Serialize};

/// The layout of encrypted points in ciphertexts.
///
/// | | [`Paper`](Self::Paper) | [`Compact`](Self::Compact) |
/// | --- | --- | --- |
/// | ciphertexts for `p` points of a domain of `D` | `p ceil(D / N)` | about `3 D / N`, or `1.5 p / N` if that is more |
/// | values in the response | `p` | at least `1.5 p` |
/// | variables | any number | one |
///
/// The compact layout goes beyond the paper. A [batch code](crate::batch_code) cuts the table
/// into `3 B` small buckets, with every entry in three of them, and assigns a bucket of its own to
/// every point. One ciphertext holds the selectors of many buckets: `X^(o + i)` selects position
/// `i` of the bucket that begins at `o`. The product with `sum_i f_i X^-(o + i)` has the selected
/// entry of that bucket alone as its constant coefficient, whatever else the ciphertext selects.
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
