//! Runs WebAssembly modules: compiled once, then run in this process or additionally inside the operating system's
//! sandbox.

#![expect(clippy::disallowed_methods, reason = "the edge: how long steps take")]

use std::time::Instant;

use sandbox::{Ended, Network, Outcome};
use sandbox_wasm::{Artifact, CacheName, CompiledFor, Guest, Job, Report, WasmError, staged};
use skill::Digest;
use skill_state::SkillSource;

use crate::RuntimeError;
use crate::run::permitted::{ModuleResult, Permitted, may_write};
use crate::run::prepare::{Prepared, wasm_error};
use crate::run::run_result::{RunResult, Timings};
use crate::run::{Cancel, ModuleCache, Stage, WasmRun};
use crate::runtime::OpenSkillRuntime;

/// Where a module runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModuleLocation {
    /// In this process.
    InProcess,
    /// In a separate process, inside the operating system's sandbox.
    Stage,
}

/// A module that is about to run.
struct PreparedModule<'a> {
    prepared: &'a Prepared,
    cancel: &'a Cancel,
    wasm: &'a [u8],
    digest: Digest,
    at: ModuleLocation,
}

impl OpenSkillRuntime {
    /// Runs a module.
    pub(crate) fn module(
        &self,
        prepared: &Prepared,
        wasm: &[u8],
        cancel: &Cancel,
    ) -> Result<RunResult, RuntimeError> {
        let at = location(&prepared.run);
        let ready = PreparedModule { prepared, cancel, wasm, digest: Digest::of(wasm), at };
        let seed = prepared.run.permit().plan().invocation.seed;
        let guest = Guest { skill: prepared.skill.clone(), seed };
        let start = Instant::now();
        let (code, was_cached) = self.code(&ready)?;
        let loaded = (if was_cached { "load the code" } else { "compile" }, start.elapsed());
        let ModuleResult { ran, report, skipped_paths } = match at {
            ModuleLocation::InProcess => ready.run_here(&guest, &code)?,
            ModuleLocation::Stage => ready.run_staged(&guest, &code)?,
        };
        let Report { ended, stdout, stderr, fuel, memory, trap, duration } = report;
        let timings = [loaded].into_iter().chain(ran.timings).chain([("run the module", duration)]);
        let (module, is_staged) = (ready.digest, at == ModuleLocation::Stage);
        let run = WasmRun { module, fuel, memory, trap, is_staged, was_cached, skipped_paths };
        Ok(RunResult {
            outcome: Outcome { ended, stdout, stderr, duration, ..ran.outcome },
            wasm: Some(run),
            timings: timings.collect(),
            ..ran
        })
    }

    /// Returns a module's compiled code, and whether it was cached. Code compiled for the sandbox is only used there.
    fn code(&self, ready: &PreparedModule<'_>) -> Result<(Artifact, bool), RuntimeError> {
        let compiled_for = match ready.at {
            ModuleLocation::InProcess => CompiledFor::ThisProcess,
            ModuleLocation::Stage => CompiledFor::Stage,
        };
        let digest = ready.digest.to_string();
        let digits = digest.trim_start_matches("sha256:");
        let name =
            CacheName::of(digits, compiled_for).map_err(|error| ready.wasm_error_of(&error))?;
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

impl PreparedModule<'_> {
    fn wasm_error_of(&self, error: &WasmError) -> RuntimeError {
        wasm_error(&self.prepared.script, error)
    }

    /// Compiles the module inside the sandbox, which limits time and memory. A trusted module is compiled in this
    /// process if no sandbox is available.
    fn compile(&self) -> Result<Artifact, RuntimeError> {
        let wasm_error_of = |error: WasmError| self.wasm_error_of(&error);
        let here = || sandbox_wasm::compile(self.wasm).map_err(wasm_error_of);
        let runner = match (staged::runner(), self.at) {
            (Ok(runner), _) => runner,
            (Err(_), ModuleLocation::InProcess) => return here(),
            (Err(error), ModuleLocation::Stage) => return Err(wasm_error_of(error)),
        };
        let run = &self.prepared.run;
        let spec = staged::compile_spec(run.spec(), &runner, self.wasm).map_err(wasm_error_of)?;
        match (run.in_runner(spec, &runner)?.run(self.cancel), self.at) {
            (Ok(ran), _) => staged::compile_result(&ran.outcome).map_err(wasm_error_of),
            (Err(RuntimeError::SandboxUnavailable { .. }), ModuleLocation::InProcess) => here(),
            (Err(error), _) => Err(error),
        }
    }

    fn run_here(&self, guest: &Guest, code: &Artifact) -> Result<ModuleResult, RuntimeError> {
        let done = self.prepared.run.run_here(guest, code, self.cancel);
        done.map_err(|error| self.wasm_error_of(&error))
    }

    fn run_staged(&self, guest: &Guest, code: &Artifact) -> Result<ModuleResult, RuntimeError> {
        let wasm_error_of = |error: WasmError| self.wasm_error_of(&error);
        let run = &self.prepared.run;
        let job = Job::staged(run.spec(), guest).map_err(wasm_error_of)?;
        let runner = staged::runner().map_err(wasm_error_of)?;
        let spec = staged::run_spec(run.spec(), &job, &runner, code).map_err(wasm_error_of)?;
        let ran = run.in_runner(spec, &runner)?.run(self.cancel)?;
        let report = match staged::run_result(&ran.outcome) {
            // A cancelled module reports nothing.
            Err(_) if ran.outcome.ended == Ended::Cancelled => cancelled(&ran.outcome),
            result => result.map_err(wasm_error_of)?,
        };
        // The measured program is the runner; its time minus the module's time is the setup time.
        let inside = ran.outcome.duration.saturating_sub(report.duration);
        let start = ran.timings.first().copied();
        let timings: Timings = start.into_iter().chain([("set up inside", inside)]).collect();
        let skipped_paths = job.skipped_paths().to_vec();
        Ok(ModuleResult { ran: RunResult { timings, ..ran }, report, skipped_paths })
    }
}

/// Returns the report of a cancelled module.
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

/// Decides where a module runs. Untrusted modules run inside the sandbox, and so do modules that write or use the
/// network: in this process nothing limits writes or reviews them before they take effect.
pub(crate) fn location(run: &Permitted) -> ModuleLocation {
    let plan = run.permit().plan();
    let is_own = match plan.subject.source {
        SkillSource::Builtin | SkillSource::Org | SkillSource::User => true,
        SkillSource::ThirdParty => false,
    };
    let spec = run.spec();
    let needs_stage =
        !is_own || spec.network != Network::None || may_write(spec.workspace.as_ref());
    match plan.invocation.stage {
        Stage::Always => ModuleLocation::Stage,
        Stage::Never => ModuleLocation::InProcess,
        Stage::Auto if needs_stage => ModuleLocation::Stage,
        Stage::Auto => ModuleLocation::InProcess,
    }
}
