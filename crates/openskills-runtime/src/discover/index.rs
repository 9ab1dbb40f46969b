//! The skills that were found: which one a name means, and which ones it hides.

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
use crate::discover::record::{Details, Record, Said, Summary};
use crate::discover::roots::SkillRoot;
use crate::discover::scan::Scanned;
use crate::problem::problem_of;
use crate::quote::shell_word;
use crate::served::ServedSkill;
use crate::{Change, DisabledSkills, Provenance, RuntimeError, Scope};

/// Fewer skills than this are not worth handing out to another core.
const FEW: usize = 256;

/// A skill in the index: what its frontmatter says (see [`Summary`]), and where it stands among the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// `<root>/<name>`, unique among all skills.
    pub id: String,
    /// The declared name. It may break the rules of the standard: treat it as text.
    pub name: Arc<str>,
    /// Who vouches for it.
    pub source: SkillSource,
    /// Where it was found.
    pub scope: Scope,
    /// The label of the root it was found in.
    pub root: Arc<str>,
    /// The place of its root in the order of precedence: 1 comes first.
    pub priority: usize,
    /// Whether the user has not switched it off.
    pub is_enabled: bool,
    /// Why the organisation does not let it be used.
    pub denied: Option<String>,
    /// The id of the skill that its name means instead.
    pub shadowed_by: Option<String>,
    /// Where csk installed it from.
    pub provenance: Option<Box<Provenance>>,
    /// Every problem of it that does not stop it.
    pub diagnostics: Vec<Diagnostic>,
    /// What its name is called by, see [`crate::discover::naming`].
    pub(crate) key: Arc<str>,
    pub(crate) details: Arc<Details>,
    pub(crate) place: Place,
    /// What is different from what was kept of it.
    pub(crate) news: Option<Change>,
}

impl Deref for Skill {
    type Target = Summary;

    fn deref(&self) -> &Summary {
        self.details.get()
    }
}

/// What a skill is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Builtin(&'static Builtin),
    Folder {
        /// The root it was found in, for what is remembered of it.
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
    /// Returns its folder by its real path, or `builtin:<name>`, or `mcp:<server>:<uri>`.
    pub fn path(&self) -> &str {
        match &self.place {
            Place::Builtin(builtin) => builtin.path,
            Place::Folder { folder, .. } => folder.as_str(),
            Place::Served(served) => &served.origin,
        }
    }

    /// Returns the label of the MCP server that serves it, and its URI there.
    pub fn served_by(&self) -> Option<(&str, &str)> {
        match &self.place {
            Place::Served(served) => Some((&served.server, &served.uri)),
            Place::Builtin(_) | Place::Folder { .. } => None,
        }
    }

    /// Returns its SKILL.md; a builtin skill has none, and neither has one of an MCP server: they are no files.
    pub fn location(&self) -> Option<String> {
        match &self.place {
            Place::Builtin(_) | Place::Served(_) => None,
            Place::Folder { folder, file, .. } => {
                Some(folder.join(file.path()?.as_str()).to_string())
            }
        }
    }

    /// Returns the name of its SKILL.md in its folder.
    pub fn skill_file(&self) -> String {
        let file = match &self.place {
            Place::Folder { file, .. } => file.path(),
            Place::Builtin(_) | Place::Served(_) => None,
        };
        file.map_or_else(|| SKILL_FILE.to_owned(), |file| file.to_string())
    }

    /// Returns when its SKILL.md was last written; for a builtin skill the beginning of time.
    pub fn last_modified(&self) -> Option<Timestamp> {
        match &self.place {
            Place::Folder {
                stamp: Some(Stamp { modified: (seconds, nanoseconds), .. }), ..
            } => Timestamp::new(*seconds, i32::try_from(*nanoseconds).ok()?).ok(),
            // What is part of the program has no time of its own.
            Place::Builtin(_) => Some(Timestamp::UNIX_EPOCH),
            Place::Folder { stamp: None, .. } | Place::Served(_) => None,
        }
    }

    /// Returns true if its name means this skill, and neither the user nor the organisation has switched it off.
    pub fn is_visible(&self) -> bool {
        self.is_enabled && self.denied.is_none() && self.shadowed_by.is_none()
    }
}

/// A folder with a SKILL.md that cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedSkill {
    /// `<root>/<folder>`.
    pub id: String,
    /// Its folder, by its real path.
    pub path: String,
    /// The label of the root it was found in.
    pub root: String,
    /// Who vouches for it.
    pub source: SkillSource,
    /// Every name that it may have had: its folder's, that of a link to it, the declared one.
    pub(crate) keys: Vec<String>,
    /// Its SKILL.md.
    pub file: String,
    /// Every problem of it.
    pub diagnostics: Vec<Diagnostic>,
}

/// Every skill that was found.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Sorted by key; those of one key in the order of precedence, the first one is meant.
    pub(crate) skills: Vec<Arc<Skill>>,
    /// Sorted by path.
    pub(crate) refused: Vec<RefusedSkill>,
}

/// What was found in one root.
#[derive(Debug)]
pub(crate) struct FoundIn<'a> {
    pub(crate) root: &'a SkillRoot,
    /// The root by its real path.
    pub(crate) real: AbsPath,
    pub(crate) skills: Vec<Scanned>,
}

/// What an MCP server lists.
#[derive(Debug)]
pub(crate) struct ServedBy {
    /// The first part of the ids of its skills, unique among all roots.
    pub(crate) label: Arc<str>,
    pub(crate) skills: Vec<Arc<ServedSkill>>,
}

impl Index {
    /// Orders what was found in `roots`, which are in the order of precedence inside a trust level.
    pub(crate) fn build(
        roots: &[FoundIn<'_>],
        builtins: &'static [Builtin],
        served: &[ServedBy],
        disabled: &DisabledSkills,
        approved: &HashSet<String>,
    ) -> Self {
        let standing = |skill: &Arc<Skill>| standing(skill, approved);
        let mut found = Self::default();
        let all: usize = roots.iter().map(|found| found.skills.len()).sum();
        let mut skills = Vec::with_capacity(all + builtins.len());
        skills.extend(builtins.iter().map(|found| {
            let skill = builtin(found);
            let is_enabled = !disabled.covers(&skill.key, skill.path());
            Arc::new(Skill { is_enabled, ..skill })
        }));
        // From the strongest root to the weakest: a folder that is seen through several counts for the first.
        let mut order: Vec<&FoundIn<'_>> = roots.iter().rev().collect();
        order.sort_by_key(|found| found.root.source);
        for (at, FoundIn { root, real, skills: scanned }) in order.into_iter().enumerate() {
            // What is part of the program comes before all of them.
            let priority = at + 2;
            let shared = SharedRoot {
                label: Arc::from(root.label.as_str()),
                path: Arc::new(root.path.clone()),
            };
            let read = |scanned: &Scanned| {
                let folder = scanned.folder(real);
                let Some(said) = &scanned.record.said else {
                    return Err(Box::new(refused(root, &folder, &scanned.record)));
                };
                let skill = read(root, &shared, scanned, said, folder);
                let is_enabled = !disabled.covers(&skill.key, skill.path());
                Ok(Arc::new(Skill { is_enabled, priority, ..skill }))
            };
            let first = skills.len();
            let made: Vec<Result<Arc<Skill>, Box<RefusedSkill>>> =
                scanned.par_iter().with_min_len(FEW).map(read).collect();
            for made in made {
                match made {
                    Ok(skill) => skills.push(skill),
                    Err(refused) => found.refused.push(*refused),
                }
            }
            skills[first..].sort_by_key(standing);
            make_unique(&mut skills[first..]);
        }
        drop_seen(&mut skills, roots);
        for (at, ServedBy { label, skills: listed }) in served.iter().enumerate() {
            let priority = roots.len() + at + 2;
            let first = skills.len();
            for listed in listed {
                match served_skill(label, listed, disabled) {
                    Ok(skill) => skills.push(Arc::new(Skill { priority, ..skill })),
                    Err(refused) => found.refused.push(*refused),
                }
            }
            skills[first..].sort_by_key(standing);
            make_unique(&mut skills[first..]);
        }
        // Stable: of those that are written alike the place decides.
        skills.sort_by_key(|skill| (skill.served_by().is_some(), skill.source, standing(skill)));
        let mut seen = HashSet::new();
        found.refused.retain(|refused| seen.insert(refused.path.clone()));
        shadow(&mut skills, &found.refused);
        // Stable: skills of one key stay in the order of precedence.
        skills.sort_by(|one, other| one.key.cmp(&other.key));
        found.refused.sort_by(|one, other| one.path.cmp(&other.path));
        found.skills = skills;
        found
    }

    /// Takes back the warning about a skill that is shadowed by a copy of itself: csk made both.
    pub(crate) fn forgive_copies(&mut self) {
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

    /// Returns the skill of an id, or the one that a name means.
    pub(crate) fn find(&self, name: &str) -> Result<&Arc<Skill>, RuntimeError> {
        let broken = |refused: &RefusedSkill| RuntimeError::InvalidManifest {
            file: refused.file.clone(),
            diagnostics: refused.diagnostics.clone(),
        };
        if let Some(skill) = self.with_id(name) {
            return allowed(skill);
        }
        // What has a slash is an id and nothing else: no name stands in for one that is gone.
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
            // Servers share no name: which one is meant must be said. Who only writes it otherwise shares nothing.
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
        // One that cannot be loaded is not replaced by a weaker one: its problem is told.
        let key = key(name).into_owned();
        if let Some(refused) = self.refused.iter().find(|refused| refused.keys.contains(&key)) {
            return Err(broken(refused));
        }
        if let Some(skill) = named.first() {
            return allowed(skill);
        }
        // `C++` is typed by the last part of its id as well, as long as that is nobody's name.
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
        // Many skills are called otherwise than their folder.
        let folder = visible.clone().find(|skill| skill.path().rsplit('/').next() == Some(name));
        let nearest = folder.map(|skill| &*skill.name);
        let nearest = nearest.or_else(|| nearest_of(name, &mut visible)).map(str::to_owned);
        Err(RuntimeError::SkillNotFound { name: name.to_owned(), nearest })
    }

    /// Returns the skill of an id, switched off or not.
    pub(crate) fn with_id(&self, id: &str) -> Option<&Arc<Skill>> {
        self.skills.iter().find(|skill| skill.id == id)
    }

    /// Returns every skill of a name, in the order of precedence. Names that only look different are one name.
    pub(crate) fn named(&self, name: &str) -> &[Arc<Skill>] {
        let key = &*key(name);
        let start = self.skills.partition_point(|skill| &*skill.key < key);
        let end = self.skills.partition_point(|skill| &*skill.key <= key);
        &self.skills[start..end]
    }
}

/// Returns where a skill stands among those of its trust level with the same key: the less, the earlier. One whose name the user approved, in that very
/// writing, comes first, and one whose name is written plainly before those that only look like it. So nobody takes the name of `pdf` by calling
/// a skill `PDF`.
fn standing(skill: &Skill, approved: &HashSet<String>) -> u8 {
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
            message: format!("`{}` may not be used: {reason}", skill.id),
            hint: Some("ask whoever administers this machine".to_owned()),
        });
    }
    if skill.is_enabled {
        return Ok(skill);
    }
    Err(RuntimeError::PermissionDenied {
        message: format!("`{}` is switched off", skill.id),
        hint: Some(format!(
            "the user can switch it on: openskills enable {}",
            shell_word(&skill.id)
        )),
    })
}

/// Marks every skill whose name means another one. `skills` are in the order of precedence. One that cannot be loaded
/// still stands before those of lower trust levels: a slip in your own skill must not hand its name to an untrusted one.
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
            // A skill of a server takes a name from nobody, not even from another server.
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
            let hint = "the name means neither; each is called by its id";
            let warning = problem_of(Code::Shadowed, skill.path(), message);
            skill.diagnostics.push(warning.with_hint(hint));
        }
    }
    for (at, winner, why) in losers {
        let skill = Arc::make_mut(&mut skills[at]);
        let message = format!("`{}` is shadowed by `{winner}`{why}", skill.id);
        let id = shell_word(&skill.id);
        let hint = format!("its id reaches it all the same; `openskills where {id}` explains");
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
    let said = Said::new(document.frontmatter);
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
        name: said.name,
        details: said.details,
        place: Place::Served(Arc::clone(served)),
        news: None,
    })
}

fn builtin(builtin: &'static Builtin) -> Skill {
    let said = Said::new(builtin.document().frontmatter);
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
        key: said.name.clone(),
        name: said.name,
        details: said.details,
        place: Place::Builtin(builtin),
        news: None,
    }
}

/// Keeps a folder that is seen through several roots or links only where it is strongest.
fn drop_seen(skills: &mut Vec<Arc<Skill>>, roots: &[FoundIn<'_>]) {
    let filled = roots.iter().filter(|found| !found.skills.is_empty()).count();
    let is_linked = |found: &FoundIn<'_>| found.skills.iter().any(|skill| skill.linked.is_some());
    // Without links, the folders of one root are all different.
    if filled < 2 && !roots.iter().any(is_linked) {
        return;
    }
    let mut seen = HashSet::with_capacity(skills.len());
    let keep: Vec<bool> = skills.iter().map(|skill| seen.insert(skill.path())).collect();
    let mut keep = keep.into_iter();
    skills.retain(|_| keep.next().unwrap_or(true));
}

/// What all skills of a root share.
struct SharedRoot {
    label: Arc<str>,
    path: Arc<AbsPath>,
}

fn read(
    root: &SkillRoot,
    SharedRoot { label, path }: &SharedRoot,
    Scanned { record, news, .. }: &Scanned,
    said: &Said,
    folder: AbsPath,
) -> Skill {
    // Nearly every name is its own key.
    let key = match key_of(&said.name, &folder) {
        Cow::Borrowed(_) => said.name.clone(),
        Cow::Owned(key) => Arc::from(key),
    };
    Skill {
        id: [label, "/", &id_part(&key)].concat(),
        key,
        name: said.name.clone(),
        source: root.source,
        scope: root.scope,
        root: label.clone(),
        priority: 1,
        is_enabled: true,
        denied: None,
        shadowed_by: None,
        provenance: None,
        diagnostics: diagnostics(&folder, record),
        details: said.details.clone(),
        place: Place::Folder {
            root: path.clone(),
            folder,
            file: record.file.as_deref().map_or(SkillFile::Standard, SkillFile::named),
            stamp: record.stamp.map(Stamp::from),
            has_marker: record.has_marker,
        },
        news: *news,
    }
}

fn refused(root: &SkillRoot, folder: &AbsPath, record: &Record) -> RefusedSkill {
    let own = folder.file_name().unwrap_or_default();
    let linked = record.folder.rsplit('/').next().unwrap_or_default();
    let names = [Some(own), Some(linked), record.refused_name.as_deref()];
    let names = names.into_iter().flatten().filter(|name| !name.is_empty());
    let keys: Vec<String> = names.map(|name| key_of(name, folder).into_owned()).collect();
    let called = if linked.is_empty() { own } else { linked };
    RefusedSkill {
        id: format!("{}/{}", root.label, id_part(&key_of(called, folder))),
        keys,
        source: root.source,
        path: folder.to_string(),
        root: root.label.clone(),
        file: file_of(folder, record),
        diagnostics: diagnostics(folder, record),
    }
}

/// A skill that was known, and is not there any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GoneSkill {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) path: String,
}

impl GoneSkill {
    /// Returns the skill of a record. One that could not be loaded was none.
    pub(crate) fn new(root: &SkillRoot, real: &AbsPath, record: &Record) -> Option<Self> {
        let name = record.said.as_ref()?.name.to_string();
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
