//! From folders to the index: look at every root, use what is known, keep what was learnt.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use rayon::prelude::*;
use skill::{Code, Diagnostic, Strictness};
use skill_fs::{AbsPath, Digests, FsError, Root};
use skill_state::{Approvals, OrgPolicy, Pattern, SkillSource, StateError, Used};

use crate::decide::approvals::{claimed, names, origin};
use crate::decide::org::is_administered_all_the_way;
use crate::discover::builtin::BUILTINS;
use crate::discover::cache::{CacheFile, tidy};
use crate::discover::hash::{HashRecord, Hashes, hash};
use crate::discover::index::{FoundIn, GoneSkill, Index, Place, ServedBy};
use crate::discover::naming::key;
use crate::discover::provenance::{Marked, provenance, read_marker};
use crate::discover::roots::{Roots, SkillRoot, find_roots};
use crate::discover::scan::{Scan, scan};
use crate::problem::problem_of;
use crate::{
    DisabledSkills, KeptSkills, Places, RuntimeConfig, RuntimeError, Scope, Skill, SkillServers,
    TrustedFolders,
};

/// What is kept of the skills of a root, by how strictly they were read.
const INDEX: [&str; 2] = ["index", "index-strict"];
/// What is kept of their digests.
const HASHES: &str = "hashes";

/// What a discovery found.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    pub(crate) index: Index,
    pub(crate) roots: Roots,
    /// What the organisation forbids.
    pub(crate) policy: OrgPolicy,
    /// Skills and folders of skills that links led to.
    pub(crate) linked: Vec<AbsPath>,
    /// Skills that were known before, and are not there any more.
    pub(crate) gone: Vec<GoneSkill>,
    /// Why nothing could be kept, if so. Nothing but time is lost.
    pub(crate) not_kept: Option<FsError>,
}

/// Finds every skill.
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
        disown(&mut found.roots);
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
        scanned.push(FoundIn { root, real, skills: scan.skills });
    }
    let served = if config.use_standard_locations {
        served(places, &roots, &mut found.roots.problems)?
    } else {
        Vec::new()
    };
    let approved = approved_names(places);
    // What was learnt is written while the index is made.
    let (index, not_kept) = rayon::join(
        || Index::build(&scanned, builtins, &served, &disabled, &approved),
        || stale.iter().filter_map(|(at, file)| save(&scanned[*at], file).err()).next_back(),
    );
    (found.index, found.not_kept) = (index, not_kept);
    // One that only moved is still there.
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

/// Returns the names of skills that the user approved, as they are written. They only say which of two that look alike is meant; whatever uses an
/// approval reads the file itself, and stops where it cannot be read.
fn approved_names(places: &Places) -> HashSet<String> {
    let all = places.state.as_ref().map(Approvals::load);
    match all {
        Some(Ok(all)) => all.iter().map(|approval| approval.skill.clone()).collect(),
        Some(Err(_)) | None => HashSet::new(),
    }
}

/// Returns what MCP servers list. A list that cannot be read is a problem of its own: nobody else's skills go with it.
fn served(
    places: &Places,
    roots: &[SkillRoot],
    problems: &mut Vec<Diagnostic>,
) -> Result<Vec<ServedBy>, RuntimeError> {
    let mut all = Vec::new();
    for server in SkillServers::load(places)?.iter() {
        let name = &server.label;
        match KeptSkills::load(places.state.as_ref(), name) {
            Ok(None) => {}
            Ok(Some(kept)) => {
                // A folder that was named keeps its label.
                let is_taken = roots.iter().any(|root| root.label == *name);
                let label = if is_taken { format!("{name}~mcp") } else { name.clone() };
                let skills = kept.skills.into_iter().map(Arc::new).collect();
                all.push(ServedBy { label: Arc::from(label), skills });
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

/// Reads the policy of the organisation. Names in it are compared as names of skills are.
fn load_policy(places: &Places) -> Result<OrgPolicy, RuntimeError> {
    let Some(path) = &places.org_policy else { return Ok(OrgPolicy::default()) };
    let mut policy = OrgPolicy::load(path).map_err(|error| match error {
        StateError::Files(error) => RuntimeError::Setup {
            message: format!("the policy of the organisation cannot be read: {error}"),
            hint: Some("ask whoever administers this machine".to_owned()),
        },
        malformed @ StateError::Malformed { .. } => malformed.into(),
    })?;
    let written = policy.denied_skills.clone();
    policy
        .denied_skills
        .extend(written.iter().map(|rule| Pattern::new(key(rule.as_str()).into_owned())));
    Ok(policy)
}

/// Where there is a policy, only the administrator's own folders are the organisation's: a user's word does not make them so.
fn disown(roots: &mut Roots) {
    for root in roots
        .roots
        .iter_mut()
        .filter(|root| root.scope == Scope::Custom && root.source == SkillSource::Org)
    {
        if !is_administered_all_the_way(&root.path) {
            root.source = SkillSource::User;
            let message = "it is not the administrator's, so its skills count as yours";
            roots.problems.push(problem_of(Code::DeniedByPolicy, root.path.as_str(), message));
        }
    }
}

/// Marks skills that the organisation does not let be used.
fn deny(index: &mut Index, policy: &OrgPolicy, path: &AbsPath) {
    if *policy == OrgPolicy::default() {
        return;
    }
    for skill in &mut index.skills {
        let (names, origin) = (names(skill), origin(skill));
        let claimed = if policy.denied_origins.is_empty() { Vec::new() } else { claimed(skill) };
        let used = Used { names: &names, origin: &origin, claimed: &claimed, source: skill.source };
        let Some(reason) = policy.refuses_use(&used) else { continue };
        let skill = Arc::make_mut(skill);
        let shown = skill.location().unwrap_or_else(|| skill.path().to_owned());
        let hint = format!("whoever administers this machine wrote so in {path}");
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

fn save(found: &FoundIn<'_>, file: &CacheFile) -> Result<(), FsError> {
    file.save(&found.skills.iter().map(|skill| &skill.record).collect::<Vec<_>>())
}

/// A skill with a marker: where it is in the index, its root, its folder, and what the marker says.
type Looked = (usize, AbsPath, AbsPath, Result<Option<Marked>, Box<Diagnostic>>);

/// Adds to skills that csk installed where they came from, and a warning where they are not what was installed.
fn add_provenance(index: &mut Index, places: &Places, cache: Option<&AbsPath>, now: SystemTime) {
    let marked: Vec<Looked> = index
        .skills
        .par_iter()
        .enumerate()
        .filter_map(|(at, skill)| match &skill.place {
            Place::Folder { root, folder, has_marker: true, .. } => {
                let opened = Root::open_real(folder).ok()?;
                let marker = read_marker(&opened, places.csk_home.as_ref());
                Some((at, AbsPath::clone(root), folder.clone(), marker))
            }
            Place::Folder { .. } | Place::Builtin(_) | Place::Served(_) => None,
        })
        .collect();
    let is_receipted = |marker: &Result<Option<Marked>, _>| {
        matches!(marker, Ok(Some(Marked { has_receipt: true, .. })))
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
    index.forgive_copies();
}

/// Returns the digests of folders, each with the root it was found in.
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
            // Where it cannot be kept, it is computed again.
            let _ = file.save(&known.iter().collect::<Vec<_>>());
        }
    }
    all.into_iter().flatten().collect()
}

/// Remembers the digests of a folder; returns true if that is news.
fn keep(known: &mut Hashes, folder: &AbsPath, record: Option<HashRecord>) -> bool {
    match record {
        Some(record) => known.insert(folder.to_string(), record) != Some(record),
        None => known.remove(folder.as_str()).is_some(),
    }
}

/// Returns every problem, of roots and of skills, each once.
pub(crate) fn problems(found: &Discovery) -> Vec<&Diagnostic> {
    let skills = found.index.skills.iter().flat_map(|skill: &Arc<Skill>| &skill.diagnostics);
    let refused = found.index.refused.iter().flat_map(|refused| &refused.diagnostics);
    found.roots.problems.iter().chain(refused).chain(skills).collect()
}
