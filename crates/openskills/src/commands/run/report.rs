//! Reports a run: notes and changes on stderr, or JSON.

use std::collections::BTreeSet;

use openskills_runtime::{Execution, shell_word};
use sandbox::{Ended, Tier};
use skill::ByteSize;
use term::{safe_line, safe_text, table};

use super::{RunArgs, code_of};
use crate::context::Context;
use crate::output::{ChangeJson, RunJson, VERSION, ViolationJson, WasmJson};

/// Returns a note about side effects that a dry run withheld.
fn withheld_note(done: &Execution) -> Option<String> {
    let side_effects = match done.withheld.as_slice() {
        [] => return None,
        ["unknown"] => ", and the skill does not declare its `side_effects`".to_owned(),
        effects => format!(", and the skill declares side effects: {}", effects.join(", ")),
    };
    Some(format!(
        "a dry run has no network access{side_effects}; a real run may do more than this shows"
    ))
}

/// Returns notes about an interruption or a trap.
fn end_notes(args: &RunArgs, done: &Execution) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(signal) = done.interrupted {
        let state = if args.grants.direct_writes {
            "files in the workspace may already have been written"
        } else {
            "nothing was applied to the workspace"
        };
        notes.push(format!("interrupted by signal {signal}; {state}"));
    }
    match done.ended {
        Ended::Trapped => {
            let trap = done.wasm.as_ref().and_then(|wasm| wasm.trap.as_deref());
            notes.push(format!("the module trapped: {}", trap.unwrap_or("unknown reason")));
        }
        // `causes` covers these.
        Ended::Timeout | Ended::Memory | Ended::Output => {}
        Ended::Exited(_) | Ended::Signalled(_) | Ended::Cancelled => {}
    }
    notes
}

/// Prints notes, timings and changes to stderr.
pub(super) fn print_report(
    context: &mut Context,
    args: &RunArgs,
    done: &Execution,
) -> anyhow::Result<()> {
    let mut notes = end_notes(args, done);
    for (stream, kept, written) in [
        ("standard output", done.stdout.len(), done.written[0]),
        ("standard error", done.stderr.len(), done.written[1]),
    ] {
        if written > kept as u64 {
            let (kept, written) = (ByteSize(kept as u64), ByteSize(written));
            notes.push(format!("{stream} was truncated: kept {kept} of {written}"));
        }
    }
    if let Some(wasm) = done.wasm.as_ref().filter(|wasm| !wasm.skipped_paths.is_empty()) {
        let skipped = wasm.skipped_paths.iter().map(|path| path.display().to_string());
        let skipped = skipped.collect::<Vec<_>>().join(", ");
        notes.push(format!("a module can only access folders; not available to it: {skipped}"));
    }
    if args.seed.is_some() && done.wasm.is_none() {
        notes.push(
            "--seed does not make scripts deterministic; scripts can read it from RANDOM_SEED"
                .to_owned(),
        );
    }
    if done.tier == Some(Tier::B) {
        let reason = "tier A is not available here; for details, run `openskills sandbox check`";
        notes.push(format!("the script ran in the weaker sandbox (tier B): {reason}"));
    }
    let calls: BTreeSet<&str> =
        done.violations.iter().map(|violation| violation.call.as_str()).collect();
    if !calls.is_empty() {
        let calls = calls.into_iter().collect::<Vec<_>>().join(", ");
        notes.push(format!("blocked system calls: {calls}"));
    }
    let denied: Vec<&str> =
        done.reached.iter().filter(|host| !host.allowed).map(|host| host.host.as_str()).collect();
    if !denied.is_empty() {
        notes.push(format!("blocked hosts that were not granted: {}", denied.join(", ")));
    }
    notes.extend(done.causes.iter().cloned());
    if !done.not_granted.is_empty() {
        let not_granted = done.not_granted.join(", ");
        let note = format!(
            "declared but not granted: {not_granted}; to grant more, pass --read, --net or --env"
        );
        context.ui.note(&format!("note: {}\n", safe_line(&note)))?;
    }
    if let Some(note) = withheld_note(done) {
        context.ui.note(&format!("note: {}\n", safe_line(&note)))?;
    }
    if let Some(note) = &done.note {
        let refused =
            if args.dry_run { "without --dry-run, this run would be refused: " } else { "" };
        notes.push(format!("{refused}{note}"));
    }
    if let Some(reason) = &done.cannot_undo {
        notes.push(format!("this run cannot be undone: {reason}"));
    }
    if !done.stderr.is_empty() && !done.stderr.ends_with(b"\n") && !notes.is_empty() {
        context.ui.error("\n")?;
    }
    for note in notes {
        context.ui.error(&format!("note: {}\n", safe_line(&note)))?;
    }
    if args.timings {
        let rows = done.timings.iter().map(|(step, time)| {
            vec![(*step).to_owned(), format!("{:.2} ms", time.as_secs_f64() * 1000.0)]
        });
        context.ui.error(&table(&rows.collect::<Vec<_>>(), context.ui.width))?;
        if let Some(wasm) = &done.wasm {
            let kib = wasm.memory.div_ceil(1 << 10);
            context.ui.error(&format!("{} units of fuel, {kib} KiB of memory\n", wasm.fuel))?;
        }
    }
    print_changes(context, args, done)?;
    if let Some(error) = &done.not_applied {
        context.ui.error(&format!("error: {}\n", safe_line(&error.to_string())))?;
    }
    Ok(())
}

/// Prints the changes in the workspace and whether they were applied.
fn print_changes(context: &mut Context, args: &RunArgs, done: &Execution) -> anyhow::Result<()> {
    if !done.changes.is_empty() && args.workspace.is_some() {
        let undo = args.workspace.as_ref().map(|path| match path.to_str() {
            Some(".") | None => "openskills undo".to_owned(),
            Some(path) => format!("openskills undo --workspace {}", shell_word(path)),
        });
        let undo = undo.filter(|_| done.can_undo).unwrap_or_default();
        let undoable = format!("changes in the workspace (to revert them, run `{undo}`)");
        let heading = if done.can_undo {
            undoable.as_str()
        } else if done.applied {
            "changes in the workspace"
        } else if args.dry_run {
            "changes that a real run would make in the workspace"
        } else if done.is_dropped() {
            "the script failed, so these changes were not applied"
        } else {
            "these changes were not applied"
        };
        context.ui.error(&format!("{heading}:\n"))?;
        const MAX_SHOWN: usize = 1000;
        for change in done.changes.iter().take(MAX_SHOWN) {
            let refused = change
                .refused
                .as_ref()
                .map(|reason| format!(" (not allowed: {reason})"))
                .unwrap_or_default();
            let line = format!("  {} {}{refused}", change.kind.as_str(), change.shown());
            context.ui.error(&format!("{}\n", safe_line(&line)))?;
        }
        if let Some(more) = done.changes.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
            context.ui.error(&format!("  and {more} more\n"))?;
        }
    }
    if let Some(diff) = done.diff.as_ref().filter(|_| args.workspace.is_some()) {
        context.ui.error(&safe_text(diff))?;
    }
    Ok(())
}

impl RunJson {
    pub(super) fn new(done: &Execution) -> Self {
        Self {
            version: VERSION,
            record: done.record.clone(),
            exit_code: code_of(done).number(),
            interrupted: done.interrupted,
            output: done.json.clone(),
            output_truncated: done.written[0] > done.stdout.len() as u64
                || done.written[1] > done.stderr.len() as u64,
            violations: done
                .violations
                .iter()
                .map(|violation| ViolationJson {
                    call: violation.call.clone(),
                    process: violation.process.clone(),
                })
                .collect(),
            changes: done
                .changes
                .iter()
                .map(|change| ChangeJson {
                    path: change.shown(),
                    change: change.kind.as_str().to_owned(),
                    refused: change.refused.clone(),
                })
                .collect(),
            withheld: done.withheld.iter().map(ToString::to_string).collect(),
            applied: done.applied,
            can_undo: done.can_undo,
            cannot_undo: done.cannot_undo.clone(),
            not_applied: done.not_applied.as_ref().map(ToString::to_string),
            causes: done.causes.clone(),
            interpreter: done.interpreter.as_ref().map(|path| path.display().to_string()),
            enforced: done.enforced.iter().map(ToString::to_string).collect(),
            hosts: done.reached.iter().map(|host| (host.host.clone(), host.allowed)).collect(),
            not_granted: done.not_granted.clone(),
            review: done.review.clone(),
            wasm: done.wasm.as_ref().map(|wasm| WasmJson {
                module_sha256: wasm.module.to_string(),
                fuel: wasm.fuel,
                memory_bytes: wasm.memory,
                staged: wasm.is_staged,
                cached: wasm.was_cached,
                trap: wasm.trap.clone(),
            }),
            timings_ms: done
                .timings
                .iter()
                .map(|(step, time)| ((*step).replace(' ', "_"), time.as_secs_f64() * 1000.0))
                .collect(),
        }
    }
}
