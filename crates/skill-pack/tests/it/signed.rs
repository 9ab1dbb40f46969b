//! Signatures, with the real `ssh-keygen`.

use std::path::Path;

use skill_pack::{PackError, sign, verify};
use testkit::{TestEnv, skip};

/// Signs a file and writes the signature next to it.
fn write_signature(file: &Path, key: &Path) {
    let signature = sign(&std::fs::read(file).unwrap(), key).unwrap();
    std::fs::write(format!("{}.sig", file.display()), signature).unwrap();
}

#[test]
fn a_signature_is_bound_to_file_signer_and_namespace() {
    let env = TestEnv::with("//- /a.zip\nbytes\n//- /other.zip\nother\n");
    for name in ["key", "other-key"] {
        let made =
            env.run_args("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", name, "-C", name]);
        if made.code != Some(0) {
            return skip("signatures", "`ssh-keygen` is not installed");
        }
    }
    let (file, key) = (env.path("a.zip"), env.path("key"));
    write_signature(&file, &key);
    let public = std::fs::read_to_string(env.path("key.pub")).unwrap();
    env.write("allowed", format!("me@example.com namespaces=\"openskills\" {public}").as_bytes());
    let (signature, allowed) = (env.path("a.zip.sig"), env.path("allowed"));
    let signed = verify(&file, &signature, &allowed).unwrap();
    assert_eq!(signed.signer, "me@example.com");
    assert!(signed.key.starts_with("SHA256:"), "{signed:?}");
    let refused = |file: &str, signature: &str, allowed: &str| {
        let result = verify(&env.path(file), &env.path(signature), &env.path(allowed));
        assert!(
            matches!(result, Err(PackError::Signature(_))),
            "{file} {signature} {allowed}: {result:?}"
        );
    };
    refused("other.zip", "a.zip.sig", "allowed");
    // Another key, the right key but another namespace, no allowed signers, and no valid signature.
    write_signature(&env.path("other.zip"), &env.path("other-key"));
    refused("other.zip", "other.zip.sig", "allowed");
    env.write("namespace", format!("me@example.com namespaces=\"git\" {public}").as_bytes());
    refused("a.zip", "a.zip.sig", "namespace");
    env.write("empty", b"");
    refused("a.zip", "a.zip.sig", "empty");
    env.write(
        "none.sig",
        b"-----BEGIN SSH SIGNATURE-----\nnonsense\n-----END SSH SIGNATURE-----\n",
    );
    refused("a.zip", "none.sig", "allowed");
    let other = env.run_args("ssh-keygen", &["-Y", "sign", "-n", "file", "-f", "key", "other.zip"]);
    assert_eq!(other.code, Some(0), "{}", other.stderr);
    refused("other.zip", "other.zip.sig", "allowed");
    assert!(sign(b"x", &env.path("none")).unwrap_err().to_string().contains("no key at"));
}
