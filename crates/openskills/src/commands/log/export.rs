//! `openskills log export`: exports events for other programs.

use std::time::Duration;

use anyhow::Context as _;
use openskills_runtime::RuntimeError;
use openskills_runtime::log::{Entry, redact};
use serde_json::Value;

use super::detail::detail;
use super::{EventSelection, otlp};
use term::{HelpText, counted, safe_text};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::http;
use crate::output::VERSION;

/// Number of events per request to a collector.
const BATCH: usize = 500;
/// How long to wait for the collector.
const TIMEOUT: Duration = Duration::from_secs(30);

const HELP: HelpText = HelpText {
    text: "\
json is one object with `version` and `events`; csv has a header and one row per event; otlp is the
body of an OTLP/HTTP request in JSON. With --endpoint, the events are sent to an OpenTelemetry
collector at <URL>/v1/logs.

Reads:  the log
Writes: standard output; with --endpoint, sends to that URL and nowhere else",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage or configuration error, or the collector rejected the events"),
        ExitCode::Log.when("the log cannot be read"),
    ],
    examples: &[
        "openskills log export > events.json",
        "openskills log export --format csv --since 30d > events.csv",
        "openskills log export --endpoint http://localhost:4318",
        "openskills log export --endpoint https://otel.example.com --header \"X-Token: $TOKEN\"",
    ],
};

/// Export events as JSON, CSV or OpenTelemetry logs
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    events: EventSelection,
    /// Output format [default: json; with --endpoint, otlp]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    /// URL of an OpenTelemetry collector to send the events to
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// HTTP header for the collector, as `Name: value`; can be repeated
    #[arg(long, value_name = "HEADER", requires = "endpoint")]
    header: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Json,
    Csv,
    Otlp,
}

pub(crate) fn export(context: &mut Context, args: &ExportArgs) -> anyhow::Result<ExitCode> {
    let entries = args.events.entries(context)?.map(|entry| entry.map_err(RuntimeError::from));
    match (&args.endpoint, args.format) {
        (Some(endpoint), None | Some(Format::Otlp)) => send(context, args, endpoint, entries)?,
        (Some(_), Some(Format::Json | Format::Csv)) => {
            let message =
                "`--endpoint` cannot be combined with `--format json` or `--format csv`".to_owned();
            let hint = Some("remove --format".to_owned());
            return Err(RuntimeError::Setup { message, hint }.into());
        }
        (None, None | Some(Format::Json)) => json(context, entries)?,
        (None, Some(Format::Csv)) => csv(context, entries)?,
        (None, Some(Format::Otlp)) => {
            let all = entries.collect::<Result<Vec<_>, _>>()?;
            context.ui.json(&otlp::request(&all))?;
        }
    }
    Ok(ExitCode::Done)
}

fn json(
    context: &mut Context,
    entries: impl Iterator<Item = Result<Entry, RuntimeError>>,
) -> anyhow::Result<()> {
    context.ui.out(&format!("{{\"version\":{VERSION},\"events\":[\n"))?;
    let mut separator = "";
    for entry in entries {
        context.ui.out(separator)?;
        context.ui.json_row(&entry?)?;
        separator = ",";
    }
    Ok(context.ui.out("]}\n")?)
}

/// Event fields with a column of their own. The last column, `fields`, has all of them.
const COLUMNS: [&str; 8] =
    ["skillId", "source", "sessionId", "taskId", "hash", "path", "decision", "reason"];

fn csv(
    context: &mut Context,
    entries: impl Iterator<Item = Result<Entry, RuntimeError>>,
) -> anyhow::Result<()> {
    context.ui.out(&format!("seq,time,event,{},detail,fields\n", COLUMNS.join(",")))?;
    for entry in entries {
        let entry = entry?;
        let own = [entry.seq.to_string(), entry.time.clone(), entry.name.clone()];
        // Earlier versions stored the reason of a decision as `because`.
        let stored = |key: &str| {
            let older = entry.fields.get("because").filter(|_| key == "reason");
            entry.fields.get(key).or(older)
        };
        let named = COLUMNS.iter().map(|key| match stored(key) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        });
        let rest = [detail(&entry), serde_json::to_string(&entry.fields)?];
        let cells: Vec<String> =
            own.into_iter().chain(named).chain(rest).map(|text| cell(&safe_text(&text))).collect();
        context.ui.out(&format!("{}\n", cells.join(",")))?;
    }
    Ok(())
}

/// Returns a CSV cell. Text that a spreadsheet would interpret as a formula is prefixed with a quote.
fn cell(text: &str) -> String {
    let quote = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    let needs_quotes = !quote.is_empty() || text.contains([',', '"', '\n', '\r']);
    if needs_quotes { format!("\"{quote}{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

fn send(
    context: &mut Context,
    args: &ExportArgs,
    endpoint: &str,
    entries: impl Iterator<Item = Result<Entry, RuntimeError>>,
) -> anyhow::Result<()> {
    let headers = args.header.iter().map(|header| {
        header.split_once(':').map(|(name, value)| (name.trim(), value.trim())).ok_or_else(|| {
            let message = "`--header` must have the form `Name: value`".to_owned();
            RuntimeError::Setup { message, hint: None }
        })
    });
    let headers: Vec<(&str, &str)> = headers.collect::<Result<_, _>>()?;
    let base = endpoint.trim_end_matches('/');
    if !["http://", "https://"].iter().any(|scheme| base.starts_with(scheme)) {
        let message = format!("`{}` is not an http:// or https:// URL", redact(endpoint));
        let hint = Some("pass a URL such as http://localhost:4318".to_owned());
        return Err(RuntimeError::Setup { message, hint }.into());
    }
    let url = otlp::logs_url(base);
    let mut sent = 0;
    let mut batch = Vec::new();
    let mut flush = |batch: &mut Vec<Entry>| -> anyhow::Result<()> {
        let Some(first) = batch.first() else { return Ok(()) };
        let body = serde_json::to_vec(&otlp::request(batch))?;
        let next = first.seq;
        http::post_json(&url, &headers, &body, TIMEOUT)
            .map_err(|error| anyhow::anyhow!("{}", redact(&format!("{error:#}"))))
            .with_context(|| {
                let sent = counted(sent, "event");
                format!("sent {sent}, then failed; continue with `--from {next}`")
            })?;
        sent += batch.len();
        batch.clear();
        Ok(())
    };
    for entry in entries {
        batch.push(entry?);
        if batch.len() == BATCH {
            flush(&mut batch)?;
        }
    }
    flush(&mut batch)?;
    Ok(context.ui.error(&format!("sent {}\n", counted(sent, "event")))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_cells_are_escaped_and_never_formulas() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=1+1", "\"'=1+1\""),
            ("@x", "\"'@x\""),
            ("a\nb", "\"a\nb\""),
        ] {
            assert_eq!(cell(text), expected);
        }
    }
}
