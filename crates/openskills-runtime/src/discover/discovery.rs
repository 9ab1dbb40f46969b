//! Builds the index: scans every root with the help of the cache, then updates the cache.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use rayon::prelude::*;
use skill::{Code, Diagnostic, Strictness};
use skill_fs::{AbsPath, Digests, FsError, Root};
use skill_state::{Approvals, OrgPolicy, Pattern, PolicySubject, SkillSource, StateError};

use crate::decide::approvals::{claimed, names, origin};
use crate::decide::org::is_administered_all_the_way;
use crate::discover::builtin::BUILTINS;
use crate::discover::cache::{CacheFile, tidy};
use crate::discover::hash::{HashRecord, Hashes, hash};
use crate::discover::index::{GoneSkill, Index, ScannedRoot, ServerSkills, SkillLocation};
use crate::discover::naming::key;
use crate::discover::provenance::{CheckedMarker, provenance, read_marker};
use crate::discover::roots::{Roots, SkillRoot, find_roots};
use crate::discover::scan::{Scan, scan};
use crate::problem::problem_of;
use crate::{
    DisabledSkills, Places, RuntimeConfig, RuntimeError, Scope, Skill, SkillServers, SyncedSkills,
    TrustedFolders,
};

/// Cache kinds for the skills of a root: lenient and strict parsing.
const INDEX: [&str; 2] = ["index", "index-strict"];
/// Cache kind for digests.
const HASHES: &str = "hashes";

/// The result of a discovery.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    pub(crate) index: Index,
    pub(crate) roots: Roots,
    /// The organization's policy.
    pub(crate) policy: OrgPolicy,
    /// Skills and skill folders that were reached through symlinks.
    pub(crate) linked: Vec<AbsPath>,
    /// Skills from the cache that no longer exist.
    pub(crate) gone: Vec<GoneSkill>,
    /// Set if the cache could not be written. That only makes the next discovery slower.
    pub(crate) cache_error: Option<FsError>,
}

/// Discovers all skills.
pub(crate) fn discover(
    config: &RuntimeConfig,
    places: &Places,
    now: SystemTime,
) -> Result<Discovery, RuntimeError> {
    let trusted = TrustedFolders::load(places.state.as_ref())?;
    let disabled = DisabledSkills::load(places.state.as_ref())?;
    let policy = load_policy(places)?;
    let mut found =
        Discovery { roots: find_roots(config, places, &trusted)?, policy, ..Discovery::default() };
    if found.policy != OrgPolicy::default() {
        demote_unadministered(&mut found.roots);
    }
    let cache = places.cache.as_ref().filter(|_| config.keep_index);
    let roots = std::mem::take(&mut found.roots.roots);
    let builtins = if config.use_builtin_skills { BUILTINS } else { &[] };
    let mut scanned = Vec::new();
    let mut stale = Vec::new();
    for root in &roots {
        let (scan, file) = scan_root(root, config.strictness(), cache, now);
        stale.extend(file.map(|file| (scanned.len(), file)));
        found.roots.problems.extend(scan.problems);
        found.linked.extend(scan.skills.iter().filter_map(|skill| skill.linked.clone()));
        found.linked.extend(scan.groups);
        let real = scan.real.unwrap_or_else(|| root.path.clone());
        found
            .gone
            .extend(scan.gone.iter().filter_map(|record| GoneSkill::new(root, &real, record)));
        scanned.push(ScannedRoot { root, real, skills: scan.skills });
    }
    let served = if config.use_standard_locations {
        served(places, &roots, &mut found.roots.problems)?
    } else {
        Vec::new()
    };
    let approved = approved_names(places);
    // Write the cache while the index is being built.
    let (index, cache_error) = rayon::join(
        || Index::build(&scanned, builtins, &served, &disabled, &approved),
        || stale.iter().filter_map(|(at, file)| save(&scanned[*at], file).err()).next_back(),
    );
    (found.index, found.cache_error) = (index, cache_error);
    // A skill that only moved still exists.
    found.gone.retain(|gone| found.index.with_id(&gone.id).is_none());
    if let Some(cache) = cache.filter(|_| !stale.is_empty()) {
        INDEX.into_iter().chain([HASHES]).for_each(|kind| tidy(cache, kind));
    }
    found.roots.roots = roots;
    add_provenance(&mut found.index, places, cache, now);
    if let Some(path) = &places.org_policy {
        deny(&mut found.index, &found.policy, path);
    }
    Ok(found)
}

/// Returns the exact names of skills that the user approved. They only decide between names that look alike, so an
/// unreadable file is ignored here. Code that relies on an approval reads the file itself and fails if it cannot.
fn approved_names(places: &Places) -> HashSet<String> {
    let all = places.state.as_ref().map(Approvals::load);
    match all {
        Some(Ok(all)) => all.iter().map(|approval| approval.skill.clone()).collect(),
        Some(Err(_)) | None => HashSet::new(),
    }
}

/// Returns the skills that MCP servers list. An unreadable list is reported and does not affect other skills.
fn served(
    places: &Places,
    roots: &[SkillRoot],
    problems: &mut Vec<Diagnostic>,
) -> Result<Vec<ServerSkills>, RuntimeError> {
    let mut all = Vec::new();
    for server in SkillServers::load(places)?.iter() {
        let name = &server.label;
        match SyncedSkills::load(places.state.as_ref(), name) {
            Ok(None) => {}
            Ok(Some(kept)) => {
                // Folders keep their label; the server's label changes.
                let is_taken = roots.iter().any(|root| root.label == *name);
                let label = if is_taken { format!("{name}~mcp") } else { name.clone() };
                let skills = kept.skills.into_iter().map(Arc::new).collect();
                all.push(ServerSkills { label: Arc::from(label), skills });
            }
            Err(error) => {
                let problem =
                    problem_of(Code::Unreadable, &format!("mcp:{name}"), error.to_string());
                let hint = error.hint().unwrap_or_else(|| format!("openskills mcp sync {name}"));
                problems.push(problem.with_hint(hint));
            }
        }
    }
    Ok(all)
}

/// Reads the organization's policy. Its skill names are normalized like the names of skills.
fn load_policy(places: &Places) -> Result<OrgPolicy, RuntimeError> {
    let Some(path) = &places.org_policy else { return Ok(OrgPolicy::default()) };
    let mut policy = OrgPolicy::load(path).map_err(|error| match error {
        StateError::Files(error) => RuntimeError::Setup {
            message: format!("cannot read the organization's policy: {error}"),
            hint: Some("ask the administrator of this machine".to_owned()),
        },
        malformed @ StateError::Malformed { .. } => malformed.into(),
    })?;
    let written = policy.denied_skills.clone();
    policy
        .denied_skills
        .extend(written.iter().map(|rule| Pattern::new(key(rule.as_str()).into_owned())));
    Ok(policy)
}

/// With an organization policy, a folder keeps the trust level `org` only if the administrator owns it. A user's
/// configuration is not enough.
fn demote_unadministered(roots: &mut Roots) {
    for root in roots
        .roots
        .iter_mut()
        .filter(|root| root.scope == Scope::Custom && root.source == SkillSource::Org)
    {
        if !is_administered_all_the_way(&root.path) {
            root.source = SkillSource::User;
            let message = "not owned by the administrator, so its skills are treated as your own";
            roots.problems.push(problem_of(Code::DeniedByPolicy, root.path.as_str(), message));
        }
    }
}

/// Marks skills that the organization's policy forbids.
fn deny(index: &mut Index, policy: &OrgPolicy, path: &AbsPath) {
    if *policy == OrgPolicy::default() {
        return;
    }
    for skill in &mut index.skills {
        let (names, origin) = (names(skill), origin(skill));
        let claimed = if policy.denied_origins.is_empty() { Vec::new() } else { claimed(skill) };
        let used = PolicySubject {
            names: &names,
            origin: &origin,
            claimed: &claimed,
            source: skill.source,
        };
        let Some(reason) = policy.refuses_use(&used) else { continue };
        let skill = Arc::make_mut(skill);
        let shown = skill.location().unwrap_or_else(|| skill.path().to_owned());
        let hint = format!("set by the administrator of this machine in `{path}`");
        let problem = problem_of(Code::DeniedByPolicy, &shown, reason.clone()).with_hint(hint);
        skill.diagnostics.push(problem);
        skill.denied = Some(reason);
    }
}

fn scan_root(
    root: &SkillRoot,
    strictness: Strictness,
    cache: Option<&AbsPath>,
    now: SystemTime,
) -> (Scan, Option<CacheFile>) {
    let [lenient, strict] = INDEX;
    let kind = if strictness == Strictness::Strict { strict } else { lenient };
    let file = cache.map(|cache| CacheFile::new(cache, kind, &root.path));
    let scan = scan(root, file.as_ref(), strictness, now);
    let file = file.filter(|_| scan.is_stale);
    (scan, file)
}

fn save(found: &ScannedRoot<'_>, file: &CacheFile) -> Result<(), FsError> {
    file.save(&found.skills.iter().map(|skill| &skill.record).collect::<Vec<_>>())
}

/// A skill with an install marker: its position in the index, its root, its folder, and the marker.
type MarkedSkill = (usize, AbsPath, AbsPath, Result<Option<CheckedMarker>, Box<Diagnostic>>);

/// Adds provenance to skills that csk installed, and a warning if they differ from what was installed.
fn add_provenance(index: &mut Index, places: &Places, cache: Option<&AbsPath>, now: SystemTime) {
    let marked: Vec<MarkedSkill> = index
        .skills
        .par_iter()
        .enumerate()
        .filter_map(|(at, skill)| match &skill.place {
            SkillLocation::Folder { root, folder, has_marker: true, .. } => {
                let opened = Root::open_real(folder).ok()?;
                let marker = read_marker(&opened, places.csk_home.as_ref());
                Some((at, AbsPath::clone(root), folder.clone(), marker))
            }
            SkillLocation::Folder { .. } | SkillLocation::Builtin(_) | SkillLocation::Served(_) => {
                None
            }
        })
        .collect();
    let is_receipted = |marker: &Result<Option<CheckedMarker>, _>| {
        matches!(marker, Ok(Some(CheckedMarker { has_receipt: true, .. })))
    };
    let folders: Vec<(&AbsPath, &AbsPath)> = marked
        .iter()
        .filter(|(.., marker)| is_receipted(marker))
        .map(|(_, root, folder, _)| (root, folder))
        .collect();
    let mut digests = hash_folders(&folders, cache, now).into_iter();
    for (at, _, folder, marker) in marked {
        let digests = if is_receipted(&marker) { digests.next() } else { None };
        let skill = Arc::make_mut(&mut index.skills[at]);
        match marker {
            Ok(None) => {}
            Ok(Some(marked)) => {
                let (from, problems) = provenance(&folder, marked, digests);
                skill.provenance = Some(Box::new(from));
                skill.diagnostics.extend(problems);
            }
            Err(problem) => skill.diagnostics.push(*problem),
        }
    }
    index.drop_copy_warnings();
}

/// Returns the digests of folders, given as pairs of root and folder.
pub(crate) fn hash_folders(
    folders: &[(&AbsPath, &AbsPath)],
    cache: Option<&AbsPath>,
    now: SystemTime,
) -> Vec<Result<Digests, FsError>> {
    let mut by_root: BTreeMap<&AbsPath, Vec<usize>> = BTreeMap::new();
    for (at, (root, _)) in folders.iter().enumerate() {
        by_root.entry(root).or_default().push(at);
    }
    let mut all: Vec<Option<Result<Digests, FsError>>> = folders.iter().map(|_| None).collect();
    for (root, places) in by_root {
        let file = cache.map(|cache| CacheFile::new(cache, HASHES, root));
        let known = file.as_ref().and_then(CacheFile::load::<(String, HashRecord)>);
        let mut known: Hashes = known.into_iter().flatten().collect();
        let hashed: Vec<_> = places
            .par_iter()
            .map(|&at| {
                let folder = folders[at].1;
                let known = known.get(folder.as_str());
                Root::open_real(folder).and_then(|root| hash(&root.as_skill(), known, now))
            })
            .collect();
        let mut is_stale = false;
        for (at, hashed) in places.into_iter().zip(hashed) {
            if let Ok(hashed) = &hashed {
                is_stale |= keep(&mut known, folders[at].1, hashed.record);
            }
            all[at] = Some(hashed.map(|hashed| hashed.digests));
        }
        if let Some(file) = file.filter(|_| is_stale) {
            // If it cannot be saved, it is computed again next time.
            let _ = file.save(&known.iter().collect::<Vec<_>>());
        }
    }
    all.into_iter().flatten().collect()
}

/// Stores the digests of a folder; returns true if they changed.
fn keep(known: &mut Hashes, folder: &AbsPath, record: Option<HashRecord>) -> bool {
    match record {
        Some(record) => known.insert(folder.to_string(), record) != Some(record),
        None => known.remove(folder.as_str()).is_some(),
    }
}

/// Returns all problems of roots and skills.
pub(crate) fn problems(found: &Discovery) -> Vec<&Diagnostic> {
    let skills = found.index.skills.iter().flat_map(|skill: &Arc<Skill>| &skill.diagnostics);
    let refused = found.index.refused.iter().flat_map(|refused| &refused.diagnostics);
    found.roots.problems.iter().chain(refused).chain(skills).collect()
}
