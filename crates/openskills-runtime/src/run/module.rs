//! Runs a module: compiled once, in this process or inside the operating system's sandbox as well.

#![expect(clippy::disallowed_methods, reason = "the edge: how long steps take")]

use std::path::PathBuf;
use std::time::Instant;

use sandbox::{Ended, Guarantee, Network, Outcome, Spec, Workspace, Writes};
use sandbox_wasm::{Artifact, CacheName, CompiledFor, Guest, Job, Report, Stop, WasmError, staged};
use skill::Digest;
use skill_state::SkillSource;

use crate::RuntimeError;
use crate::decide::permit::Permit;
use crate::run::carry_out::{Ran, Timings, program};
use crate::run::prepare::{Prepared, wasm_error};
use crate::run::{ExecutionOptions, ModuleCache, Stage, WasmRun};
use crate::runtime::OpenSkillRuntime;

/// Where a module runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In this process.
    Here,
    /// In one of its own, inside the operating system's sandbox.
    Stage,
}

/// A module that is about to run.
struct Ready<'a> {
    permit: &'a Permit,
    options: &'a ExecutionOptions,
    prepared: &'a Prepared,
    wasm: &'a [u8],
    digest: Digest,
    at: Place,
}

impl OpenSkillRuntime {
    /// Runs a module.
    pub(crate) fn module(
        &self,
        permit: &Permit,
        options: &ExecutionOptions,
        prepared: &Prepared,
        wasm: &[u8],
    ) -> Result<Ran, RuntimeError> {
        let at = place(permit.plan().subject.source, options, prepared);
        let ready = Ready { permit, options, prepared, wasm, digest: Digest::of(wasm), at };
        let guest = Guest { skill: prepared.skill.clone(), seed: options.seed };
        let start = Instant::now();
        let (code, was_cached) = self.code(&ready)?;
        let loaded = (if was_cached { "load the code" } else { "compile" }, start.elapsed());
        let (ran, report, left_out) = match at {
            Place::Here => ready.run_here(&guest, &code)?,
            Place::Stage => ready.run_staged(&guest, &code)?,
        };
        let Report { ended, stdout, stderr, fuel, memory, trap, duration } = report;
        let timings = [loaded].into_iter().chain(ran.timings).chain([("run the module", duration)]);
        let (module, is_staged) = (ready.digest, at == Place::Stage);
        let run = WasmRun { module, fuel, memory, trap, is_staged, was_cached, left_out };
        Ok(Ran {
            outcome: Outcome { ended, stdout, stderr, duration, ..ran.outcome },
            wasm: Some(run),
            timings: timings.collect(),
            ..ran
        })
    }

    /// Returns a module's code, and whether it was known. Code for a run inside the sandbox is used there alone.
    fn code(&self, ready: &Ready<'_>) -> Result<(Artifact, bool), RuntimeError> {
        let whom = match ready.at {
            Place::Here => CompiledFor::Us,
            Place::Stage => CompiledFor::Stage,
        };
        let digest = ready.digest.to_string();
        let digits = digest.trim_start_matches("sha256:");
        let name = CacheName::of(digits, whom).map_err(|error| ready.wrong(&error))?;
        let cache = ModuleCache::open(self.places()?)?;
        if let Some(code) = cache.as_ref().and_then(|cache| cache.get(&name)) {
            return Ok((code, true));
        }
        let code = ready.compile()?;
        if let Some(cache) = cache {
            cache.put(&name, &code);
        }
        Ok((code, false))
    }
}

impl Ready<'_> {
    fn wrong(&self, error: &WasmError) -> RuntimeError {
        wasm_error(&self.prepared.script, error)
    }

    /// Compiles it inside the sandbox, where that is bounded in time and memory. A module of the user's own is compiled here where there is no
    /// sandbox to do it in.
    fn compile(&self) -> Result<Artifact, RuntimeError> {
        let wrong = |error: WasmError| self.wrong(&error);
        let here = || sandbox_wasm::compile(self.wasm).map_err(wrong);
        let runner = match (staged::runner(), self.at) {
            (Ok(runner), _) => runner,
            (Err(_), Place::Here) => return here(),
            (Err(error), Place::Stage) => return Err(wrong(error)),
        };
        let spec = staged::compiling(&self.prepared.spec, &runner, self.wasm).map_err(wrong)?;
        match (program(self.permit, self.options, &spec), self.at) {
            (Ok(ran), _) => staged::compiled(&ran.outcome).map_err(wrong),
            (Err(RuntimeError::SandboxUnavailable { .. }), Place::Here) => here(),
            (Err(error), _) => Err(error),
        }
    }

    fn run_here(
        &self,
        guest: &Guest,
        code: &Artifact,
    ) -> Result<(Ran, Report, Vec<PathBuf>), RuntimeError> {
        let wrong = |error: WasmError| self.wrong(&error);
        let spec = spec_here(&self.prepared.spec, self.options).map_err(wrong)?;
        let job = Job::in_process(&spec, guest).map_err(wrong)?;
        let start = Instant::now();
        let stop = Stop::default();
        self.options.cancel.watch_module(stop.clone());
        let report = sandbox_wasm::run_until(&job, code, &stop).map_err(wrong)?;
        let timings = vec![("set up", start.elapsed().saturating_sub(report.duration))];
        let outcome = Outcome {
            ended: report.ended,
            stdout: sandbox::Captured::default(),
            stderr: sandbox::Captured::default(),
            violations: Vec::new(),
            more_violations: 0,
            duration: report.duration,
            // The engine gives it nothing but what it was granted: no process, no thread, and nothing that it could write.
            enforced: Guarantee::ALL.to_vec(),
            tier: None,
        };
        Ok((Ran { timings, ..Ran::new(outcome) }, report, job.left_out().to_vec()))
    }

    fn run_staged(
        &self,
        guest: &Guest,
        code: &Artifact,
    ) -> Result<(Ran, Report, Vec<PathBuf>), RuntimeError> {
        let wrong = |error: WasmError| self.wrong(&error);
        let spec = &self.prepared.spec;
        let job = Job::staged(spec, guest).map_err(wrong)?;
        let runner = staged::runner().map_err(wrong)?;
        let staged_spec = staged::running(spec, &job, &runner, code).map_err(wrong)?;
        let ran = program(self.permit, self.options, &staged_spec)?;
        let report = match staged::ran(&ran.outcome) {
            // One that was ended from outside says nothing more of itself.
            Err(_) if ran.outcome.ended == Ended::Cancelled => cancelled(&ran.outcome),
            told => told.map_err(wrong)?,
        };
        // The program that ran is the runner; what is not the module's time is what it takes to set it up.
        let inside = ran.outcome.duration.saturating_sub(report.duration);
        let start = ran.timings.first().copied();
        let timings: Timings = start.into_iter().chain([("set up inside", inside)]).collect();
        Ok((Ran { timings, ..ran }, report, job.left_out().to_vec()))
    }
}

/// Returns what is known of a module that was ended from outside.
fn cancelled(outcome: &Outcome) -> Report {
    Report {
        ended: outcome.ended,
        stdout: sandbox::Captured::default(),
        stderr: sandbox::Captured::default(),
        fuel: 0,
        memory: 0,
        trap: None,
        duration: outcome.duration,
    }
}

/// Decides where a module runs: a stranger's inside the sandbox; so does what writes anything at all, or reaches the network. In this process
/// nothing bounds what is written, and nothing looks at it before it stays.
pub(crate) fn place(source: SkillSource, options: &ExecutionOptions, prepared: &Prepared) -> Place {
    let is_own = match source {
        SkillSource::Builtin | SkillSource::Org | SkillSource::User => true,
        SkillSource::ThirdParty => false,
    };
    let writes = may_write(prepared.spec.workspace.as_ref());
    let needs_stage = !is_own || prepared.spec.network != Network::None || writes;
    match options.stage {
        Stage::Always => Place::Stage,
        Stage::Never => Place::Here,
        Stage::Auto if needs_stage => Place::Stage,
        Stage::Auto => Place::Here,
    }
}

fn may_write(workspace: Option<&Workspace>) -> bool {
    match workspace.map(|workspace| workspace.writes) {
        None | Some(Writes::Never) => false,
        Some(Writes::Layer | Writes::Direct) => true,
    }
}

/// Returns what a run in this process is held to: a workspace is not written, for nothing would stand between; an empty one of its own is
/// not even there.
fn spec_here(spec: &Spec, options: &ExecutionOptions) -> Result<Spec, WasmError> {
    if options.workspace.is_some() && may_write(spec.workspace.as_ref()) {
        let what = "a workspace is written only from inside the sandbox: leave --wasm-stage away";
        return Err(WasmError::Given(what.to_owned()));
    }
    let workspace = spec.workspace.clone().filter(|_| options.workspace.is_some());
    Ok(Spec { workspace, ..spec.clone() })
}
