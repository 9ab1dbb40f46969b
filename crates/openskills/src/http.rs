//! The one place that talks to the network: a request to an address that the user named.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, bail};
use rustls::crypto::ring;
use rustls_native_certs::load_native_certs;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// The most that is read of an answer.
const MAX_ANSWER: u64 = 16 << 10;

/// Sends JSON; any answer but a good one is an error. No redirection is followed: the headers may hold a secret.
pub(crate) fn post_json(
    url: &str,
    headers: &[(&str, &str)],
    body: &[u8],
    timeout: Duration,
) -> anyhow::Result<()> {
    // Whom to believe is what this machine believes. Without TLS nobody needs to know.
    let is_secure = url.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"));
    let known = if is_secure { load_native_certs().certs } else { Vec::new() };
    let known = known.iter().map(|known| Certificate::from_der(known).to_owned());
    let tls = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .root_certs(RootCerts::Specific(Arc::new(known.collect())))
        .build();
    let config = Agent::config_builder()
        .tls_config(tls)
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("openskills/", env!("CARGO_PKG_VERSION")))
        .build();
    let agent: Agent = config.into();
    let mut request = agent.post(url).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut response =
        request.send(body).map_err(|error| anyhow!("cannot reach {url}: {error}"))?;
    let status = response.status();
    if !status.is_success() {
        let told = response.body_mut().with_config().limit(MAX_ANSWER).read_to_string();
        let told = told.unwrap_or_default();
        bail!("{url} answers {status}: {}", told.trim());
    }
    Ok(())
}
