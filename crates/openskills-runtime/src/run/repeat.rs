//! Logs what is needed to repeat a module's run, and repeats runs from the log.

use std::time::Duration;

use sandbox::{Ended, Stdin};
use serde_json::Value;
use skill::capabilities::Capabilities;

use crate::record::log::{Key, Source, redact, redact_all};
use crate::record::replay::{RecordedExecution, RepeatResult, Repeated, ReplayStatus, Replayed};
use crate::run::{Caller, ExecutionOptions, Input, Invocation, Permitted, WasmRun};
use crate::runtime::OpenSkillRuntime;
use crate::{RepeatInput, RuntimeError, WasmExecution};

/// Larger arguments and inputs are not logged, in bytes.
const MAX_REPEAT: usize = 64 << 10;

/// Returns the log entry of a module's run. With a seed, it includes what is needed to repeat the run.
pub(crate) fn wasm_event(
    run: &Permitted,
    caller: &Caller,
    ended: Ended,
    wasm: &WasmRun,
) -> WasmExecution {
    let seed = run.permit().plan().invocation.seed;
    let repeat = seed.map(|_| repeat(run, ended));
    WasmExecution {
        module_sha256: wasm.module.to_string(),
        fuel: wasm.fuel,
        memory_bytes: wasm.memory,
        staged: wasm.is_staged,
        trap: wasm.trap.clone(),
        seed,
        not_repeatable: repeat.as_ref().and_then(|repeat| repeat.as_ref().err().cloned()),
        repeat: repeat.and_then(Result::ok),
        repeats: caller.repeats,
    }
}

/// Returns what is needed to repeat a module's run, or why the log cannot provide it.
fn repeat(run: &Permitted, ended: Ended) -> Result<RepeatInput, String> {
    let reason = |why: &str| Err(why.to_owned());
    let (spec, options) = (run.spec(), &run.permit().plan().invocation);
    let Capabilities { network, env, .. } = run.permit().capabilities();
    if options.workspace.is_some() {
        return reason("the run had a workspace");
    }
    if spec.stdin == Stdin::Inherited {
        return reason("the run read standard input");
    }
    if spec.read.len() > 1 {
        return reason("the run could read folders outside the skill");
    }
    if !network.is_nothing() || !env.is_nothing() {
        return reason("the run had network access or environment variables");
    }
    if matches!(ended, Ended::Timeout | Ended::Signalled(_) | Ended::Cancelled) {
        return reason("the run timed out or was stopped");
    }
    let args = options.args.iter().map(|arg| arg.to_str().map(str::to_owned));
    let Some(args) = args.collect::<Option<Vec<String>>>() else {
        return reason("an argument is not valid UTF-8");
    };
    let given = RepeatInput {
        args,
        input: options.input.as_ref().map(|input| input.as_str().to_owned()),
        timeout_ms: u64::try_from(spec.limits.wall.as_millis()).unwrap_or(u64::MAX),
        memory_bytes: spec.limits.memory,
    };
    // The log stores no secrets and nothing large.
    let json = serde_json::to_value(&given).map_err(|error| error.to_string())?;
    let text = json.to_string();
    if text.len() > MAX_REPEAT {
        return reason("the arguments and input are too large");
    }
    let is_clean = |given: &Value| {
        let mut clean = given.clone();
        redact_all(&mut clean);
        clean == *given
    };
    // A name before a value may reveal that the value is a secret.
    let line = given.args.join(" ");
    let all_clean = is_clean(&json) && options.input.iter().all(|input| is_clean(input.value()));
    if !all_clean || redact(&text) != text || redact(&line) != line {
        return reason("the arguments or input appear to contain secrets");
    }
    Ok(given)
}

impl OpenSkillRuntime {
    /// Compares a log with the current skills, like [`replay`](Self::replay), and repeats every module run that had a
    /// seed: its output must be the same. Each run needs a permit and is logged like any other. Repetitions are not
    /// repeated themselves.
    pub fn replay_executing(
        &mut self,
        source: &Source,
        key: Option<&Key>,
    ) -> Result<Vec<Replayed>, RuntimeError> {
        let mut all = self.replayed(source, key)?;
        for step in &mut all {
            if let Some(executed) = step.module.take() {
                step.replayed.repeated = Some(self.repeat(&step.replayed, *executed));
            }
        }
        Ok(all.into_iter().map(|step| step.replayed).collect())
    }

    fn repeat(&mut self, event: &Replayed, executed: RecordedExecution) -> Repeated {
        match self.run_repeated(event, executed) {
            Ok((hash, result)) => Repeated { result, output_hash: Some(hash), reason: None },
            Err(reason) => {
                let (result, output_hash) = (RepeatResult::NotRun, None);
                Repeated { result, output_hash, reason: Some(reason) }
            }
        }
    }

    fn run_repeated(
        &mut self,
        event: &Replayed,
        executed: RecordedExecution,
    ) -> Result<(String, RepeatResult), String> {
        let RecordedExecution { script, input_hash, output_hash, exit_status, wasm } = executed;
        if let Some(why) = wasm.not_repeatable {
            return Err(why);
        }
        let seed = wasm.seed.ok_or("the run had no seed")?;
        let given = wasm.repeat.ok_or("the log does not record its arguments and input")?;
        let arguments = given.args.iter().map(String::as_bytes);
        if crate::record::run_record::input_hash(arguments, given.input.as_deref()) != input_hash {
            let what = "the logged arguments and input do not match their recorded hash";
            return Err(what.to_owned());
        }
        match event.status {
            ReplayStatus::Same => {}
            ReplayStatus::Drifted => return Err("the skill has changed".to_owned()),
            ReplayStatus::Gone => return Err("the skill no longer exists".to_owned()),
        }
        let input = given.input.as_deref().map(Input::parse).transpose();
        let input =
            input.map_err(|error| format!("the logged input is not valid JSON: {error}"))?;
        let invocation = Invocation {
            args: given.args.into_iter().map(Into::into).collect(),
            input,
            timeout: Some(Duration::from_millis(given.timeout_ms)),
            memory: Some(given.memory_bytes),
            seed: Some(seed),
            ..Invocation::default()
        };
        let caller = Caller { repeats: Some(event.seq), ..Caller::default() };
        let script = Some(script);
        let options =
            ExecutionOptions { script, invocation, caller, ..ExecutionOptions::default() };
        let done =
            self.execute_skill(&event.skill_id, options).map_err(|error| error.to_string())?;
        let hash = done.record.output_hash;
        let is_same = hash == output_hash && done.record.exit_status.as_str() == exit_status;
        Ok((hash, if is_same { RepeatResult::Same } else { RepeatResult::Different }))
    }
}
