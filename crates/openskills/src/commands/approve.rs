//! `openskills approve`: lets scripts of a skill run, as the skill is now.

use jiff::{SignedDuration, Timestamp};
use openskills_runtime::permit::{AskedNetwork, Request};
use openskills_runtime::{OpenSkillRuntime, RuntimeConfig, RuntimeError, rfc3339};
use skill_state::audit::Clearance;
use term::{HelpText, counted, safe_line};

use crate::ask::{Consent, ConsentFlags, shown};
use crate::context::Context;
use crate::discovery::{DiscoveryArgs, discover};
use crate::exit_code::ExitCode;
use crate::grants::GrantArgs;
use crate::output::{ApprovalJson, ApproveJson, VERSION};
use crate::when::span;

const HELP: HelpText = HelpText {
    text: "\
An approval is bound to where the skill comes from, its name, and the digest of everything it is:
when any of that changes, the skill asks again and shows what is new. It lets its scripts run in the
sandbox, where they read the skill and work in the workspace.

What a skill declares beyond that (files elsewhere, hosts, variables) is a request. On a terminal
you see it under \"You would grant\" and confirm it; --yes confirms only what you name by --read,
--net and --env. Some things are granted only by name, on a terminal too: keys, credentials,
settings of agents and other hidden files; and hosts of a third-party skill. Nothing goes beyond
what a skill declares, or beyond the policy in /etc/openskills/policy.json.

The audit is shown first. A skill that it blocks, or that is revoked, cannot be approved: `csk
audit` shows why, and `csk audit --suppress` accepts a finding that is wrong.

Where stdin is not a terminal, and with --json, --yes is required.

Reads:  the whole skill, approvals.json, the policy of the organisation
Writes: approvals.json, the log",
    exit_codes: &[
        ExitCode::Done.when("approved"),
        ExitCode::Invalid.when("the skill cannot be loaded"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("there is no such skill"),
        ExitCode::NotAllowed
            .when("the policy or the skill itself stands against it, or the answer is no"),
        ExitCode::NeedsApproval.when("confirmation required, but stdin is not a terminal"),
        ExitCode::Log.when("the log cannot be written"),
    ],
    examples: &[
        "openskills approve pdf",
        "openskills approve project/deploy --net api.example.com --expires 30d",
        "openskills approve pdf --read ~/data --env PDF_LICENSE",
        "openskills approve pdf --no-net --yes",
        "openskills approve pdf --direct-writes --deletions --yes --json",
    ],
};

/// Let scripts of a skill run, as it is now
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ApproveArgs {
    /// A name or an id
    #[arg(value_name = "SKILL", add = term::names(crate::completion::skills))]
    skill: String,
    #[command(flatten)]
    grants: GrantArgs,
    /// It may reach no host, whatever it declares
    #[arg(long, conflicts_with = "net")]
    no_net: bool,
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
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
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

pub(crate) fn approve(context: &mut Context, args: &ApproveArgs) -> anyhow::Result<ExitCode> {
    let config =
        RuntimeConfig { session_id: args.session.clone(), ..args.discovery.config(context)? };
    let runtime = discover(config)?;
    let mut asked = args.grants.asked()?;
    if args.no_net {
        asked.network = AskedNetwork::Named(Vec::new());
    }
    let plan = runtime.plan_run(&args.skill, None, asked)?;
    let request = runtime.request(&plan)?.map_err(|refusal| refusal.error())?;
    let consent = Consent::of(ConsentFlags { yes: args.yes, json: args.json });
    // A flag is given without reading what the skill declares, so it confirms none of that.
    let request = if consent == Consent::Given { request.by_flags() } else { request };
    if !args.json {
        let is_plain = matches!(request.inspected.clearance, Clearance::Clear);
        match (is_plain, shown(&request)) {
            (true, text) => consent.show(&mut context.ui, &text)?,
            (false, text) => context.ui.error(&text)?,
        }
        consent.show(&mut context.ui, &listed(runtime, &request)?)?;
    }
    if !consent.agreed(&mut context.ui, "Approve?", "nothing was approved")? {
        return Ok(ExitCode::NotAllowed);
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
    Ok(ExitCode::Done)
}
