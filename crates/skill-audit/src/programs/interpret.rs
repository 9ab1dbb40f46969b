//! Programs that execute code from their arguments or input.

use skill::interpreters::{Interpreter, InterpreterLanguage};

use crate::decode::{self, Encoding};
use crate::excerpt::slice;
use crate::hosts::{Remote, UNKNOWN};
use crate::op::{Action, OpCollector};
use crate::shell_code::{Code, Invocation, Language, Shell};
use crate::value::{Taint, Value};

/// Flags of `mshta`, `rundll32` and `regsvr32` that precede code.
const WINDOWS_CODE_FLAGS: &[&str] = &["-e", "-r", "-c", "/c", "/k", "-E", "-command", "-Command"];

/// Traces the code that a program executes. Without an interpreter, it is a shell builtin or a Windows command.
pub(super) fn interpret(
    shell: &mut Shell,
    call: &Invocation<'_>,
    interpreter: Option<&Interpreter>,
    collector: &mut OpCollector,
) -> Value {
    let program = call.program.as_str();
    let language = language(program, interpreter);
    let mut code = None;
    let mut args = call.args.iter();
    if matches!(program, "eval" | "iex") {
        let mut all = Value::default();
        for arg in call.args.iter() {
            all.push(arg);
            all.push(&Value::plain(" "));
        }
        collector.add(call.range, Action::Evaluate { by: program.to_owned() });
        code = Some(all);
    }
    while let (None, Some(arg)) = (&code, args.next()) {
        let text = arg.text.as_str();
        let takes_code = match interpreter {
            Some(interpreter) => interpreter.takes_code(text),
            // Windows commands that are not script interpreters.
            None => language == Language::Other && WINDOWS_CODE_FLAGS.contains(&text),
        };
        let is_encoded =
            matches!(text.to_lowercase().as_str(), "-enc" | "-encodedcommand" | "-e" | "-ec")
                && matches!(program, "powershell" | "pwsh");
        if is_encoded {
            code = args.next().map(decoded_command);
        } else if takes_code {
            code = args.next().cloned();
            break;
        } else if language == Language::Other
            && matches!(program, "mshta" | "regsvr32" | "rundll32" | "powershell" | "pwsh" | "cmd")
            && !text.starts_with(['-', '/'])
        {
            // It executes all remaining arguments.
            let mut all = arg.clone();
            for more in args.by_ref() {
                all.push(&Value::plain(" "));
                all.push(more);
            }
            if let Some(from) = all
                .text
                .split([' ', '"', '\'', '(', ',', ':'])
                .find_map(|_| find_remote(&all.text))
                .filter(|_| matches!(program, "mshta" | "regsvr32" | "rundll32"))
            {
                all.taints.insert(Taint::Fetched(from));
            }
            code = Some(all);
        } else if !text.starts_with('-') || text == "-" {
            if matches!(text, "run" | "exec" | "-" | "/dev/stdin") {
                continue;
            }
            collector.add(call.range, Action::Execute { path: text.to_owned() });
            let file = if arg.fetched().is_some() || arg.decoded().is_some() {
                arg.clone()
            } else if let Some(from) = arg.remote().filter(|_| text.contains("://")) {
                Value::unknown().with(Taint::Fetched(from))
            } else {
                shell.written(text).unwrap_or_default()
            };
            code = Some(file);
        }
    }
    let is_interactive = call.args.iter().any(|arg| arg.text == "-i" || arg.text == "-li");
    let reads_input = code.is_none();
    let code = code.unwrap_or_else(|| call.stdin.clone());
    shell.run_code(&Code { text: &code, by: program, language }, call.range, collector);
    let mut output = Value::unknown();
    if language == Language::Shell && (is_interactive || reads_input) {
        output.made_by = Some("shell".to_owned());
    }
    output
}

/// Returns the language that a program executes.
fn language(program: &str, interpreter: Option<&Interpreter>) -> Language {
    match interpreter.map(|interpreter| interpreter.language) {
        Some(InterpreterLanguage::Shell) => Language::Shell,
        Some(InterpreterLanguage::Python) => Language::Python,
        Some(InterpreterLanguage::JavaScript) => Language::JavaScript,
        Some(
            InterpreterLanguage::PowerShell
            | InterpreterLanguage::Batch
            | InterpreterLanguage::Awk
            | InterpreterLanguage::Other,
        ) => Language::Other,
        None if matches!(program, "eval" | "source" | ".") => Language::Shell,
        None => Language::Other,
    }
}

fn find_remote(text: &str) -> Option<Remote> {
    let at = text.find("http")?;
    Remote::parse(slice(text, at..).split([' ', '"', '\'', ')', ',']).next()?)
}

/// Decodes a base64 argument of PowerShell.
fn decoded_command(arg: &Value) -> Value {
    let text = decode::base64(&arg.text).and_then(|bytes| decode::text(&bytes, &mut Vec::new()));
    let mut value = arg.without_text().with(Taint::Decoded(Encoding::Base64));
    value.text = text.unwrap_or_else(|| UNKNOWN.to_string());
    value
}
