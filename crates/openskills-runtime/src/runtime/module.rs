//! Runs a module: compiled once, in this process or inside the operating system's sandbox as well.

#![expect(clippy::disallowed_methods, reason = "the edge: how long steps take")]

use std::time::Instant;

use sandbox::{Guarantee, Network, Outcome, Writes};
use sandbox_wasm::{Artifact, CacheName, Guest, Job, Report, WasmError, staged};
use skill::Digest;

use super::OpenSkillRuntime;
use super::execute::{Ran, program};
use super::prepare::Prepared;
use crate::exec::{ExecutionOptions, ModuleCache, Stage, WasmRun};
use crate::permit::Permit;
use crate::{RuntimeError, SkillSource};

impl OpenSkillRuntime {
    /// Runs a module.
    pub(super) fn module(
        &self,
        permit: &Permit,
        options: &ExecutionOptions,
        prepared: &Prepared,
        wasm: &[u8],
    ) -> Result<Ran, RuntimeError> {
        let wrong = |error: WasmError| failed(prepared, &error);
        let mut spec = prepared.spec.clone();
        let at = place(permit.plan().subject.source, options, prepared);
        if at == Place::Here && options.workspace.is_none() {
            // The workspace is its own, and gone afterwards.
            if let Some(workspace) = spec.workspace.as_mut().filter(|it| it.writes == Writes::Layer)
            {
                workspace.writes = Writes::Direct;
            }
        }
        let guest = Guest { skill: prepared.skill.clone(), seed: options.seed };
        let job = match at {
            Place::Here => Job::in_process(&spec, &guest),
            Place::Stage => Job::staged(&spec, &guest),
        };
        let job = job.map_err(wrong)?;
        let start = Instant::now();
        let (code, was_cached) = self.code(permit, prepared, wasm, at)?;
        let step = if was_cached { "load the code" } else { "compile" };
        let mut timings = vec![(step, start.elapsed())];
        let (mut ran, report) = if at == Place::Stage {
            let runner = staged::runner().map_err(wrong)?;
            let spec = staged::running(&spec, &job, &runner, &code).map_err(wrong)?;
            let mut ran = program(permit, &spec)?;
            timings.append(&mut ran.timings);
            let report = staged::ran(&ran.outcome).map_err(wrong)?;
            if let Some((step, time)) = timings.last_mut() {
                (*step, *time) = ("set up inside", time.saturating_sub(report.duration));
            }
            (ran, report)
        } else {
            let start = Instant::now();
            let report = sandbox_wasm::run(&job, &code).map_err(wrong)?;
            timings.push(("set up", start.elapsed().saturating_sub(report.duration)));
            (in_process(&report), report)
        };
        timings.push(("run the module", report.duration));
        let Report { ended, stdout, stderr, fuel, memory, trap, .. } = report;
        ran.outcome = Outcome { ended, stdout, stderr, ..ran.outcome };
        let (module, is_staged) = (Digest::of(wasm), at == Place::Stage);
        ran.wasm = Some(WasmRun { module, fuel, memory, trap, is_staged, was_cached });
        let left_out = job.left_out().iter().map(|path| path.display().to_string());
        let left_out = left_out.collect::<Vec<_>>().join(", ");
        ran.note = (!left_out.is_empty())
            .then(|| format!("only folders can be given to a module; it has not: {left_out}"));
        ran.timings = timings;
        Ok(ran)
    }

    /// Returns a module's code, and whether it was known. A stranger's module is compiled where it runs: inside the sandbox.
    fn code(
        &self,
        permit: &Permit,
        prepared: &Prepared,
        wasm: &[u8],
        at: Place,
    ) -> Result<(Artifact, bool), RuntimeError> {
        let wrong = |error: WasmError| failed(prepared, &error);
        let name = CacheName::of(wasm).map_err(wrong)?;
        let cache = ModuleCache::open(self.places()?)?;
        if let Some(code) = cache.as_ref().and_then(|cache| cache.get(&name)) {
            return Ok((code, true));
        }
        let code = if at == Place::Stage {
            let runner = staged::runner().map_err(wrong)?;
            let spec = staged::compiling(&prepared.spec, &runner, wasm).map_err(wrong)?;
            staged::compiled(&program(permit, &spec)?.outcome).map_err(wrong)?
        } else {
            sandbox_wasm::compile(wasm).map_err(wrong)?
        };
        if let Some(cache) = cache {
            cache.put(&name, &code);
        }
        Ok((code, false))
    }
}

/// Where a module runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In this process.
    Here,
    /// In one of its own, inside the operating system's sandbox.
    Stage,
}

/// Decides where a module runs: a stranger's inside the sandbox; so does what needs a layer above its workspace, or a way to the network.
fn place(source: SkillSource, options: &ExecutionOptions, prepared: &Prepared) -> Place {
    let writes = prepared.spec.workspace.as_ref().map(|workspace| workspace.writes);
    let changes_workspace =
        options.workspace.is_some() && !matches!(writes, None | Some(Writes::Never));
    let needs_stage = source == SkillSource::ThirdParty
        || prepared.spec.network != Network::None
        || changes_workspace;
    match options.stage {
        Stage::Always => Place::Stage,
        Stage::Never => Place::Here,
        Stage::Auto if needs_stage => Place::Stage,
        Stage::Auto => Place::Here,
    }
}

/// Returns what a run in this process is to the rest: the engine held it to everything that a sandbox would have.
fn in_process(report: &Report) -> Ran {
    Ran::new(Outcome {
        ended: report.ended,
        stdout: report.stdout.clone(),
        stderr: report.stderr.clone(),
        violations: Vec::new(),
        more_violations: 0,
        duration: report.duration,
        enforced: Guarantee::ALL.to_vec(),
        tier: None,
    })
}

fn failed(prepared: &Prepared, error: &WasmError) -> RuntimeError {
    let (module, message) = (prepared.script.clone(), error.to_string());
    RuntimeError::WasmError { module, message, hint: error.hint() }
}
