//! `openskills approve`: allows the current version of a skill to run its scripts.

use jiff::{SignedDuration, Timestamp};
use openskills_runtime::permit::{Request, RequestedNetwork};
use openskills_runtime::{Caller, OpenSkillRuntime, RuntimeConfig, RuntimeError, rfc3339};
use skill::ByteSize;
use skill_state::audit::Clearance;
use term::{HelpText, counted, safe_line};

use crate::ask::{Consent, ConsentFlags, announce, request_text};
use crate::context::Context;
use crate::discovery::{DiscoveryArgs, discover};
use crate::exit_code::ExitCode;
use crate::grants::GrantArgs;
use crate::output::{ApprovalJson, ApproveJson, VERSION};
use crate::when::duration;

const HELP: HelpText = HelpText {
    text: "\
An approval covers one source, one name and one content digest. If any of them changes, openskills
asks again and shows what is new. An approved skill may run its scripts in the sandbox, where they
can read the skill and work in the workspace.

Other capabilities a skill declares (files elsewhere, hosts, environment variables) need your
consent. In a terminal, openskills lists them under \"You would grant\" and asks you to confirm; --yes
grants only what you pass with --read, --net and --env. Keys, credentials, agent settings and other
hidden files, and hosts for an untrusted skill, must always be passed explicitly. A grant never
exceeds what the skill declares or what /etc/openskills/policy.json allows.

openskills shows the audit result first. A skill that is revoked or blocked by the audit cannot be
approved: `csk audit` shows why, and `csk audit --suppress` accepts a false positive.

If stdin is not a terminal, or with --json, --yes is required.

Reads:  the whole skill, approvals.json, the organization's policy
Writes: approvals.json, the log",
    exit_codes: &[
        ExitCode::Done.when("approved"),
        ExitCode::Invalid.when("the skill cannot be loaded"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("no such skill"),
        ExitCode::NotAllowed
            .when("denied by the policy or the skill's own declaration, blocked by the audit, or declined by you"),
        ExitCode::NeedsApproval
            .when("confirmation required, but stdin is not a terminal or --json is given"),
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

/// Allow the current version of a skill to run its scripts
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ApproveArgs {
    /// Skill name or ID
    #[arg(value_name = "SKILL", add = term::names(crate::completion::skills))]
    skill: String,
    #[command(flatten)]
    grants: GrantArgs,
    /// Grant no network access, even if the skill declares it
    #[arg(long, conflicts_with = "net")]
    no_net: bool,
    /// Expire the approval after this long, such as 12h, 30d or 2w
    #[arg(long, value_name = "TIME", value_parser = duration)]
    expires: Option<SignedDuration>,
    /// Session ID; a skill that declares `trust: local` is approved for this session only
    #[arg(long, value_name = "ID", env = "OPENSKILLS_SESSION", hide_env_values = true)]
    session: Option<String>,
    /// Do not prompt for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

/// Returns what a server reports about a skill that has not been fetched yet; empty for a local skill.
fn server_listing(runtime: &OpenSkillRuntime, request: &Request) -> Result<String, RuntimeError> {
    if !request.subject.is_served {
        return Ok(String::new());
    }
    let (skill, contents) =
        (runtime.skill(&request.subject.skill_id)?, runtime.contents(&request.subject.skill_id)?);
    let bytes: u64 = contents.files.iter().map(|file| file.size).sum();
    let files = counted(contents.files.len(), "file");
    let size = ByteSize(bytes);
    let line = format!("Listed by the server as: {} ({files}, {size})", skill.description);
    Ok(format!("{}\n", safe_line(&line)))
}

pub(crate) fn approve(context: &mut Context, args: &ApproveArgs) -> anyhow::Result<ExitCode> {
    let config =
        RuntimeConfig { session_id: args.session.clone(), ..args.discovery.config(context)? };
    let runtime = discover(config)?;
    let mut requested = args.grants.requested()?;
    if args.no_net {
        requested.network = RequestedNetwork::Named(Vec::new());
    }
    let plan = runtime.plan_run(&args.skill, None, requested)?;
    let caller = Caller { announce: Some(announce), ..Caller::default() };
    let plan = runtime.with_packages(plan, &caller)?;
    let request = runtime.request(&plan)?.map_err(|refusal| refusal.error())?;
    let consent = Consent::of(ConsentFlags { yes: args.yes, json: args.json });
    // --yes is passed before seeing what the skill declares, so it confirms none of that.
    let request = if consent == Consent::Flag { request.by_flags() } else { request };
    if !args.json {
        let is_clear = matches!(request.inspection.clearance, Clearance::Clear);
        match (is_clear, request_text(&request)) {
            (true, text) => consent.show(&mut context.ui, &text)?,
            (false, text) => context.ui.error(&text)?,
        }
        consent.show(&mut context.ui, &server_listing(runtime, &request)?)?;
    }
    if !consent.confirm(&mut context.ui, "Approve?", "nothing was approved")? {
        return Ok(ExitCode::NotAllowed);
    }
    let expires_at = match args.expires {
        Some(duration) => {
            Some(Timestamp::now().checked_add(duration).map_err(|_| RuntimeError::Setup {
                message: "`--expires` is out of range".to_owned(),
                hint: Some("use a shorter time, such as 30d".to_owned()),
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
        let line = format!(
            "approved {} as {}{}",
            approval.skill_id,
            approval.id(),
            until.unwrap_or_default()
        );
        context.ui.done(&format!("{}\n", safe_line(&line)))?;
    }
    Ok(ExitCode::Done)
}
