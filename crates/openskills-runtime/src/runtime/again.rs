//! What the log keeps of a module's run, and running it again from there.

use std::time::Duration;

use serde_json::Value;
use skill::Digest;
use skill::capabilities::Capabilities;

use super::OpenSkillRuntime;
use crate::exec::{ExecutionOptions, WASM_MEMORY, WasmRun};
use crate::log::{Key, Source, redact, redact_all};
use crate::permit::Permit;
use crate::replay::{Fate, Repeated, Repetition, Replayed};
use crate::{Again, RuntimeError, WasmExecution};

/// How much of what it takes to run a module again is written to the log.
const MAX_AGAIN: usize = 64 << 10;

/// Returns what is logged of a module, with what it takes to run it again where a seed makes that worth while.
pub(super) fn wasm_event(
    permit: &Permit,
    options: &ExecutionOptions,
    wasm: &WasmRun,
) -> WasmExecution {
    let again = options.seed.map(|_| again(permit, options));
    WasmExecution {
        module_sha256: wasm.module.to_string(),
        fuel: wasm.fuel,
        memory_bytes: wasm.memory,
        staged: wasm.is_staged,
        trap: wasm.trap.clone(),
        seed: options.seed,
        not_again: again.as_ref().and_then(|again| again.as_ref().err().cloned()),
        again: again.and_then(Result::ok),
    }
}

/// Returns what it takes to run a module again, or why that cannot be known from the log.
fn again(permit: &Permit, options: &ExecutionOptions) -> Result<Again, String> {
    let because = |why: &str| Err(why.to_owned());
    if options.workspace.is_some() {
        return because("it had a workspace");
    }
    let Capabilities { network, env, .. } = permit.powers();
    if !network.is_nothing() || !env.is_nothing() {
        return because("it had a way to the network, or variables of the user's");
    }
    let args = options.args.iter().map(|arg| arg.to_str().map(str::to_owned));
    let Some(args) = args.collect::<Option<Vec<String>>>() else {
        return because("an argument is not Unicode");
    };
    let limits = sandbox::Limits::default();
    let wall = options.timeout.unwrap_or(limits.wall).as_millis();
    let again = Again {
        args,
        input: options.input.clone(),
        timeout_ms: u64::try_from(wall).unwrap_or(u64::MAX),
        memory_bytes: options.memory.unwrap_or(WASM_MEMORY),
    };
    // The log keeps no secrets, and nothing large.
    let given = serde_json::to_value(&again).map_err(|error| error.to_string())?;
    let text = given.to_string();
    if text.len() > MAX_AGAIN {
        return because("its arguments and its input are too large");
    }
    let mut clean = given.clone();
    redact_all(&mut clean);
    // A name may tell that what stands behind it is one.
    if clean != given || redact(&text) != text {
        return because("its arguments or its input look like secrets");
    }
    Ok(again)
}

impl OpenSkillRuntime {
    /// Holds a log to today's skills, as [`replay`](Self::replay) does, and runs again every module that was run with a seed: it must write
    /// what it wrote. Each run needs leave and is logged as any other.
    pub fn replay_executing(
        &mut self,
        source: &Source,
        key: Option<&Key>,
    ) -> Result<Vec<Replayed>, RuntimeError> {
        let mut all = self.replay(source, key)?;
        for event in all.iter_mut().filter(|event| event.execution.is_some()) {
            event.repeated = Some(self.repeat(event));
        }
        Ok(all)
    }

    fn repeat(&mut self, event: &Replayed) -> Repeated {
        match self.run_again(event) {
            Ok((hash, repetition)) => {
                Repeated { repetition, output_hash: Some(hash), because: None }
            }
            Err(because) => {
                let (repetition, output_hash) = (Repetition::NotRun, None);
                Repeated { repetition, output_hash, because: Some(because) }
            }
        }
    }

    fn run_again(&mut self, event: &Replayed) -> Result<(String, Repetition), String> {
        let lacks = |what: &str| format!("the log does not tell {what}");
        let execution = event.execution.as_deref().ok_or_else(|| lacks("how it was run"))?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let wasm = execution.get("wasm").ok_or_else(|| lacks("that it was WebAssembly"))?;
        if let Some(why) = wasm.get("notAgain").and_then(text) {
            return Err(why);
        }
        let seed = wasm.get("seed").and_then(Value::as_u64).ok_or("it had no seed")?;
        let again = wasm.get("again").ok_or_else(|| lacks("what it was given"))?;
        let again: Again = serde_json::from_value(again.clone())
            .map_err(|error| format!("the log is not understood: {error}"))?;
        let record = |key: &str| execution.get("record").and_then(|record| record.get(key));
        let recorded = |key: &str| record(key).and_then(text).ok_or_else(|| lacks(key));
        let input = again.input.as_ref().map(ToString::to_string).unwrap_or_default();
        if Digest::of(input.as_bytes()).to_string() != recorded("input_hash")? {
            return Err("the input in the log is not the one that it had".to_owned());
        }
        if event.fate != Fate::Same {
            return Err("the skill is not what it was".to_owned());
        }
        let script = execution.get("script").and_then(text).ok_or_else(|| lacks("what ran"))?;
        let options = ExecutionOptions {
            script: Some(script),
            args: again.args.into_iter().map(Into::into).collect(),
            input: again.input,
            timeout: Some(Duration::from_millis(again.timeout_ms)),
            memory: Some(again.memory_bytes),
            seed: Some(seed),
            ..ExecutionOptions::default()
        };
        let done = self.execute_skill(&event.skill_id, options).map_err(|error| {
            let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("{error}{hint}")
        })?;
        let hash = done.record.output_hash;
        let is_same = hash == recorded("output_hash")?;
        Ok((hash, if is_same { Repetition::Same } else { Repetition::Different }))
    }
}
