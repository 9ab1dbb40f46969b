//! The origins of web pages that may connect, and the CORS headers for their browsers.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, HeaderMap, HeaderName, HeaderValue,
    ORIGIN, VARY,
};

/// The allowed origins, each as scheme, host and port.
#[derive(Debug, Clone)]
pub(super) struct Origins(Vec<String>);

impl Origins {
    pub(super) fn new(all: impl IntoIterator<Item = String>) -> Self {
        Self(all.into_iter().map(|origin| with_port(&origin)).collect())
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.0.clone()
    }

    /// Returns the origin of a request if it is allowed.
    pub(super) fn allowed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        let normalized = with_port(origin.to_str().ok()?);
        self.0.contains(&normalized).then(|| origin.clone())
    }
}

/// Returns an origin in lower case and with its port.
fn with_port(origin: &str) -> String {
    let origin = origin.trim().to_ascii_lowercase();
    let Some((scheme, host)) = origin.split_once("://") else { return origin };
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| {
        !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    match (has_port, scheme) {
        (true, _) => origin,
        (false, "https") => format!("{origin}:443"),
        (false, _) => format!("{origin}:80"),
    }
}

/// Adds the headers that let web pages of this origin read the response.
pub(super) fn add_cors_headers(origin: HeaderValue, headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(VARY, HeaderValue::from_static("Origin"));
    let exposed = HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate");
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
}

/// Adds the headers that say what such pages may send. Browsers send preflight requests without a token.
pub(super) fn add_preflight_headers(headers: &mut HeaderMap) {
    let fixed = HeaderValue::from_static;
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, fixed("GET, POST, DELETE"));
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        fixed(
            "Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, MCP-Protocol-Version, Mcp-Session-Id",
        ),
    );
    headers.insert(ACCESS_CONTROL_MAX_AGE, fixed("600"));
    let private = HeaderName::from_static("access-control-allow-private-network");
    headers.insert(private, fixed("true"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_compared_by_scheme_host_and_port() {
        let origins = ["https://app.example.com", "http://127.0.0.1:8750", "http://[::1]:8750"];
        let origins = Origins::new(origins.map(str::to_owned));
        for (origin, is_allowed) in [
            ("https://app.example.com", true),
            ("https://app.example.com:443", true),
            ("https://App.Example.com", true),
            ("https://app.example.com:444", false),
            ("http://app.example.com", false),
            ("https://app.example.com.evil.org", false),
            ("http://127.0.0.1:8750", true),
            ("http://127.0.0.1", false),
            ("http://[::1]:8750", true),
            ("http://[::1]", false),
            ("null", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ORIGIN, HeaderValue::from_static(origin));
            assert_eq!(origins.allowed(&headers).is_some(), is_allowed, "{origin}");
        }
        assert_eq!(origins.allowed(&HeaderMap::new()), None);
    }
}
