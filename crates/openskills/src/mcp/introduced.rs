//! Says in every answer which server gives it, as the newest revision wants it: a client may ask without ever being introduced.

use rmcp::model::{
    CallToolResult, CompleteResult, CustomResult, GetPromptResult, InputRequiredResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    MetaObject, ReadResourceResult,
};
use serde_json::{Value, json};

/// The key under which a server says what it is.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// An answer that can say whose it is.
pub(super) trait Introduced: Sized {
    /// Returns it with the name and version of this server.
    fn introduced(self) -> Self;
}

fn me() -> Value {
    json!({"name": super::NAME, "version": env!("CARGO_PKG_VERSION")})
}

macro_rules! answers {
    ($($answer:ty),*) => {$(
        impl Introduced for $answer {
            fn introduced(mut self) -> Self {
                let meta = self.meta.get_or_insert_with(MetaObject::new);
                meta.0.insert(SERVER_INFO.to_owned(), me());
                self
            }
        }
    )*};
}

answers!(
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

impl Introduced for CustomResult {
    fn introduced(mut self) -> Self {
        if let Value::Object(fields) = &mut self.0 {
            fields.entry("_meta").or_insert_with(|| json!({}))[SERVER_INFO] = me();
        }
        self
    }
}
