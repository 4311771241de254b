//! Connections with certificates of one authority.

use std::{fs, time::Duration};

use bellerophon_ballista::{ClientOptions, ExecutorOptions, SchedulerOptions, TlsOptions};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use tokio::time::timeout;

use crate::world::{World, refusal, rows, scheduler};

const QUERY: &str = "SELECT g, he_sum(x) AS r FROM t GROUP BY g";

/// The files of a process whose certificate is of a new authority.
fn certificates(world: &World, name: &str) -> TlsOptions {
    let mut authority = CertificateParams::new(vec![]).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut process = CertificateParams::new(vec!["localhost".into(), "127.0.0.1".into()]).unwrap();
    process.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let process = process.signed_by(&key, &authority).unwrap();
    let write = |part: &str, text: String| {
        let path = world.path(&format!("{name}-{part}.pem"));
        fs::write(&path, text).unwrap();
        Some(path)
    };
    TlsOptions {
        tls_ca: write("ca", authority.pem()),
        tls_cert: write("cert", process.pem()),
        tls_key: write("key", key.serialize_pem()),
        plaintext: false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_connections_need_a_certificate_of_the_authority() {
    let world = World::new();
    let files = certificates(&world, "cluster");
    let cluster = world.cluster(&files, |_| {});
    let options = ClientOptions { tls: files.read().unwrap(), ..Default::default() };
    let session = world.with(&cluster, options, Some(world.keys)).await;
    // Both stages, and the shuffle between them.
    let found = rows(world.client.params(), &session, QUERY).await;
    assert!(found == rows(world.client.params(), &world.here().await, QUERY).await);

    // A client without a certificate, and one of another authority.
    let plain = world.on(&cluster).await;
    refusal(&plain, QUERY).await;
    let strange = certificates(&world, "strange").read().unwrap();
    let options = ClientOptions { tls: strange, ..Default::default() };
    let strange = world.with(&cluster, options, Some(world.keys)).await;
    let refused = refusal(&strange, QUERY).await;
    assert!(!refused.is_empty());
    // The cluster lives.
    assert_eq!(rows(world.client.params(), &session, QUERY).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_beyond_this_machine_need_certificates() {
    let world = World::new();
    let bind = "0.0.0.0:0".parse().unwrap();
    let plain = scheduler(world.folder.path(), &TlsOptions::default());
    let options = world.executor("localhost:1", "executor-0", "node");
    let node = options.node().unwrap();
    let (served, computed) = (
        SchedulerOptions { bind, ..plain }.serve(),
        ExecutorOptions { bind, ..options.clone() }.serve(node.clone()),
    );
    // The scheduler may be there, too.
    let far = ExecutorOptions { scheduler: "10.0.0.1:50050".into(), ..options }.serve(node);
    let patience = Duration::from_secs(60);
    for (host, ended) in [
        ("0.0.0.0", timeout(patience, served).await),
        ("0.0.0.0", timeout(patience, computed).await),
        ("10.0.0.1", timeout(patience, far).await),
    ] {
        let refused = ended.expect("it serves").unwrap_err().to_string();
        assert!(refused.contains("--plaintext") && refused.contains(host), "{refused}");
    }
}
