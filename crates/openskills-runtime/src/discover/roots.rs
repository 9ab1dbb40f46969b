//! Determines the folders to search for skills, in order of precedence.

use std::collections::HashMap;
use std::path::Path;

use skill::{Diagnostic, is_unsafe_to_show};
use skill_fs::{AbsPath, EntryType, FsError, Root, real_path};
use skill_state::SkillSource;

use crate::decide::org::is_administered;
use crate::discover::nested::{Nested, find_nested};
use crate::discover::project::{Project, find_project};
use crate::problem::file_problem;
use crate::state::settings::Settings;
use crate::{Directory, Places, RuntimeConfig, RuntimeError, Scope, TrustedFolders};

/// A folder of skills, or a single skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRoot {
    /// The first part of its skills' ids, unique among all roots.
    pub label: String,
    /// The path of the folder.
    pub path: AbsPath,
    /// The trust level of its skills.
    pub source: SkillSource,
    /// The kind of location.
    pub scope: Scope,
    /// If set, symlinks must not lead out of this folder: the project, unless it is trusted.
    pub(crate) boundary: Option<AbsPath>,
    /// Whether the user or the host configured it. Then a missing folder is an error.
    pub(crate) is_explicit: bool,
}

/// Skill folders of a project, each with the suffix for its label. Later ones take precedence.
const PROJECT_FOLDERS: [(&str, &str); 4] = [
    (".corteza/skills", "-corteza"),
    (".keep-up/skills", "-keep-up"),
    (".agents/skills", "-agents"),
    (".claude/skills", ""),
];

/// The folders to search.
#[derive(Debug, Default)]
pub(crate) struct Roots {
    /// In order of precedence within a trust level; later ones take precedence.
    pub(crate) roots: Vec<SkillRoot>,
    /// The project, if the standard locations are used.
    pub(crate) project: Option<AbsPath>,
    /// Whether the project is trusted.
    pub(crate) is_trusted: bool,
    /// The folders of the project that were searched for nested roots.
    pub(crate) searched: Vec<AbsPath>,
    pub(crate) problems: Vec<Diagnostic>,
}

/// Returns true if discovery, in any project, would search this folder or one of its parents, judging by its path and
/// the configuration. An unreadable configuration is ignored here; discovery reports it.
pub(crate) fn is_discovered(folder: &AbsPath, places: &Places) -> bool {
    let mut found = Roots::default();
    personal(places, &mut found);
    let settings = Settings::load(places).ok();
    let configured = settings.iter().flat_map(|settings| {
        let directories = settings.directories.iter().map(|directory| &directory.path);
        directories.chain(settings.package_libraries.iter())
    });
    let configured = configured.filter_map(|path| absolute(path, places).ok());
    let known: Vec<AbsPath> = found
        .roots
        .into_iter()
        .map(|root| root.path)
        .chain(places.org.clone())
        .chain(configured)
        .flat_map(|root| [real_path(&root).ok(), Some(root)])
        .flatten()
        .collect();
    std::iter::successors(Some(folder.clone()), AbsPath::parent).any(|folder| {
        let is_of_project = PROJECT_FOLDERS.iter().any(|(end, _)| folder.as_path().ends_with(end));
        is_of_project || known.contains(&folder)
    })
}

/// Finds all roots.
pub(crate) fn find_roots(
    config: &RuntimeConfig,
    places: &Places,
    trusted: &TrustedFolders,
) -> Result<Roots, RuntimeError> {
    let mut found = Roots::default();
    if config.use_standard_locations {
        let settings = Settings::load(places)?;
        org(places, &mut found);
        personal(places, &mut found);
        let project = find_project(config.project_root.as_deref(), places)?;
        let is_searched = project.is_searched && config.search_nested;
        let project = Project { is_searched, ..project };
        project_roots(&project, trusted, &mut found);
        for library in settings.package_libraries.iter() {
            packages(library, places, &mut found)?;
        }
        for directory in &settings.directories {
            custom(directory, places, &mut found)?;
        }
        found.problems.extend(settings.warnings);
    }
    for library in &config.package_libraries {
        packages(library, places, &mut found)?;
    }
    for directory in &config.custom_directories {
        custom(directory, places, &mut found)?;
    }
    name_roots(&mut found.roots);
    Ok(found)
}

/// Returns a label that is safe to show and easy to type. Labels can come from arbitrary folder names.
fn sanitized(label: &str) -> String {
    let is_plain =
        |c: &char| !c.is_whitespace() && !c.is_control() && *c != '~' && !is_unsafe_to_show(*c);
    label.chars().map(|c| Some(c).filter(is_plain).unwrap_or('-')).collect()
}

/// Makes labels unique. An untrusted folder never takes the label of a configured or trusted one.
fn name_roots(roots: &mut [SkillRoot]) {
    let mut counts: HashMap<String, usize> = HashMap::from([("builtin".to_owned(), 1)]);
    // Configured folders first, then trusted ones, then the rest.
    let rank = |root: &SkillRoot| match (root.scope, root.source) {
        (Scope::Project | Scope::Nested, SkillSource::ThirdParty) => 2,
        (Scope::Project | Scope::Nested, _) => 1,
        _ => 0,
    };
    for turn in 0..=2 {
        for root in roots.iter_mut().filter(|root| rank(root) == turn) {
            let label = sanitized(&root.label);
            let count = counts.entry(label.clone()).or_default();
            *count += 1;
            root.label = if *count == 1 { label } else { format!("{label}~{count}") };
        }
    }
}

fn root(label: impl Into<String>, path: AbsPath, source: SkillSource, scope: Scope) -> SkillRoot {
    SkillRoot { label: label.into(), path, source, scope, boundary: None, is_explicit: false }
}

fn org(places: &Places, found: &mut Roots) {
    let Some(folder) = &places.org else { return };
    match is_administered(folder) {
        None => {}
        Some(true) => {
            found.roots.push(root("org", folder.clone(), SkillSource::Org, Scope::System));
        }
        Some(false) => {
            let source =
                std::io::Error::other("not owned by the administrator, or writable by others");
            let error = FsError::Io { path: folder.to_string(), source };
            found.problems.push(file_problem(&error, folder.as_str()));
        }
    }
}

fn personal(places: &Places, found: &mut Roots) {
    let folders = [
        ("personal-installed", places.data.as_ref().map(|data| data.join("skills"))),
        ("personal-agents", places.home.as_ref().map(|home| home.join(".agents/skills"))),
        ("personal", places.claude.as_ref().map(|claude| claude.join("skills"))),
    ];
    for (label, folder) in folders {
        let folder = folder.map(|folder| root(label, folder, SkillSource::User, Scope::Personal));
        found.roots.extend(folder);
    }
}

fn project_roots(project: &Project, trusted: &TrustedFolders, found: &mut Roots) {
    found.is_trusted = trusted.covers(&project.root);
    for (folder, suffix) in PROJECT_FOLDERS {
        let label = format!("project{suffix}");
        let added = root_in(project, trusted, label, project.root.join(folder));
        found.roots.push(SkillRoot { scope: Scope::Project, ..added });
    }
    let mut nested =
        if project.is_searched { find_nested(&project.root) } else { Nested::default() };
    for folder in &project.between {
        if !nested.folders.contains(folder) {
            nested.folders.push(folder.clone());
        }
    }
    // Deeper folders take precedence; sorting by name makes the order stable.
    nested.folders.sort_by_key(|folder| (folder.as_path().components().count(), folder.clone()));
    for folder in &nested.folders {
        let below = folder.as_path().strip_prefix(project.root.as_path()).unwrap_or(Path::new(""));
        let below = below.to_string_lossy().replace('\\', "/");
        for (inner, suffix) in PROJECT_FOLDERS {
            let label = format!("nested-{below}{suffix}");
            found.roots.push(root_in(project, trusted, label, folder.join(inner)));
        }
    }
    found.project = Some(project.root.clone());
    found.searched = nested.searched;
    found.problems.extend(nested.problems);
}

/// Returns a root inside a project. It has the trust level `user` if its folder is trusted.
fn root_in(project: &Project, trusted: &TrustedFolders, label: String, path: AbsPath) -> SkillRoot {
    let is_trusted = trusted.covers(&path);
    let source = if is_trusted { SkillSource::User } else { SkillSource::ThirdParty };
    let boundary = (!is_trusted).then(|| project.root.clone());
    SkillRoot { boundary, ..root(label, path, source, Scope::Nested) }
}

/// Adds the `skills` folder of every package in a library.
fn packages(library: &Path, places: &Places, found: &mut Roots) -> Result<(), RuntimeError> {
    let library = absolute(library, places)?;
    let entries = match Root::open(&library).and_then(|root| root.entries()) {
        Ok(entries) => entries,
        Err(error) => {
            found.problems.push(file_problem(&error, library.as_str()));
            return Ok(());
        }
    };
    let mut names: Vec<String> = entries
        .named
        .into_iter()
        .filter(|(_, kind)| matches!(kind, EntryType::Folder | EntryType::Link))
        .map(|(name, _)| name)
        .collect();
    names.sort_unstable();
    for name in names {
        let folder = library.join(&name).join("skills");
        if Root::open(&folder).is_ok() {
            let label = format!("package-{name}");
            found.roots.push(root(label, folder, SkillSource::User, Scope::Package));
        }
    }
    Ok(())
}

fn custom(directory: &Directory, places: &Places, found: &mut Roots) -> Result<(), RuntimeError> {
    let path = absolute(&directory.path, places)?;
    // Use the name of the real path, because `.` has none.
    let real = real_path(&path).unwrap_or_else(|_| path.clone());
    let label = directory.label.as_deref().or(real.file_name()).unwrap_or("custom").to_owned();
    let custom = root(label, real, directory.source, Scope::Custom);
    found.roots.push(SkillRoot { is_explicit: true, ..custom });
    Ok(())
}

fn absolute(path: &Path, places: &Places) -> Result<AbsPath, RuntimeError> {
    AbsPath::new(places.cwd.as_path().join(path))
        .map_err(|error| RuntimeError::Setup { message: error.to_string(), hint: None })
}
