//! Determines where an installed skill came from, based on csk's install marker.
//!
//! Anyone can write a marker into a folder. Policy relies on it only if csk has a matching receipt in its own home.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use skill::{
    Code, DeclaredCapabilities, Diagnostic, Digest, MARKER_FILE, Marker, RelPath, Severity,
};
use skill_fs::{AbsPath, Digests, FsError, Root};
use skill_state::Receipts;

use crate::discover::git_files::config_around;
use crate::problem::{file_problem, problem_of};

/// The maximum size of a marker.
const MAX_MARKER: u64 = 16 << 20;
/// How many levels above a skill folder the project can be: `.tabnine/agent/skills` is the deepest known.
const MAX_AROUND: usize = 3;

/// Where csk installed a skill from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Provenance {
    /// The repository URL, if one was declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_url: Option<String>,
    /// The repository name.
    pub repository: String,
    /// The subfolder of the repository that contains the skill, if it is not the whole repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The requested tag, branch or revision.
    pub reference: String,
    /// The commit that it resolved to.
    pub commit: String,
    /// Digest of the installed content.
    pub content_sha256: String,
    /// Digest of the whole snapshot that it was installed from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle_sha256: Option<String>,
    /// Whether csk has a receipt for the marker. Without one, anyone could have written it.
    pub has_receipt: bool,
    /// Whether the folder differs from what was installed. Only checked if there is a receipt.
    pub is_drifted: bool,
    /// Capabilities declared in the manifest of the installed version; only with a receipt.
    #[serde(skip)]
    #[schemars(skip)]
    pub capabilities: Option<DeclaredCapabilities>,
    /// Commands that csk installed from the skill, by name, with their path in csk's command store; only with a
    /// receipt.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) commands: BTreeMap<String, RelPath>,
    /// The skill's name in csk, the folder of its command files, and the digest of the file list in that folder.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) runtime: Option<(String, String, Digest)>,
    /// Digest of the installed content including file modes and symlinks.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) context: Option<Digest>,
}

impl Provenance {
    /// Returns true if a folder with these digests is unchanged since the install.
    pub(crate) fn is_of(&self, digests: &Digests) -> bool {
        digests.content.to_string() == self.content_sha256
            && self.context.is_none_or(|context| context == digests.bundle)
    }

    /// Returns true if both are unmodified installs of the same version.
    pub(crate) fn is_copy_of(&self, other: &Self) -> bool {
        let is_whole = |from: &Self| from.has_receipt && !from.is_drifted;
        let version = |from: &Self| {
            (from.repository.clone(), from.commit.clone(), from.content_sha256.clone())
        };
        is_whole(self) && is_whole(other) && version(self) == version(other)
    }
}

/// An install marker, and whether csk has a receipt for it.
#[derive(Debug)]
pub(crate) struct CheckedMarker {
    marker: Marker,
    /// Whether csk has a receipt for the marker.
    pub(crate) has_receipt: bool,
}

/// Reads the install marker in `root`, if there is one.
pub(crate) fn read_marker(
    root: &Root,
    csk_home: Option<&AbsPath>,
) -> Result<Option<CheckedMarker>, Box<Diagnostic>> {
    let shown = root.path().join(MARKER_FILE);
    let path = RelPath::new(MARKER_FILE).expect("it is a plain name");
    let unreadable = |message: String| {
        let problem = problem_of(Code::InstallMarker, shown.as_str(), message);
        Box::new(problem.with_hint("run `csk install` in the project"))
    };
    let bytes = match root.read(&path, MAX_MARKER) {
        Ok(bytes) => bytes,
        Err(FsError::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(unreadable(file_problem(&error, "").message)),
    };
    let (marker, problems) = Marker::parse(shown.as_str(), &String::from_utf8_lossy(&bytes));
    let Some(marker) = marker else {
        let reason = problems.into_iter().find(|problem| problem.severity == Severity::Error);
        return Err(unreadable(reason.map_or_else(String::new, |problem| problem.message)));
    };
    let has_receipt = has_receipt(root.path(), csk_home, &marker, Digest::of(&bytes));
    Ok(Some(CheckedMarker { marker, has_receipt }))
}

/// Returns the origin URL in a folder's marker, without checking for a receipt.
pub(crate) fn claimed_origin(folder: &AbsPath) -> Option<String> {
    let root = Root::open_real(folder).ok()?;
    let marked = read_marker(&root, None).ok().flatten()?;
    marked.marker.git
}

/// Returns where the skill in `folder` came from. `digests` are the folder's current digests, given only if there is a
/// receipt: a folder that merely claims to be installed could be huge and is not hashed.
pub(crate) fn provenance(
    folder: &AbsPath,
    CheckedMarker { marker, has_receipt }: CheckedMarker,
    digests: Option<Result<Digests, FsError>>,
) -> (Provenance, Vec<Diagnostic>) {
    let mut problems = Vec::new();
    let is_drifted = match digests {
        None => false,
        Some(Ok(digests)) => {
            digests.content != marker.content_sha256
                || marker.context_sha256.is_some_and(|context| context != digests.bundle)
        }
        // Unreadable content cannot be verified, so it counts as drifted.
        Some(Err(error)) => {
            problems.push(file_problem(&error, error.path()));
            true
        }
    };
    if is_drifted {
        let message =
            format!("its content differs from what csk installed from `{}`", marker.source);
        let drift = problem_of(Code::ContentDrift, folder.as_str(), message);
        let hint = "run `csk install` in the project to back up your edits and restore the declared version";
        problems.push(drift.with_hint(hint));
    }
    let runtime_id = marker.runtime_id().to_owned();
    let provenance = Provenance {
        origin_url: marker.git,
        path: marker.part.map(|part| part.path.to_string()),
        repository: marker.source.to_string(),
        reference: format!("{} {}", marker.ref_kind.as_str(), marker.reference),
        commit: marker.commit,
        content_sha256: marker.content_sha256.to_string(),
        bundle_sha256: marker.bundle_sha256.map(|digest| digest.to_string()),
        capabilities: marker.capabilities.filter(|_| has_receipt),
        commands: if has_receipt {
            let commands = marker.command_paths.into_iter();
            commands.map(|(name, path)| (name.to_string(), path)).collect()
        } else {
            BTreeMap::new()
        },
        runtime: marker
            .runtime_sha256
            .filter(|_| has_receipt)
            .map(|list| (marker.name.to_string(), runtime_id, list)),
        context: marker.context_sha256,
        has_receipt,
        is_drifted,
    };
    (provenance, problems)
}

/// Returns true if csk has a receipt for the marker. The folder is a project's `.agents/skills/<name>` or a copy of it
/// in an agent's own folder, so the project is one of its parents.
fn has_receipt(
    folder: &AbsPath,
    csk_home: Option<&AbsPath>,
    marker: &Marker,
    digest: Digest,
) -> bool {
    let Some(home) = csk_home.filter(|_| folder.file_name() == Some(marker.name.as_str())) else {
        return false;
    };
    projects_around(folder).any(|project| Receipts::load(home, &project).has(&marker.name, digest))
}

fn projects_around(folder: &AbsPath) -> impl Iterator<Item = AbsPath> {
    std::iter::successors(folder.parent(), AbsPath::parent).skip(1).take(MAX_AROUND)
}

/// Returns the origins from which csk installed a skill with this folder's name, whatever the folder contains now.
pub(crate) fn receipt_origins(folder: &AbsPath, csk_home: &AbsPath) -> Vec<String> {
    let Some(name) = folder.file_name() else { return Vec::new() };
    let origins = |project: AbsPath| {
        let receipts = Receipts::load(csk_home, &project);
        receipts.origins(name).map(str::to_owned).collect::<Vec<_>>()
    };
    projects_around(folder).flat_map(origins).collect()
}

/// Returns every URL in the configuration of the git repository that contains the folder. They are used only to check
/// for revocations.
pub(crate) fn repository_urls(folder: &AbsPath) -> Vec<String> {
    let Some(text) = config_around(folder.as_path()) else { return Vec::new() };
    let urls = text.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        let is_url = ["url", "pushurl"].iter().any(|name| key.trim().eq_ignore_ascii_case(name));
        is_url.then(|| value.trim().trim_matches('"').to_owned())
    });
    urls.collect()
}
