//! Links modules and components to WASI, and reports imports that WASI does not provide.

use std::sync::LazyLock;

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker as ComponentLinker};
use wasmtime::{ExternType, Linker, Module};
use wasmtime_wasi::p2::bindings::CommandPre;

use crate::engine::engine;
use crate::error::{WasmError, describe};
use crate::run::State;

/// The name of WASI preview 1 in the imports of a module.
pub(crate) const PREVIEW_1: &str = "wasi_snapshot_preview1";
/// How many names an error lists.
const MAX_NAMES: usize = 20;

/// The functions that modules can import.
static MODULES: LazyLock<Result<Linker<State>, String>> = LazyLock::new(|| {
    let engine = engine().map_err(|error| error.to_string())?;
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p1::add_to_linker_async(&mut linker, |state: &mut State| &mut state.wasi)
        .and_then(|()| crate::files::shadow_module(&mut linker))
        .map_err(|error| describe(&error))?;
    Ok(linker)
});

/// The interfaces that components can import.
static COMPONENTS: LazyLock<Result<ComponentLinker<State>, String>> = LazyLock::new(|| {
    let engine = engine().map_err(|error| error.to_string())?;
    let mut linker = ComponentLinker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)
        .and_then(|()| crate::files::shadow_component(&mut linker))
        .map_err(|error| describe(&error))?;
    Ok(linker)
});

/// Links a module; the error lists missing imports.
pub(crate) fn module(module: &Module) -> Result<wasmtime::InstancePre<State>, WasmError> {
    let linker = MODULES.as_ref().map_err(|why| WasmError::Engine(why.clone()))?;
    let linked = linker.instantiate_pre(module).map_err(|error| {
        let foreign = module.imports().filter(|import| import.module() != PREVIEW_1);
        let name = |import: wasmtime::ImportType<'_>| {
            format!("`{}` from `{}`", import.name(), import.module())
        };
        let mut missing = shorten(foreign.map(name).collect());
        let is_wasi = missing.is_empty();
        if is_wasi {
            missing.push(describe(&error));
        }
        let has = |what: &str| missing.iter().any(|name| name.contains(what));
        let hint = if is_wasi {
            "WASI preview 1 has no such function; build it with a current toolchain"
        } else if has("__wbindgen") {
            "it was built for browsers; build it for wasm32-wasip1 instead"
        } else if has("wasi_unstable") {
            "it was built for an old version of WASI; rebuild it for wasm32-wasip1"
        } else {
            "modules can only import `wasi_snapshot_preview1`; build it for wasm32-wasip1"
        };
        WasmError::Imports { missing, hint: hint.to_owned() }
    })?;
    match module.get_export("_start") {
        Some(ExternType::Func(start))
            if start.params().len() == 0 && start.results().len() == 0 => {}
        Some(_) => {
            let message = "its `_start` function has parameters or results".to_owned();
            return Err(WasmError::NotCommand { message });
        }
        None => {
            let names =
                shorten(module.exports().map(|export| format!("`{}`", export.name())).collect());
            let message = format!("it does not export `_start`; it exports {}", list(&names));
            return Err(WasmError::NotCommand { message });
        }
    }
    Ok(linked)
}

/// Links a component; the error lists missing imports.
pub(crate) fn component(component: &Component) -> Result<CommandPre<State>, WasmError> {
    let engine = engine()?;
    let linker = COMPONENTS.as_ref().map_err(|why| WasmError::Engine(why.clone()))?;
    let shape = component.component_type();
    let exports: Vec<String> = shape.exports(engine).map(|(name, _)| name.to_owned()).collect();
    if !exports.iter().any(|name| name.starts_with("wasi:cli/run@0.2.")) {
        let names = shorten(exports.iter().map(|name| format!("`{name}`")).collect());
        let message = format!("it does not export `wasi:cli/run@0.2`; it exports {}", list(&names));
        return Err(WasmError::NotCommand { message });
    }
    let linked = linker.instantiate_pre(component).map_err(|error| {
        let foreign = shape.imports(engine).filter(|(name, item)| !is_provided(name, &item.ty));
        let mut missing = shorten(foreign.map(|(name, _)| format!("`{name}`")).collect());
        if missing.is_empty() {
            missing.push(describe(&error));
        }
        let hint = "components can import version 0.2 of `wasi:cli`, `clocks`, `filesystem`, `io`, `random` and \
                    `sockets`, but not `wasi:http`";
        WasmError::Imports { missing, hint: hint.to_owned() }
    })?;
    CommandPre::new(linked).map_err(|error| WasmError::NotCommand { message: describe(&error) })
}

fn is_provided(name: &str, item: &ComponentItem) -> bool {
    let packages = ["cli", "clocks", "filesystem", "io", "random", "sockets"];
    let is_package = |package: &str| {
        let rest = name.strip_prefix("wasi:").and_then(|name| name.strip_prefix(package));
        rest.is_some_and(|rest| rest.starts_with('/') && rest.contains("@0.2."))
    };
    matches!(item, ComponentItem::ComponentInstance(_)) && packages.into_iter().any(is_package)
}

/// Shortens a list of names: keeps the first ones and adds how many more there are.
fn shorten(mut names: Vec<String>) -> Vec<String> {
    let more = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    // The names come from an untrusted module and can be of any length.
    for name in &mut names {
        *name = name.chars().take(200).collect();
    }
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    names
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}
