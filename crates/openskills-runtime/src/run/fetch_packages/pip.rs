//! pip: downloads wheels, and unpacks them without the network.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use sandbox::Network;
use sha2::{Digest as _, Sha256};
use skill::Digest;

use super::{Fetch, Fetched, FinishedFetch, seen};
use crate::RuntimeError;
use crate::run::package_index::IndexLocation;

/// Folders below the working folder.
const WHEELS: &str = "wheels";
const PREPARED: &str = "python";

/// Options of every call: no settings but ours, no questions, and no code of packages.
const COMMON: [&str; 9] = [
    "-I",
    "-m",
    "pip",
    "--isolated",
    "--no-input",
    "--disable-pip-version-check",
    "--no-cache-dir",
    "--no-color",
    "--quiet",
];

/// Fetches wheels and unpacks them.
pub(super) fn fetch(fetch: &Fetch<'_>, specs: &[String]) -> Result<Fetched, RuntimeError> {
    let index = fetch.permit.index();
    let mut args = common("download");
    args.extend(["--only-binary=:all:", "--index-url"].map(OsString::from));
    args.push(index.url.clone().into());
    if let (true, IndexLocation::Hosts(hosts)) = (index.is_trusted, &index.location) {
        for (host, port) in hosts {
            args.extend(["--trusted-host".into(), format!("{host}:{port}").into()]);
        }
    }
    if let Some(path) = &index.certificates {
        args.extend(["--cert".into(), path.into()]);
    }
    args.extend(["--dest".into(), seen(WHEELS), "--".into()]);
    args.extend(specs.iter().map(OsString::from));
    let done = fetch.run(args, fetch.network())?;
    if !done.is_good {
        return Err(fetch.unsuccessful(&done, reason(fetch, &done)));
    }
    let wheels = hashes(fetch)?;
    let mut args = common("install");
    args.extend(
        ["--no-index", "--no-deps", "--only-binary=:all:", "--no-compile"].map(OsString::from),
    );
    args.extend(["--target".into(), seen(PREPARED)]);
    args.push("--".into());
    args.extend(wheels.keys().map(|name| seen(&format!("{WHEELS}/{name}"))));
    let done = fetch.run(args, Network::None)?;
    if !done.is_good {
        return Err(fetch.unsuccessful(&done, None));
    }
    Ok((wheels, fetch.folder.join(PREPARED)))
}

fn common(command: &str) -> Vec<OsString> {
    COMMON.into_iter().chain([command]).map(OsString::from).collect()
}

/// Returns the hashes of all wheels.
fn hashes(fetch: &Fetch<'_>) -> Result<BTreeMap<String, String>, RuntimeError> {
    let folder = fetch.folder.join(WHEELS);
    let failed = |error: io::Error| fetch.io(&folder, &error);
    let mut wheels = BTreeMap::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_wheel = name.ends_with(".whl") && entry.file_type().map_err(failed)?.is_file();
        if !is_wheel {
            return Err(fetch.failed(format!("`{name}` is not a wheel")));
        }
        wheels.insert(name, digest(&entry.path()).map_err(failed)?.to_string());
    }
    if wheels.is_empty() { Err(fetch.failed("pip downloaded nothing")) } else { Ok(wheels) }
}

fn digest(path: &Path) -> io::Result<Digest> {
    let mut file = fs::File::open(path)?;
    let (mut hasher, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Digest::from_bytes(hasher.finalize().into())),
            length => hasher.update(&buffer[..length]),
        }
    }
}

/// Explains the usual causes.
fn reason(fetch: &Fetch<'_>, done: &FinishedFetch) -> Option<String> {
    let has = |text: &str| done.messages.contains(text);
    let python = fetch.tool.interpreter.program.display();
    if has("No module named pip") {
        return Some(format!(
            "`{python}` has no pip; install it, for example with `apt install python3-pip` or `{python} -m ensurepip`"
        ));
    }
    if has("No matching distribution found") {
        let line = done.messages.lines().find(|line| line.contains("No matching distribution"));
        let name = line.and_then(|line| line.rsplit(' ').next()).unwrap_or_default();
        return Some(format!(
            "no wheel of `{name}` for this Python; check the name (packages that have to be built are not supported)"
        ));
    }
    None
}
