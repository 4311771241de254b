//! Encrypted columns on an Apache Ballista cluster.
