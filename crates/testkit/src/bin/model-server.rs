//! `model-server SCRIPT LOG [BODIES]`: a model on loopback that follows a script, to test real agents offline.
//!
//! Prints its port and serves `POST /v1/messages` until standard input ends. LOG gets a JSON line for each request with
//! its newest tool result; BODIES gets the whole requests.

#![expect(clippy::disallowed_methods, reason = "a test tool that reads and writes files")]

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};
use testkit::model::{Script, results};

/// A request is larger than this only if something is wrong.
const MAX_BODY: usize = 256 << 20;

struct Server {
    script: Script,
    log: Mutex<File>,
    bodies: Option<Mutex<File>>,
}

struct Request {
    method: String,
    path: String,
    body: Vec<u8>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let started = match arguments.as_slice() {
        [script, log] => start(script, log, None),
        [script, log, bodies] => start(script, log, Some(bodies)),
        _ => Err(io::Error::other("usage: model-server SCRIPT LOG [BODIES]")),
    };
    let ended = started.and_then(|port| {
        writeln!(io::stdout(), "{port}")?;
        io::copy(&mut io::stdin(), &mut io::sink())
    });
    match ended {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to do if standard error is closed.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start(script: &str, log: &str, bodies: Option<&String>) -> io::Result<u16> {
    let script = Script::parse(&fs::read_to_string(script)?).map_err(io::Error::other)?;
    let bodies = bodies.map(File::create).transpose()?.map(Mutex::new);
    let server = Arc::new(Server { script, log: Mutex::new(File::create(log)?), bodies });
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let server = Arc::clone(&server);
            // A client that disconnects is no error of the server.
            thread::spawn(move || serve(&server, stream));
        }
    });
    Ok(port)
}

/// Answers one request and closes the connection.
fn serve(server: &Server, mut stream: TcpStream) -> io::Result<()> {
    let request = read(&stream)?;
    let (status, kind, body) = server.answer(&request)?;
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )?;
    stream.flush()
}

fn read(stream: &TcpStream) -> io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut words = first.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    if length > MAX_BODY {
        return Err(io::Error::other("the request is too large"));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Request { method, path, body })
}

impl Server {
    fn answer(&self, request: &Request) -> io::Result<(&'static str, &'static str, String)> {
        let path = request.path.split('?').next().unwrap_or_default();
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let reply = match (request.method.as_str(), path) {
            ("POST", "/v1/messages") => Some(self.script.reply(&body)),
            _ => None,
        };
        let mut entry = json!({"method": request.method, "path": path});
        if let Some(reply) = &reply {
            entry["script"] = json!(reply.script);
            entry["step"] = json!(reply.number);
            entry["result"] = json!(results(&body).last());
        }
        writeln!(lock(&self.log), "{entry}")?;
        if let Some(bodies) = &self.bodies {
            writeln!(lock(bodies), "{}", json!({"path": path, "body": body}))?;
        }
        Ok(match reply {
            Some(reply) if body["stream"] == true => {
                ("200 OK", "text/event-stream", reply.events())
            }
            Some(reply) => ("200 OK", "application/json", reply.message().to_string()),
            None if path == "/v1/messages/count_tokens" => {
                ("200 OK", "application/json", json!({"input_tokens": 1}).to_string())
            }
            None => {
                let error = json!({"type": "not_found_error", "message": path});
                (
                    "404 Not Found",
                    "application/json",
                    json!({"type": "error", "error": error}).to_string(),
                )
            }
        })
    }
}

fn lock(file: &Mutex<File>) -> std::sync::MutexGuard<'_, File> {
    file.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
