//! Runs compiled code with what a job gives it, until it ends or has to.

#![expect(clippy::disallowed_methods, reason = "the edge: how long a run takes")]

use std::net::SocketAddr;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use sandbox::{Captured, Ended};
use wasmtime::{Engine, PoolConcurrencyLimitError, Store, Trap, WasmBacktrace};
use wasmtime_wasi::p1::WasiP1Ctx;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::sockets::SocketAddrUse;
use wasmtime_wasi::{FsPerms, I32Exit, WasiCtxBuilder, WasiCtxView, WasiView};

use crate::artifact::{Artifact, Loaded, load};
use crate::bound::Bound;
use crate::engine::engine;
use crate::error::{WasmError, words};
use crate::files::Files;
use crate::fixed::fix;
use crate::job::Job;
use crate::stop::Stop;
use crate::streams::Streams;

/// How much a call of the host may copy from the program.
pub(crate) const HOST_CALL: usize = 128 << 20;
/// How many things of the host a program may hold; a list of files is one.
const HELD: usize = 512;
/// How much random data a call may ask for.
const RANDOM: u64 = 16 << 20;
/// How often a program that should have ended is reminded.
const REMINDED: Duration = Duration::from_millis(1);
/// How many calls are told of a trap.
const FRAMES: usize = 3;

/// How a run ended, and what it used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Why it ended.
    pub ended: Ended,
    /// What it wrote to standard output.
    pub stdout: Captured,
    /// What it wrote to standard error.
    pub stderr: Captured,
    /// How many steps it took; the same for the same input where there is a seed.
    pub fuel: u64,
    /// The most memory that it had, in bytes.
    pub memory: u64,
    /// What it did that it may not, if it was ended for that.
    pub trap: Option<String>,
    /// How long it took.
    pub duration: Duration,
}

/// What is kept for a run.
pub(crate) struct State {
    pub(crate) wasi: WasiP1Ctx,
    pub(crate) bound: Bound,
    /// The files that it met, where they are numbered for it.
    pub(crate) files: Option<Files>,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.wasi.ctx()
    }
}

/// How a program's own code ended.
enum End {
    /// With this code.
    Code(i32),
    /// By an error of the engine, or of what it is given.
    Error(wasmtime::Error),
    /// Not at all.
    Late,
    /// Somebody stopped it.
    Stopped,
}

/// Runs compiled code in this process.
pub fn run(job: &Job, artifact: &Artifact) -> Result<Report, WasmError> {
    run_until(job, artifact, &Stop::default())
}

/// The same, until somebody stops it.
pub fn run_until(job: &Job, artifact: &Artifact, stop: &Stop) -> Result<Report, WasmError> {
    run_with(job, artifact, None, stop)
}

/// Runs compiled code that may connect to one address.
pub(crate) fn run_with(
    job: &Job,
    artifact: &Artifact,
    proxy: Option<SocketAddr>,
    stop: &Stop,
) -> Result<Report, WasmError> {
    let engine = engine()?;
    let loaded = load(artifact)?;
    let started = Instant::now();
    let streams = Streams::new(&job.limits());
    let state = State {
        wasi: wasi(job, &streams, proxy)?,
        bound: Bound::new(job.memory),
        files: job.seed.map(|_| Files::default()),
    };
    let mut store = Store::new(engine, state);
    let failed = |error: wasmtime::Error| WasmError::Engine(words(&error));
    store.limiter(|state| &mut state.bound);
    store.data_mut().ctx().table.set_max_capacity(HELD);
    store.set_hostcall_fuel(HOST_CALL);
    store.set_fuel(u64::MAX).map_err(failed)?;
    store.set_epoch_deadline(1);
    store.epoch_deadline_async_yield_and_update(1);
    let end = until(job.wall, engine, stop, start(&mut store, loaded))?;
    if let End::Error(error) = &end {
        if error.is::<PoolConcurrencyLimitError>() {
            return Err(WasmError::Engine("too many run at once in this process".to_owned()));
        }
        // The program did nothing yet: it is the machine that lacks something.
        let is_short = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::OutOfMemory;
        if error.chain().filter_map(|cause| cause.downcast_ref()).any(is_short) {
            return Err(WasmError::Engine(words(error)));
        }
    }
    let fuel = u64::MAX - store.get_fuel().map_err(failed)?;
    let State { bound, .. } = store.into_data();
    let ([stdout, stderr], is_flooded) = streams.take();
    let (ended, trap) = match end {
        End::Late => (Ended::Timeout, None),
        End::Stopped => (Ended::Cancelled, None),
        End::Error(_) if bound.is_hit => (Ended::Memory, None),
        End::Error(_) if is_flooded => (Ended::Output, None),
        End::Code(code) => (Ended::Exited(code), None),
        End::Error(error) => (Ended::Trapped, Some(reason(&error))),
    };
    let (memory, duration) = (bound.peak as u64, started.elapsed());
    Ok(Report { ended, stdout, stderr, fuel, memory, trap, duration })
}

/// Gives a program what its job names.
fn wasi(
    job: &Job,
    streams: &std::sync::Arc<Streams>,
    proxy: Option<SocketAddr>,
) -> Result<WasiP1Ctx, WasmError> {
    let mut wasi = WasiCtxBuilder::new();
    wasi.args(&job.args)
        .envs(&job.env)
        .stdout(streams.stdout())
        .stderr(streams.stderr())
        .max_random_size(RANDOM)
        .allow_blocking_current_thread(job.may_block)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .allow_tcp(proxy.is_some())
        .socket_addr_check(move |address, what| {
            let is_let = match what {
                SocketAddrUse::TcpConnect => Some(address) == proxy,
                // Every connection has an end here; nobody can reach it.
                SocketAddrUse::TcpBind => {
                    proxy.is_some() && address.ip().is_unspecified() && address.port() == 0
                }
                _ => false,
            };
            Box::pin(async move { is_let })
        });
    match &job.stdin {
        Some(bytes) => wasi.stdin(MemoryInputPipe::new(bytes.clone())),
        None => wasi.inherit_stdin(),
    };
    for folder in &job.folders {
        let may = if folder.may_write { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
        wasi.preopened_dir(&folder.host, &folder.guest, may).map_err(|error| {
            WasmError::Given(format!("{} cannot be opened: {}", folder.guest, words(&error)))
        })?;
    }
    if let Some(seed) = job.seed {
        fix(&mut wasi, seed);
    }
    Ok(wasi.build_p1())
}

/// Starts a program, and waits for its end.
async fn start(store: &mut Store<State>, loaded: Loaded) -> wasmtime::Result<i32> {
    match loaded {
        Loaded::Module(module) => {
            let instance = module.instantiate_async(&mut *store).await?;
            let main = instance.get_typed_func::<(), ()>(&mut *store, "_start")?;
            main.call_async(store, ()).await?;
            Ok(0)
        }
        Loaded::Component(component) => {
            let command = component.instantiate_async(&mut *store).await?;
            let ended = command.wasi_cli_run().call_run(store).await?;
            Ok(i32::from(ended.is_err()))
        }
    }
}

/// Waits for a program, but not for ever. A program that computes is made to pause when its time is over, so that the clock comes to its
/// turn; one that waits for the host is not asked.
fn until(
    wall: Duration,
    engine: &'static Engine,
    stop: &Stop,
    program: impl Future<Output = wasmtime::Result<i32>>,
) -> Result<End, WasmError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| WasmError::Engine(format!("nothing can wait for it: {error}")))?;
    let (over, is_over) = channel::<()>();
    let reminder = std::thread::spawn(move || {
        let mut wait = wall;
        while is_over.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            engine.increment_epoch();
            wait = REMINDED;
        }
    });
    let program = stop.or_until(program);
    let end = runtime.block_on(async { tokio::time::timeout(wall, program).await });
    drop(over);
    let _ = reminder.join();
    // A file that cannot be opened yet is not waited for.
    runtime.shutdown_background();
    Ok(match end {
        Err(_) => End::Late,
        Ok(None) => End::Stopped,
        Ok(Some(Ok(code))) => End::Code(code),
        Ok(Some(Err(error))) => match error.downcast_ref::<I32Exit>() {
            Some(I32Exit(code)) => End::Code(*code),
            None => End::Error(error),
        },
    })
}

/// Returns what a program did that it may not, and where.
fn reason(error: &wasmtime::Error) -> String {
    let what = match error.downcast_ref::<Trap>() {
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string().chars().take(500).collect(),
    };
    let frames = error.downcast_ref::<WasmBacktrace>().map_or(&[][..], WasmBacktrace::frames);
    // Numbers would say nothing: a module that was stripped has no names.
    let name = |frame: &wasmtime::FrameInfo| Some(frame.func_name()?.chars().take(60).collect());
    let calls: Vec<String> = frames.iter().filter_map(name).take(FRAMES).collect();
    if calls.is_empty() { what } else { format!("{what}, in {}", calls.join(", called by ")) }
}
