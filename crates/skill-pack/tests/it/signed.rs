//! Signatures by the real `ssh-keygen`.

use std::path::Path;

use skill_pack::{PackError, sign, verify};
use testkit::{TestEnv, skip};

/// Signs a file; the signature stands beside it.
fn put_signature(file: &Path, key: &Path) {
    let signature = sign(&std::fs::read(file).unwrap(), key).unwrap();
    std::fs::write(format!("{}.sig", file.display()), signature).unwrap();
}

#[test]
fn a_signature_holds_for_the_file_the_signer_and_the_purpose() {
    let env = TestEnv::with("//- /a.zip\nbytes\n//- /other.zip\nother\n");
    for name in ["key", "stranger"] {
        let made =
            env.run_args("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", name, "-C", name]);
        if made.code != Some(0) {
            return skip("signatures", "`ssh-keygen` is not there");
        }
    }
    let (file, key) = (env.path("a.zip"), env.path("key"));
    put_signature(&file, &key);
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
    // Somebody else's key, the same key for something else, nobody at all, and no signature.
    put_signature(&env.path("other.zip"), &env.path("stranger"));
    refused("other.zip", "other.zip.sig", "allowed");
    env.write("elsewhere", format!("me@example.com namespaces=\"git\" {public}").as_bytes());
    refused("a.zip", "a.zip.sig", "elsewhere");
    env.write("nobody", b"");
    refused("a.zip", "a.zip.sig", "nobody");
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
