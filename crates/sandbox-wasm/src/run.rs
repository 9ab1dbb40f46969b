//! Runs compiled code with what a job grants, until it ends, reaches a limit or is stopped.

#![expect(clippy::disallowed_methods, reason = "the edge: the clock, to measure a run")]

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
use crate::engine::engine;
use crate::error::{WasmError, describe};
use crate::files::InodeNumbers;
use crate::job::Job;
use crate::memory_limit::MemoryLimit;
use crate::seeded::apply_seed;
use crate::stop::Stop;
use crate::streams::OutputStreams;

/// How many bytes a host call may copy from the program.
pub(crate) const MAX_HOST_CALL_BYTES: usize = 128 << 20;
/// How many host resources a program may have open; a folder listing is one.
const MAX_RESOURCES: usize = 512;
/// How many random bytes a call may request.
const MAX_RANDOM_BYTES: u64 = 16 << 20;
/// How often a program that exceeded its time limit is interrupted.
const INTERRUPT_INTERVAL: Duration = Duration::from_millis(1);
/// How many stack frames of a trap are reported.
const MAX_FRAMES: usize = 3;

/// How a run ended, and what it used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Why it ended.
    pub ended: Ended,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// How many units of fuel it used; with a seed, the same for the same input.
    pub fuel: u64,
    /// Its maximum memory use in bytes.
    pub memory: u64,
    /// The reason and location of the trap, if it trapped.
    pub trap: Option<String>,
    /// How long it took.
    pub duration: Duration,
}

/// The state of a run.
pub(crate) struct State {
    pub(crate) wasi: WasiP1Ctx,
    pub(crate) memory_limit: MemoryLimit,
    /// The inode numbers of a run with a seed.
    pub(crate) inodes: Option<InodeNumbers>,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.wasi.ctx()
    }
}

/// How a program's code ended.
enum End {
    /// It exited with this code.
    Code(i32),
    /// The engine or a host function returned an error.
    Error(wasmtime::Error),
    /// It exceeded its time limit.
    TimedOut,
    /// The caller stopped it.
    Stopped,
}

/// Runs compiled code in this process.
pub fn run(job: &Job, artifact: &Artifact) -> Result<Report, WasmError> {
    run_until(job, artifact, &Stop::default())
}

/// Runs compiled code in this process, until it is stopped.
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
    let streams = OutputStreams::new(&job.limits());
    let state = State {
        wasi: wasi_context(job, &streams, proxy)?,
        memory_limit: MemoryLimit::new(job.memory),
        inodes: job.seed.map(|_| InodeNumbers::default()),
    };
    let mut store = Store::new(engine, state);
    let failed = |error: wasmtime::Error| WasmError::Engine(describe(&error));
    store.limiter(|state| &mut state.memory_limit);
    store.data_mut().ctx().table.set_max_capacity(MAX_RESOURCES);
    store.set_hostcall_fuel(MAX_HOST_CALL_BYTES);
    store.set_fuel(u64::MAX).map_err(failed)?;
    store.set_epoch_deadline(1);
    store.epoch_deadline_async_yield_and_update(1);
    let end = run_to_end(job.wall, engine, stop, start(&mut store, loaded))?;
    if let End::Error(error) = &end {
        if error.is::<PoolConcurrencyLimitError>() {
            let what = "too many modules are running in this process".to_owned();
            return Err(WasmError::Engine(what));
        }
        // The program has not started yet; the machine is out of memory.
        let is_short = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::OutOfMemory;
        if error.chain().filter_map(|cause| cause.downcast_ref()).any(is_short) {
            return Err(WasmError::Engine(describe(error)));
        }
    }
    let fuel = u64::MAX - store.get_fuel().map_err(failed)?;
    let State { memory_limit, .. } = store.into_data();
    let ([stdout, stderr], is_output_exceeded) = streams.take();
    let (ended, trap) = match end {
        End::TimedOut => (Ended::Timeout, None),
        End::Stopped => (Ended::Cancelled, None),
        End::Error(_) if memory_limit.is_exceeded => (Ended::Memory, None),
        End::Error(_) if is_output_exceeded => (Ended::Output, None),
        End::Code(code) => (Ended::Exited(code), None),
        End::Error(error) => (Ended::Trapped, Some(trap_reason(&error))),
    };
    let (memory, duration) = (memory_limit.peak as u64, started.elapsed());
    Ok(Report { ended, stdout, stderr, fuel, memory, trap, duration })
}

/// Returns a WASI context that grants what the job lists.
fn wasi_context(
    job: &Job,
    streams: &std::sync::Arc<OutputStreams>,
    proxy: Option<SocketAddr>,
) -> Result<WasiP1Ctx, WasmError> {
    let mut wasi = WasiCtxBuilder::new();
    wasi.args(&job.args)
        .envs(&job.env)
        .stdout(streams.stdout())
        .stderr(streams.stderr())
        .max_random_size(MAX_RANDOM_BYTES)
        .allow_blocking_current_thread(job.may_block)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .allow_tcp(proxy.is_some())
        .socket_addr_check(move |address, what| {
            let is_allowed = match what {
                SocketAddrUse::TcpConnect => Some(address) == proxy,
                // Every connection binds a local address; no other program can connect to it.
                SocketAddrUse::TcpBind => {
                    proxy.is_some() && address.ip().is_unspecified() && address.port() == 0
                }
                _ => false,
            };
            Box::pin(async move { is_allowed })
        });
    match &job.stdin {
        Some(bytes) => wasi.stdin(MemoryInputPipe::new(bytes.clone())),
        None => wasi.inherit_stdin(),
    };
    for folder in &job.folders {
        let may = if folder.may_write { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
        wasi.preopened_dir(&folder.host, &folder.guest, may).map_err(|error| {
            WasmError::InvalidInput(format!("cannot open `{}`: {}", folder.guest, describe(&error)))
        })?;
    }
    if let Some(seed) = job.seed {
        apply_seed(&mut wasi, seed);
    }
    Ok(wasi.build_p1())
}

/// Runs a program and returns its exit code.
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

/// Runs a program until it ends, exceeds its time limit or is stopped. A program that is computing is interrupted when
/// its time is over, so that it yields to the timer. A program that waits for the host is just dropped.
fn run_to_end(
    wall: Duration,
    engine: &'static Engine,
    stop: &Stop,
    program: impl Future<Output = wasmtime::Result<i32>>,
) -> Result<End, WasmError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| WasmError::Engine(format!("cannot start the async runtime: {error}")))?;
    let (done, is_done) = channel::<()>();
    let interrupter = std::thread::spawn(move || {
        let mut wait = wall;
        while is_done.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            engine.increment_epoch();
            wait = INTERRUPT_INTERVAL;
        }
    });
    let program = stop.unless_stopped(program);
    let end = runtime.block_on(async { tokio::time::timeout(wall, program).await });
    drop(done);
    let _ = interrupter.join();
    // Do not wait for threads that are blocked, for example while opening a FIFO.
    runtime.shutdown_background();
    Ok(match end {
        Err(_) => End::TimedOut,
        Ok(None) => End::Stopped,
        Ok(Some(Ok(code))) => End::Code(code),
        Ok(Some(Err(error))) => match error.downcast_ref::<I32Exit>() {
            Some(I32Exit(code)) => End::Code(*code),
            None => End::Error(error),
        },
    })
}

/// Returns why a program trapped, and where.
fn trap_reason(error: &wasmtime::Error) -> String {
    let what = match error.downcast_ref::<Trap>() {
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string().chars().take(500).collect(),
    };
    let frames = error.downcast_ref::<WasmBacktrace>().map_or(&[][..], WasmBacktrace::frames);
    // Frames without a name, as in a stripped module, are skipped: their numbers would not help.
    let name = |frame: &wasmtime::FrameInfo| Some(frame.func_name()?.chars().take(60).collect());
    let calls: Vec<String> = frames.iter().filter_map(name).take(MAX_FRAMES).collect();
    if calls.is_empty() { what } else { format!("{what}, in {}", calls.join(", called by ")) }
}
