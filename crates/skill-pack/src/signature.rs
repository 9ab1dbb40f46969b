//! Signatures of archives, as `ssh-keygen -Y` makes and knows them: the keys that people have already.

#![expect(clippy::disallowed_methods, reason = "the edge: a program that signs and verifies")]

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::PackError;

/// What a signature is for: one that was made for something else counts for nothing here.
pub const NAMESPACE: &str = "openskills";
const PROGRAM: &str = "ssh-keygen";

/// Who signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The name in the file of allowed signers.
    pub signer: String,
    /// The fingerprint of the key, as `ssh-keygen` tells it.
    pub key: String,
}

/// Signs bytes with a key; returns the signature.
pub fn sign(bytes: &[u8], key: &Path) -> Result<Vec<u8>, PackError> {
    if !key.is_file() {
        return Err(PackError::NotSigned(format!("there is no key at {}", key.display())));
    }
    let failed = |error: io::Error| PackError::NoSigner(error.to_string());
    // It asks for the words of a key on the terminal by itself.
    let mut child = Command::new(PROGRAM)
        .args(["-Y", "sign", "-n", NAMESPACE, "-f"])
        .arg(key)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    // It reads everything before it writes; one that does not read says why below.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(bytes));
    let done = child.wait_with_output().map_err(failed)?;
    let is_signed = done.status.success() && done.stdout.starts_with(b"-----BEGIN SSH SIGNATURE");
    if is_signed { Ok(done.stdout) } else { Err(PackError::NotSigned(told(&done))) }
}

/// Verifies that a file was signed by somebody in the file of allowed signers; returns who it was.
pub fn verify(file: &Path, signature: &Path, allowed: &Path) -> Result<Signed, PackError> {
    let found = run(&["find-principals"], None, signature, allowed)?;
    let names = String::from_utf8_lossy(&found.stdout).into_owned();
    if !found.status.success() || names.trim().is_empty() {
        let said = told(&found);
        let is_broken =
            said.contains("parse") || said.contains("format") || said.contains("incomplete");
        let why = if is_broken {
            format!("the file is no signature: {said}")
        } else {
            "whoever signed is not among the allowed signers".to_owned()
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
            let said = String::from_utf8_lossy(&checked.stdout).into_owned();
            let key = said.split_whitespace().find(|word| word.starts_with("SHA256:"));
            return Ok(Signed {
                signer: signer.to_owned(),
                key: key.unwrap_or_default().to_owned(),
            });
        }
        last = told(&checked);
    }
    Err(PackError::Signature(last))
}

fn run(
    words: &[&str],
    input: Option<File>,
    signature: &Path,
    allowed: &Path,
) -> Result<Output, PackError> {
    let mut command = Command::new(PROGRAM);
    command.arg("-Y").args(words).arg("-s").arg(signature).arg("-f").arg(allowed);
    command.stdin(input.map_or_else(Stdio::null, Stdio::from));
    command.output().map_err(|error| PackError::NoSigner(error.to_string()))
}

fn told(done: &Output) -> String {
    let said = String::from_utf8_lossy(&done.stderr);
    let said = if said.trim().is_empty() { String::from_utf8_lossy(&done.stdout) } else { said };
    said.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}
