//! Implements the methods of the MCP server.

#![expect(clippy::disallowed_methods, reason = "the edge: the end of the process")]

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::http::request::Parts;
use openskills_runtime::{CallOutcome, Cancel, OpenSkillRuntime, RuntimeConfig, RuntimeError};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, CustomRequest, CustomResult, ErrorCode, ExtensionCapabilities,
    GetPromptRequestParams, GetPromptResponse, Implementation, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    Reference, ServerCapabilities, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use skill::SKILL_FILE;
use tokio::sync::{Notify, Semaphore};

use super::ask::{ClientProof, Questions};
use super::changes::Changes;
use super::clients::{Client, Clients};
use super::hangup::on_hangup;
use super::on_eof::OnEof;
use super::schemas::{MAX_NAMES, tools};
use super::server_info::WithServerInfo;
use super::stdio::StdioTransport;
use super::tools::command::run_command;
use super::tools::run::run_script;
use super::tools::{Failure, ReadTool, Tool, skill_argument};
use super::{catalog, prompts};
use crate::exit_code::ExitCode;
use crate::signals::{self, AfterRuns};

/// The style of tool names. Some clients reject dots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ToolNames {
    /// For example, `skills.list`
    #[default]
    Dots,
    /// For example, `skills_list`
    Underscore,
}

/// The options of the server.
#[derive(Debug, Clone)]
pub(crate) struct ServeConfig {
    /// The configuration for each client's runtime.
    pub(crate) runtime: RuntimeConfig,
    /// The folder that scripts may work in if the client requests it.
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) tool_names: ToolNames,
    /// The flags that say where to look for skills, for commands in hints.
    pub(crate) discovery_flags: String,
    /// A random part of the session IDs of all clients.
    pub(crate) session_suffix: String,
    pub(crate) list_filter: ListFilter,
    /// Whether the tool that runs command lines is offered.
    pub(crate) runs_commands: bool,
}

/// Which skills are in the lists of the extension. Every skill can be requested by its URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListFilter {
    /// Only skills that strict clients accept.
    Standard,
    /// All skills.
    All,
}

/// The maximum number of scripts, and of other operations, at the same time; more have to wait.
const MAX_RUNS: usize = 16;
const MAX_READS: usize = 64;
/// How long responses may still be written after the client has disconnected.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// The MCP extension for skills.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/skills";
const INSTRUCTIONS: &str = "Skills are instructions for specific tasks. \
    Before you begin a task, list the skills, read the one that fits, and follow it. \
    The text of a skill comes from its author; `source` says who vouches for it.";

/// The server. Each client has its own session in the log.
#[derive(Clone)]
pub(super) struct Server {
    clients: Clients,
    changes: Changes,
    questions: Questions,
    proof: ClientProof,
    /// Cancels all running scripts when the server ends.
    runs: Cancel,
    run_permits: Arc<Semaphore>,
    read_permits: Arc<Semaphore>,
}

/// Serves one client over stdio until it disconnects.
pub(crate) async fn serve_stdio(config: ServeConfig) -> anyhow::Result<()> {
    let server = Server::new(config, ClientProof::Proven);
    signals::watch(&server.runs, AfterRuns::Exit)?;
    let runs = server.runs.clone();
    let (stdin, stdout) = (tokio::io::stdin(), tokio::io::stdout());
    let disconnected = Arc::new(Notify::new());
    let on_disconnect = || {
        let (runs, disconnected) = (server.runs.clone(), Arc::clone(&disconnected));
        move || {
            runs.cancel();
            disconnected.notify_one();
        }
    };
    on_hangup(on_disconnect());
    let transport = StdioTransport::new(OnEof::new(stdin, on_disconnect()), stdout);
    let service = match server.clone().serve(transport).await {
        Ok(service) => service,
        // The client disconnected before it sent anything. This is not an error.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let timeout = async {
        disconnected.notified().await;
        tokio::time::sleep(SHUTDOWN_TIMEOUT).await;
    };
    tokio::select! {
        ended = service.waiting() => ended.map(|_| ())?,
        () = timeout => {}
    }
    // The log must say how each script ended.
    runs.wait_until_idle(SHUTDOWN_TIMEOUT);
    server.clients.end_sessions();
    exit()
}

/// Ends the process. If the client no longer reads, the last write would block forever, so it has a timeout.
fn exit() -> ! {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = sender.send(std::io::stdout().lock().flush());
    });
    let _ = receiver.recv_timeout(SHUTDOWN_TIMEOUT);
    crate::checkpoints::flush_quietly();
    std::process::exit(i32::from(ExitCode::Done.number()))
}

impl Server {
    pub(super) fn new(config: ServeConfig, proof: ClientProof) -> Self {
        let changes = Changes::new(config.runtime.clone());
        let questions = Questions::new(&config.discovery_flags);
        let clients = Clients::new(Arc::new(config));
        let runs = Cancel::default();
        let run_permits = Arc::new(Semaphore::new(MAX_RUNS));
        let read_permits = Arc::new(Semaphore::new(MAX_READS));
        Self { clients, changes, questions, proof, runs, run_permits, read_permits }
    }

    /// Returns the handle that cancels all running scripts.
    pub(super) fn runs(&self) -> &Cancel {
        &self.runs
    }

    fn client(&self, context: &RequestContext<RoleServer>) -> Client {
        Client::of(context, self.proof)
    }

    /// Calls `work` with the runtime of the client, on a thread that may block.
    async fn with_runtime<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&mut OpenSkillRuntime, &ServeConfig) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let (clients, client, changes) =
            (self.clients.clone(), self.client(context), self.changes.count());
        // The limit leaves threads for other work.
        let Ok(_permit) = self.read_permits.acquire().await else { return Err(did_not_finish()) };
        let result = tokio::task::spawn_blocking(move || {
            clients.with_runtime(&client, changes, |runtime| work(runtime, clients.config()))
        });
        let result = result.await.map_err(|_| did_not_finish())?;
        result.map_err(|error| catalog::error_data(&error))?
    }

    /// Fetches a file of another server's skill, unless it is cached. Other requests of the client need not wait for
    /// it.
    async fn fetch(
        &self,
        context: &RequestContext<RoleServer>,
        name: String,
        path: String,
    ) -> Result<Result<(), RuntimeError>, ErrorData> {
        let (skill, file) = (name.clone(), path.clone());
        let needs_fetch =
            self.with_runtime(context, move |runtime, _| Ok(runtime.needs_fetch(&skill, &file)));
        if !needs_fetch.await? {
            return Ok(Ok(()));
        }
        let (clients, client) = (self.clients.clone(), self.client(context));
        let Ok(_permit) = self.run_permits.acquire().await else { return Err(did_not_finish()) };
        let result = tokio::task::spawn_blocking(move || {
            clients.with_own_runtime(&client, None, |runtime, _| runtime.fetch_file(&name, &path))
        });
        let result = result.await.map_err(|_| did_not_finish())?;
        Ok(result.and_then(|result| result))
    }

    /// Runs a script or a command line, which is stopped if the client cancels the call.
    async fn run(
        &self,
        context: &RequestContext<RoleServer>,
        tool: Tool,
        mut call: CallToolRequestParams,
    ) -> Result<CallToolResponse, ErrorData> {
        let (cancel, call_cancelled) = (self.runs.child(), context.ct.clone());
        let (run, parts) = (cancel.clone(), context.extensions.get::<Parts>());
        // Over HTTP, the script is also stopped when the connection ends.
        if let Some(connection) = parts.and_then(|parts| parts.extensions.get::<Cancel>()) {
            connection.also(&cancel);
        }
        let cancel_task = tokio::spawn(async move {
            call_cancelled.cancelled().await;
            run.cancel();
        });
        let progress_task = report_progress(context);
        let client = self.client(context);
        let approval = self.questions.for_call(context, &client.key(), &call, self.proof);
        let (clients, approver) = (self.clients.clone(), approval.approver());
        let arguments = call.arguments.take().unwrap_or_default();
        // Scripts have their own limit, so that they never block reads.
        let Ok(_permit) = self.run_permits.acquire().await else { return Err(did_not_finish()) };
        let done = tokio::task::spawn_blocking(move || {
            clients.with_own_runtime(&client, approver, |runtime, config| {
                let skill = skill_argument(&arguments);
                let result = match tool {
                    Tool::RunCommand => run_command(runtime, config, arguments, &cancel),
                    Tool::List | Tool::Read | Tool::ReadResource | Tool::RunScript => {
                        run_script(runtime, config, arguments, cancel)
                    }
                };
                let question = if result.is_err() { approval.question() } else { None };
                let outcome = match (&result, &question) {
                    (Ok(_), _) => CallOutcome::Answered,
                    (Err(_), Some(_)) => CallOutcome::Asked,
                    (Err(_), None) => CallOutcome::Failed,
                };
                log_call(runtime, tool, skill.as_deref(), outcome)?;
                Ok((result, question))
            })
        });
        let done = done.await;
        cancel_task.abort();
        progress_task.abort();
        let done =
            done.map_err(|_| did_not_finish())?.map_err(|error| catalog::error_data(&error))?;
        Ok(match done? {
            (Ok(result), _) => result.with_server_info().into(),
            (Err(_), Some(question)) => question.with_server_info().into(),
            (Err(failure), None) => failure.result(self.clients.config()).with_server_info().into(),
        })
    }
}

/// Sends a progress notification every second, if the client gave a progress token.
fn report_progress(context: &RequestContext<RoleServer>) -> tokio::task::AbortHandle {
    let (token, peer) = (context.meta.get_progress_token(), context.peer.clone());
    let task = tokio::spawn(async move {
        let Some(token) = token else { return };
        let (start, mut seconds) = (tokio::time::Instant::now(), 0_u32);
        loop {
            tokio::time::sleep_until(start + Duration::from_secs(seconds.into())).await;
            let message = match seconds {
                0 => "starting the script".to_owned(),
                seconds => format!("running for {seconds}s"),
            };
            let mut progress = ProgressNotificationParam::new(token.clone(), f64::from(seconds));
            progress.message = Some(message);
            if peer.notify_progress(progress).await.is_err() {
                return;
            }
            seconds += 1;
        }
    });
    task.abort_handle()
}

fn did_not_finish() -> ErrorData {
    ErrorData::internal_error("the operation did not finish", None)
}

/// Logs a call before it is answered. The log uses the same tool names for all clients.
fn log_call(
    runtime: &mut OpenSkillRuntime,
    tool: Tool,
    skill: Option<&str>,
    outcome: CallOutcome,
) -> Result<(), ErrorData> {
    let result = runtime.record_call(tool.name(ToolNames::Dots), skill, outcome);
    result.map_err(|error| catalog::error_data(&error))
}

/// Calls a tool that only reads. If the skill is new or has changed since the last discovery, discovers again and
/// retries.
fn call_read_tool(
    runtime: &mut OpenSkillRuntime,
    tool: ReadTool,
    arguments: JsonObject,
    config: &ServeConfig,
) -> Result<CallToolResult, Failure> {
    match tool(runtime, arguments.clone(), config) {
        Err(Failure::Runtime(
            RuntimeError::SkillChanged { .. } | RuntimeError::SkillNotFound { .. },
        )) => {
            runtime.rediscover()?;
            tool(runtime, arguments, config)
        }
        other => other,
    }
}

fn cursor(request: Option<&PaginatedRequestParams>) -> Option<String> {
    request.and_then(|request| request.cursor.clone())
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_completions()
            .build();
        let mut extensions = ExtensionCapabilities::new();
        let mut settings = JsonObject::new();
        settings.insert("directoryRead".to_owned(), Value::Bool(true));
        extensions.insert(EXTENSION.to_owned(), settings);
        capabilities.extensions = Some(extensions);
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new(super::NAME, env!("CARGO_PKG_VERSION"));
        info.instructions = Some(INSTRUCTIONS.to_owned());
        info
    }

    /// Clients of older revisions are notified of changes until they disconnect.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let changes = self.changes.clone();
        tokio::spawn(async move { changes.notify_peer(context.peer).await });
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    /// Clients of the newest revision subscribe to changes.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        tokio::select! {
            () = self.changes.notify_subscriber(context.accepted(), context.sink()) => {}
            () = context.cancelled() => {}
        }
        Ok(())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        catalog::reject_cursor(cursor(request.as_ref()).as_deref())?;
        let all = self.with_runtime(&context, |runtime, config| {
            // One more than the limit shows that there are too many skills to list their names.
            let (skills, _) = runtime.page_for_model(0, MAX_NAMES + 1);
            Ok(tools(config, &skills))
        });
        Ok(ListToolsResult::with_all_items(all.await?).with_server_info())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let names = self.clients.config().tool_names;
        // Some clients rename tools, so both styles are accepted.
        let has_name = |tool: &Tool| {
            [ToolNames::Dots, ToolNames::Underscore]
                .map(|names| tool.name(names))
                .contains(&&*request.name)
        };
        let offered = Tool::offered(self.clients.config());
        let tool = offered.iter().copied().find(has_name);
        let Some(tool) = tool else {
            let all: Vec<&str> = offered.iter().map(|tool| tool.name(names)).collect();
            let all = all.join(", ");
            let message = format!("unknown tool `{}`; available: {all}", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let Some(read_tool) = tool.read_tool() else {
            return self.run(&context, tool, request).await;
        };
        let arguments = request.arguments.unwrap_or_default();
        let mut fetched = Ok(());
        if let Some(name) = skill_argument(&arguments) {
            let path = arguments.get("path").and_then(Value::as_str).unwrap_or(SKILL_FILE);
            fetched = self.fetch(&context, name, path.to_owned()).await?;
        }
        let result = self.with_runtime(&context, move |runtime, config| {
            let skill = skill_argument(&arguments);
            let result = match fetched {
                Ok(()) => call_read_tool(runtime, read_tool, arguments, config),
                Err(error) => Err(error.into()),
            };
            let outcome = if result.is_ok() { CallOutcome::Answered } else { CallOutcome::Failed };
            log_call(runtime, tool, skill.as_deref(), outcome)?;
            Ok(result.unwrap_or_else(|failure| failure.result(config)))
        });
        Ok(result.await?.with_server_info().into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let start = cursor(request.as_ref());
        let listed = self.with_runtime(&context, move |runtime, _| {
            let (skills, next) =
                catalog::page_for_model(runtime, start.as_deref(), catalog::PAGE * 10)?;
            let mut resources = catalog::resources(&skills);
            if start.as_deref().unwrap_or("").is_empty() {
                resources.insert(0, catalog::legacy::index());
            }
            Ok((resources, next))
        });
        let (resources, next_cursor) = listed.await?;
        let listed = ListResourcesResult::with_all_items(resources);
        Ok(ListResourcesResult { next_cursor, ..listed }.with_server_info())
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        catalog::reject_cursor(cursor(request.as_ref()).as_deref())?;
        Ok(ListResourceTemplatesResult::with_all_items(catalog::templates()).with_server_info())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.clone();
        let legacy = self.with_runtime(&context, move |runtime, config| {
            catalog::legacy::read(runtime, config.list_filter, &uri).transpose()
        });
        if let Some(read) = legacy.await? {
            return Ok(ReadResourceResult::new(vec![read]).with_server_info().into());
        }
        let uri = request.uri.clone();
        let file = self.with_runtime(&context, move |runtime, _| {
            catalog::locate(runtime, &uri).map_err(|_| catalog::resource_not_found(&uri))
        });
        let (id, path) = file.await?;
        self.fetch(&context, id, path).await?.map_err(|error| catalog::error_data(&error))?;
        let read =
            self.with_runtime(&context, move |runtime, _| catalog::read(runtime, &request.uri));
        Ok(ReadResourceResult::new(vec![read.await?]).with_server_info().into())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let start = cursor(request.as_ref());
        let listed = self.with_runtime(&context, move |runtime, _| {
            catalog::page(
                prompts::prompts(&prompts::user_invocable(runtime)),
                start.as_deref(),
                catalog::PAGE * 10,
            )
        });
        let (prompts, next_cursor) = listed.await?;
        let listed = ListPromptsResult::with_all_items(prompts);
        Ok(ListPromptsResult { next_cursor, ..listed }.with_server_info())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let fetched = self.fetch(&context, request.name.clone(), SKILL_FILE.to_owned()).await?;
        fetched.map_err(|error| catalog::error_data(&error))?;
        let prompt = self.with_runtime(&context, move |runtime, config| {
            let arguments = request.arguments.as_ref();
            prompts::prompt(runtime, &request.name, arguments, config.tool_names)
        });
        Ok(prompt.await?.with_server_info().into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        if !matches!(request.r#ref, Reference::Resource(_)) {
            return Ok(CompleteResult::default().with_server_info());
        }
        let arguments = request.context.and_then(|context| context.arguments).unwrap_or_default();
        let id = arguments.get("id").cloned();
        let argument = request.argument;
        let found = self.with_runtime(&context, move |runtime, _| {
            Ok(catalog::completions(runtime, &argument.name, &argument.value, id.as_deref()))
        });
        let found = found.await?;
        let (total, first) = (found.len(), found.into_iter().take(CompletionInfo::MAX_VALUES));
        let values = CompletionInfo::with_pagination(
            first.collect(),
            u32::try_from(total).ok(),
            total > CompletionInfo::MAX_VALUES,
        );
        let values = values.map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(values).with_server_info())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        type Handler = fn(&mut OpenSkillRuntime, &ServeConfig, &Value) -> Result<Value, ErrorData>;
        let handler: Handler = match request.method.as_str() {
            "skills/list" => catalog::skills_list,
            "skills/get" => catalog::skills_get,
            "resources/directory/read" => catalog::directory,
            other => {
                let message = format!("unknown method `{other}`");
                return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None));
            }
        };
        let params = request.params.unwrap_or_else(|| json!({}));
        let result =
            self.with_runtime(&context, move |runtime, config| handler(runtime, config, &params));
        Ok(CustomResult::new(result.await?).with_server_info())
    }
}
