//! Gives modules and components what there is to give, and names what they lack.

use std::sync::LazyLock;

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker as ComponentLinker};
use wasmtime::{ExternType, Linker, Module};
use wasmtime_wasi::p2::bindings::CommandPre;

use crate::engine::engine;
use crate::error::{WasmError, words};
use crate::run::State;

/// What WASI's first preview is called by those who import it.
pub(crate) const P1: &str = "wasi_snapshot_preview1";
/// How many names an error tells.
const MOST_NAMES: usize = 20;

/// The functions that a module is given.
static MODULES: LazyLock<Result<Linker<State>, String>> = LazyLock::new(|| {
    let engine = engine().map_err(|error| error.to_string())?;
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p1::add_to_linker_async(&mut linker, |state: &mut State| &mut state.wasi)
        .and_then(|()| crate::files::shadow_module(&mut linker))
        .map_err(|error| words(&error))?;
    Ok(linker)
});

/// The interfaces that a component is given.
static COMPONENTS: LazyLock<Result<ComponentLinker<State>, String>> = LazyLock::new(|| {
    let engine = engine().map_err(|error| error.to_string())?;
    let mut linker = ComponentLinker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)
        .and_then(|()| crate::files::shadow_component(&mut linker))
        .map_err(|error| words(&error))?;
    Ok(linker)
});

/// Links a module to what it is given; an error names what is not there.
pub(crate) fn module(module: &Module) -> Result<wasmtime::InstancePre<State>, WasmError> {
    let linker = MODULES.as_ref().map_err(|why| WasmError::Engine(why.clone()))?;
    let linked = linker.instantiate_pre(module).map_err(|error| {
        let foreign = module.imports().filter(|import| import.module() != P1);
        let name = |import: wasmtime::ImportType<'_>| {
            format!("`{}` of `{}`", import.name(), import.module())
        };
        let mut missing = told(foreign.map(name).collect());
        let is_own = missing.is_empty();
        if is_own {
            missing.push(words(&error));
        }
        let has = |what: &str| missing.iter().any(|name| name.contains(what));
        let hint = if is_own {
            "WASI's first preview has no such function; build it with a current toolchain"
        } else if has("__wbindgen") {
            "it is built for a browser; build it for wasm32-wasip1 instead"
        } else if has("wasi_unstable") {
            "it is built for an old WASI; build it for wasm32-wasip1 again"
        } else {
            "a module is given `wasi_snapshot_preview1` and nothing else; build it for wasm32-wasip1"
        };
        WasmError::Imports { missing, hint: hint.to_owned() }
    })?;
    match module.get_export("_start") {
        Some(ExternType::Func(start))
            if start.params().len() == 0 && start.results().len() == 0 => {}
        Some(_) => {
            let message = "its `_start` takes or returns something".to_owned();
            return Err(WasmError::World { message });
        }
        None => {
            let names =
                told(module.exports().map(|export| format!("`{}`", export.name())).collect());
            let message = format!("it has no `_start`; it exports {}", list(&names));
            return Err(WasmError::World { message });
        }
    }
    Ok(linked)
}

/// Links a component to what it is given; an error names what is not there.
pub(crate) fn component(component: &Component) -> Result<CommandPre<State>, WasmError> {
    let engine = engine()?;
    let linker = COMPONENTS.as_ref().map_err(|why| WasmError::Engine(why.clone()))?;
    let shape = component.component_type();
    let exports: Vec<String> = shape.exports(engine).map(|(name, _)| name.to_owned()).collect();
    if !exports.iter().any(|name| name.starts_with("wasi:cli/run@0.2.")) {
        let names = told(exports.iter().map(|name| format!("`{name}`")).collect());
        let message = format!("it exports {}, not `wasi:cli/run@0.2`", list(&names));
        return Err(WasmError::World { message });
    }
    let linked = linker.instantiate_pre(component).map_err(|error| {
        let foreign = shape.imports(engine).filter(|(name, item)| !is_given(name, &item.ty));
        let mut missing = told(foreign.map(|(name, _)| format!("`{name}`")).collect());
        if missing.is_empty() {
            missing.push(words(&error));
        }
        let hint = "a component is given `wasi:cli`, `clocks`, `filesystem`, `io`, `random` and `sockets` \
                    of version 0.2; `wasi:http` is not among them";
        WasmError::Imports { missing, hint: hint.to_owned() }
    })?;
    CommandPre::new(linked).map_err(|error| WasmError::World { message: words(&error) })
}

fn is_given(name: &str, item: &ComponentItem) -> bool {
    let packages = ["cli", "clocks", "filesystem", "io", "random", "sockets"];
    let is_package = |package: &str| {
        let rest = name.strip_prefix("wasi:").and_then(|name| name.strip_prefix(package));
        rest.is_some_and(|rest| rest.starts_with('/') && rest.contains("@0.2."))
    };
    matches!(item, ComponentItem::ComponentInstance(_)) && packages.into_iter().any(is_package)
}

/// Returns the first of many names.
fn told(mut names: Vec<String>) -> Vec<String> {
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    // They are a stranger's, of any length.
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
