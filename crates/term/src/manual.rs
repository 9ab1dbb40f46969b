//! Manual pages and reference pages, made from a program's own arguments.

#![expect(clippy::disallowed_methods, reason = "the edge: a folder that the user names")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::{Arg, Command};

use crate::{Failure, Program, Ui, commands, counted, safe_line};

/// A format of pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ManualFormat {
    /// For `man`
    #[default]
    Man,
    /// For reading on the web
    Markdown,
}

/// Where pages are written, and how.
#[derive(Debug, clap::Args)]
pub struct ManualArgs {
    /// The folder
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: ManualFormat,
}

impl ManualArgs {
    /// Writes a page for a program and for each of its commands into the folder, seen from `cwd`.
    pub fn write<P: Program>(&self, cwd: &Path, ui: &mut Ui) -> anyhow::Result<()> {
        let folder = cwd.join(&self.dir);
        let failed =
            |error: io::Error| Failure::files(format!("cannot write {}", folder.display()), error);
        fs::create_dir_all(&folder).map_err(failed)?;
        let pages = pages(commands::<P>(), self.format);
        for (name, text) in &pages {
            fs::write(folder.join(name), text).map_err(failed)?;
        }
        let done = format!("{} in {}", counted(pages.len(), "page"), folder.display());
        Ok(ui.done(&format!("{}\n", safe_line(&done)))?)
    }
}

/// Returns a page for a program and for each of its commands, by the name of its file.
fn pages(mut command: Command, format: ManualFormat) -> Vec<(String, String)> {
    command.build();
    let mut pages = Vec::new();
    let name = command.get_name().to_owned();
    add(&command, &name, format, &mut pages);
    pages
}

fn add(command: &Command, name: &str, format: ManualFormat, pages: &mut Vec<(String, String)>) {
    let file = name.replace(' ', "-");
    pages.push(match format {
        ManualFormat::Man => (format!("{file}.1"), roff(command, &file)),
        ManualFormat::Markdown => (format!("{file}.md"), markdown(command, name)),
    });
    for inner in command.get_subcommands().filter(|inner| is_shown(inner)) {
        add(inner, &format!("{name} {}", inner.get_name()), format, pages);
    }
}

fn is_shown(command: &Command) -> bool {
    !command.is_hide_set() && command.get_name() != "help"
}

fn roff(command: &Command, name: &str) -> String {
    let mut page = Vec::new();
    let command = command.clone().display_name(name.to_owned());
    // No date: the same program gives the same page.
    let man = clap_mangen::Man::new(command).date("").manual("CocoaSkills");
    // Written to memory, which cannot fail.
    let _ = man.render(&mut page);
    String::from_utf8_lossy(&page).into_owned()
}

fn markdown(command: &Command, name: &str) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let mut page = format!(
        "<!-- Made by `{} man --format markdown`; a test holds it to the program. -->\n\n# {name}\n\n{about}.\n\n```\n{usage}\n```\n",
        name.split(' ').next().unwrap_or(name)
    );
    let inner: Vec<&Command> = command.get_subcommands().filter(|inner| is_shown(inner)).collect();
    if !inner.is_empty() {
        page += "\n| command | |\n|---|---|\n";
        for one in inner {
            let about = one.get_about().map(ToString::to_string).unwrap_or_default();
            let file = format!("{name} {}", one.get_name()).replace(' ', "-");
            let _ = writeln!(page, "| [{}]({file}.md) | {about} |", one.get_name());
        }
    }
    let is_plain = |arg: &&Arg| !arg.is_hide_set() && !arg.is_global_set();
    let args: Vec<&Arg> = command
        .get_arguments()
        .filter(is_plain)
        .filter(|arg| !matches!(arg.get_id().as_str(), "help" | "version"))
        .collect();
    if !args.is_empty() {
        page += "\n| argument | |\n|---|---|\n";
        for arg in args {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let env = arg.get_env().map(|name| format!(" (`{}`)", name.to_string_lossy()));
            let cell =
                format!("{help}{}", env.unwrap_or_default()).replace('|', "\\|").replace('\n', " ");
            let _ = writeln!(page, "| `{}` | {cell} |", shown(arg).replace('|', "\\|"));
        }
    }
    if let Some(after) = command.get_after_help() {
        let _ = write!(page, "\n```\n{}\n```\n", after.to_string().trim());
    }
    page
}

/// Returns an argument as it is typed.
fn shown(arg: &Arg) -> String {
    let values: Vec<String> =
        arg.get_value_names().into_iter().flatten().map(ToString::to_string).collect();
    let takes = arg.get_action().takes_values() && !values.is_empty();
    let values = values.join(" ");
    match (arg.get_long(), arg.get_short()) {
        (None, None) if arg.is_required_set() => format!("<{values}>"),
        (None, None) => format!("[{values}]"),
        (long, short) => {
            let names = short.map(|short| format!("-{short}")).into_iter();
            let names = names.chain(long.map(|long| format!("--{long}"))).collect::<Vec<_>>();
            let value = if takes { format!(" <{values}>") } else { String::new() };
            format!("{}{value}", names.join(", "))
        }
    }
}
