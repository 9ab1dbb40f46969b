//! `csk add` and `csk remove`: edit Skillfile.json in place.

use anyhow::Context as _;
use csk_core::operations::{Inspection, inspect};
use csk_core::project::find_root;
use csk_core::{
    Config, Declaration, LOCKFILE, Reference, SKILLFILE, Skillfile, check_declared_url,
    remove_skill, set_skill, work_tree,
};
use skill::{CommandKind, DeclaredCapabilities, Identifier, Manifest, RefKind, RelPath, nearest};
use skill_fs::{AbsPath, read_text, write_file};
use term::{Failure, HelpText, safe_line};

use crate::commands::install::network;
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{Selection, SkillfileState, locate_projects, read_skillfile};

const ADD: HelpText = HelpText {
    text: "\
Adds a skill to Skillfile.json, or changes how it is declared. The rest of the file is unchanged. csk clones the \
repository if it is missing and checks that the tag, branch or commit exists. It prints the commands the skill provides, \
the programs it needs and the capabilities it declares. Run `csk install` afterwards to install the skill.

Reads:  config.json, Skillfile.json, the skill's repository
Writes: Skillfile.json; skills_root if the repository is cloned",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage or configuration error, Skillfile.json is missing or malformed, or the skill cannot be fetched"),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk add pdf --git https://example.com/skill-pdf.git --tag v1.2.0",
        "csk add review --source skill-review --branch main",
        "csk add pdf --source skills --git https://example.com/skills.git --path skills/pdf --tag v3",
    ],
};

const REMOVE: HelpText = HelpText {
    text: "\
Removes a skill from Skillfile.json. The rest of the file is unchanged. Run `csk install` afterwards to uninstall the \
skill.

Reads:  config.json, Skillfile.json
Writes: Skillfile.json",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage or configuration error, or the skill is not declared"),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk remove pdf",
    ],
};

/// Add a skill to Skillfile.json
#[derive(Debug, clap::Args)]
#[command(after_help = ADD)]
pub(crate) struct AddArgs {
    /// Skill name
    #[arg(add = term::names(crate::completion::repositories))]
    name: String,
    #[command(flatten)]
    pub(crate) skill: SkillFlags,
    /// Project alias, or a path inside a project [default: the enclosing project]
    #[arg(long, value_name = "TARGET", add = term::names(crate::completion::projects))]
    project: Option<String>,
}

/// The flags that describe the source of a skill.
#[derive(Debug, clap::Args)]
pub(crate) struct SkillFlags {
    /// URL to clone the repository from
    #[arg(long, value_name = "URL")]
    git: Option<String>,
    /// Repository name under skills_root, if different from NAME
    #[arg(long, value_name = "NAME", add = term::names(crate::completion::repositories))]
    source: Option<String>,
    /// Path of the skill's folder in the repository, if it is not the root folder
    #[arg(long, value_name = "FOLDER")]
    path: Option<String>,
    #[command(flatten)]
    reference: ReferenceFlags,
    /// Print what would be declared, without changing anything
    #[arg(long)]
    dry_run: bool,
    /// Do not use the network; nothing is cloned
    #[arg(long, env = "CSK_OFFLINE", value_parser = clap::builder::FalseyValueParser::new(), hide_env_values = true)]
    offline: bool,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
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

/// Remove a skill from Skillfile.json
#[derive(Debug, clap::Args)]
#[command(after_help = REMOVE)]
pub(crate) struct RemoveArgs {
    /// Skill name
    #[arg(add = term::names(crate::completion::skills))]
    name: String,
    /// Project alias, or a path inside a project [default: the enclosing project]
    #[arg(long, value_name = "TARGET", add = term::names(crate::completion::projects))]
    project: Option<String>,
}

pub(crate) fn add(context: &mut Context, args: &AddArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let root = project_root(context, &config, args.project.as_deref())?;
    if !work_tree(&root)? {
        return Err(Failure::usage(format!("`{root}` is not inside a git repository"))
            .with_hint("run `git init` there first; csk requires a git repository that ignores the files it installs")
            .into());
    }
    add_to(context, &config, &root, &args.name, &args.skill)
}

/// Adds a skill to the Skillfile at `root`.
pub(crate) fn add_to(
    context: &mut Context,
    config: &Config,
    root: &AbsPath,
    name: &str,
    flags: &SkillFlags,
) -> anyhow::Result<ExitCode> {
    let path = root.join(SKILLFILE);
    let declaration = declaration(name, flags, &read_valid_skillfile(root, config)?.1)?;
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

pub(crate) fn remove(context: &mut Context, args: &RemoveArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let root = project_root(context, &config, args.project.as_deref())?;
    remove_from(context, &config, &root, &args.name, "csk install")
}

/// Removes a skill from the Skillfile at `root`. The command `install` then uninstalls it.
pub(crate) fn remove_from(
    context: &mut Context,
    config: &Config,
    root: &AbsPath,
    name: &str,
    install: &str,
) -> anyhow::Result<ExitCode> {
    let _lock = context.lock()?;
    let (text, file) = read_valid_skillfile(root, config)?;
    let known = file.skills.iter().map(|skill| &skill.name);
    let Some(name) = known.clone().find(|known| known.as_str() == name) else {
        let failure = Failure::usage(format!("skill `{name}` is not declared in {SKILLFILE}"));
        return Err(match nearest(name, known.map(Identifier::as_str)) {
            Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
            None => failure.with_hint("run `csk status` to see the declared skills"),
        }
        .into());
    };
    let path = root.join(SKILLFILE);
    let new =
        remove_skill(&text, name).ok_or_else(|| Failure::usage(format!("cannot edit `{path}`")))?;
    write_file(&path, new.as_bytes())?;
    context
        .ui
        .done(&format!("{name} removed from {SKILLFILE}; run `{install}` to uninstall it\n"))?;
    Ok(ExitCode::Done)
}

pub(crate) fn project_root(
    context: &Context,
    config: &Config,
    target: Option<&str>,
) -> anyhow::Result<AbsPath> {
    let Some(target) = target else {
        return Ok(find_root(&context.cwd).ok_or_else(|| {
            Failure::usage(format!(
                "{SKILLFILE} not found in `{}` or any parent folder",
                context.cwd
            ))
            .with_hint("run `csk init` to create one")
        })?);
    };
    let selection = Selection { target: Some(target.to_owned()), ..Selection::default() };
    let location = locate_projects(context, config, &selection)?.pop();
    let missing = || Failure::usage(format!("no project named `{target}`"));
    Ok(location.ok_or_else(missing)?.root)
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
    let references = &flags.reference;
    let reference = [
        (RefKind::Tag, &references.tag),
        (RefKind::Branch, &references.branch),
        (RefKind::Revision, &references.revision),
    ]
    .into_iter()
    .find_map(|(kind, name)| Some(Reference { kind, name: name.clone()? }));
    Ok(Declaration {
        source: match (&flags.source, existing) {
            (Some(source), _) => identifier(source)?,
            (None, Some(existing)) => existing.source.clone(),
            (None, None) => name.clone(),
        },
        path: match (&flags.path, existing) {
            (Some(path), _) => Some(RelPath::new(path.trim_end_matches('/')).map_err(|error| {
                Failure::usage(format!("invalid --path `{path}`: {}", error.reason()))
            })?),
            (None, existing) => existing.and_then(|existing| existing.path.clone()),
        },
        git: flags.git.clone().or_else(|| existing.and_then(|existing| existing.git.clone())),
        reference: reference
            .ok_or_else(|| Failure::usage("one of --tag, --branch or --revision is required"))?,
        name,
    })
}

/// Returns the commands, required programs and capabilities of a skill, one line each.
fn describe(found: &Inspection) -> Vec<String> {
    let mut lines = Vec::new();
    let names = |manifest: &Manifest, is_script: fn(&CommandKind) -> bool| -> Vec<String> {
        let commands = manifest.commands.iter().filter(|command| is_script(&command.kind));
        let shown = commands.map(|command| match &command.kind {
            CommandKind::Script { .. } => command.name.to_string(),
            CommandKind::System { program, .. } => program.clone(),
        });
        shown.collect()
    };
    if let Some(manifest) = &found.manifest {
        let provided = names(manifest, |kind| matches!(kind, CommandKind::Script { .. }));
        if !provided.is_empty() {
            lines.push(format!("provides commands: {}", provided.join(", ")));
        }
        let required = names(manifest, |kind| matches!(kind, CommandKind::System { .. }));
        if !required.is_empty() {
            lines.push(format!("requires programs: {}", required.join(", ")));
        }
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
