//! Pairs the specification of a package manager with the permit to fetch packages.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sandbox::proxy::HostGrant;
use sandbox::{Ended, Guarantee, Network, Spec};

use super::unavailable;
use crate::RuntimeError;
use crate::decide::packages::FetchPermit;
use crate::run::{Cancel, IndexLocation};

/// What a package manager gets: the interpreter with its libraries, and a temporary folder.
#[derive(Debug)]
pub(crate) struct ProvidedToFetch {
    /// What it may read besides the system and the index.
    pub(crate) read: Vec<PathBuf>,
    /// Its only writable folder, which it sees as `/tmp`.
    pub(crate) folder: PathBuf,
    /// How much it may write there, in bytes.
    pub(crate) max_bytes: u64,
}

/// A package manager with its specification. The constructor refuses a specification that exceeds the permit.
#[derive(Debug)]
pub(crate) struct PermittedFetch<'a> {
    permit: &'a FetchPermit,
    spec: Spec,
    provided: ProvidedToFetch,
}

/// How a package manager ended.
#[derive(Debug)]
pub(crate) struct FinishedFetch {
    pub(crate) is_good: bool,
    /// Its messages.
    pub(crate) messages: String,
    /// Hosts and ports that it tried to reach in vain.
    pub(crate) denied: Vec<String>,
    /// Whether it was ended because it wrote too much.
    pub(crate) is_too_large: bool,
}

/// How often the size of what it wrote is checked.
const SIZE_INTERVAL: Duration = Duration::from_millis(250);

/// The guarantees without which packages are not fetched.
pub(crate) fn required() -> impl Iterator<Item = Guarantee> {
    Guarantee::ALL.into_iter().filter(|one| *one != Guarantee::Mem)
}

impl<'a> PermittedFetch<'a> {
    /// Pairs a specification with its permit. Fails if the specification exceeds the permit.
    pub(crate) fn new(
        permit: &'a FetchPermit,
        spec: Spec,
        provided: ProvidedToFetch,
    ) -> Result<Self, RuntimeError> {
        match excess(permit, &spec, &provided) {
            None => Ok(Self { permit, spec, provided }),
            Some(excess) => Err(RuntimeError::PermissionDenied {
                message: format!("the packages were not fetched: {excess} is not part of that"),
                hint: None,
            }),
        }
    }

    /// Runs it in the sandbox. It reaches the index and nothing else.
    pub(crate) fn run(&self, cancel: &Cancel) -> Result<FinishedFetch, RuntimeError> {
        let failed = |error| unavailable("the package manager", error);
        let mut running = sandbox::start(&self.spec).map_err(failed)?;
        cancel.watch(running.canceller());
        let listener = running.take_proxy();
        let allowed = self.permit.hosts().to_vec();
        let requests = listener.map(|listener| {
            let allow = move |host: &str, port: u16| {
                let is_allowed = allowed.iter().any(|(own, at)| own == host && *at == port);
                if is_allowed { HostGrant::Exact } else { HostGrant::Denied }
            };
            sandbox::proxy::serve(listener, Arc::new(allow))
        });
        // No file system limits the size of one folder, so it is watched.
        let (has_ended, is_too_large) = (AtomicBool::new(false), AtomicBool::new(false));
        let outcome = std::thread::scope(|scope| {
            let canceller = running.canceller();
            let watcher = scope.spawn(|| {
                let canceller = canceller;
                while !has_ended.load(Ordering::Relaxed) {
                    if is_larger(&self.provided.folder, self.provided.max_bytes) {
                        is_too_large.store(true, Ordering::Relaxed);
                        canceller.cancel();
                        return;
                    }
                    std::thread::park_timeout(SIZE_INTERVAL);
                }
            });
            let outcome = running.wait();
            has_ended.store(true, Ordering::Relaxed);
            watcher.thread().unpark();
            outcome
        });
        let outcome = outcome.map_err(failed)?;
        let reached = requests.map(|requests| requests.all()).unwrap_or_default();
        let denied = reached
            .into_iter()
            .filter(|one| !one.allowed)
            .map(|one| format!("{}:{}", one.host, one.port));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(FinishedFetch {
            is_good: outcome.ended == Ended::Exited(0),
            messages: text(&outcome.stdout.bytes) + &text(&outcome.stderr.bytes),
            denied: denied.collect(),
            is_too_large: is_too_large.into_inner(),
        })
    }
}

/// The most files and folders while packages are unpacked.
const MAX_ENTRIES: u64 = 1_000_000;

/// Returns true if a folder takes more space, has too many entries, or cannot be measured.
fn is_larger(folder: &Path, max_bytes: u64) -> bool {
    let (mut bytes, mut entries) = (0, 0);
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        let listed = match std::fs::read_dir(&folder) {
            Ok(listed) => listed,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(_) => return true,
        };
        for entry in listed.flatten() {
            entries += 1;
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(_) => return true,
            };
            // Each entry takes a block at least.
            bytes += metadata.len().max(4096);
            if metadata.is_dir() {
                pending.push(entry.path());
            }
            if bytes > max_bytes || entries > MAX_ENTRIES {
                return true;
            }
        }
    }
    false
}

/// Returns the first thing in a specification that exceeds the permit.
fn excess(permit: &FetchPermit, spec: &Spec, provided: &ProvidedToFetch) -> Option<String> {
    let is_index = |path: &Path| {
        let is_own = match &permit.index().location {
            IndexLocation::Folder(folder) => folder == path,
            IndexLocation::Hosts { .. } => false,
        };
        is_own || permit.index().folders.iter().any(|folder| folder == path)
    };
    let is_certificate =
        |path: &Path| permit.index().certificates.as_deref().is_some_and(|own| own == path);
    let is_provided =
        |path: &PathBuf| provided.read.contains(path) || is_index(path) || is_certificate(path);
    if let Some(path) = spec.read.iter().find(|path| !is_provided(path)) {
        return Some(format!("reading `{}`", path.display()));
    }
    if let Some(folder) = spec.private.iter().find(|folder| folder.source != provided.folder) {
        return Some(format!("writing to `{}`", folder.source.display()));
    }
    if spec.workspace.is_some() {
        return Some("a workspace".to_owned());
    }
    if spec.network == Network::Proxy && permit.hosts().is_empty() {
        return Some("network access".to_owned());
    }
    let missing = required().find(|one| !spec.required.contains(one));
    missing.map(|guarantee| format!("running without the guarantee `{guarantee}`"))
}
