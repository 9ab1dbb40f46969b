//! The HTTP client, the only code that opens network connections: requests to URLs that the user configured.
//!
//! Redirects are not followed: headers may hold a secret that no other server may see.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, bail};
use rustls::crypto::ring;
use rustls_native_certs::load_native_certs;
use ureq::Agent;
use ureq::http::Request as HttpRequest;
pub(crate) use ureq::http::{HeaderValue, Method, StatusCode};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// Limit for an error response, which is only shown.
const MAX_ERROR_BODY: u64 = 16 << 10;

/// Sends requests to one URL.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    agent: Agent,
    url: String,
}

/// A response whose body is streamed.
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    response: ureq::http::Response<ureq::Body>,
}

impl Client {
    /// Returns a client whose `timeout` covers a whole request, from connecting to the end of the body.
    pub(crate) fn new(url: &str, timeout: Duration) -> Self {
        // Loading the system's root certificates takes time; only TLS needs them.
        let is_secure = url.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"));
        let roots = if is_secure { load_native_certs().certs } else { Vec::new() };
        let roots = roots.iter().map(|root| Certificate::from_der(root).to_owned());
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
            .root_certs(RootCerts::Specific(Arc::new(roots.collect())))
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("openskills/", env!("CARGO_PKG_VERSION")))
            .build();
        Self { agent: config.into(), url: url.to_owned() }
    }

    /// Sends a request. The error says why there is no response.
    pub(crate) fn send(
        &self,
        method: Method,
        headers: &[(&str, HeaderValue)],
        body: &[u8],
    ) -> Result<Response, String> {
        let mut request = HttpRequest::builder().method(method).uri(&self.url);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = request.body(body).map_err(|error| error.to_string())?;
        let response = self.agent.run(request).map_err(|error| match error {
            ureq::Error::Io(error) => innermost(&error),
            error => innermost(&error),
        })?;
        Ok(Response { status: response.status(), response })
    }
}

impl Response {
    /// Returns a response header.
    pub(crate) fn header(&self, name: &str) -> Option<&HeaderValue> {
        self.response.headers().get(name)
    }

    /// Returns the body as a stream.
    pub(crate) fn body(self) -> impl BufRead {
        BufReader::new(self.response.into_body().into_reader())
    }
}

/// Posts JSON. Any response without a success status is an error.
pub(crate) fn post_json(
    url: &str,
    headers: &[(&str, &str)],
    body: &[u8],
    timeout: Duration,
) -> anyhow::Result<()> {
    let mut all = vec![("content-type", HeaderValue::from_static("application/json"))];
    for (name, value) in headers {
        all.push((*name, HeaderValue::from_str(value)?));
    }
    let response = Client::new(url, timeout).send(Method::POST, &all, body);
    let mut response = response.map_err(|error| anyhow!("cannot reach `{url}`: {error}"))?;
    let status = response.status;
    if !status.is_success() {
        let text =
            response.response.body_mut().with_config().limit(MAX_ERROR_BODY).read_to_string();
        bail!("`{url}` returned {status}: {}", text.unwrap_or_default().trim());
    }
    Ok(())
}

/// Returns the message of the innermost error, which is the specific one.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
