//! `openskills read`: prints a file of a skill.

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
NAME reads the file as the model, /NAME as the user. The model cannot read the files of a skill that
only the user may invoke, unless the user has invoked it in the session (--session). If no one may
invoke a skill (`model_invocation: disabled`), no one can read its files.

PATH is relative to the skill folder. Files outside it are never read, whether through `..`, an
absolute path or a link. FIFOs, devices and oversized files are rejected.

A binary file is printed as base64, with a note on standard error; --raw writes the bytes unchanged.

Reads:  the file
Writes: the index cache",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Invalid
            .when("the skill changed while the command ran, or the file cannot be read"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("no such skill or file"),
        ExitCode::NotAllowed.when("reading the file is not allowed"),
    ],
    examples: &[
        "openskills read pdf references/forms.md",
        "openskills read /deploy references/hosts.md",
        "openskills read pdf assets/logo.png --raw > logo.png",
        "openskills read pdf a/b/c.md --nested --json",
    ],
};

/// Print a file from a skill
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ReadArgs {
    /// Skill name or ID; /NAME to read as the user
    #[arg(value_name = "NAME", add = term::names(crate::completion::skills))]
    name: String,
    /// File path, relative to the skill folder
    #[arg(value_name = "PATH")]
    path: String,
    /// Allow files more than one folder deep
    #[arg(long)]
    nested: bool,
    /// Maximum file size in bytes
    #[arg(long, value_name = "BYTES", default_value_t = MAX_RESOURCE_BYTES)]
    max_bytes: u64,
    /// Write the bytes unchanged
    #[arg(long, conflicts_with = "json")]
    raw: bool,
    /// Session ID
    #[arg(long, value_name = "ID", env = "OPENSKILLS_SESSION", hide_env_values = true)]
    session: Option<String>,
    /// Print the result as JSON, with the log record
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
        context.ui.error("note: the file is not text; printing it as base64\n")?;
        context.ui.out(&(STANDARD.encode(&resource.bytes) + "\n"))?;
    }
    Ok(ExitCode::Done)
}
