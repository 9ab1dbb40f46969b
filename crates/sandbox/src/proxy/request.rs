//! Strict parsing of requests to the proxy: anything that two parsers could interpret differently is refused.

use std::io::{self, BufRead, Read, Write};

/// The maximum length of a request or response head.
const MAX_HEAD: usize = 64 << 10;

/// Why a request or response is not forwarded.
#[derive(Debug)]
pub(super) enum RequestError {
    /// The peer disconnected or timed out.
    Disconnected(io::Error),
    /// It is malformed or ambiguous.
    Malformed(&'static str),
    /// Its head is too long.
    TooLong,
}

impl From<io::Error> for RequestError {
    fn from(error: io::Error) -> Self {
        Self::Disconnected(error)
    }
}

/// A request from a client.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The host, in lower case.
    pub(super) host: String,
    pub(super) port: u16,
    /// The request to forward; `None` for a tunnel.
    pub(super) plain: Option<PlainRequest>,
}

/// A single HTTP request to forward.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PlainRequest {
    /// The rewritten head for the server.
    pub(super) head: Vec<u8>,
    pub(super) body: Body,
}

/// How the length of a request body is determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// A fixed number of bytes.
    Length(u64),
    /// Chunked transfer encoding.
    Chunked,
}

/// Reads one line including its line ending, using up the remaining `room` for the head.
fn line(reader: &mut impl BufRead, room: &mut usize) -> Result<Vec<u8>, RequestError> {
    let mut line = Vec::new();
    reader.take(*room as u64).read_until(b'\n', &mut line)?;
    *room -= line.len();
    match line.last() {
        Some(b'\n') => Ok(line),
        _ if *room == 0 => Err(RequestError::TooLong),
        _ => Err(RequestError::Disconnected(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// Reads one line that ends with CR LF, and returns it without the line ending.
fn strict_line(reader: &mut impl BufRead, room: &mut usize) -> Result<Vec<u8>, RequestError> {
    let mut line = line(reader, room)?;
    if !line.ends_with(b"\r\n") {
        return Err(RequestError::Malformed("a line does not end with CRLF"));
    }
    line.truncate(line.len() - 2);
    Ok(line)
}

impl Request {
    /// Reads the head of a request.
    pub(super) fn read(reader: &mut impl BufRead) -> Result<Self, RequestError> {
        let mut room = MAX_HEAD;
        let first = strict_line(reader, &mut room)?;
        let start = RequestLine::parse(&first)
            .ok_or(RequestError::Malformed("not an HTTP proxy request"))?;
        let mut fields = Vec::new();
        loop {
            let line = strict_line(reader, &mut room)?;
            if line.is_empty() {
                break;
            }
            let field = Field::parse(&line);
            fields.push(field.ok_or(RequestError::Malformed("a header is malformed"))?);
        }
        let RequestLine { method, host, port, path, version } = start;
        let Some(path) = path else { return Ok(Self { host, port, plain: None }) };
        let body = body(&fields, version)?;
        // The Host header is always the host that was checked, whatever the client sent.
        let shown = if port == 80 { String::new() } else { format!(":{port}") };
        let mut head = format!("{method} {path} {version}\r\nHost: {host}{shown}\r\n").into_bytes();
        let connection_options: Vec<String> = connection_options(&fields);
        for field in fields.iter().filter(|field| !field.is_hop_by_hop(&connection_options)) {
            head.extend(field.name.as_bytes());
            head.extend(b": ");
            head.extend(&field.value);
            head.extend(b"\r\n");
        }
        match body {
            Some(Body::Length(length)) => {
                head.extend(format!("Content-Length: {length}\r\n").bytes());
            }
            Some(Body::Chunked) => head.extend(b"Transfer-Encoding: chunked\r\n"),
            None => {}
        }
        // One request per connection, because the next one could be for another host.
        head.extend(b"Connection: close\r\n\r\n");
        let body = body.unwrap_or(Body::Length(0));
        Ok(Self { host, port, plain: Some(PlainRequest { head, body }) })
    }
}

/// The first line of a request.
struct RequestLine<'a> {
    method: &'a str,
    host: String,
    port: u16,
    /// `None` for a tunnel.
    path: Option<&'a str>,
    version: &'a str,
}

impl<'a> RequestLine<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let line = str::from_utf8(line).ok()?;
        let mut words = line.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        let is_plain = line.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let is_known = matches!(version, "HTTP/1.0" | "HTTP/1.1");
        if words.next().is_some() || !is_plain || !is_known || !is_token(method) {
            return None;
        }
        if method == "CONNECT" {
            let (host, port) = host_and_port(target, None)?;
            return Some(Self { method, host, port, path: None, version });
        }
        let rest = target.strip_prefix("http://")?;
        let (authority, path) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
        let (host, port) = host_and_port(authority, Some(80))?;
        Some(Self { method, host, port, path: Some(path), version })
    }
}

fn is_token(text: &str) -> bool {
    let is_in = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_in)
}

/// Parses `host:port`. The host must be a name or an IPv4 address.
fn host_and_port(text: &str, default_port: Option<u16>) -> Option<(String, u16)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            (host, port.parse().ok()?)
        }
        Some(_) => return None,
        None => (text, default_port?),
    };
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let is_in = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_name = host.len() <= 253
        && host.split('.').all(|part| !part.is_empty() && part.bytes().all(is_in));
    is_name.then_some((host, port))
}

/// A header.
struct Field {
    /// In lower case.
    name: String,
    value: Vec<u8>,
}

impl Field {
    fn parse(line: &[u8]) -> Option<Self> {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = str::from_utf8(&line[..colon]).ok().filter(|name| is_token(name))?;
        let value = &line[colon + 1..];
        let is_plain = value.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~' | 0x80..));
        let value = value.trim_ascii().to_vec();
        is_plain.then(|| Self { name: name.to_ascii_lowercase(), value })
    }

    /// Returns true for headers that are not forwarded: they concern only the connection to the proxy, or the proxy
    /// writes them itself.
    fn is_hop_by_hop(&self, connection_options: &[String]) -> bool {
        const DROPPED: [&str; 8] = [
            "host",
            "connection",
            "keep-alive",
            "te",
            "trailer",
            "transfer-encoding",
            "content-length",
            "upgrade",
        ];
        DROPPED.contains(&self.name.as_str())
            || self.name.starts_with("proxy-")
            || connection_options.contains(&self.name)
    }
}

/// Returns the headers that the `Connection` header lists.
fn connection_options(fields: &[Field]) -> Vec<String> {
    let connection = fields.iter().filter(|field| field.name == "connection");
    let names = connection.flat_map(|field| field.value.split(|byte| *byte == b','));
    names.map(|name| String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase()).collect()
}

/// Returns how the body's length is determined. A request that specifies it twice or in two ways is refused.
fn body(fields: &[Field], version: &str) -> Result<Option<Body>, RequestError> {
    let of = |name: &'static str| fields.iter().filter(move |field| field.name == name);
    let (mut lengths, mut codings) = (of("content-length"), of("transfer-encoding"));
    match (lengths.next(), codings.next()) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => {
            Err(RequestError::Malformed("both Content-Length and Transfer-Encoding are set"))
        }
        (Some(field), None) => {
            let text = str::from_utf8(&field.value).unwrap_or_default();
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let length = text.parse().ok().filter(|_| is_number && lengths.next().is_none());
            let length = length.ok_or(RequestError::Malformed("Content-Length is malformed"))?;
            Ok(Some(Body::Length(length)))
        }
        (None, Some(field)) => {
            let is_chunked = field.value.eq_ignore_ascii_case(b"chunked");
            if !is_chunked || codings.next().is_some() || version != "HTTP/1.1" {
                return Err(RequestError::Malformed("unsupported Transfer-Encoding"));
            }
            Ok(Some(Body::Chunked))
        }
    }
}

/// Forwards the body of one request, and nothing after it.
pub(super) fn forward_body(
    body: Body,
    from: &mut impl BufRead,
    to: &mut impl Write,
) -> Result<(), RequestError> {
    match body {
        Body::Length(length) => copy_exactly(length, from, to),
        Body::Chunked => loop {
            let line = strict_line(from, &mut 256)?;
            let size = line.split(|byte| *byte == b';').next().unwrap_or_default();
            let size = str::from_utf8(size.trim_ascii_end()).unwrap_or_default();
            let is_size =
                (1..=15).contains(&size.len()) && size.bytes().all(|byte| byte.is_ascii_hexdigit());
            let size = u64::from_str_radix(size, 16).ok().filter(|_| is_size);
            let size = size.ok_or(RequestError::Malformed("a chunk has an invalid size"))?;
            write!(to, "{size:x}\r\n")?;
            if size == 0 {
                // Trailers are not forwarded.
                let mut room = MAX_HEAD;
                while !strict_line(from, &mut room)?.is_empty() {}
                write!(to, "\r\n")?;
                return Ok(());
            }
            copy_exactly(size, from, to)?;
            if !strict_line(from, &mut 2)?.is_empty() {
                return Err(RequestError::Malformed("a chunk is longer than its size"));
            }
            write!(to, "\r\n")?;
        },
    }
}

fn copy_exactly(
    length: u64,
    from: &mut impl BufRead,
    to: &mut impl Write,
) -> Result<(), RequestError> {
    let copied = io::copy(&mut from.take(length), to)?;
    if copied < length {
        return Err(RequestError::Disconnected(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(())
}

/// Reads a response head and returns it, rewritten to close the connection, and whether it is an interim (1xx)
/// response, which the final one follows.
pub(super) fn response_head(reader: &mut impl BufRead) -> Result<(Vec<u8>, bool), RequestError> {
    let mut room = MAX_HEAD;
    let first = line(reader, &mut room)?;
    let code = first.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(2..5));
    let code = code.ok_or(RequestError::Malformed("the server did not send an HTTP/1 response"))?;
    let is_interim = code.starts_with(b"1") && code != b"101";
    let mut head = first.clone();
    loop {
        let line = line(reader, &mut room)?;
        if line.trim_ascii().is_empty() {
            break;
        }
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default().trim_ascii();
        let is_hop_by_hop = [&b"connection"[..], b"keep-alive", b"proxy-connection"]
            .iter()
            .any(|dropped| name.eq_ignore_ascii_case(dropped));
        if !is_hop_by_hop {
            head.extend(line);
        }
    }
    head.extend(if is_interim { &b"\r\n"[..] } else { b"Connection: close\r\n\r\n" });
    Ok((head, is_interim))
}
