//! Answers a client.

use std::path::PathBuf;
use std::sync::Arc;

use hyper::http::request::Parts;
use openskills_runtime::{Cancel, OpenSkillRuntime, RuntimeConfig, RuntimeError, Skill};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, CustomRequest, CustomResult, ErrorCode, ExtensionCapabilities,
    GetPromptRequestParams, GetPromptResponse, Implementation, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference,
    ServerCapabilities, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};

use super::ask::{Questions, Trust};
use super::changes::Changes;
use super::clients::Clients;
use super::schemas::{MOST_NAMES, tools};
use super::tools::{Failure, Reading, Which, run_script};
use super::until_end::UntilEnd;
use super::{catalogue, prompts};

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
}

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
    trust: Trust,
    /// Every script that runs: they end when the server does.
    running: Cancel,
}

/// Serves one client on standard input and output, until it goes.
pub(crate) async fn serve_stdio(served: Served) -> anyhow::Result<()> {
    let server = Server::new(served, Trust::Proven);
    let (stdin, stdout) = rmcp::transport::stdio();
    let ends = server.running.clone();
    let stdin = UntilEnd::new(stdin, move || ends.cancel());
    let running = match server.serve((stdin, stdout)).await {
        Ok(running) => running,
        // A client that goes before it said anything was none.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    running.waiting().await?;
    Ok(())
}

impl Server {
    pub(super) fn new(served: Served, trust: Trust) -> Self {
        let changes = Changes::new(served.config.clone());
        let questions = Questions::new(&served.look);
        let clients = Clients::new(Arc::new(served));
        Self { clients, changes, questions, trust, running: Cancel::default() }
    }

    /// Returns what ends every script.
    pub(super) fn running(&self) -> &Cancel {
        &self.running
    }

    /// Does work with the runtime of the client that asks, on a thread where waiting is allowed.
    async fn with<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&mut OpenSkillRuntime, &Served) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let (clients, client, changes) =
            (self.clients.clone(), client(context), self.changes.count());
        let done = tokio::task::spawn_blocking(move || {
            clients.with(&client, changes, |runtime| work(runtime, clients.served()))
        });
        let done = done.await.map_err(|_| unfinished())?;
        done.map_err(|error| catalogue::failed(&error))?
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
        let client = client(context);
        let asking = self.questions.of_call(context, &client, &call, self.trust);
        let (clients, approver) = (self.clients.clone(), asking.approver());
        let arguments = call.arguments.take().unwrap_or_default();
        let done = tokio::task::spawn_blocking(move || {
            clients.alone(&client, approver, |runtime, served| {
                run_script(runtime, served, arguments, cancel)
            })
        });
        let done = done.await;
        watching.abort();
        let done = done.map_err(|_| unfinished())?.map_err(|error| catalogue::failed(&error))?;
        Ok(match (done, asking.question()) {
            (Ok(result), _) => result.into(),
            (Err(_), Some(question)) => question.into(),
            (Err(failure), None) => failure.result().into(),
        })
    }
}

fn unfinished() -> ErrorData {
    ErrorData::internal_error("the work was not finished", None)
}

/// Answers a call that reads. What is new or has changed since the last look is looked at now.
fn read(
    runtime: &mut OpenSkillRuntime,
    reading: Reading,
    arguments: JsonObject,
) -> Result<CallToolResult, Failure> {
    match reading(runtime, arguments.clone()) {
        Err(Failure::Runtime(
            RuntimeError::SkillChanged { .. } | RuntimeError::SkillNotFound { .. },
        )) => {
            runtime.rediscover()?;
            reading(runtime, arguments)
        }
        other => other,
    }
}

/// Returns what a client calls itself, fit for a name.
fn client(context: &RequestContext<RoleServer>) -> String {
    let name = context.client_info().map(|info| info.name).unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
    let name: String = name.chars().take(48).map(plain).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
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
        info.server_info = Implementation::new("openskills", env!("CARGO_PKG_VERSION"));
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
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let all = self.with(&context, |runtime, served| {
            let name = |skill: &Arc<Skill>| skill.name.to_string();
            // One more than are named says that there are too many to name.
            let (skills, _) = runtime.page_for_model(0, MOST_NAMES + 1);
            let names: Vec<String> = skills.iter().map(name).collect();
            Ok(tools(served, &names))
        });
        Ok(ListToolsResult::with_all_items(all.await?))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let names = self.clients.served().names;
        let which = Which::ALL.into_iter().find(|which| which.name(names) == request.name);
        let Some(which) = which else {
            let all = Which::ALL.map(|which| which.name(names)).join(", ");
            let what = format!("there is no tool `{}`; there are: {all}", request.name);
            return Err(ErrorData::invalid_params(what, None));
        };
        let Some(reading) = which.reading() else { return self.run(&context, request).await };
        let arguments = request.arguments.unwrap_or_default();
        let done = self.with(&context, move |runtime, _| Ok(read(runtime, reading, arguments)));
        Ok(done.await?.unwrap_or_else(|failure| failure.result()).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let from = cursor(request.as_ref());
        let listed = self.with(&context, move |runtime, _| {
            catalogue::page(
                catalogue::resources(&runtime.list_skills()),
                from.as_deref(),
                catalogue::PAGE * 10,
            )
        });
        let (resources, next_cursor) = listed.await?;
        Ok(ListResourcesResult { next_cursor, ..ListResourcesResult::with_all_items(resources) })
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(catalogue::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = self.with(&context, move |runtime, _| catalogue::read(runtime, &request.uri));
        Ok(ReadResourceResult::new(vec![read.await?]).into())
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
        Ok(ListPromptsResult { next_cursor, ..ListPromptsResult::with_all_items(prompts) })
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let made = self.with(&context, move |runtime, _| {
            prompts::prompt(runtime, &request.name, request.arguments.as_ref())
        });
        Ok(made.await?.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let start = match &request.r#ref {
            Reference::Resource(_) if request.argument.name == "id" => request.argument.value,
            _ => return Ok(CompleteResult::default()),
        };
        let found = self.with(&context, move |runtime, _| {
            let ids = runtime.list_skills().into_iter().map(|skill| skill.id.clone());
            Ok(ids
                .filter(|id| id.contains(&start))
                .take(CompletionInfo::MAX_VALUES)
                .collect::<Vec<_>>())
        });
        let values = CompletionInfo::new(found.await?)
            .map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(values))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        type Answer = fn(&mut OpenSkillRuntime, &Value) -> Result<Value, ErrorData>;
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
        let answered = self.with(&context, move |runtime, _| answer(runtime, &params));
        Ok(CustomResult::new(answered.await?))
    }
}
