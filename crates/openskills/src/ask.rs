//! A question to the user on the terminal: what a skill wants to do, what is new about that, yes or no.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};

use openskills_runtime::permit::Request;
use openskills_runtime::{Answer, Audited, RuntimeError, change_lines, rfc3339};
use skill::AllowedTools;
use skill::capabilities::{CapabilityExtents, CapabilityKind, Extent};
use skill::programs::launcher_rules;
use skill_audit::{Report, Severity};
use skill_state::SkillSource;
use skill_state::audit::Decision;
use term::{Ui, safe_line, table};

/// Returns true if there is somebody to ask.
pub(crate) fn is_somebody_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// How somebody says yes to what is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// By a flag, before.
    Given,
    /// By an answer, on the terminal.
    Asked,
    /// Not at all: nobody is there.
    Nobody,
}

/// The flags by which consent is given, or cannot be asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConsentFlags {
    /// `--yes`
    pub(crate) yes: bool,
    /// `--json`: a program reads the output, so nobody is asked.
    pub(crate) json: bool,
}

impl Consent {
    /// Returns how it is said, by the flags `--yes` and `--json`. Whoever is not asked must say so: an agent must not agree by the way.
    pub(crate) fn of(flags: ConsentFlags) -> Self {
        match flags.yes {
            true => Self::Given,
            false if !flags.json && is_somebody_there() => Self::Asked,
            false => Self::Nobody,
        }
    }

    /// Shows what there is to say yes to. Whoever is asked gets to see it in any case.
    pub(crate) fn show(self, ui: &mut Ui, text: &str) -> io::Result<()> {
        match self {
            Self::Asked => ui.error(text),
            Self::Given | Self::Nobody => ui.note(text),
        }
    }

    /// Returns whether it is said to `question`; `otherwise` is told after a no.
    pub(crate) fn agreed(
        self,
        ui: &mut Ui,
        question: &str,
        otherwise: &str,
    ) -> anyhow::Result<bool> {
        match self {
            Self::Given => Ok(true),
            Self::Nobody => {
                let message = "nobody is there to be asked".to_owned();
                let hint = Some("in a script, add --yes".to_owned());
                Err(RuntimeError::NeedsApproval { message, hint }.into())
            }
            Self::Asked => {
                ui.flush()?;
                let is_agreed = ask(ui, question)?;
                if !is_agreed {
                    ui.error(&format!("{otherwise}\n"))?;
                }
                Ok(is_agreed)
            }
        }
    }

    /// Refuses what an audit stands against. What is bad may still be taken by somebody who is asked, and saw it.
    pub(crate) fn check(self, audited: &Audited) -> Result<(), RuntimeError> {
        let (message, hint) = match &audited.decision {
            Decision::Go | Decision::Warn(_) => return Ok(()),
            Decision::Ask(_) if self == Self::Asked => return Ok(()),
            Decision::Ask(asked) => (
                format!("the audit says BLOCK: {}", asked.reasons.join("; ")),
                "look at it by `csk audit`; on a terminal you are asked".to_owned(),
            ),
            Decision::Refuse { reason, hint } => (reason.clone(), hint.clone()),
        };
        Err(RuntimeError::PermissionDenied { message, hint: Some(hint) })
    }
}

/// Asks for a yes. Anything else is a no.
fn ask(ui: &mut Ui, question: &str) -> io::Result<bool> {
    ui.error(&format!("{question} [y/N] "))?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Shows a request of a run and asks how long the yes is for.
pub(crate) fn ask_for_run(ui: &mut Ui, request: &Request) -> io::Result<Answer> {
    ui.error(&shown(request))?;
    ui.error("Run it? [o]nce, [a]lways as it is now, [N]o: ")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(match answer.trim().to_lowercase().as_str() {
        "o" | "once" | "y" | "yes" => Answer::Once(request.grant.clone()),
        "a" | "always" => Answer::Always,
        _ => Answer::No,
    })
}

/// Returns what a skill says that it changes.
pub(crate) fn effects(side_effects: Option<&[&str]>) -> String {
    match side_effects {
        None => "It does not say what it changes.\n".to_owned(),
        Some(effects) => format!("It says that it changes: {}.\n", effects.join(", ")),
    }
}

/// Shows what an audit found. What it stands against is no mere note.
pub(crate) fn tell_found(ui: &mut Ui, consent: Consent, audited: &Audited) -> io::Result<()> {
    match audited.decision {
        Decision::Go => consent.show(ui, &found(&audited.found.report)),
        Decision::Warn(_) | Decision::Ask(_) | Decision::Refuse { .. } => {
            ui.error(&found(&audited.found.report))
        }
    }
}

/// Returns what an audit found, as people read it.
fn found(report: &Report) -> String {
    const MOST: usize = 5;
    // More of one kind would push what else there is to see out of sight.
    const SHOWN: usize = 12;
    let mut text = format!("The audit says {}", report.verdict);
    let rows: Vec<Vec<String>> = report
        .observed
        .used()
        .map(|(kind, items)| {
            let more = items.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            let items: Vec<_> = items.into_iter().take(SHOWN).collect();
            vec![format!("  {kind}"), format!("{}{more}", items.join(", "))]
        })
        .collect();
    if rows.is_empty() {
        text += "; it is seen to use nothing\n";
    } else {
        text += "; it is seen to use:\n";
        text += &table(&rows, None);
    }
    let bad = report.findings.iter().filter(|finding| finding.severity != Severity::Info);
    for finding in bad.take(MOST) {
        let (rule, line) = (finding.rule.id, finding.location.line);
        let line = format!("{rule} {}:{line} {}", finding.file, finding.message);
        writeln!(text, "  {}", safe_line(&line)).expect("writing to text cannot fail");
    }
    text
}

/// Returns which tool rules let the agent run any code, and why.
fn any_code(capabilities: &CapabilityExtents) -> String {
    const MOST: usize = 12;
    let rules = match capabilities.of(CapabilityKind::Tools) {
        Extent::Only(rules) => Some(rules),
        Extent::Undeclared | Extent::Anything => None,
    };
    let tools = AllowedTools::from_items(rules.into_iter().flatten().map(String::as_str));
    let mut text = String::new();
    for (rule, why) in launcher_rules(&tools).take(MOST) {
        let line = format!("`{rule}` lets the agent run any code, without asking you again: {why}");
        writeln!(text, "{}", safe_line(&line)).expect("writing to text cannot fail");
    }
    text
}

/// Returns what a skill declares; what it does not is said once.
fn declares(capabilities: &CapabilityExtents) -> String {
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

/// Returns a request as people read it.
pub(crate) fn shown(request: &Request) -> String {
    let subject = &request.subject;
    let who = match subject.source {
        SkillSource::ThirdParty => "a stranger's",
        known @ (SkillSource::Builtin | SkillSource::Org | SkillSource::User) => known.as_str(),
    };
    let mut text = format!("{} ({who})\n", safe_line(&subject.skill_id));
    let mut rows = vec![
        vec!["  from".to_owned(), subject.origin.clone()],
        vec!["  content".to_owned(), subject.bundle.to_string()],
    ];
    if subject.is_drifted {
        rows.push(vec!["  warning".to_owned(), "it is not what csk installed".to_owned()]);
    }
    text += &table(&rows, None);
    text += &declares(&request.capabilities);
    text += &effects(request.side_effects.as_deref());
    text += &any_code(&request.capabilities);
    for one in &request.inspected.reports {
        text += &found(&one.report);
    }
    text += "You would grant:\n";
    if subject.is_served {
        text += "  to show its text and its files to a model, as the server listed them; they are fetched later\n";
    }
    text += "  to run its scripts in the sandbox, where they get this and nothing else:\n";
    let rows: Vec<Vec<String>> =
        request.gets().into_iter().map(|(kind, what)| vec![format!("    {kind}"), what]).collect();
    text += &table(&rows, None);
    let left_out = request.left_out(&request.grant);
    if !left_out.is_empty() {
        text +=
            "It declares this as well, which you grant only by naming it (--read, --net, --env):\n";
        for line in left_out {
            writeln!(text, "  {}", safe_line(&line)).expect("writing to text cannot fail");
        }
    }
    if let Some(before) = &request.before {
        let when = rfc3339(before.approved_at);
        let changes = change_lines(&request.changes);
        if before.bundle == subject.bundle {
            writeln!(text, "You approved this content on {when}.")
        } else if changes.is_empty() {
            writeln!(
                text,
                "Its files changed since you approved it on {when}; its capabilities did not."
            )
        } else {
            writeln!(text, "Its capabilities changed since you approved it on {when}:")
        }
        .expect("writing to text cannot fail");
        for line in changes {
            writeln!(text, "  {}", safe_line(&line)).expect("writing to text cannot fail");
        }
    }
    text
}
