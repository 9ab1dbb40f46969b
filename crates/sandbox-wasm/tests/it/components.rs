//! WASI preview 2 components: commands built from modules with the standard adapter, and one that opens a socket.

use expect_test::{Expect, expect};
use sandbox::Ended;
use sandbox_wasm::{WasmError, compile};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::guests::{World, hello, start_function, text};

/// Converts a module to a component, as toolchains for WASI preview 2 do.
pub(crate) fn component(module: &[u8]) -> Vec<u8> {
    let encoder = ComponentEncoder::default().module(module).unwrap();
    let name = WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME;
    encoder.adapter(name, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER).unwrap().encode().unwrap()
}

#[test]
fn commands_run_and_report_how_they_ended() {
    let mut world = World::new();
    world.spec.limits.wall = std::time::Duration::from_secs(5);
    let report = world.run(&component(&hello()));
    assert_eq!(
        (report.ended, text(&report.stdout.bytes).as_str()),
        (Ended::Exited(0), "{\"hello\": 1}\n")
    );
    assert!(report.fuel > 0);
    // The adapter only distinguishes success and failure.
    let report = world.run(&component(&start_function("(call $exit (i32.const 3))")));
    assert_eq!(report.ended, Ended::Exited(1));
    let report = world.run(&component(&start_function("unreachable")));
    assert_eq!(report.ended, Ended::Trapped);
    assert!(report.trap.unwrap().contains("unreachable"));
    let report = world.run(&component(&start_function(
        "(loop $again (drop (memory.grow (i32.const 16))) (br $again))",
    )));
    assert_eq!(report.ended, Ended::Memory);
    world.spec.limits.wall = std::time::Duration::from_millis(300);
    let report = world.run(&component(&start_function("(loop $again (br $again))")));
    assert_eq!(report.ended, Ended::Timeout);
}

/// The part of the socket interfaces that is needed to connect.
const SOCKETS: &str = r#"
package test:guest;

world wants {
  import wasi:sockets/instance-network@0.2.0;
  import wasi:sockets/tcp-create-socket@0.2.0;
  import wasi:sockets/tcp@0.2.0;
  import wasi:io/poll@0.2.0;
  export wasi:cli/run@0.2.0;
}

package wasi:cli@0.2.0 {
  interface run { run: func() -> result; }
}

package wasi:io@0.2.0 {
  interface poll { resource pollable { block: func(); } }
  interface streams { resource input-stream; resource output-stream; }
}

package wasi:sockets@0.2.0 {
  interface network {
    resource network;
    enum error-code {
      unknown, access-denied, not-supported, invalid-argument, out-of-memory, timeout, concurrency-conflict,
      not-in-progress, would-block, invalid-state, new-socket-limit, address-not-bindable, address-in-use,
      remote-unreachable, connection-refused, connection-reset, connection-aborted, datagram-too-large,
      name-unresolvable, temporary-resolver-failure, permanent-resolver-failure
    }
    enum ip-address-family { ipv4, ipv6 }
    type ipv4-address = tuple<u8, u8, u8, u8>;
    type ipv6-address = tuple<u16, u16, u16, u16, u16, u16, u16, u16>;
    record ipv4-socket-address { port: u16, address: ipv4-address }
    record ipv6-socket-address { port: u16, flow-info: u32, address: ipv6-address, scope-id: u32 }
    variant ip-socket-address { ipv4(ipv4-socket-address), ipv6(ipv6-socket-address) }
  }
  interface instance-network {
    use network.{network};
    instance-network: func() -> network;
  }
  interface tcp {
    use network.{network, error-code, ip-socket-address};
    use wasi:io/streams@0.2.0.{input-stream, output-stream};
    use wasi:io/poll@0.2.0.{pollable};
    resource tcp-socket {
      start-connect: func(network: borrow<network>, remote-address: ip-socket-address) -> result<_, error-code>;
      finish-connect: func() -> result<tuple<input-stream, output-stream>, error-code>;
      subscribe: func() -> pollable;
    }
  }
  interface tcp-create-socket {
    use network.{error-code, ip-address-family};
    use tcp.{tcp-socket};
    create-tcp-socket: func(address-family: ip-address-family) -> result<tcp-socket, error-code>;
  }
}
"#;

/// A command that tries to connect to these ports of this machine. It succeeds if exactly one connection succeeds.
pub(crate) fn connects(ports: std::ops::RangeInclusive<u16>) -> Vec<u8> {
    let (first, last) = (ports.start(), ports.end());
    let core = format!(
        r#"(module
          (import "wasi:sockets/instance-network@0.2.0" "instance-network" (func $network (result i32)))
          (import "wasi:sockets/tcp-create-socket@0.2.0" "create-tcp-socket" (func $create (param i32 i32)))
          (import "wasi:sockets/tcp@0.2.0" "[method]tcp-socket.start-connect"
            (func $connect (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
          (import "wasi:sockets/tcp@0.2.0" "[method]tcp-socket.finish-connect" (func $finish (param i32 i32)))
          (import "wasi:sockets/tcp@0.2.0" "[method]tcp-socket.subscribe" (func $subscribe (param i32) (result i32)))
          (import "wasi:sockets/tcp@0.2.0" "[resource-drop]tcp-socket" (func $drop (param i32)))
          (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
          (import "wasi:io/poll@0.2.0" "[resource-drop]pollable" (func $forget (param i32)))
          (memory (export "memory") 1)
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 512))
          (func $try (param $network i32) (param $port i32) (result i32)
            (local $socket i32) (local $ready i32)
            (call $create (i32.const 0) (i32.const 16))
            (if (i32.load8_u (i32.const 16)) (then (return (i32.const 0))))
            (local.set $socket (i32.load (i32.const 20)))
            (call $connect (local.get $socket) (local.get $network) (i32.const 0) (local.get $port)
              (i32.const 127) (i32.const 0) (i32.const 0) (i32.const 1)
              (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 32))
            (if (i32.eqz (i32.load8_u (i32.const 32))) (then
              (local.set $ready (call $subscribe (local.get $socket)))
              (call $block (local.get $ready))
              (call $forget (local.get $ready))
              (call $finish (local.get $socket) (i32.const 48))
              (if (i32.eqz (i32.load8_u (i32.const 48))) (then (return (i32.const 1))))))
            (call $drop (local.get $socket))
            (i32.const 0))
          (func (export "wasi:cli/run@0.2.0#run") (result i32)
            (local $port i32) (local $connected i32) (local $network i32)
            (local.set $network (call $network))
            (local.set $port (i32.const {first}))
            (loop $next
              (local.set $connected
                (i32.add (local.get $connected) (call $try (local.get $network) (local.get $port))))
              (local.set $port (i32.add (local.get $port) (i32.const 1)))
              (br_if $next (i32.le_u (local.get $port) (i32.const {last}))))
            (i32.ne (local.get $connected) (i32.const 1))))"#
    );
    let mut module = wat::parse_str(&core).unwrap();
    let mut resolve = Resolve::default();
    let package = resolve.push_str("sockets.wit", SOCKETS).unwrap();
    let world = resolve.select_world(&[package], Some("wants")).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().module(&module).unwrap().encode().unwrap()
}

#[test]
fn sockets_are_denied() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let report = World::new().run(&connects(port..=port));
    assert_eq!(report.ended, Ended::Exited(1), "{report:?}");
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

fn check(text: &str, expected: &Expect) {
    let error: WasmError = compile(&wat::parse_str(text).unwrap()).unwrap_err();
    let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    expected.assert_eq(&format!("{error}{hint}"));
}

#[test]
fn unsupported_components_are_refused() {
    check(
        "(component)",
        &expect![[r#"
        it is not a command: it does not export `wasi:cli/run@0.2`; it exports nothing
        hint: build a program with a `main` function for wasm32-wasip1 or wasm32-wasip2"#]],
    );
    let handler = r#"(component
      (core module $m (func (export "f")))
      (core instance $i (instantiate $m))
      (func $f (canon lift (core func $i "f")))
      (instance $handler (export "handle" (func $f)))
      (export "wasi:http/incoming-handler@0.2.0" (instance $handler)))"#;
    check(
        handler,
        &expect![[r#"
        it is not a command: it does not export `wasi:cli/run@0.2`; it exports `wasi:http/incoming-handler@0.2.0`
        hint: build a program with a `main` function for wasm32-wasip1 or wasm32-wasip2"#]],
    );
    let wants = r#"(component
      (import "acme:tools/shell@1.0.0" (instance (export "run" (func))))
      (import "wasi:http/outgoing-handler@0.2.0" (instance (export "handle" (func))))
      (core module $m (func (export "f") (result i32) (i32.const 0)))
      (core instance $i (instantiate $m))
      (func $f (result (result)) (canon lift (core func $i "f")))
      (instance $run (export "run" (func $f)))
      (export "wasi:cli/run@0.2.0" (instance $run)))"#;
    check(
        wants,
        &expect![[r#"
        it imports unknown functions or interfaces: `acme:tools/shell@1.0.0`, `wasi:http/outgoing-handler@0.2.0`
        hint: components can import version 0.2 of `wasi:cli`, `clocks`, `filesystem`, `io`, `random` and `sockets`, but not `wasi:http`"#]],
    );
    let newer = r#"(component
      (core module $m (func (export "f") (result i32) (i32.const 0)))
      (core instance $i (instantiate $m))
      (func $f (result (result)) (canon lift (core func $i "f")))
      (instance $run (export "run" (func $f)))
      (export "wasi:cli/run@0.3.0" (instance $run)))"#;
    check(
        newer,
        &expect![[r#"
        it is not a command: it does not export `wasi:cli/run@0.2`; it exports `wasi:cli/run@0.3.0`
        hint: build a program with a `main` function for wasm32-wasip1 or wasm32-wasip2"#]],
    );
}
