//! What people and programs are told of a run.

use std::collections::BTreeSet;

use openskills_runtime::{Execution, shell_word};
use sandbox::{Ended, Tier};
use term::{safe_line, safe_text, table};

use super::{RunArgs, code_of};
use crate::context::Context;
use crate::output::{ChangeJson, RunJson, VERSION, ViolationJson, WasmJson};

/// Says what a dry run kept from happening.
fn held_back(done: &Execution) -> Option<String> {
    let why = match done.held_back.as_slice() {
        [] => return None,
        ["unknown"] => ", and the skill does not say what it changes (`side_effects`)".to_owned(),
        held => format!(", and the skill says that it changes: {}", held.join(", ")),
    };
    Some(format!("a dry run reaches no host{why}; a real run may do more than this shows"))
}

/// Says how it ended, where that was not by itself.
fn ends(args: &RunArgs, done: &Execution) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(signal) = done.interrupted {
        let left = if args.grants.direct_writes {
            "files of the workspace may have been written before"
        } else {
            "nothing was applied to the workspace"
        };
        notes.push(format!("interrupted by signal {signal}; {left}"));
    }
    match done.ended {
        Ended::Trapped => {
            let trap = done.wasm.as_ref().and_then(|wasm| wasm.trap.as_deref());
            notes.push(format!("it trapped: {}", trap.unwrap_or("no reason is known")));
        }
        // The causes say it.
        Ended::Timeout | Ended::Memory | Ended::Output => {}
        Ended::Exited(_) | Ended::Signalled(_) | Ended::Cancelled => {}
    }
    notes
}

/// Tells people what else there is to know.
pub(super) fn tell(context: &mut Context, args: &RunArgs, done: &Execution) -> anyhow::Result<()> {
    let mut notes = ends(args, done);
    for (what, kept, written) in [
        ("output", done.stdout.len(), done.written[0]),
        ("standard error", done.stderr.len(), done.written[1]),
    ] {
        if written > kept as u64 {
            notes.push(format!("its {what} was cut: {kept} of {written} bytes are kept"));
        }
    }
    if let Some(wasm) = done.wasm.as_ref().filter(|wasm| !wasm.left_out.is_empty()) {
        let left_out = wasm.left_out.iter().map(|path| path.display().to_string());
        let left_out = left_out.collect::<Vec<_>>().join(", ");
        notes.push(format!("only folders can be given to a module; it has not: {left_out}"));
    }
    if args.seed.is_some() && done.wasm.is_none() {
        notes.push("a seed fixes nothing of a script; it finds it as RANDOM_SEED".to_owned());
    }
    if done.tier == Some(Tier::B) {
        let why =
            "the stronger one cannot be made for it here; `openskills sandbox check` says more";
        notes.push(format!("it ran in the weaker sandbox: {why}"));
    }
    let calls: BTreeSet<&str> =
        done.violations.iter().map(|violation| violation.call.as_str()).collect();
    if !calls.is_empty() {
        let calls = calls.into_iter().collect::<Vec<_>>().join(", ");
        notes.push(format!("blocked system calls: {calls}"));
    }
    let denied: Vec<&str> =
        done.reached.iter().filter(|one| !one.allowed).map(|one| one.host.as_str()).collect();
    if !denied.is_empty() {
        notes.push(format!("it asked for hosts that were not granted: {}", denied.join(", ")));
    }
    notes.extend(done.causes.iter().cloned());
    if !done.left_out.is_empty() {
        let left_out = done.left_out.join(", ");
        let note = format!(
            "the skill declares this, and it was not granted: {left_out}; grant it by --read, --net or --env"
        );
        context.ui.note(&format!("note: {}\n", safe_line(&note)))?;
    }
    if let Some(note) = held_back(done) {
        context.ui.note(&format!("note: {}\n", safe_line(&note)))?;
    }
    if let Some(note) = &done.note {
        let refused = if args.dry_run { "a run that is not dry would be refused: " } else { "" };
        notes.push(format!("{refused}{note}"));
    }
    if let Some(why) = &done.cannot_undo {
        notes.push(format!("`openskills undo` cannot take this run back: {why}"));
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
            context.ui.error(&format!("{} steps, {kib} KiB of memory\n", wasm.fuel))?;
        }
    }
    tell_changes(context, args, done)?;
    if let Some(error) = &done.not_committed {
        context.ui.error(&format!("error: {}\n", safe_line(&error.to_string())))?;
    }
    Ok(())
}

/// Tells what it changed in its workspace, and what became of that.
fn tell_changes(context: &mut Context, args: &RunArgs, done: &Execution) -> anyhow::Result<()> {
    if !done.changes.is_empty() && args.workspace.is_some() {
        let undo = args.workspace.as_ref().map(|path| match path.to_str() {
            Some(".") | None => "openskills undo".to_owned(),
            Some(path) => format!("openskills undo --workspace {}", shell_word(path)),
        });
        let undo = undo.filter(|_| done.can_undo).unwrap_or_default();
        let committed = format!("it changed in the workspace, which `{undo}` takes back");
        let what = if done.can_undo {
            committed.as_str()
        } else if done.committed {
            "it changed in the workspace"
        } else if args.dry_run {
            "it would change in the workspace"
        } else if done.is_dropped() {
            "it failed, so nothing that it wrote to the workspace was kept"
        } else {
            "nothing of this was kept"
        };
        context.ui.error(&format!("{what}:\n"))?;
        const MOST: usize = 1000;
        for change in done.changes.iter().take(MOST) {
            let refused = change
                .refused
                .as_ref()
                .map(|reason| format!(" (not allowed: {reason})"))
                .unwrap_or_default();
            let line = format!("  {} {}{refused}", change.kind.as_str(), change.shown());
            context.ui.error(&format!("{}\n", safe_line(&line)))?;
        }
        if let Some(more) = done.changes.len().checked_sub(MOST).filter(|more| *more > 0) {
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
            output_cut: done.written[0] > done.stdout.len() as u64
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
            held_back: done.held_back.iter().map(ToString::to_string).collect(),
            committed: done.committed,
            can_undo: done.can_undo,
            cannot_undo: done.cannot_undo.clone(),
            not_committed: done.not_committed.as_ref().map(ToString::to_string),
            causes: done.causes.clone(),
            interpreter: done.interpreter.as_ref().map(|path| path.display().to_string()),
            enforced: done.enforced.iter().map(ToString::to_string).collect(),
            reached: done.reached.iter().map(|one| (one.host.clone(), one.allowed)).collect(),
            not_granted: done.left_out.clone(),
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
