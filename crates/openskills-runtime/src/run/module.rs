//! Runs a module: compiled once, in this process or inside the operating system's sandbox as well.

#![expect(clippy::disallowed_methods, reason = "the edge: how long steps take")]

use std::time::Instant;

use sandbox::{Ended, Network, Outcome};
use sandbox_wasm::{Artifact, CacheName, CompiledFor, Guest, Job, Report, WasmError, staged};
use skill::Digest;
use skill_state::SkillSource;

use crate::RuntimeError;
use crate::run::permitted::{ModuleRan, Permitted, may_write};
use crate::run::prepare::{Prepared, wasm_error};
use crate::run::ran::{Ran, Timings};
use crate::run::{Cancel, ModuleCache, Stage, WasmRun};
use crate::runtime::OpenSkillRuntime;

/// Where a module runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModuleLocation {
    /// In this process.
    InProcess,
    /// In one of its own, inside the operating system's sandbox.
    Stage,
}

/// A module that is about to run.
struct Ready<'a> {
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
    ) -> Result<Ran, RuntimeError> {
        let at = location(&prepared.run);
        let ready = Ready { prepared, cancel, wasm, digest: Digest::of(wasm), at };
        let seed = prepared.run.permit().plan().invocation.seed;
        let guest = Guest { skill: prepared.skill.clone(), seed };
        let start = Instant::now();
        let (code, was_cached) = self.code(&ready)?;
        let loaded = (if was_cached { "load the code" } else { "compile" }, start.elapsed());
        let ModuleRan { ran, report, left_out } = match at {
            ModuleLocation::InProcess => ready.run_here(&guest, &code)?,
            ModuleLocation::Stage => ready.run_staged(&guest, &code)?,
        };
        let Report { ended, stdout, stderr, fuel, memory, trap, duration } = report;
        let timings = [loaded].into_iter().chain(ran.timings).chain([("run the module", duration)]);
        let (module, is_staged) = (ready.digest, at == ModuleLocation::Stage);
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
            ModuleLocation::InProcess => CompiledFor::Us,
            ModuleLocation::Stage => CompiledFor::Stage,
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
            (Err(_), ModuleLocation::InProcess) => return here(),
            (Err(error), ModuleLocation::Stage) => return Err(wrong(error)),
        };
        let run = &self.prepared.run;
        let spec = staged::compiling(run.spec(), &runner, self.wasm).map_err(wrong)?;
        match (run.in_runner(spec, &runner)?.run(self.cancel), self.at) {
            (Ok(ran), _) => staged::compiled(&ran.outcome).map_err(wrong),
            (Err(RuntimeError::SandboxUnavailable { .. }), ModuleLocation::InProcess) => here(),
            (Err(error), _) => Err(error),
        }
    }

    fn run_here(&self, guest: &Guest, code: &Artifact) -> Result<ModuleRan, RuntimeError> {
        let done = self.prepared.run.run_here(guest, code, self.cancel);
        done.map_err(|error| self.wrong(&error))
    }

    fn run_staged(&self, guest: &Guest, code: &Artifact) -> Result<ModuleRan, RuntimeError> {
        let wrong = |error: WasmError| self.wrong(&error);
        let run = &self.prepared.run;
        let job = Job::staged(run.spec(), guest).map_err(wrong)?;
        let runner = staged::runner().map_err(wrong)?;
        let spec = staged::running(run.spec(), &job, &runner, code).map_err(wrong)?;
        let ran = run.in_runner(spec, &runner)?.run(self.cancel)?;
        let report = match staged::ran(&ran.outcome) {
            // One that was ended from outside says nothing more of itself.
            Err(_) if ran.outcome.ended == Ended::Cancelled => cancelled(&ran.outcome),
            told => told.map_err(wrong)?,
        };
        // The program that ran is the runner; what is not the module's time is what it takes to set it up.
        let inside = ran.outcome.duration.saturating_sub(report.duration);
        let start = ran.timings.first().copied();
        let timings: Timings = start.into_iter().chain([("set up inside", inside)]).collect();
        let left_out = job.left_out().to_vec();
        Ok(ModuleRan { ran: Ran { timings, ..ran }, report, left_out })
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

/// Decides where a module runs: a third-party one inside the sandbox; so does what writes anything at all, or reaches the network. In this
/// process nothing bounds what is written, and nothing looks at it before it stays.
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
