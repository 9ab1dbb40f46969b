//! `openskills approvals`: lists and revokes approvals.

use jiff::Timestamp;
use openskills_runtime::{OpenSkillRuntime, RuntimeConfig, RuntimeError, rfc3339};
use skill_state::Approval;
use term::{HelpText, counted, safe_line, table};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::output::{ApprovalJson, ApprovalsJson, VERSION};

const HELP: HelpText = HelpText {
    text: "",
    exit_codes: &[],
    examples: &[
        "openskills approvals list",
        "openskills approvals revoke 3f2a9c0d1e4b",
        "openskills approvals revoke pdf",
        "openskills approvals revoke --all",
    ],
};

const LIST: HelpText = HelpText {
    text: "\
Reads:  approvals.json
Writes: nothing",
    exit_codes: &[ExitCode::Done.usual(), ExitCode::Usage.usual()],
    examples: &["openskills approvals list", "openskills approvals list --json"],
};

const REVOKE: HelpText = HelpText {
    text: "\
Reads:  approvals.json
Writes: approvals.json, the log",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("no such approval"),
        ExitCode::Log.when("revoked, but the log cannot be written"),
    ],
    examples: &[
        "openskills approvals revoke 3f2a9c0d1e4b",
        "openskills approvals revoke pdf",
        "openskills approvals revoke --expired",
    ],
};

/// List and revoke approvals
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    command: ApprovalsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ApprovalsCommand {
    List(ListArgs),
    Revoke(RevokeArgs),
}

/// List all approvals
#[derive(Debug, clap::Args)]
#[command(after_help = LIST)]
struct ListArgs {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Revoke approvals
#[derive(Debug, clap::Args)]
#[command(after_help = REVOKE)]
struct RevokeArgs {
    /// Approval ID; or a skill's name or ID, to revoke all of the skill's approvals
    #[arg(
        value_name = "APPROVAL",
        required_unless_present_any = ["all", "expired"],
        add = term::names(crate::completion::approvals)
    )]
    approvals: Vec<String>,
    /// Revoke all approvals
    #[arg(long, conflicts_with_all = ["approvals", "expired"])]
    all: bool,
    /// Revoke expired approvals
    #[arg(long, conflicts_with = "approvals")]
    expired: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn approvals(context: &mut Context, args: &ApprovalsArgs) -> anyhow::Result<ExitCode> {
    let mut runtime = OpenSkillRuntime::with_config(RuntimeConfig::default());
    match &args.command {
        ApprovalsCommand::List(args) => list(context, &runtime, args)?,
        ApprovalsCommand::Revoke(args) => revoke(context, &mut runtime, args)?,
    }
    Ok(ExitCode::Done)
}

fn list(context: &mut Context, runtime: &OpenSkillRuntime, args: &ListArgs) -> anyhow::Result<()> {
    let approvals = runtime.approvals()?;
    if args.json {
        let approvals = approvals.iter().map(ApprovalJson::new).collect();
        context.ui.json(&ApprovalsJson { version: VERSION, approvals })?;
        return Ok(());
    }
    let now = Timestamp::now();
    let rows: Vec<Vec<String>> = approvals
        .iter()
        .map(|approval| {
            let until = match (&approval.expires_at, &approval.session) {
                (Some(end), _) if *end <= now => "expired".to_owned(),
                (Some(end), _) => format!("until {}", rfc3339(*end)),
                (None, Some(session)) => format!("in session {session}"),
                (None, None) => "until revoked".to_owned(),
            };
            let granted = approval.grant.lines().join(", ");
            let granted = if granted.is_empty() { "scripts".to_owned() } else { granted };
            let digest = approval.bundle.short()[..12].to_owned();
            let (id, origin) = (approval.id(), approval.origin.clone());
            vec![id, approval.skill_id.clone(), digest, until, granted, origin]
        })
        .collect();
    context.ui.out(&table(&rows, context.ui.width))?;
    if rows.is_empty() {
        context.ui.note("no approvals\n")?;
    }
    Ok(())
}

fn revoke(
    context: &mut Context,
    runtime: &mut OpenSkillRuntime,
    args: &RevokeArgs,
) -> anyhow::Result<()> {
    let now = Timestamp::now();
    let matches = |approval: &Approval, name: &String| {
        approval.id() == *name || approval.skill_id == *name || approval.skill == *name
    };
    let all = runtime.approvals()?;
    let matches_none = |name: &&String| !all.iter().any(|approval| matches(approval, name));
    let unknown = args.approvals.iter().find(matches_none);
    if let Some(name) = unknown {
        return Err(RuntimeError::ApprovalNotFound { name: name.clone() }.into());
    }
    let is_selected = |approval: &Approval| {
        args.all
            || (args.expired && approval.expires_at.is_some_and(|end| end <= now))
            || args.approvals.iter().any(|name| matches(approval, name))
    };
    let revoked = runtime.revoke(is_selected)?;
    if args.json {
        let approvals = revoked.iter().map(ApprovalJson::new).collect();
        context.ui.json(&ApprovalsJson { version: VERSION, approvals })?;
        return Ok(());
    }
    for approval in &revoked {
        let line = format!("revoked {} for {}", approval.id(), approval.skill_id);
        context.ui.done(&format!("{}\n", safe_line(&line)))?;
    }
    Ok(context.ui.note(&format!("{} revoked\n", counted(revoked.len(), "approval")))?)
}
