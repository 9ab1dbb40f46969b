//! `openskills read`: a file of a skill.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use openskills_runtime::{Depth, Invoker, MAX_RESOURCE_BYTES, ReadOptions, RuntimeConfig};

use term::HelpText;

use crate::context::Context;
use crate::discovery::{DiscoveryArgs, discover};
use crate::exit_code::ExitCode;
use crate::output::{ReadJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
NAME reads as the model does, /NAME as the user does. The model reads nothing of a skill that only
the user may start, unless the user started it in the session (--session). Nobody reads a skill that
nobody may start (`model_invocation: disabled`).

PATH is relative to the skill's folder. Nothing outside of it is ever read: not by `..`, not by
an absolute path, not through a link. FIFOs, devices and files that are too large are refused by
name.

A file that is not text is written as base64, and standard error says so; --raw writes its bytes.

Reads:  the one file
Writes: the index, to be faster the next time",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Invalid.when("the skill has changed meanwhile, or the file cannot be read"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("there is no such skill or file"),
        ExitCode::NotAllowed.when("the file may not be read"),
    ],
    examples: &[
        "openskills read pdf references/forms.md",
        "openskills read /deploy references/hosts.md",
        "openskills read pdf assets/logo.png --raw > logo.png",
        "openskills read pdf a/b/c.md --nested --json",
    ],
};

/// Print a file of a skill
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ReadArgs {
    /// A name or an id; after a slash, as the user
    #[arg(value_name = "NAME", add = term::names(crate::completion::skills))]
    name: String,
    /// The file, seen from the skill's folder
    #[arg(value_name = "PATH")]
    path: String,
    /// Allow files more than one folder deep
    #[arg(long)]
    nested: bool,
    /// How large the file may be
    #[arg(long, value_name = "BYTES", default_value_t = MAX_RESOURCE_BYTES)]
    max_bytes: u64,
    /// Write the bytes as they are
    #[arg(long, conflicts_with = "json")]
    raw: bool,
    /// The session that this belongs to
    #[arg(long, value_name = "ID", env = "OPENSKILLS_SESSION", hide_env_values = true)]
    session: Option<String>,
    /// Write it as JSON, with the record for the log
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

pub(crate) fn read(context: &mut Context, args: &ReadArgs) -> anyhow::Result<ExitCode> {
    let config =
        RuntimeConfig { session_id: args.session.clone(), ..args.discovery.config(context)? };
    let runtime = discover(config)?;
    let depth = if args.nested { Depth::Nested } else { Depth::OneLevel };
    let (name, invoker) = match args.name.strip_prefix('/') {
        Some(name) => (name, Invoker::User),
        None => (args.name.as_str(), Invoker::Model),
    };
    let options = ReadOptions { depth, max_bytes: args.max_bytes, invoker };
    let (resource, event) = runtime.read_resource(name, &args.path, &options)?;
    if args.json {
        let (encoding, content) = match resource.text() {
            Some(text) => ("utf-8", text.to_owned()),
            None => ("base64", STANDARD.encode(&resource.bytes)),
        };
        let (version, encoding) = (VERSION, encoding.to_owned());
        context.ui.json(&ReadJson { version, encoding, content, event })?;
    } else if args.raw {
        context.ui.out_bytes(&resource.bytes)?;
    } else if let Some(text) = resource.text() {
        context.ui.out_text(text)?;
    } else {
        context.ui.error("note: the file is not text; it is written as base64\n")?;
        context.ui.out(&(STANDARD.encode(&resource.bytes) + "\n"))?;
    }
    Ok(ExitCode::Done)
}
