//! Candidates for shell completion. A file that cannot be read yields no candidates.

use csk_core::project::find_root;
use csk_core::{Config, SKILLFILE, Skillfile};
use skill::Identifier;
use skill_fs::{AbsPath, read_text};
use term::{ColorChoice, Ui};

use crate::context::Context;

fn read() -> Option<(Context, Config)> {
    let context = Context::read(Ui::new(ColorChoice::Never)).ok()?;
    let config = context.config_for_completion()?;
    Some((context, config))
}

/// Returns the aliases of the configured projects.
pub(crate) fn projects() -> Vec<String> {
    let config = read().map(|(_, config)| config);
    config
        .into_iter()
        .flat_map(|config| config.projects.into_keys())
        .map(|alias| alias.to_string())
        .collect()
}

/// Returns the skills declared by the enclosing project.
pub(crate) fn skills() -> Vec<String> {
    declared(|context| find_root(&context.cwd))
}

/// Returns the skills of the global scope.
pub(crate) fn global_skills() -> Vec<String> {
    declared(|context| Some(context.home.join("global")))
}

fn declared(root: fn(&Context) -> Option<AbsPath>) -> Vec<String> {
    let found = read().and_then(|(context, config)| {
        let path = root(&context)?.join(SKILLFILE);
        let text = read_text(&path).ok()??;
        Skillfile::parse(path.as_str(), &text, &config.agents).0
    });
    found.into_iter().flat_map(|file| file.skills).map(|skill| skill.name.to_string()).collect()
}

/// Returns the names of the repositories under `skills_root`.
pub(crate) fn repositories() -> Vec<String> {
    let root = read().map(|(_, config)| config.skills_root);
    let names = root.map(|root| csk_core::install::repositories(&root)).unwrap_or_default();
    names.into_iter().filter(|name| Identifier::new(name.as_str()).is_ok()).collect()
}
