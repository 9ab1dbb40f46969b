//! pip: downloads wheels, and unpacks them in a second sandbox without the network, which contains nothing else.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use sandbox::Network;
use sha2::{Digest as _, Sha256};
use skill::Digest;

use super::{Fetch, Fetched, FinishedFetch, is_plain_name, seen, unpacked};
use crate::RuntimeError;
use crate::run::RunFolder;
use crate::run::package_index::IndexLocation;

/// Folders below the working folder.
const WHEELS: &str = "wheels";
const PREPARED: &str = "python";

/// Printed when a package would have to be built.
const NOT_BUILT: &str = "packages are not built";

/// Runs pip in a process that cannot start others. Building a package always starts one, and pip builds packages that
/// others refer to by URL even with the option for wheels only.
const PIP: &str = "import sys\n\
    starts = ('subprocess.Popen', 'os.fork', 'os.forkpty', 'os.exec', 'os.posix_spawn', 'os.spawn', 'os.system', 'pty.spawn')\n\
    def check(event, args):\n    if event in starts: raise PermissionError('packages are not built: ' + str(args[:1]))\n\
    sys.addaudithook(check)\n\
    import runpy\n\
    sys.path.append(sys.argv.pop(1))\n\
    sys.argv[0] = 'pip'\n\
    runpy.run_module('pip', run_name='__main__', alter_sys=True)";

/// Options of every call: no questions, and nothing that is kept elsewhere.
const COMMON: [&str; 5] = [
    "--no-input",
    "--disable-pip-version-check",
    "--no-cache-dir",
    "--no-color",
    "--progress-bar=off",
];

/// Returns the arguments that start pip, from the folder that contains it and without anything else that is installed.
pub(super) fn start(folder: &Path) -> Vec<OsString> {
    let mut args = ["-I", "-S", "-c", PIP].map(OsString::from).to_vec();
    args.push(folder.into());
    args
}

/// Returns the error for a Python without pip.
pub(super) fn missing(python: &Path) -> String {
    let python = python.display();
    format!(
        "`{python}` has no pip; install it, for example with `apt install python3-pip` or `{python} -m ensurepip`"
    )
}

/// Fetches wheels and unpacks them.
pub(super) fn fetch(fetch: &Fetch<'_>, specs: &[String]) -> Result<Fetched, RuntimeError> {
    let downloaded = fetch.scratch()?;
    let mut args = common(fetch, "download");
    args.push("--only-binary=:all:".into());
    for folder in &fetch.permit.index().folders {
        args.extend(["--find-links".into(), folder.into()]);
    }
    args.extend(["--dest".into(), seen(WHEELS), "--".into()]);
    args.extend(specs.iter().map(OsString::from));
    let done = fetch.run(&downloaded, args, settings(fetch), fetch.network())?;
    if !done.is_good {
        return Err(fetch.unsuccessful(&done, reason(&done)));
    }
    let wheels = hashes(fetch, &downloaded)?;
    let scratch = fetch.scratch()?;
    let (from, to) = (downloaded.path().join(WHEELS), scratch.path().join(WHEELS));
    fs::rename(&from, &to).map_err(|error| fetch.io(&from, &error))?;
    let mut args = common(fetch, "install");
    args.extend(
        ["--no-index", "--no-deps", "--only-binary=:all:", "--no-compile"].map(OsString::from),
    );
    args.extend(["--target".into(), seen(PREPARED), "--".into()]);
    args.extend(wheels.keys().map(|name| seen(&format!("{WHEELS}/{name}"))));
    let no_settings = vec![("PIP_CONFIG_FILE".into(), "/dev/null".into())];
    let done = fetch.run(&scratch, args, no_settings, Network::None)?;
    if !done.is_good {
        return Err(fetch.unsuccessful(&done, reason(&done)));
    }
    let folder = scratch.path().join(PREPARED);
    Ok(Fetched { packages: wheels, folder, _scratch: scratch })
}

fn common(fetch: &Fetch<'_>, command: &str) -> Vec<OsString> {
    let more = [command].into_iter().chain(COMMON).map(OsString::from);
    start(&fetch.tool.manager.0).into_iter().chain(more).collect()
}

/// Returns the settings as variables: the URL may contain a password, which other users could read in arguments.
fn settings(fetch: &Fetch<'_>) -> Vec<(OsString, OsString)> {
    let index = fetch.permit.index();
    let mut settings: Vec<(OsString, OsString)> = vec![
        ("PIP_CONFIG_FILE".into(), "/dev/null".into()),
        ("PIP_INDEX_URL".into(), (&index.url).into()),
    ];
    if let (true, IndexLocation::Hosts { hosts, .. }) = (index.is_trusted, &index.location) {
        let trusted: Vec<String> =
            hosts.iter().map(|(host, port)| format!("{host}:{port}")).collect();
        settings.push(("PIP_TRUSTED_HOST".into(), trusted.join(" ").into()));
    }
    settings.extend(index.certificates.iter().map(|path| ("PIP_CERT".into(), path.into())));
    settings
}

/// Returns the hashes of all wheels.
fn hashes(
    fetch: &Fetch<'_>,
    downloaded: &RunFolder,
) -> Result<BTreeMap<String, String>, RuntimeError> {
    let folder = downloaded.path().join(WHEELS);
    let failed = |error: io::Error| fetch.io(&folder, &error);
    if !fs::symlink_metadata(&folder).is_ok_and(|metadata| metadata.is_dir()) {
        return Err(fetch.failed("pip downloaded nothing"));
    }
    let mut wheels = BTreeMap::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_file = entry.file_type().map_err(failed)?.is_file();
        if !is_plain_name(&name) {
            return Err(fetch.failed("a file of the index has an unusual name"));
        }
        if !is_file || !name.ends_with(".whl") {
            return Err(fetch.failed(format!("`{name}` is not a wheel")));
        }
        let mut hasher = Sha256::new();
        unpacked::content(&entry.path(), &mut hasher).map_err(failed)?;
        wheels.insert(name, Digest::from_bytes(hasher.finalize().into()).to_string());
    }
    if wheels.is_empty() { Err(fetch.failed("pip downloaded nothing")) } else { Ok(wheels) }
}

/// Explains the usual causes.
fn reason(done: &FinishedFetch) -> Option<String> {
    let has = |text: &str| done.messages.contains(text);
    if has(NOT_BUILT) {
        return Some("one of them has to be built, which would run its code".to_owned());
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
