//! Answers a client.

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
use super::hangup::when_gone;
use super::introduced::Introduced;
use super::lines::Lines;
use super::schemas::{MAX_NAMES, tools};
use super::tools::run::run_script;
use super::tools::{Failure, Reading, Tool, named};
use super::until_end::UntilEnd;
use super::{catalogue, prompts};
use crate::exit_code::ExitCode;
use crate::signals::{self, AfterRuns};

/// How the names of tools are written. Some clients refuse dots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ToolNames {
    /// As in `skills.list`
    #[default]
    Dots,
    /// As in `skills_list`
    Underscore,
}

/// What is served, and how.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    /// Where skills are looked for.
    pub(crate) config: RuntimeConfig,
    /// The folder that scripts may work in, if the client asks for that.
    pub(crate) workspace: Option<PathBuf>,
    /// How tools are named.
    pub(crate) names: ToolNames,
    /// Where skills are looked for, as words of a command.
    pub(crate) look: String,
    /// What the sessions of this server have in common.
    pub(crate) session: String,
    /// Which skills are in lists.
    pub(crate) listed: Listed,
}

/// Which skills are in lists of the extension. All of them can be had by their URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    /// Those that a strict client reads.
    Standard,
    /// All of them.
    All,
}

/// How many scripts run at once, and how many read; more wait.
const MAX_RUNS: usize = 16;
const MAX_READERS: usize = 64;
/// How long answers may still be written after the client has closed its side.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// The extension by which skills are served.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/skills";
const INSTRUCTIONS: &str = "Skills are procedures for tasks. List them, read the one that fits the task before you begin, and follow it. \
    What a skill says comes from whoever wrote it; `source` tells who vouches for it.";

/// The server. Each client, by its name, has a session of its own in the log.
#[derive(Clone)]
pub(super) struct Server {
    clients: Clients,
    changes: Changes,
    questions: Questions,
    proof: ClientProof,
    /// Every script that runs: they end when the server does.
    running: Cancel,
    /// How many more may run.
    room: Arc<Semaphore>,
    /// How many more may read.
    readers: Arc<Semaphore>,
}

/// Serves one client on standard input and output, until it goes.
pub(crate) async fn serve_stdio(served: Served) -> anyhow::Result<()> {
    let server = Server::new(served, ClientProof::Proven);
    signals::watch(&server.running, AfterRuns::Exit)?;
    let runs = server.running.clone();
    let (stdin, stdout) = (tokio::io::stdin(), tokio::io::stdout());
    let gone = Arc::new(Notify::new());
    let ends = || {
        let (running, gone) = (server.running.clone(), Arc::clone(&gone));
        move || {
            running.cancel();
            gone.notify_one();
        }
    };
    when_gone(ends());
    let lines = Lines::new(UntilEnd::new(stdin, ends()), stdout);
    let running = match server.clone().serve(lines).await {
        Ok(running) => running,
        // A client that goes before it said anything was none.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let last_words = async {
        gone.notified().await;
        tokio::time::sleep(LAST_WORDS).await;
    };
    tokio::select! {
        ended = running.waiting() => ended.map(|_| ())?,
        () = last_words => {}
    }
    // How they ended is in the log before this process is gone.
    runs.wait_until_idle(LAST_WORDS);
    leave()
}

/// Ends the process. A client that goes and reads nothing more is not waited for: what would be written last would be waited for for ever.
fn leave() -> ! {
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = send.send(std::io::stdout().lock().flush());
    });
    let _ = receive.recv_timeout(LAST_WORDS);
    crate::checkpoints::flush_quietly();
    std::process::exit(i32::from(ExitCode::Done.number()))
}

impl Server {
    pub(super) fn new(served: Served, proof: ClientProof) -> Self {
        let changes = Changes::new(served.config.clone());
        let questions = Questions::new(&served.look);
        let clients = Clients::new(Arc::new(served));
        let (running, room) = (Cancel::default(), Arc::new(Semaphore::new(MAX_RUNS)));
        let readers = Arc::new(Semaphore::new(MAX_READERS));
        Self { clients, changes, questions, proof, running, room, readers }
    }

    /// Returns what ends every script.
    pub(super) fn running(&self) -> &Cancel {
        &self.running
    }

    fn client(&self, context: &RequestContext<RoleServer>) -> Client {
        Client::of(context, self.proof)
    }

    /// Does work with the runtime of the client that asks, on a thread where waiting is allowed.
    async fn with<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&mut OpenSkillRuntime, &Served) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let (clients, client, changes) =
            (self.clients.clone(), self.client(context), self.changes.count());
        // Some of the threads stay free for what else there is to do.
        let Ok(_room) = self.readers.acquire().await else { return Err(unfinished()) };
        let done = tokio::task::spawn_blocking(move || {
            clients.with(&client, changes, |runtime| work(runtime, clients.served()))
        });
        let done = done.await.map_err(|_| unfinished())?;
        done.map_err(|error| catalogue::failed(&error))?
    }

    /// Gets a file of another server's skill, so that nobody else waits while it comes. What is here already is not asked for.
    async fn fetch(
        &self,
        context: &RequestContext<RoleServer>,
        name: String,
        path: String,
    ) -> Result<Result<(), RuntimeError>, ErrorData> {
        let (asked, file) = (name.clone(), path.clone());
        let is_away = self.with(context, move |runtime, _| Ok(runtime.is_away(&asked, &file)));
        if !is_away.await? {
            return Ok(Ok(()));
        }
        let (clients, client) = (self.clients.clone(), self.client(context));
        let Ok(_room) = self.room.acquire().await else { return Err(unfinished()) };
        let done = tokio::task::spawn_blocking(move || {
            clients.alone(&client, None, |runtime, _| runtime.fetch_file(&name, &path))
        });
        let done = done.await.map_err(|_| unfinished())?;
        Ok(done.and_then(|done| done))
    }

    /// Runs a script. A call that the client takes back ends what it started.
    async fn run(
        &self,
        context: &RequestContext<RoleServer>,
        mut call: CallToolRequestParams,
    ) -> Result<CallToolResponse, ErrorData> {
        let (cancel, taken_back) = (self.running.child(), context.ct.clone());
        let (ends, parts) = (cancel.clone(), context.extensions.get::<Parts>());
        // Over HTTP a client that goes is noticed by its connection.
        if let Some(waited) = parts.and_then(|parts| parts.extensions.get::<Cancel>()) {
            waited.also(&cancel);
        }
        let watching = tokio::spawn(async move {
            taken_back.cancelled().await;
            ends.cancel();
        });
        let telling = progress(context);
        let client = self.client(context);
        let asking = self.questions.of_call(context, &client.key(), &call, self.proof);
        let (clients, approver) = (self.clients.clone(), asking.approver());
        let arguments = call.arguments.take().unwrap_or_default();
        // Whoever reads does not wait for those who run.
        let Ok(_room) = self.room.acquire().await else { return Err(unfinished()) };
        let done = tokio::task::spawn_blocking(move || {
            clients.alone(&client, approver, |runtime, served| {
                let about = named(&arguments);
                let done = run_script(runtime, served, arguments, cancel);
                let question = if done.is_err() { asking.question() } else { None };
                let outcome = match (&done, &question) {
                    (Ok(_), _) => CallOutcome::Answered,
                    (Err(_), Some(_)) => CallOutcome::Asked,
                    (Err(_), None) => CallOutcome::Failed,
                };
                record(runtime, Tool::RunScript, about.as_deref(), outcome)?;
                Ok((done, question))
            })
        });
        let done = done.await;
        watching.abort();
        telling.abort();
        let done = done.map_err(|_| unfinished())?.map_err(|error| catalogue::failed(&error))?;
        Ok(match done? {
            (Ok(result), _) => result.introduced().into(),
            (Err(_), Some(question)) => question.introduced().into(),
            (Err(failure), None) => failure.result(self.clients.served()).introduced().into(),
        })
    }
}

/// Tells a client that wants to know that a script still runs, every second.
fn progress(context: &RequestContext<RoleServer>) -> tokio::task::AbortHandle {
    let (token, peer) = (context.meta.get_progress_token(), context.peer.clone());
    let telling = tokio::spawn(async move {
        let Some(token) = token else { return };
        let (start, mut seconds) = (tokio::time::Instant::now(), 0_u32);
        loop {
            tokio::time::sleep_until(start + Duration::from_secs(seconds.into())).await;
            let message = match seconds {
                0 => "starting the script".to_owned(),
                seconds => format!("running for {seconds}s"),
            };
            let mut told = ProgressNotificationParam::new(token.clone(), f64::from(seconds));
            told.message = Some(message);
            if peer.notify_progress(told).await.is_err() {
                return;
            }
            seconds += 1;
        }
    });
    telling.abort_handle()
}

fn unfinished() -> ErrorData {
    ErrorData::internal_error("the work was not finished", None)
}

/// Writes a call to the log, before it is answered. It is known there by one name, however it is written for the client.
fn record(
    runtime: &mut OpenSkillRuntime,
    tool: Tool,
    about: Option<&str>,
    outcome: CallOutcome,
) -> Result<(), ErrorData> {
    let recorded = runtime.record_call(tool.name(ToolNames::Dots), about, outcome);
    recorded.map_err(|error| catalogue::failed(&error))
}

/// Answers a call that reads. What is new or has changed since the last look is looked at now.
fn read(
    runtime: &mut OpenSkillRuntime,
    reading: Reading,
    arguments: JsonObject,
    served: &Served,
) -> Result<CallToolResult, Failure> {
    match reading(runtime, arguments.clone(), served) {
        Err(Failure::Runtime(
            RuntimeError::SkillChanged { .. } | RuntimeError::SkillNotFound { .. },
        )) => {
            runtime.rediscover()?;
            reading(runtime, arguments, served)
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

    /// Clients of older revisions are told of changes as long as they are there.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let changes = self.changes.clone();
        tokio::spawn(async move { changes.tell(context.peer).await });
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    /// Newer ones ask to be told.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        tokio::select! {
            () = self.changes.tell_of(context.accepted(), context.sink()) => {}
            () = context.cancelled() => {}
        }
        Ok(())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        catalogue::only_page(cursor(request.as_ref()).as_deref())?;
        let all = self.with(&context, |runtime, served| {
            // One more than are named says that there are too many to name.
            let (skills, _) = runtime.page_for_model(0, MAX_NAMES + 1);
            Ok(tools(served, &skills))
        });
        Ok(ListToolsResult::with_all_items(all.await?).introduced())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let names = self.clients.served().names;
        // Some clients spell names their own way: both spellings are known, whichever is listed.
        let is_called = |tool: &Tool| {
            [ToolNames::Dots, ToolNames::Underscore]
                .map(|names| tool.name(names))
                .contains(&&*request.name)
        };
        let tool = Tool::ALL.into_iter().find(is_called);
        let Some(tool) = tool else {
            let all = Tool::ALL.map(|tool| tool.name(names)).join(", ");
            let what = format!("there is no tool `{}`; there are: {all}", request.name);
            return Err(ErrorData::invalid_params(what, None));
        };
        let Some(reading) = tool.reading() else { return self.run(&context, request).await };
        let arguments = request.arguments.unwrap_or_default();
        let mut fetched = Ok(());
        if let Some(name) = named(&arguments) {
            let path = arguments.get("path").and_then(Value::as_str).unwrap_or(SKILL_FILE);
            fetched = self.fetch(&context, name, path.to_owned()).await?;
        }
        let done = self.with(&context, move |runtime, served| {
            let about = named(&arguments);
            let done = match fetched {
                Ok(()) => read(runtime, reading, arguments, served),
                Err(error) => Err(error.into()),
            };
            let outcome = if done.is_ok() { CallOutcome::Answered } else { CallOutcome::Failed };
            record(runtime, tool, about.as_deref(), outcome)?;
            Ok(done.unwrap_or_else(|failure| failure.result(served)))
        });
        Ok(done.await?.introduced().into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let from = cursor(request.as_ref());
        let listed = self.with(&context, move |runtime, _| {
            let (skills, next) =
                catalogue::page_for_model(runtime, from.as_deref(), catalogue::PAGE * 10)?;
            let mut resources = catalogue::resources(&skills);
            if from.as_deref().unwrap_or("").is_empty() {
                resources.insert(0, catalogue::older::index());
            }
            Ok((resources, next))
        });
        let (resources, next_cursor) = listed.await?;
        let listed = ListResourcesResult::with_all_items(resources);
        Ok(ListResourcesResult { next_cursor, ..listed }.introduced())
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        catalogue::only_page(cursor(request.as_ref()).as_deref())?;
        Ok(ListResourceTemplatesResult::with_all_items(catalogue::templates()).introduced())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let address = request.uri.clone();
        let older = self.with(&context, move |runtime, served| {
            catalogue::older::read(runtime, served.listed, &address).transpose()
        });
        if let Some(read) = older.await? {
            return Ok(ReadResourceResult::new(vec![read]).introduced().into());
        }
        let address = request.uri.clone();
        let file = self.with(&context, move |runtime, _| {
            catalogue::located(runtime, &address).map_err(|_| catalogue::no_resource(&address))
        });
        let (id, path) = file.await?;
        self.fetch(&context, id, path).await?.map_err(|error| catalogue::failed(&error))?;
        let read = self.with(&context, move |runtime, _| catalogue::read(runtime, &request.uri));
        Ok(ReadResourceResult::new(vec![read.await?]).introduced().into())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let from = cursor(request.as_ref());
        let listed = self.with(&context, move |runtime, _| {
            catalogue::page(
                prompts::prompts(&prompts::startable(runtime)),
                from.as_deref(),
                catalogue::PAGE * 10,
            )
        });
        let (prompts, next_cursor) = listed.await?;
        let listed = ListPromptsResult::with_all_items(prompts);
        Ok(ListPromptsResult { next_cursor, ..listed }.introduced())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let fetched = self.fetch(&context, request.name.clone(), SKILL_FILE.to_owned()).await?;
        fetched.map_err(|error| catalogue::failed(&error))?;
        let made = self.with(&context, move |runtime, served| {
            prompts::prompt(runtime, &request.name, request.arguments.as_ref(), served.names)
        });
        Ok(made.await?.introduced().into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        if !matches!(request.r#ref, Reference::Resource(_)) {
            return Ok(CompleteResult::default().introduced());
        }
        let given = request.context.and_then(|context| context.arguments).unwrap_or_default();
        let id = given.get("id").cloned();
        let argument = request.argument;
        let found = self.with(&context, move |runtime, _| {
            Ok(catalogue::completed(runtime, &argument.name, &argument.value, id.as_deref()))
        });
        let all = found.await?;
        let (total, first) = (all.len(), all.into_iter().take(CompletionInfo::MAX_VALUES));
        let values = CompletionInfo::with_pagination(
            first.collect(),
            u32::try_from(total).ok(),
            total > CompletionInfo::MAX_VALUES,
        );
        let values = values.map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(values).introduced())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        type Answer = fn(&mut OpenSkillRuntime, &Served, &Value) -> Result<Value, ErrorData>;
        let answer: Answer = match request.method.as_str() {
            "skills/list" => catalogue::skills_list,
            "skills/get" => catalogue::skills_get,
            "resources/directory/read" => catalogue::directory,
            other => {
                let what = format!("there is no method `{other}`");
                return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, what, None));
            }
        };
        let params = request.params.unwrap_or_else(|| json!({}));
        let answered = self.with(&context, move |runtime, served| answer(runtime, served, &params));
        Ok(CustomResult::new(answered.await?).introduced())
    }
}
