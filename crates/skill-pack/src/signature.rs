//! Signatures of archives in the format of `ssh-keygen -Y`, so that people can use the keys they already have.

#![expect(clippy::disallowed_methods, reason = "the edge: a program that signs and verifies")]

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::PackError;

/// The namespace of the signatures: one made for another purpose is not valid here.
pub const NAMESPACE: &str = "openskills";
const PROGRAM: &str = "ssh-keygen";

/// The signer of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The name in the allowed signers file.
    pub signer: String,
    /// The fingerprint of the key, as printed by `ssh-keygen`.
    pub key: String,
}

/// Signs bytes with a key; returns the signature.
pub fn sign(bytes: &[u8], key: &Path) -> Result<Vec<u8>, PackError> {
    if !key.is_file() {
        return Err(PackError::NotSigned(format!("no key at `{}`", key.display())));
    }
    let failed = |error: io::Error| PackError::NoSigner(error.to_string());
    // `ssh-keygen` itself asks for the passphrase of a key on the terminal.
    let mut child = Command::new(PROGRAM)
        .args(["-Y", "sign", "-n", NAMESPACE, "-f"])
        .arg(key)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    // It reads all input before it writes. If it stops reading, its output below says why.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(bytes));
    let output = child.wait_with_output().map_err(failed)?;
    let is_signed =
        output.status.success() && output.stdout.starts_with(b"-----BEGIN SSH SIGNATURE");
    if is_signed { Ok(output.stdout) } else { Err(PackError::NotSigned(message(&output))) }
}

/// Verifies that one of the allowed signers signed a file, and returns which one.
pub fn verify(file: &Path, signature: &Path, allowed: &Path) -> Result<Signed, PackError> {
    let found = run(&["find-principals"], None, signature, allowed)?;
    let names = String::from_utf8_lossy(&found.stdout).into_owned();
    if !found.status.success() || names.trim().is_empty() {
        let message = message(&found);
        let is_malformed = message.contains("parse")
            || message.contains("format")
            || message.contains("incomplete");
        let why = if is_malformed {
            format!("the file is not a signature: {message}")
        } else {
            "the signer is not one of the allowed signers".to_owned()
        };
        return Err(PackError::Signature(why));
    }
    let mut last = String::new();
    for signer in names.lines().map(str::trim).filter(|name| !name.is_empty()) {
        let open = File::open(file)
            .map_err(|source| skill_fs::FsError::Io { path: file.display().to_string(), source })?;
        let checked =
            run(&["verify", "-I", signer, "-n", NAMESPACE], Some(open), signature, allowed)?;
        if checked.status.success() {
            let text = String::from_utf8_lossy(&checked.stdout).into_owned();
            let key = text.split_whitespace().find(|word| word.starts_with("SHA256:"));
            return Ok(Signed {
                signer: signer.to_owned(),
                key: key.unwrap_or_default().to_owned(),
            });
        }
        last = message(&checked);
    }
    Err(PackError::Signature(last))
}

fn run(
    arguments: &[&str],
    input: Option<File>,
    signature: &Path,
    allowed: &Path,
) -> Result<Output, PackError> {
    let mut command = Command::new(PROGRAM);
    command.arg("-Y").args(arguments).arg("-s").arg(signature).arg("-f").arg(allowed);
    command.stdin(input.map_or_else(Stdio::null, Stdio::from));
    command.output().map_err(|error| PackError::NoSigner(error.to_string()))
}

/// Returns the error message of a program, on one line.
fn message(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let text = if text.trim().is_empty() { String::from_utf8_lossy(&output.stdout) } else { text };
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}
