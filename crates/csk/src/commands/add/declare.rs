//! `csk add` with the flags of a declaration: edits Skillfile.json in place and installs nothing.

use anyhow::Context as _;
use csk_core::operations::{Inspection, inspect};
use csk_core::{
    Config, Declaration, LOCKFILE, Reference, SKILLFILE, Skillfile, check_declared_url, set_skill,
    work_tree,
};
use skill::{CommandKind, DeclaredCapabilities, Identifier, RefKind, RelPath};
use skill_fs::{AbsPath, read_text, write_file};
use term::{Failure, safe_line};

use super::AddFlags;
use crate::commands::install::network;
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{SkillfileState, read_skillfile};

/// The flags that describe the source of a skill.
#[derive(Debug, clap::Args)]
pub(crate) struct SkillFlags {
    /// Only declare: URL to clone the repository from
    #[arg(long, value_name = "URL")]
    git: Option<String>,
    /// Only declare: repository name under skills_root, if different from the skill's name
    #[arg(long, value_name = "NAME", add = term::names(crate::completion::repositories))]
    source: Option<String>,
    /// Path of the skill's folder in the repository
    #[arg(long, value_name = "FOLDER")]
    path: Option<String>,
    #[command(flatten)]
    reference: ReferenceFlags,
}

#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct ReferenceFlags {
    /// Install this tag
    #[arg(long)]
    tag: Option<String>,
    /// Track this branch
    #[arg(long)]
    branch: Option<String>,
    /// Install this commit
    #[arg(long)]
    revision: Option<String>,
}

impl SkillFlags {
    /// Returns the tag, branch or commit, if one is given.
    pub(super) fn reference(&self) -> Option<Reference> {
        let ReferenceFlags { tag, branch, revision } = &self.reference;
        [(RefKind::Tag, tag), (RefKind::Branch, branch), (RefKind::Revision, revision)]
            .into_iter()
            .find_map(|(kind, name)| Some(Reference { kind, name: name.clone()? }))
    }

    /// Returns the folder in the source, if one is given.
    pub(super) fn folder(&self) -> anyhow::Result<Option<RelPath>> {
        let folder = |path: &String| {
            RelPath::new(path.trim_end_matches('/')).map_err(|error| {
                Failure::usage(format!("invalid --path `{path}`: {}", error.reason()))
            })
        };
        Ok(self.path.as_ref().map(folder).transpose()?)
    }
}

/// Returns the name to declare if the flags describe a declaration and not a source.
pub(super) fn declared_name(flags: &AddFlags) -> Option<&str> {
    let [name] = flags.sources.as_slice() else { return None };
    let declared = &flags.declared;
    let is_name = Identifier::new(name.as_str()).is_ok();
    let is_declared = declared.git.is_some()
        || declared.source.is_some()
        || (is_name && declared.reference().is_some());
    is_declared.then_some(name)
}

/// Refuses a folder that is not in a git repository.
pub(super) fn check_repository(root: &AbsPath) -> anyhow::Result<()> {
    if work_tree(root)? {
        return Ok(());
    }
    Err(Failure::usage(format!("`{root}` is not inside a git repository"))
        .with_hint("run `git init` there first; csk requires a git repository that ignores the files it installs")
        .into())
}

/// Adds a skill to the Skillfile at `root`.
pub(super) fn add_to(
    context: &mut Context,
    config: &Config,
    root: &AbsPath,
    name: &str,
    flags: &AddFlags,
) -> anyhow::Result<ExitCode> {
    if flags.json {
        return Err(
            Failure::usage("--json is only available when csk adds skills from a source").into()
        );
    }
    let path = root.join(SKILLFILE);
    let declaration = declaration(name, &flags.declared, &read_valid_skillfile(root, config)?.1)?;
    // Validate the edited Skillfile before cloning anything. This rejects malformed references, with their position.
    edited(root, config, &declaration)?;
    let environment = context.environment(config);
    if let Some(url) = &declaration.git {
        check_declared_url(url, environment.local)?;
    }
    let found = inspect(&environment, &declaration, network(flags.offline), &context.progress())
        .with_context(|| declaration.name.to_string())?;
    if !flags.dry_run {
        // The file may have changed while the repository was cloned.
        let _lock = context.lock()?;
        let new = edited(root, config, &declaration)?;
        write_file(&path, new.as_bytes())?;
    }
    let result = if flags.dry_run { "would be added (dry-run)" } else { "added" };
    let reference = &declaration.reference;
    context.ui.done(&format!(
        "{} {} {} {} {result}\n",
        declaration.name,
        reference.kind.as_str(),
        safe_line(&reference.name),
        found.commit.short()
    ))?;
    for line in describe(&found) {
        context.ui.done(&format!("  {}\n", safe_line(&line)))?;
    }
    for warning in &found.warnings {
        context.ui.error(&format!("warning: {}: {}\n", declaration.name, safe_line(warning)))?;
    }
    if !flags.dry_run && root.join(LOCKFILE).as_path().exists() {
        let name = &declaration.name;
        context
            .ui
            .error(&format!("note: `{name}` is not in {LOCKFILE} yet; `csk install` adds it\n"))?;
    }
    Ok(ExitCode::Done)
}

/// Returns the text of the Skillfile at `root` with the declaration added.
fn edited(root: &AbsPath, config: &Config, declaration: &Declaration) -> anyhow::Result<String> {
    let path = root.join(SKILLFILE);
    let (text, _) = read_valid_skillfile(root, config)?;
    let new = set_skill(&text, declaration)
        .ok_or_else(|| Failure::usage(format!("cannot edit `{path}`")))?;
    match Skillfile::parse(path.as_str(), &new, &config.agents) {
        (Some(_), _) => Ok(new),
        (None, problems) => Err(Failure::malformed(new, problems).into()),
    }
}

/// Reads a Skillfile that must be valid; returns its text as well.
pub(crate) fn read_valid_skillfile(
    root: &AbsPath,
    config: &Config,
) -> anyhow::Result<(String, Skillfile)> {
    let path = root.join(SKILLFILE);
    match read_skillfile(root, config) {
        SkillfileState::Valid { file, .. } => {
            let text = read_text(&path)?;
            Ok((text.unwrap_or_default(), file))
        }
        SkillfileState::Missing => Err(Failure::usage(format!("`{path}` does not exist"))
            .with_hint("run `csk init` to create one")
            .into()),
        SkillfileState::Invalid { text, problems } => {
            Err(Failure::malformed(text, problems).into())
        }
    }
}

/// Builds a declaration from the flags. Values they do not set are kept from the existing declaration.
fn declaration(name: &str, flags: &SkillFlags, file: &Skillfile) -> anyhow::Result<Declaration> {
    let existing = file.skills.iter().find(|skill| skill.name.as_str() == name);
    let identifier = |text: &str| {
        Identifier::new(text)
            .map_err(|error| Failure::usage(format!("invalid name `{text}`: {error}")))
    };
    let name = identifier(name)?;
    Ok(Declaration {
        source: match (&flags.source, existing) {
            (Some(source), _) => identifier(source)?,
            (None, Some(existing)) => existing.source.clone(),
            (None, None) => name.clone(),
        },
        path: match flags.folder()? {
            Some(path) => Some(path),
            None => existing.and_then(|existing| existing.path.clone()),
        },
        git: flags.git.clone().or_else(|| existing.and_then(|existing| existing.git.clone())),
        reference: flags
            .reference()
            .ok_or_else(|| Failure::usage("one of --tag, --branch or --revision is required"))?,
        name,
    })
}

/// Returns the commands, required programs and capabilities of a skill, one line each.
pub(super) fn describe(found: &Inspection) -> Vec<String> {
    let mut lines = Vec::new();
    let provided: Vec<&str> = found.script_commands().collect();
    if !provided.is_empty() {
        lines.push(format!("provides commands: {}", provided.join(", ")));
    }
    let commands = found.manifest.iter().flat_map(|manifest| &manifest.commands);
    let required = commands.filter_map(|command| match &command.kind {
        CommandKind::System { program, .. } => Some(program.as_str()),
        CommandKind::Script { .. } => None,
    });
    let required: Vec<&str> = required.collect();
    if !required.is_empty() {
        lines.push(format!("requires programs: {}", required.join(", ")));
    }
    for missing in &found.missing {
        let hint = missing.hint.as_ref().map_or_else(String::new, |hint| format!(": {hint}"));
        lines.push(format!("`{}` is not on PATH{hint}", missing.program));
    }
    match found.manifest.as_ref().and_then(|manifest| manifest.capabilities.as_ref()) {
        None => lines.push("capabilities: not declared".to_owned()),
        Some(capabilities) => lines.extend(capability_lines(capabilities)),
    }
    lines
}

fn capability_lines(capabilities: &DeclaredCapabilities) -> Vec<String> {
    let value = capabilities.to_json();
    let shown = |key: &str| match &value[key] {
        serde_json::Value::Null => "not declared".to_owned(),
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(items) => {
            let items: Vec<&str> = items.iter().filter_map(serde_json::Value::as_str).collect();
            if items.is_empty() { "none".to_owned() } else { items.join(", ") }
        }
        other => other.to_string(),
    };
    ["network", "filesystem", "exec", "secrets", "env_read", "prompt_scope"]
        .iter()
        .map(|key| format!("{key}: {}", shown(key)))
        .collect()
}
