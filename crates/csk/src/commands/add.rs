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
use crate::projects::{Read, Selection, places, read_skillfile};

const ADD: HelpText = HelpText {
    text: "\
Purpose: declares a skill in Skillfile.json, or declares it otherwise than before. The rest of the file stays as you wrote \
it. The repository is cloned if it is missing; the reference must be in it. What the skill brings, needs and says that it \
may do is shown. Nothing is installed: `csk install` does that.

Reads:  config.json, Skillfile.json, the skill's repository
Writes: Skillfile.json; skills_root, if the repository is cloned",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage or configuration; there is no Skillfile.json, it is malformed, or the skill cannot be had"),
    ],
    examples: &[
        "csk add pdf --git https://example.com/skill-pdf.git --tag v1.2.0",
        "csk add review --source skill-review --branch main",
        "csk add pdf --source skills --git https://example.com/skills.git --path skills/pdf --tag v3",
    ],
};

const REMOVE: HelpText = HelpText {
    text: "\
Purpose: takes a skill out of Skillfile.json. The rest of the file stays as you wrote it. `csk install` then removes what is \
installed of it.

Reads:  config.json, Skillfile.json
Writes: Skillfile.json",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage or configuration, or the skill is not declared"),
    ],
    examples: &[
        "csk remove pdf",
    ],
};

/// Declare a skill in Skillfile.json
#[derive(Debug, clap::Args)]
#[command(after_help = ADD)]
pub(crate) struct AddArgs {
    /// What to call the skill
    #[arg(add = term::names(crate::completion::repositories))]
    name: String,
    #[command(flatten)]
    pub(crate) skill: SkillFlags,
    /// A project: its alias, or a path in it [default: the project here]
    #[arg(long, value_name = "TARGET", add = term::names(crate::completion::projects))]
    project: Option<String>,
}

/// Where a skill comes from.
#[derive(Debug, clap::Args)]
pub(crate) struct SkillFlags {
    /// Where to clone its repository from
    #[arg(long, value_name = "URL")]
    git: Option<String>,
    /// Its repository under skills_root, where the name differs
    #[arg(long, value_name = "NAME", add = term::names(crate::completion::repositories))]
    source: Option<String>,
    /// The folder of the repository that is the skill, where it is not the whole
    #[arg(long, value_name = "FOLDER")]
    path: Option<String>,
    #[command(flatten)]
    reference: ReferenceFlags,
    /// Show it and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Use no network: nothing is cloned
    #[arg(long, env = "CSK_OFFLINE", value_parser = clap::builder::FalseyValueParser::new(), hide_env_values = true)]
    offline: bool,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct ReferenceFlags {
    /// The tag to use
    #[arg(long)]
    tag: Option<String>,
    /// The branch to follow
    #[arg(long)]
    branch: Option<String>,
    /// The commit to use
    #[arg(long)]
    revision: Option<String>,
}

/// Take a skill out of Skillfile.json
#[derive(Debug, clap::Args)]
#[command(after_help = REMOVE)]
pub(crate) struct RemoveArgs {
    /// The skill
    #[arg(add = term::names(crate::completion::skills))]
    name: String,
    /// A project: its alias, or a path in it [default: the project here]
    #[arg(long, value_name = "TARGET", add = term::names(crate::completion::projects))]
    project: Option<String>,
}

pub(crate) fn add(context: &mut Context, args: &AddArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let root = project_root(context, &config, args.project.as_deref())?;
    if !work_tree(&root)? {
        return Err(Failure::usage(format!("{root} is not inside a git repository"))
            .with_hint("run `git init` there; what csk writes must be ignored by git")
            .into());
    }
    add_to(context, &config, &root, &args.name, &args.skill)
}

/// Declares a skill in the Skillfile at `root`.
pub(crate) fn add_to(
    context: &mut Context,
    config: &Config,
    root: &AbsPath,
    name: &str,
    flags: &SkillFlags,
) -> anyhow::Result<ExitCode> {
    let path = root.join(SKILLFILE);
    let declaration = declaration(name, flags, &good_file(root, config)?.1)?;
    // Before anything is cloned: what would be made must be a Skillfile. A reference that no git knows is
    // refused here, with its place.
    edited(root, config, &declaration)?;
    let environment = context.environment(config);
    if let Some(url) = &declaration.git {
        check_declared_url(url, environment.local)?;
    }
    let found = inspect(&environment, &declaration, network(flags.offline), &context.progress())
        .with_context(|| declaration.name.to_string())?;
    if !flags.dry_run {
        // Somebody may have changed the file meanwhile.
        let _lock = context.lock()?;
        let new = edited(root, config, &declaration)?;
        write_file(&path, new.as_bytes())?;
    }
    let word = if flags.dry_run { "would be declared (dry-run)" } else { "declared" };
    let reference = &declaration.reference;
    context.ui.done(&format!(
        "{} {} {} {} {word}\n",
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
        context.ui.error(&format!(
            "note: {LOCKFILE} does not have `{name}` yet; `csk install` adds it\n"
        ))?;
    }
    Ok(ExitCode::Done)
}

/// Returns the Skillfile at `root` with the declaration in it.
fn edited(root: &AbsPath, config: &Config, declaration: &Declaration) -> anyhow::Result<String> {
    let path = root.join(SKILLFILE);
    let (text, _) = good_file(root, config)?;
    let new = set_skill(&text, declaration)
        .ok_or_else(|| Failure::usage(format!("{path} cannot be edited")))?;
    match Skillfile::parse(path.as_str(), &new, &config.agents) {
        (Some(_), _) => Ok(new),
        (None, problems) => Err(Failure::malformed(new, problems).into()),
    }
}

pub(crate) fn remove(context: &mut Context, args: &RemoveArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let root = project_root(context, &config, args.project.as_deref())?;
    remove_from(context, &config, &root, &args.name)
}

/// Takes a skill out of the Skillfile at `root`.
pub(crate) fn remove_from(
    context: &mut Context,
    config: &Config,
    root: &AbsPath,
    name: &str,
) -> anyhow::Result<ExitCode> {
    let _lock = context.lock()?;
    let (text, file) = good_file(root, config)?;
    let known = file.skills.iter().map(|skill| &skill.name);
    let Some(name) = known.clone().find(|known| known.as_str() == name) else {
        let failure = Failure::usage(format!("the skill `{name}` is not declared"));
        return Err(match nearest(name, known.map(Identifier::as_str)) {
            Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
            None => failure.with_hint("`csk status` shows what is declared"),
        }
        .into());
    };
    let path = root.join(SKILLFILE);
    let new = remove_skill(&text, name)
        .ok_or_else(|| Failure::usage(format!("{path} cannot be edited")))?;
    write_file(&path, new.as_bytes())?;
    context.ui.done(&format!("{name} is not declared any more; the next install removes it\n"))?;
    Ok(ExitCode::Done)
}

pub(crate) fn project_root(
    context: &Context,
    config: &Config,
    target: Option<&str>,
) -> anyhow::Result<AbsPath> {
    let Some(target) = target else {
        return Ok(find_root(&context.cwd).ok_or_else(|| {
            Failure::usage(format!("{SKILLFILE} not found in or above {}", context.cwd))
                .with_hint("run `csk init` to make one")
        })?);
    };
    let selection = Selection { target: Some(target.to_owned()), ..Selection::default() };
    let place = places(context, config, &selection)?.pop();
    let missing = || Failure::usage(format!("there is no project `{target}`"));
    Ok(place.ok_or_else(missing)?.root)
}

/// Reads a Skillfile that must be good, with its text.
pub(crate) fn good_file(root: &AbsPath, config: &Config) -> anyhow::Result<(String, Skillfile)> {
    let path = root.join(SKILLFILE);
    match read_skillfile(root, config) {
        Read::Good { file, .. } => {
            let text = read_text(&path)?;
            Ok((text.unwrap_or_default(), file))
        }
        Read::Missing => Err(Failure::usage(format!("{path} does not exist"))
            .with_hint("run `csk init` to make one")
            .into()),
        Read::Bad { text, problems } => Err(Failure::malformed(text, problems).into()),
    }
}

/// Reads the flags. What they leave open of a skill that is declared already stays.
fn declaration(name: &str, flags: &SkillFlags, file: &Skillfile) -> anyhow::Result<Declaration> {
    let before = file.skills.iter().find(|skill| skill.name.as_str() == name);
    let identifier = |text: &str| {
        Identifier::new(text)
            .map_err(|error| Failure::usage(format!("`{text}` is not a name: {error}")))
    };
    let name = identifier(name)?;
    let given = &flags.reference;
    let reference = [
        (RefKind::Tag, &given.tag),
        (RefKind::Branch, &given.branch),
        (RefKind::Revision, &given.revision),
    ]
    .into_iter()
    .find_map(|(kind, name)| Some(Reference { kind, name: name.clone()? }));
    Ok(Declaration {
        source: match (&flags.source, before) {
            (Some(source), _) => identifier(source)?,
            (None, Some(before)) => before.source.clone(),
            (None, None) => name.clone(),
        },
        path: match (&flags.path, before) {
            (Some(path), _) => Some(
                RelPath::new(path.trim_end_matches('/'))
                    .map_err(|error| Failure::usage(format!("--path {path}: {error}")))?,
            ),
            (None, before) => before.and_then(|before| before.path.clone()),
        },
        git: flags.git.clone().or_else(|| before.and_then(|before| before.git.clone())),
        reference: reference
            .ok_or_else(|| Failure::usage("a tag, branch or revision is missing"))?,
        name,
    })
}

/// Returns what a skill brings, needs and says that it may do.
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
        let brings = names(manifest, |kind| matches!(kind, CommandKind::Script { .. }));
        if !brings.is_empty() {
            lines.push(format!("brings the commands {}", brings.join(", ")));
        }
        let needs = names(manifest, |kind| matches!(kind, CommandKind::System { .. }));
        if !needs.is_empty() {
            lines.push(format!("needs the programs {}", needs.join(", ")));
        }
    }
    for missing in &found.missing {
        let hint = missing.hint.as_ref().map_or_else(String::new, |hint| format!(": {hint}"));
        lines.push(format!("{} is not on PATH{hint}", missing.program));
    }
    match found.manifest.as_ref().and_then(|manifest| manifest.capabilities.as_ref()) {
        None => lines.push("declares no capabilities: unknown, may do anything".to_owned()),
        Some(capabilities) => lines.extend(capability_lines(capabilities)),
    }
    lines
}

fn capability_lines(capabilities: &DeclaredCapabilities) -> Vec<String> {
    let value = capabilities.to_json();
    let shown = |key: &str| match &value[key] {
        serde_json::Value::Null => "unknown".to_owned(),
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
