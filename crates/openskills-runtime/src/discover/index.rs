//! The index of discovered skills: which skill a name refers to, and which ones it shadows.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;
use rayon::prelude::*;
use skill::{Code, Diagnostic, SKILL_FILE, nearest};
use skill_fs::{AbsPath, SkillFile, Stamp};
use skill_state::SkillSource;

use crate::discover::builtin::Builtin;
use crate::discover::naming::{id_part, key, key_of, make_unique};
use crate::discover::record::{Details, Record, SkillHeader, Summary};
use crate::discover::roots::SkillRoot;
use crate::discover::scan::Scanned;
use crate::problem::problem_of;
use crate::quote::shell_word;
use crate::served::ServedSkill;
use crate::{Change, DisabledSkills, Provenance, RuntimeError, Scope};

/// Skills per thread below which parallelism costs more than it saves.
const MIN_PER_THREAD: usize = 256;

/// A skill in the index, with its frontmatter (see [`Summary`]) and its precedence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// `<root>/<name>`, unique among all skills.
    pub id: String,
    /// The declared name. It may violate the standard, so treat it as untrusted text.
    pub name: Arc<str>,
    /// The trust level.
    pub source: SkillSource,
    /// The kind of location in which it was found.
    pub scope: Scope,
    /// The label of the root it was found in.
    pub root: Arc<str>,
    /// The rank of its root in the order of precedence, starting at 1.
    pub priority: usize,
    /// False if the user disabled it.
    pub is_enabled: bool,
    /// Why the organization's policy forbids it.
    pub denied: Option<String>,
    /// The ID of the skill that its name refers to instead.
    pub shadowed_by: Option<String>,
    /// Where csk installed it from, if it did.
    pub provenance: Option<Box<Provenance>>,
    /// Its warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
    /// The normalized name, see [`crate::discover::naming`].
    pub(crate) key: Arc<str>,
    pub(crate) details: Arc<Details>,
    pub(crate) place: SkillLocation,
    /// How it differs from the cached version.
    pub(crate) change: Option<Change>,
}

impl Deref for Skill {
    type Target = Summary;

    fn deref(&self) -> &Summary {
        self.details.get()
    }
}

/// Where the files of a skill are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SkillLocation {
    Builtin(&'static Builtin),
    Folder {
        /// The root it was found in, which determines its cache file.
        root: Arc<AbsPath>,
        folder: AbsPath,
        file: SkillFile,
        stamp: Option<Stamp>,
        has_marker: bool,
    },
    /// On another MCP server.
    Served(Arc<ServedSkill>),
}

impl Skill {
    /// Returns the real path of its folder, or `builtin:<name>`, or `mcp:<server>:<uri>`.
    pub fn path(&self) -> &str {
        match &self.place {
            SkillLocation::Builtin(builtin) => builtin.path,
            SkillLocation::Folder { folder, .. } => folder.as_str(),
            SkillLocation::Served(served) => &served.origin,
        }
    }

    /// Returns the label of the MCP server that serves it, and its URI there.
    pub fn served_by(&self) -> Option<(&str, &str)> {
        match &self.place {
            SkillLocation::Served(served) => Some((&served.server, &served.uri)),
            SkillLocation::Builtin(_) | SkillLocation::Folder { .. } => None,
        }
    }

    /// Returns the path of its SKILL.md; `None` for builtin skills and skills from MCP servers.
    pub fn location(&self) -> Option<String> {
        match &self.place {
            SkillLocation::Builtin(_) | SkillLocation::Served(_) => None,
            SkillLocation::Folder { folder, file, .. } => {
                Some(folder.join(file.path()?.as_str()).to_string())
            }
        }
    }

    /// Returns the file name of its SKILL.md.
    pub fn skill_file(&self) -> String {
        let file = match &self.place {
            SkillLocation::Folder { file, .. } => file.path(),
            SkillLocation::Builtin(_) | SkillLocation::Served(_) => None,
        };
        file.map_or_else(|| SKILL_FILE.to_owned(), |file| file.to_string())
    }

    /// Returns when its SKILL.md was last modified; the Unix epoch for builtin skills.
    pub fn last_modified(&self) -> Option<Timestamp> {
        match &self.place {
            SkillLocation::Folder {
                stamp: Some(Stamp { modified: (seconds, nanoseconds), .. }),
                ..
            } => Timestamp::new(*seconds, i32::try_from(*nanoseconds).ok()?).ok(),
            // Builtin skills have no modification time.
            SkillLocation::Builtin(_) => Some(Timestamp::UNIX_EPOCH),
            SkillLocation::Folder { stamp: None, .. } | SkillLocation::Served(_) => None,
        }
    }

    /// Returns true if its name refers to this skill, and neither the user nor the organization has disabled it.
    pub fn is_visible(&self) -> bool {
        self.is_enabled && self.denied.is_none() && self.shadowed_by.is_none()
    }
}

/// A folder with a SKILL.md that cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedSkill {
    /// `<root>/<folder>`.
    pub id: String,
    /// The real path of its folder.
    pub path: String,
    /// The label of the root it was found in.
    pub root: String,
    /// The trust level.
    pub source: SkillSource,
    /// The keys of every name it might have: its folder's, the name of a symlink to it, the declared one.
    pub(crate) keys: Vec<String>,
    /// The path of its SKILL.md.
    pub file: String,
    /// Its problems.
    pub diagnostics: Vec<Diagnostic>,
}

/// All discovered skills.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Sorted by key; skills with the same key in order of precedence.
    pub(crate) skills: Vec<Arc<Skill>>,
    /// Sorted by path.
    pub(crate) refused: Vec<RefusedSkill>,
}

/// The skills found in one root.
#[derive(Debug)]
pub(crate) struct ScannedRoot<'a> {
    pub(crate) root: &'a SkillRoot,
    /// The real path of the root.
    pub(crate) real: AbsPath,
    pub(crate) skills: Vec<Scanned>,
}

/// The skills that an MCP server lists.
#[derive(Debug)]
pub(crate) struct ServerSkills {
    /// The first part of its skills' ids, unique among all roots.
    pub(crate) label: Arc<str>,
    pub(crate) skills: Vec<Arc<ServedSkill>>,
}

impl Index {
    /// Builds the index. `roots` are in order of precedence within a trust level.
    pub(crate) fn build(
        roots: &[ScannedRoot<'_>],
        builtins: &'static [Builtin],
        served: &[ServerSkills],
        disabled: &DisabledSkills,
        approved: &HashSet<String>,
    ) -> Self {
        let rank = |skill: &Arc<Skill>| rank(skill, approved);
        let mut found = Self::default();
        let all: usize = roots.iter().map(|found| found.skills.len()).sum();
        let mut skills = Vec::with_capacity(all + builtins.len());
        skills.extend(builtins.iter().map(|found| {
            let skill = builtin(found);
            let is_enabled = !disabled.covers(&skill.key, skill.path());
            Arc::new(Skill { is_enabled, ..skill })
        }));
        // From the most to the least trusted root: a folder that several roots contain belongs to the first.
        let mut order: Vec<&ScannedRoot<'_>> = roots.iter().rev().collect();
        order.sort_by_key(|found| found.root.source);
        for (at, ScannedRoot { root, real, skills: scanned }) in order.into_iter().enumerate() {
            // Builtin skills come first.
            let priority = at + 2;
            let shared = SharedRoot {
                label: Arc::from(root.label.as_str()),
                path: Arc::new(root.path.clone()),
            };
            let read = |scanned: &Scanned| {
                let folder = scanned.folder(real);
                let Some(header) = &scanned.record.header else {
                    return Err(Box::new(refused(root, &folder, &scanned.record)));
                };
                let skill = read(root, &shared, scanned, header, folder);
                let is_enabled = !disabled.covers(&skill.key, skill.path());
                Ok(Arc::new(Skill { is_enabled, priority, ..skill }))
            };
            let first = skills.len();
            let made: Vec<Result<Arc<Skill>, Box<RefusedSkill>>> =
                scanned.par_iter().with_min_len(MIN_PER_THREAD).map(read).collect();
            for made in made {
                match made {
                    Ok(skill) => skills.push(skill),
                    Err(refused) => found.refused.push(*refused),
                }
            }
            skills[first..].sort_by_key(rank);
            make_unique(&mut skills[first..]);
        }
        drop_duplicates(&mut skills, roots);
        for (at, ServerSkills { label, skills: listed }) in served.iter().enumerate() {
            let priority = roots.len() + at + 2;
            let first = skills.len();
            for listed in listed {
                match served_skill(label, listed, disabled) {
                    Ok(skill) => skills.push(Arc::new(Skill { priority, ..skill })),
                    Err(refused) => found.refused.push(*refused),
                }
            }
            skills[first..].sort_by_key(rank);
            make_unique(&mut skills[first..]);
        }
        // Stable sort: among equal ranks the order of roots decides.
        skills.sort_by_key(|skill| (skill.served_by().is_some(), skill.source, rank(skill)));
        let mut seen = HashSet::new();
        found.refused.retain(|refused| seen.insert(refused.path.clone()));
        shadow(&mut skills, &found.refused);
        // Stable sort: skills with the same key stay in order of precedence.
        skills.sort_by(|one, other| one.key.cmp(&other.key));
        found.refused.sort_by(|one, other| one.path.cmp(&other.path));
        found.skills = skills;
        found
    }

    /// Removes the warning about a skill that is shadowed by a copy of itself, if csk made both.
    pub(crate) fn drop_copy_warnings(&mut self) {
        let is_copy = |skill: &Skill| {
            let from = skill.provenance.as_ref()?;
            let winner = self.with_id(skill.shadowed_by.as_deref()?)?;
            Some(from.is_copy_of(winner.provenance.as_ref()?))
        };
        let all = 0..self.skills.len();
        let copies: Vec<usize> =
            all.filter(|&at| is_copy(&self.skills[at]) == Some(true)).collect();
        for at in copies {
            let skill = Arc::make_mut(&mut self.skills[at]);
            skill.diagnostics.retain(|problem| problem.code != Code::Shadowed);
        }
    }

    /// Returns the skill with this id, or the one that this name refers to.
    pub(crate) fn find(&self, name: &str) -> Result<&Arc<Skill>, RuntimeError> {
        let broken = |refused: &RefusedSkill| RuntimeError::InvalidManifest {
            file: refused.file.clone(),
            diagnostics: refused.diagnostics.clone(),
        };
        if let Some(skill) = self.with_id(name) {
            return allowed(skill);
        }
        // Anything with a slash is an id. A missing id is never resolved as a name.
        if name.contains('/') {
            if let Some(refused) = self.refused.iter().find(|refused| refused.id == name) {
                return Err(broken(refused));
            }
            let ids = self.skills.iter().map(|skill| skill.id.as_str());
            let nearest = nearest(name, ids).map(str::to_owned);
            return Err(RuntimeError::SkillNotFound { name: name.to_owned(), nearest });
        }
        let named = self.named(name);
        let mut visible = named.iter().filter(|skill| skill.is_visible());
        if let Some(skill) = visible.next() {
            // A name shared by several servers is ambiguous, unless exactly one skill has that exact spelling.
            if skill.served_by().is_some() && visible.next().is_some() {
                let is_exact = |skill: &&Arc<Skill>| skill.is_visible() && &*skill.name == name;
                let mut exact = named.iter().filter(is_exact);
                if let (Some(skill), None) = (exact.next(), exact.next()) {
                    return Ok(skill);
                }
                let nearest = Some(skill.id.clone());
                return Err(RuntimeError::SkillNotFound { name: name.to_owned(), nearest });
            }
            return Ok(skill);
        }
        // A skill that cannot be loaded is not replaced by a less trusted one; report its problem instead.
        let key = key(name).into_owned();
        if let Some(refused) = self.refused.iter().find(|refused| refused.keys.contains(&key)) {
            return Err(broken(refused));
        }
        if let Some(skill) = named.first() {
            return allowed(skill);
        }
        // The last part of an id also works (`c` for `C++`), unless a skill has that name.
        let mut typed: Vec<&Arc<Skill>> = self
            .skills
            .iter()
            .filter(|skill| skill.is_visible() && skill.id.rsplit('/').next() == Some(name))
            .collect();
        typed.sort_by_key(|skill| skill.source);
        if let Some(skill) = typed.first() {
            return Ok(skill);
        }
        let mut visible = self.skills.iter().filter(|skill| skill.is_visible());
        // Often a skill's name differs from its folder's name.
        let folder = visible.clone().find(|skill| skill.path().rsplit('/').next() == Some(name));
        let nearest = folder.map(|skill| &*skill.name);
        let nearest = nearest.or_else(|| nearest_of(name, &mut visible)).map(str::to_owned);
        Err(RuntimeError::SkillNotFound { name: name.to_owned(), nearest })
    }

    /// Returns the skill with this id, even if it is disabled.
    pub(crate) fn with_id(&self, id: &str) -> Option<&Arc<Skill>> {
        self.skills.iter().find(|skill| skill.id == id)
    }

    /// Returns every skill with this name, in order of precedence. Names that look the same count as equal.
    pub(crate) fn named(&self, name: &str) -> &[Arc<Skill>] {
        let key = &*key(name);
        let start = self.skills.partition_point(|skill| &*skill.key < key);
        let end = self.skills.partition_point(|skill| &*skill.key <= key);
        &self.skills[start..end]
    }
}

/// Returns the rank of a skill among those with the same key and trust level; lower comes first. A name in exactly the
/// spelling that the user approved comes first, then a name that is already normalized, then names that only look like
/// it. So a skill named `PDF` cannot take over the name `pdf`.
fn rank(skill: &Skill, approved: &HashSet<String>) -> u8 {
    match () {
        () if approved.contains(&*skill.name) => 0,
        () if *skill.name == *skill.key => 1,
        () => 2,
    }
}

fn nearest_of<'a>(name: &str, skills: &mut dyn Iterator<Item = &'a Arc<Skill>>) -> Option<&'a str> {
    nearest(name, skills.map(|skill| &*skill.name))
}

fn allowed(skill: &Arc<Skill>) -> Result<&Arc<Skill>, RuntimeError> {
    if let Some(reason) = &skill.denied {
        return Err(RuntimeError::PermissionDenied {
            message: format!("`{}` is not allowed: {reason}", skill.id),
            hint: Some("ask the administrator of this machine".to_owned()),
        });
    }
    if skill.is_enabled {
        return Ok(skill);
    }
    Err(RuntimeError::PermissionDenied {
        message: format!("`{}` is disabled", skill.id),
        hint: Some(format!("the user can run `openskills enable {}`", shell_word(&skill.id))),
    })
}

/// Marks every skill whose name refers to another one. `skills` are in order of precedence. A skill that cannot be
/// loaded still takes precedence over lower trust levels: a mistake in your own skill must not hand its name to an
/// untrusted one.
fn shadow(skills: &mut [Arc<Skill>], refused: &[RefusedSkill]) {
    let mut broken: HashMap<&str, &RefusedSkill> = HashMap::new();
    for (key, refused) in
        refused.iter().flat_map(|refused| refused.keys.iter().map(move |key| (key, refused)))
    {
        let strongest = broken.entry(key).or_insert(refused);
        if refused.source < strongest.source {
            *strongest = refused;
        }
    }
    let mut keys: HashMap<&str, usize> = HashMap::with_capacity(skills.len());
    let mut losers = Vec::new();
    let mut rivals = Vec::new();
    for (at, skill) in skills.iter().enumerate().filter(|(_, skill)| skill.is_enabled) {
        let blocked = broken.get(&*skill.key).filter(|refused| refused.source < skill.source);
        match (keys.entry(&skill.key), blocked) {
            // A server's skill never shadows another one, not even another server's.
            (Entry::Occupied(first), _) if skills[*first.get()].served_by().is_some() => {
                rivals.push((at, *first.get()));
            }
            (Entry::Occupied(winner), _) => losers.push((at, skills[*winner.get()].id.clone(), "")),
            (Entry::Vacant(_), Some(refused)) => {
                losers.push((at, refused.id.clone(), ", which cannot be loaded"));
            }
            (Entry::Vacant(vacant), None) => {
                vacant.insert(at);
            }
        }
    }
    for (one, other) in rivals.iter().flat_map(|(one, other)| [(*one, *other), (*other, *one)]) {
        let rival = skills[other].id.clone();
        let skill = Arc::make_mut(&mut skills[one]);
        if skill.diagnostics.iter().all(|problem| problem.code != Code::Shadowed) {
            let message = format!("`{}` and `{rival}` have the same name", skill.id);
            let hint = "refer to them by ID; the name alone selects neither";
            let warning = problem_of(Code::Shadowed, skill.path(), message);
            skill.diagnostics.push(warning.with_hint(hint));
        }
    }
    for (at, winner, why) in losers {
        let skill = Arc::make_mut(&mut skills[at]);
        let message = format!("`{}` is shadowed by `{winner}`{why}", skill.id);
        let id = shell_word(&skill.id);
        let hint = format!("refer to it by ID; `openskills where {id}` explains why");
        let shown = skill.location().unwrap_or_else(|| skill.path().to_owned());
        let warning = problem_of(Code::Shadowed, &shown, message).with_hint(hint);
        skill.diagnostics.push(warning);
        skill.shadowed_by = Some(winner);
    }
}

fn served_skill(
    label: &Arc<str>,
    served: &Arc<ServedSkill>,
    disabled: &DisabledSkills,
) -> Result<Skill, Box<RefusedSkill>> {
    let name = served.frontmatter.get("name").and_then(serde_json::Value::as_str).unwrap_or("");
    let key: Arc<str> = Arc::from(&*key(name));
    let id = [label, "/", &id_part(&key)].concat();
    let document = served.document().map_err(|diagnostics| {
        Box::new(RefusedSkill {
            id: id.clone(),
            path: served.origin.clone(),
            root: label.to_string(),
            source: SkillSource::ThirdParty,
            keys: vec![key.to_string()],
            file: served.origin.clone(),
            diagnostics,
        })
    })?;
    let header = SkillHeader::new(document.frontmatter);
    Ok(Skill {
        id,
        source: SkillSource::ThirdParty,
        scope: Scope::Mcp,
        root: Arc::clone(label),
        priority: 1,
        is_enabled: !disabled.covers(&key, &served.origin),
        denied: None,
        shadowed_by: None,
        provenance: None,
        diagnostics: Vec::new(),
        key,
        name: header.name,
        details: header.details,
        place: SkillLocation::Served(Arc::clone(served)),
        change: None,
    })
}

fn builtin(builtin: &'static Builtin) -> Skill {
    let header = SkillHeader::new(builtin.document().frontmatter);
    Skill {
        id: format!("builtin/{}", builtin.name),
        source: SkillSource::Builtin,
        scope: Scope::Builtin,
        root: Arc::from("builtin"),
        priority: 1,
        is_enabled: true,
        denied: None,
        shadowed_by: None,
        provenance: None,
        diagnostics: Vec::new(),
        key: header.name.clone(),
        name: header.name,
        details: header.details,
        place: SkillLocation::Builtin(builtin),
        change: None,
    }
}

/// Removes duplicates: a folder that is reachable through several roots or symlinks stays only in the most trusted one.
fn drop_duplicates(skills: &mut Vec<Arc<Skill>>, roots: &[ScannedRoot<'_>]) {
    let filled = roots.iter().filter(|found| !found.skills.is_empty()).count();
    let is_linked =
        |found: &ScannedRoot<'_>| found.skills.iter().any(|skill| skill.linked.is_some());
    // Without symlinks, one root has no duplicates.
    if filled < 2 && !roots.iter().any(is_linked) {
        return;
    }
    let mut seen = HashSet::with_capacity(skills.len());
    let keep: Vec<bool> = skills.iter().map(|skill| seen.insert(skill.path())).collect();
    let mut keep = keep.into_iter();
    skills.retain(|_| keep.next().unwrap_or(true));
}

/// Data shared by all skills of a root.
struct SharedRoot {
    label: Arc<str>,
    path: Arc<AbsPath>,
}

fn read(
    root: &SkillRoot,
    SharedRoot { label, path }: &SharedRoot,
    Scanned { record, change, .. }: &Scanned,
    header: &SkillHeader,
    folder: AbsPath,
) -> Skill {
    // Most names are already normalized.
    let key = match key_of(&header.name, &folder) {
        Cow::Borrowed(_) => header.name.clone(),
        Cow::Owned(key) => Arc::from(key),
    };
    Skill {
        id: [label, "/", &id_part(&key)].concat(),
        key,
        name: header.name.clone(),
        source: root.source,
        scope: root.scope,
        root: label.clone(),
        priority: 1,
        is_enabled: true,
        denied: None,
        shadowed_by: None,
        provenance: None,
        diagnostics: diagnostics(&folder, record),
        details: header.details.clone(),
        place: SkillLocation::Folder {
            root: path.clone(),
            folder,
            file: record.file.as_deref().map_or(SkillFile::Standard, SkillFile::named),
            stamp: record.stamp.map(Stamp::from),
            has_marker: record.has_marker,
        },
        change: *change,
    }
}

fn refused(root: &SkillRoot, folder: &AbsPath, record: &Record) -> RefusedSkill {
    let own = folder.file_name().unwrap_or_default();
    let linked = record.folder.rsplit('/').next().unwrap_or_default();
    let names = [Some(own), Some(linked), record.refused_name.as_deref()];
    let names = names.into_iter().flatten().filter(|name| !name.is_empty());
    let keys: Vec<String> = names.map(|name| key_of(name, folder).into_owned()).collect();
    let name = if linked.is_empty() { own } else { linked };
    RefusedSkill {
        id: format!("{}/{}", root.label, id_part(&key_of(name, folder))),
        keys,
        source: root.source,
        path: folder.to_string(),
        root: root.label.clone(),
        file: file_of(folder, record),
        diagnostics: diagnostics(folder, record),
    }
}

/// A skill from the cache that no longer exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GoneSkill {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) path: String,
}

impl GoneSkill {
    /// Returns the skill of a cached record; `None` if it could not be loaded.
    pub(crate) fn new(root: &SkillRoot, real: &AbsPath, record: &Record) -> Option<Self> {
        let name = record.header.as_ref()?.name.to_string();
        let folder =
            if record.folder.is_empty() { real.clone() } else { real.join(&record.folder) };
        let id = format!("{}/{}", root.label, id_part(&key_of(&name, &folder)));
        Some(Self { id, name, path: folder.to_string() })
    }
}

fn file_of(folder: &AbsPath, record: &Record) -> String {
    folder.join(record.file.as_deref().unwrap_or(SKILL_FILE)).to_string()
}

fn diagnostics(folder: &AbsPath, record: &Record) -> Vec<Diagnostic> {
    if record.problems.is_empty() {
        return Vec::new();
    }
    let file = file_of(folder, record);
    record.problems.iter().filter_map(|problem| problem.diagnostic(&file)).collect()
}
