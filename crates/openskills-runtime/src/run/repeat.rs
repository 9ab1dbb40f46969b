//! What the log keeps of a module's run, and repeating it from there.

use std::time::Duration;

use sandbox::{Ended, Stdin};
use serde_json::Value;
use skill::capabilities::Capabilities;

use crate::record::log::{Key, Source, redact, redact_all};
use crate::record::replay::{Executed, Fate, Repeated, Repetition, Replayed};
use crate::run::{Caller, ExecutionOptions, Input, Invocation, Permitted, WasmRun};
use crate::runtime::OpenSkillRuntime;
use crate::{Again, RuntimeError, WasmExecution};

/// How much of what it takes to repeat a module's run is written to the log.
const MAX_REPEAT: usize = 64 << 10;

/// Returns what is logged of a module, with what it takes to repeat it where a seed makes that worth while.
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
        not_again: repeat.as_ref().and_then(|repeat| repeat.as_ref().err().cloned()),
        again: repeat.and_then(Result::ok),
        repeats: caller.repeats,
    }
}

/// Returns what it takes to repeat a module's run, or why that cannot be known from the log.
fn repeat(run: &Permitted, ended: Ended) -> Result<Again, String> {
    let because = |why: &str| Err(why.to_owned());
    let (spec, options) = (run.spec(), &run.permit().plan().invocation);
    let Capabilities { network, env, .. } = run.permit().capabilities();
    if options.workspace.is_some() {
        return because("it had a workspace");
    }
    if spec.stdin == Stdin::Inherited {
        return because("it read standard input");
    }
    if spec.read.len() > 1 {
        return because("it had folders beside its own");
    }
    if !network.is_nothing() || !env.is_nothing() {
        return because("it had a way to the network, or variables of the user's");
    }
    if matches!(ended, Ended::Timeout | Ended::Signalled(_) | Ended::Cancelled) {
        return because("it was ended by the clock, or from outside");
    }
    let args = options.args.iter().map(|arg| arg.to_str().map(str::to_owned));
    let Some(args) = args.collect::<Option<Vec<String>>>() else {
        return because("an argument is not Unicode");
    };
    let given = Again {
        args,
        input: options.input.as_ref().map(|input| input.as_str().to_owned()),
        timeout_ms: u64::try_from(spec.limits.wall.as_millis()).unwrap_or(u64::MAX),
        memory_bytes: spec.limits.memory,
    };
    // The log keeps no secrets, and nothing large.
    let json = serde_json::to_value(&given).map_err(|error| error.to_string())?;
    let text = json.to_string();
    if text.len() > MAX_REPEAT {
        return because("its arguments and its input are too large");
    }
    let is_clean = |given: &Value| {
        let mut clean = given.clone();
        redact_all(&mut clean);
        clean == *given
    };
    // A name may tell that what stands behind it is one.
    let line = given.args.join(" ");
    let all_clean = is_clean(&json) && options.input.iter().all(|input| is_clean(input.value()));
    if !all_clean || redact(&text) != text || redact(&line) != line {
        return because("its arguments or its input look like secrets");
    }
    Ok(given)
}

impl OpenSkillRuntime {
    /// Holds a log to today's skills, as [`replay`](Self::replay) does, and repeats every module that was run with a seed: it must write
    /// what it wrote. Each run needs a permit and is logged as any other. What was itself such a repetition is not repeated.
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

    fn repeat(&mut self, event: &Replayed, executed: Executed) -> Repeated {
        match self.run_repeated(event, executed) {
            Ok((hash, repetition)) => {
                Repeated { repetition, output_hash: Some(hash), because: None }
            }
            Err(because) => {
                let (repetition, output_hash) = (Repetition::NotRun, None);
                Repeated { repetition, output_hash, because: Some(because) }
            }
        }
    }

    fn run_repeated(
        &mut self,
        event: &Replayed,
        executed: Executed,
    ) -> Result<(String, Repetition), String> {
        let Executed { script, input_hash, output_hash, exit_status, wasm } = executed;
        if let Some(why) = wasm.not_again {
            return Err(why);
        }
        let seed = wasm.seed.ok_or("it had no seed")?;
        let given = wasm.again.ok_or("the log does not tell what it was given")?;
        let arguments = given.args.iter().map(String::as_bytes);
        if crate::record::run_record::input_hash(arguments, given.input.as_deref()) != input_hash {
            let what = "the arguments and the input in the log are not those that it had";
            return Err(what.to_owned());
        }
        match event.fate {
            Fate::Same => {}
            Fate::Drifted => return Err("the skill is not what it was".to_owned()),
            Fate::Gone => return Err("the skill is gone".to_owned()),
        }
        let input = given.input.as_deref().map(Input::parse).transpose();
        let input = input.map_err(|error| format!("the input in the log is not JSON: {error}"))?;
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
        Ok((hash, if is_same { Repetition::Same } else { Repetition::Different }))
    }
}
