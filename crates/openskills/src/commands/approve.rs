//! `openskills approve`: lets scripts of a skill run, as the skill is now.

use std::process::ExitCode;

use jiff::{SignedDuration, Timestamp};
use openskills_runtime::permit::{Asked, AskedNetwork, Request};
use openskills_runtime::{OpenSkillRuntime, RuntimeConfig, RuntimeError, rfc3339};
use skill::capabilities::Host;
use term::{counted, safe_line};

use crate::ask::{Consent, shown, tell_found};
use crate::cli::REFUSED;
use crate::context::Context;
use crate::look::{Look, discover};
use crate::output::{ApprovalJson, ApproveJson, VERSION};
use crate::when::span;

const AFTER: &str = "\
An approval is bound to where the skill comes from, its name, and the digest of everything it is:
when any of that changes, the skill asks again and shows what is new. It lets its scripts run in the
sandbox with what the skill declares. Hosts of a stranger's skill are granted only by --net; a skill
that declares nothing gets what you name; nothing goes beyond what a skill declares, or beyond the
policy in /etc/openskills/policy.json.

What an audit finds is shown, with what the skill is seen to do: what is bad is asked about on a
terminal and refused elsewhere; `audit` in config.json makes that stricter, and `csk audit` says
more.

On a terminal it shows what it grants and asks. Elsewhere, and with --json, it needs --yes.

Reads:  the whole skill, approvals.json, the policy of the organisation
Writes: approvals.json, the log

Exit codes:
  0  approved
  1  the skill cannot be loaded
  2  the call or the configuration is wrong
  3  there is no such skill
  4  the policy or the skill itself stands against it, or the answer is no
  5  nobody is there to be asked
  6  the log cannot be written

Examples:
  openskills approve pdf
  openskills approve project/deploy --net api.example.com --expires 30d
  openskills approve pdf --no-net --yes
  openskills approve pdf --direct-writes --deletions --yes --json";

/// Let scripts of a skill run, as it is now
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct ApproveArgs {
    /// A name or an id
    #[arg(value_name = "SKILL", add = term::names(crate::known::skills))]
    skill: String,
    /// A host that it may reach, such as api.example.com or *.example.com; may be given several times
    #[arg(long, value_name = "HOST", value_parser = host, conflicts_with = "no_net")]
    net: Vec<Host>,
    /// It may reach no host, whatever it declares
    #[arg(long)]
    no_net: bool,
    /// A variable that it may read; may be given several times
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,
    /// It may write files of the workspace directly, without a look at the changes first
    #[arg(long)]
    direct_writes: bool,
    /// It may delete files of the workspace
    #[arg(long)]
    deletions: bool,
    /// How long the approval lasts, such as 12h, 30d or 2w
    #[arg(long, value_name = "TIME", value_parser = span)]
    expires: Option<SignedDuration>,
    /// The session; a skill that calls itself local is approved for it alone
    #[arg(long, value_name = "ID", env = "OPENSKILLS_SESSION", hide_env_values = true)]
    session: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Write it as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    look: Look,
}

/// Returns what a server says of a skill that is not here yet.
fn listed(runtime: &OpenSkillRuntime, request: &Request) -> Result<String, RuntimeError> {
    if !request.subject.is_served {
        return Ok(String::new());
    }
    let (skill, contents) =
        (runtime.skill(&request.subject.skill_id)?, runtime.contents(&request.subject.skill_id)?);
    let bytes: u64 = contents.files.iter().map(|file| file.size).sum();
    let files = counted(contents.files.len(), "file");
    let told = format!("The server says: {} ({files}, {bytes} bytes)", skill.description);
    Ok(format!("{}\n", safe_line(&told)))
}

/// Reads a host.
pub(crate) fn host(text: &str) -> Result<Host, String> {
    let hint = "write it as api.example.com or *.example.com, without a scheme, a port or a path";
    Host::parse(text).ok_or_else(|| format!("`{text}` is no host; {hint}"))
}

pub(crate) fn approve(context: &mut Context, args: &ApproveArgs) -> anyhow::Result<ExitCode> {
    let config = RuntimeConfig { session_id: args.session.clone(), ..args.look.config(context)? };
    let runtime = discover(config)?;
    let network = if args.no_net || !args.net.is_empty() {
        AskedNetwork::Named(args.net.clone())
    } else {
        AskedNetwork::AsDeclared
    };
    let (direct_writes, deletions) = (args.direct_writes, args.deletions);
    let asked = Asked { network, env: args.env.clone(), direct_writes, deletions };
    let plan = runtime.plan_run(&args.skill, None, asked)?;
    let request = runtime.request(&plan)?.map_err(|refusal| refusal.error())?;
    let audited = runtime.audit(&plan.subject.skill_id, Timestamp::now())?;
    let consent = Consent::of((args.yes, args.json));
    if !args.json {
        consent.show(&mut context.ui, &shown(&request))?;
        consent.show(&mut context.ui, &listed(runtime, &request)?)?;
        if let Some(audited) = &audited {
            tell_found(&mut context.ui, consent, audited)?;
        }
    }
    audited.as_ref().map_or(Ok(()), |audited| consent.check(audited))?;
    if !consent.agreed(&mut context.ui, "Approve?", "nothing was approved")? {
        return Ok(ExitCode::from(REFUSED));
    }
    let expires_at = match args.expires {
        Some(span) => {
            Some(Timestamp::now().checked_add(span).map_err(|_| RuntimeError::Setup {
                message: "--expires is further away than any calendar".to_owned(),
                hint: None,
            })?)
        }
        None => None,
    };
    let approval = runtime.approve(&request, expires_at)?;
    if args.json {
        let approval = ApprovalJson::new(&approval);
        context.ui.json(&ApproveJson { version: VERSION, approval })?;
    } else {
        let until = approval.expires_at.map(|end| format!(" until {}", rfc3339(end)));
        let told = format!(
            "approved {} as {}{}",
            approval.skill_id,
            approval.id(),
            until.unwrap_or_default()
        );
        context.ui.done(&format!("{}\n", safe_line(&told)))?;
    }
    Ok(ExitCode::SUCCESS)
}
