//! What a client asks of the proxy, read strictly: whatever two readers could take for two different things is refused.

use std::io::{self, BufRead, Read, Write};

/// The longest head of a request or of an answer.
const MAX_HEAD: usize = 64 << 10;

/// Why a request is not passed on.
#[derive(Debug)]
pub(super) enum Bad {
    /// The client went away, or was too slow.
    Gone(io::Error),
    /// It is not a request that can be understood in one way alone.
    Malformed(&'static str),
    /// Its head is too long.
    TooLong,
}

impl From<io::Error> for Bad {
    fn from(error: io::Error) -> Self {
        Self::Gone(error)
    }
}

/// A request of a client.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The host, in small letters.
    pub(super) host: String,
    /// The port.
    pub(super) port: u16,
    /// What is passed on; absent for a tunnel.
    pub(super) plain: Option<Plain>,
}

/// A request that is passed on by itself, and nothing behind it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plain {
    /// The head for the server.
    pub(super) head: Vec<u8>,
    /// What follows it.
    pub(super) body: Body,
}

/// How long the body of a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// So many bytes.
    Length(u64),
    /// In pieces, each with its length.
    Chunked,
}

/// Reads one line with its end, within what is left of the room for a head.
fn line(reader: &mut impl BufRead, room: &mut usize) -> Result<Vec<u8>, Bad> {
    let mut line = Vec::new();
    reader.take(*room as u64).read_until(b'\n', &mut line)?;
    *room -= line.len();
    match line.last() {
        Some(b'\n') => Ok(line),
        _ if *room == 0 => Err(Bad::TooLong),
        _ => Err(Bad::Gone(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// Reads one line that ends as the standard says, and returns it without its end.
fn strict_line(reader: &mut impl BufRead, room: &mut usize) -> Result<Vec<u8>, Bad> {
    let mut line = line(reader, room)?;
    if !line.ends_with(b"\r\n") {
        return Err(Bad::Malformed("a line does not end with CR LF"));
    }
    line.truncate(line.len() - 2);
    Ok(line)
}

impl Request {
    /// Reads the head of a request.
    pub(super) fn read(reader: &mut impl BufRead) -> Result<Self, Bad> {
        let mut room = MAX_HEAD;
        let first = strict_line(reader, &mut room)?;
        let start = Start::parse(&first).ok_or(Bad::Malformed("this is a proxy for HTTP"))?;
        let mut fields = Vec::new();
        loop {
            let line = strict_line(reader, &mut room)?;
            if line.is_empty() {
                break;
            }
            fields.push(Field::parse(&line).ok_or(Bad::Malformed("a header is malformed"))?);
        }
        let Start { method, host, port, path, version } = start;
        let Some(path) = path else { return Ok(Self { host, port, plain: None }) };
        let body = body(&fields, version)?;
        // Whom it is for is what was decided about, and nothing else.
        let shown = if port == 80 { String::new() } else { format!(":{port}") };
        let mut head = format!("{method} {path} {version}\r\nHost: {host}{shown}\r\n").into_bytes();
        let named: Vec<String> = named_by_connection(&fields);
        for field in fields.iter().filter(|field| !field.is_for_proxy(&named)) {
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
        // One request a connection: the next one could be for another host.
        head.extend(b"Connection: close\r\n\r\n");
        let body = body.unwrap_or(Body::Length(0));
        Ok(Self { host, port, plain: Some(Plain { head, body }) })
    }
}

/// The first line of a request.
struct Start<'a> {
    method: &'a str,
    host: String,
    port: u16,
    /// Absent for a tunnel.
    path: Option<&'a str>,
    version: &'a str,
}

impl<'a> Start<'a> {
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

/// Reads `host:port`. Only names and plain addresses of IPv4 are taken.
fn host_and_port(text: &str, usual: Option<u16>) -> Option<(String, u16)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            (host, port.parse().ok()?)
        }
        Some(_) => return None,
        None => (text, usual?),
    };
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let is_in = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_name = host.len() <= 253
        && host.split('.').all(|part| !part.is_empty() && part.bytes().all(is_in));
    is_name.then_some((host, port))
}

/// A header.
struct Field {
    /// In small letters.
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

    /// Returns true for what is between the client and the proxy alone, or is written anew.
    fn is_for_proxy(&self, named: &[String]) -> bool {
        const OWN: [&str; 8] = [
            "host",
            "connection",
            "keep-alive",
            "te",
            "trailer",
            "transfer-encoding",
            "content-length",
            "upgrade",
        ];
        OWN.contains(&self.name.as_str())
            || self.name.starts_with("proxy-")
            || named.contains(&self.name)
    }
}

/// Returns the headers that are said to be for this connection alone.
fn named_by_connection(fields: &[Field]) -> Vec<String> {
    let connection = fields.iter().filter(|field| field.name == "connection");
    let words = connection.flat_map(|field| field.value.split(|byte| *byte == b','));
    words.map(|word| String::from_utf8_lossy(word.trim_ascii()).to_ascii_lowercase()).collect()
}

/// Returns how long the body is. Whoever says it twice, or in two ways, is not passed on.
fn body(fields: &[Field], version: &str) -> Result<Option<Body>, Bad> {
    let of = |name: &'static str| fields.iter().filter(move |field| field.name == name);
    let (mut lengths, mut codings) = (of("content-length"), of("transfer-encoding"));
    match (lengths.next(), codings.next()) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(Bad::Malformed("the length of the body is given in two ways")),
        (Some(field), None) => {
            let text = str::from_utf8(&field.value).unwrap_or_default();
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let length = text.parse().ok().filter(|_| is_number && lengths.next().is_none());
            let length = length.ok_or(Bad::Malformed("the length of the body is malformed"))?;
            Ok(Some(Body::Length(length)))
        }
        (None, Some(field)) => {
            let is_chunked = field.value.eq_ignore_ascii_case(b"chunked");
            if !is_chunked || codings.next().is_some() || version != "HTTP/1.1" {
                return Err(Bad::Malformed("the body is coded in a way that is not known here"));
            }
            Ok(Some(Body::Chunked))
        }
    }
}

/// Passes on the body of one request, and not a byte of what follows it.
pub(super) fn pass_on(body: Body, from: &mut impl BufRead, to: &mut impl Write) -> Result<(), Bad> {
    match body {
        Body::Length(length) => exactly(length, from, to),
        Body::Chunked => loop {
            let line = strict_line(from, &mut 256)?;
            let size = line.split(|byte| *byte == b';').next().unwrap_or_default();
            let size = str::from_utf8(size.trim_ascii_end()).unwrap_or_default();
            let is_size =
                (1..=15).contains(&size.len()) && size.bytes().all(|byte| byte.is_ascii_hexdigit());
            let size = u64::from_str_radix(size, 16).ok().filter(|_| is_size);
            let size = size.ok_or(Bad::Malformed("a piece of the body has no length"))?;
            write!(to, "{size:x}\r\n")?;
            if size == 0 {
                // What follows the last piece is not passed on.
                let mut room = MAX_HEAD;
                while !strict_line(from, &mut room)?.is_empty() {}
                write!(to, "\r\n")?;
                return Ok(());
            }
            exactly(size, from, to)?;
            if !strict_line(from, &mut 2)?.is_empty() {
                return Err(Bad::Malformed("a piece of the body is longer than it says"));
            }
            write!(to, "\r\n")?;
        },
    }
}

fn exactly(length: u64, from: &mut impl BufRead, to: &mut impl Write) -> Result<(), Bad> {
    let copied = io::copy(&mut from.take(length), to)?;
    if copied < length { Err(Bad::Gone(io::ErrorKind::UnexpectedEof.into())) } else { Ok(()) }
}

/// Reads the head of an answer, and returns it with the word that the connection ends with it. The second value says whether the answer itself is
/// still to come.
pub(super) fn answer_head(reader: &mut impl BufRead) -> Result<(Vec<u8>, bool), Bad> {
    let mut room = MAX_HEAD;
    let first = line(reader, &mut room)?;
    let code = first.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(2..5));
    let code = code.ok_or(Bad::Malformed("the server does not speak HTTP/1"))?;
    let is_first_word = code.starts_with(b"1") && code != b"101";
    let mut head = first.clone();
    loop {
        let line = line(reader, &mut room)?;
        if line.trim_ascii().is_empty() {
            break;
        }
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default().trim_ascii();
        let is_for_proxy = [&b"connection"[..], b"keep-alive", b"proxy-connection"]
            .iter()
            .any(|own| name.eq_ignore_ascii_case(own));
        if !is_for_proxy {
            head.extend(line);
        }
    }
    head.extend(if is_first_word { &b"\r\n"[..] } else { b"Connection: close\r\n\r\n" });
    Ok((head, is_first_word))
}
