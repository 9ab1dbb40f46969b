//! Prompts on the terminal: shows what a skill requests and what changed since the last approval, and asks for consent.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};

use openskills_runtime::permit::Request;
use openskills_runtime::{Answer, AuditOutcome, RuntimeError, change_lines, rfc3339};
use skill::AllowedTools;
use skill::capabilities::{CapabilityExtents, CapabilityKind, Extent};
use skill::programs::launcher_rules;
use skill_audit::{Report, Severity};
use skill_state::SkillSource;
use skill_state::audit::Decision;
use term::{ColorChoice, Ui, safe_line, table};

/// Returns true if the user can be prompted: stdin and stderr are terminals.
pub(crate) fn can_prompt() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Prints what openskills is doing, on a terminal.
pub(crate) fn announce(text: &str) {
    if io::stderr().is_terminal() {
        let _ = Ui::new(ColorChoice::Auto).note(&format!("{}\n", safe_line(text)));
    }
}

/// How the user consents to an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// With `--yes`, before seeing anything.
    Flag,
    /// By answering a prompt on the terminal.
    Prompt,
    /// Not at all, for this reason: openskills cannot prompt.
    Unavailable(&'static str),
}

/// The flags that give consent or rule out a prompt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConsentFlags {
    /// `--yes`
    pub(crate) yes: bool,
    /// `--json`: a program reads the output, so there is no prompt.
    pub(crate) json: bool,
}

impl Consent {
    /// Returns how the user consents. Without a prompt, `--yes` is required, so that an agent never consents by accident.
    pub(crate) fn of(flags: ConsentFlags) -> Self {
        match flags.yes {
            true => Self::Flag,
            false if flags.json => Self::Unavailable("--json disables the prompt"),
            false if can_prompt() => Self::Prompt,
            false => Self::Unavailable("stdin is not a terminal"),
        }
    }

    /// Shows what the user consents to. Before a prompt it is shown even with `--quiet`.
    pub(crate) fn show(self, ui: &mut Ui, text: &str) -> io::Result<()> {
        match self {
            Self::Prompt => ui.error(text),
            Self::Flag | Self::Unavailable(_) => ui.note(text),
        }
    }

    /// Returns whether the user consents to `question`. Prints `if_declined` after a no.
    pub(crate) fn confirm(
        self,
        ui: &mut Ui,
        question: &str,
        if_declined: &str,
    ) -> anyhow::Result<bool> {
        match self {
            Self::Flag => Ok(true),
            Self::Unavailable(reason) => {
                let message = format!("confirmation required, but {reason}");
                let hint = Some("pass --yes to confirm".to_owned());
                Err(RuntimeError::NeedsApproval { message, hint }.into())
            }
            Self::Prompt => {
                ui.flush()?;
                let is_confirmed = ask(ui, question)?;
                if !is_confirmed {
                    ui.error(&format!("{if_declined}\n"))?;
                }
                Ok(is_confirmed)
            }
        }
    }

    /// Refuses what the audit blocks. A user who has seen the findings at a prompt may still accept them.
    pub(crate) fn check(self, audited: &AuditOutcome) -> Result<(), RuntimeError> {
        let (message, hint) = match &audited.decision {
            Decision::Go | Decision::Warn(_) => return Ok(()),
            Decision::Ask(_) if self == Self::Prompt => return Ok(()),
            Decision::Ask(asked) => (
                format!("blocked by the audit: {}", asked.reasons.join("; ")),
                "review it with `csk audit`; to accept it anyway, run the command again in a terminal".to_owned(),
            ),
            Decision::Refuse { reason, hint } => (reason.clone(), hint.clone()),
        };
        Err(RuntimeError::PermissionDenied { message, hint: Some(hint) })
    }
}

/// Asks a yes/no question. Anything but a yes is a no.
fn ask(ui: &mut Ui, question: &str) -> io::Result<bool> {
    ui.error(&format!("{question} [y/N] "))?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Shows what a run requests and asks whether to allow it once, always or not at all.
pub(crate) fn ask_for_run(ui: &mut Ui, request: &Request) -> io::Result<Answer> {
    ui.error(&request_text(request))?;
    ui.error("Run it? [o]nce, [a]lways (this version), [N]o: ")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(match answer.trim().to_lowercase().as_str() {
        "o" | "once" | "y" | "yes" => Answer::Once(request.grant.clone()),
        "a" | "always" => Answer::Always,
        _ => Answer::No,
    })
}

/// Returns a line about the side effects that a skill declares.
pub(crate) fn effects(side_effects: Option<&[&str]>) -> String {
    match side_effects {
        None => "It does not declare its side effects.\n".to_owned(),
        Some(effects) => format!("It declares side effects: {}.\n", effects.join(", ")),
    }
}

/// Prints the audit report. Anything but a clean one is printed even with `--quiet`.
pub(crate) fn print_audit(ui: &mut Ui, consent: Consent, audited: &AuditOutcome) -> io::Result<()> {
    match audited.decision {
        Decision::Go => consent.show(ui, &audit_text(&audited.found.report)),
        Decision::Warn(_) | Decision::Ask(_) | Decision::Refuse { .. } => {
            ui.error(&audit_text(&audited.found.report))
        }
    }
}

/// Returns an audit report as text: the verdict, the capabilities in use and the first findings.
fn audit_text(report: &Report) -> String {
    const MAX_FINDINGS: usize = 5;
    // A longer list would push the rest off the screen.
    const MAX_ITEMS: usize = 12;
    let mut text = format!("Audit: {}", report.verdict);
    let rows: Vec<Vec<String>> = report
        .observed
        .used()
        .map(|(kind, items)| {
            let more = items.len().saturating_sub(MAX_ITEMS);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            let items: Vec<_> = items.into_iter().take(MAX_ITEMS).collect();
            vec![format!("  {kind}"), format!("{}{more}", items.join(", "))]
        })
        .collect();
    if rows.is_empty() {
        text += ". It does not appear to use any capabilities.\n";
    } else {
        text += ". It appears to use:\n";
        text += &table(&rows, None);
    }
    let serious = report.findings.iter().filter(|finding| finding.severity != Severity::Info);
    for finding in serious.take(MAX_FINDINGS) {
        let (rule, line) = (finding.rule.id, finding.location.line);
        let line = format!("{rule} {}:{line} {}", finding.file, finding.message);
        writeln!(text, "  {}", safe_line(&line)).expect("writing to text cannot fail");
    }
    text
}

/// Returns a line for each tool rule that lets the agent run arbitrary code.
fn launcher_warnings(capabilities: &CapabilityExtents) -> String {
    const MAX_RULES: usize = 12;
    let rules = match capabilities.of(CapabilityKind::Tools) {
        Extent::Only(rules) => Some(rules),
        Extent::Undeclared | Extent::Anything => None,
    };
    let tools = AllowedTools::from_items(rules.into_iter().flatten().map(String::as_str));
    let mut text = String::new();
    for (rule, reason) in launcher_rules(&tools).take(MAX_RULES) {
        let line = format!(
            "`{rule}` lets the agent run arbitrary code without asking you again: {reason}"
        );
        writeln!(text, "{}", safe_line(&line)).expect("writing to text cannot fail");
    }
    text
}

/// Returns the capabilities that a skill declares, and one line for those that it does not.
fn declared_text(capabilities: &CapabilityExtents) -> String {
    let (declared, rest): (Vec<_>, Vec<_>) =
        capabilities.iter().partition(|(_, extent)| **extent != Extent::Undeclared);
    if declared.is_empty() {
        return "It declares no capabilities.\n".to_owned();
    }
    let row = |(kind, extent): &(CapabilityKind, &Extent)| {
        vec![format!("  {}", kind.as_str()), extent.to_string()]
    };
    let mut text =
        format!("It declares:\n{}", table(&declared.iter().map(row).collect::<Vec<_>>(), None));
    if !rest.is_empty() {
        let kinds: Vec<&str> = rest.iter().map(|(kind, _)| kind.as_str()).collect();
        writeln!(text, "It does not declare: {}", kinds.join(", "))
            .expect("writing to text cannot fail");
    }
    text
}

/// Returns the text of an approval request.
pub(crate) fn request_text(request: &Request) -> String {
    let subject = &request.subject;
    let trust = match subject.source {
        SkillSource::ThirdParty => "untrusted",
        source @ (SkillSource::Builtin | SkillSource::Org | SkillSource::User) => source.as_str(),
    };
    let mut text = format!("{} ({trust})\n", safe_line(&subject.skill_id));
    let mut rows = vec![
        vec!["  from".to_owned(), subject.origin.clone()],
        vec!["  content".to_owned(), subject.bundle.to_string()],
    ];
    if subject.is_drifted {
        rows.push(vec![
            "  warning".to_owned(),
            "its files have changed since csk installed it".to_owned(),
        ]);
    }
    text += &table(&rows, None);
    text += &declared_text(&request.capabilities);
    text += &effects(request.side_effects.as_deref());
    text += &launcher_warnings(&request.capabilities);
    for audited in &request.inspection.reports {
        text += &audit_text(&audited.report);
    }
    text += "You would grant:\n";
    if subject.is_served {
        text += "  permission to show a model its instructions and files, as listed by the server (fetched later)\n";
    }
    text += "  permission to run its scripts in the sandbox, limited to:\n";
    let rows: Vec<Vec<String>> = request
        .access_rows()
        .into_iter()
        .map(|(kind, extent)| vec![format!("    {kind}"), extent])
        .collect();
    text += &table(&rows, None);
    let left_out = request.not_granted(&request.grant);
    if !left_out.is_empty() {
        text += "It also declares the following, which you must grant explicitly with --read, --net or --env:\n";
        for line in left_out {
            writeln!(text, "  {}", safe_line(&line)).expect("writing to text cannot fail");
        }
    }
    if let Some(before) = &request.previous {
        let when = rfc3339(before.approved_at);
        let changes = change_lines(&request.changes);
        if before.bundle == subject.bundle {
            writeln!(text, "You approved this content on {when}.")
        } else if changes.is_empty() {
            writeln!(
                text,
                "Its files have changed since you approved it on {when}; its capabilities have not."
            )
        } else {
            writeln!(text, "Its capabilities have changed since you approved it on {when}:")
        }
        .expect("writing to text cannot fail");
        for line in changes {
            writeln!(text, "  {}", safe_line(&line)).expect("writing to text cannot fail");
        }
    }
    text
}
