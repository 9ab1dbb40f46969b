//! Adds the name and version of this server to every result. The newest revision of the protocol requires it, because
//! its clients may send requests without an `initialize` handshake.

use rmcp::model::{
    CallToolResult, CompleteResult, CustomResult, GetPromptResult, InputRequiredResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    MetaObject, ReadResourceResult,
};
use serde_json::{Value, json};

/// The key in `_meta`.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// A result that can carry the name and version of this server.
pub(super) trait WithServerInfo: Sized {
    /// Adds the name and version of this server.
    fn with_server_info(self) -> Self;
}

fn server_info() -> Value {
    json!({"name": super::NAME, "version": env!("CARGO_PKG_VERSION")})
}

macro_rules! with_server_info {
    ($($result:ty),*) => {$(
        impl WithServerInfo for $result {
            fn with_server_info(mut self) -> Self {
                let meta = self.meta.get_or_insert_with(MetaObject::new);
                meta.0.insert(SERVER_INFO.to_owned(), server_info());
                self
            }
        }
    )*};
}

with_server_info!(
    CallToolResult,
    CompleteResult,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourceTemplatesResult,
    ListResourcesResult,
    ListToolsResult,
    ReadResourceResult
);

impl WithServerInfo for CustomResult {
    fn with_server_info(mut self) -> Self {
        if let Value::Object(fields) = &mut self.0 {
            fields.entry("_meta").or_insert_with(|| json!({}))[SERVER_INFO] = server_info();
        }
        self
    }
}
