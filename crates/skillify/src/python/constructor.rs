//! Finds the constructor of a class: its own `__init__` or `__new__`, the one generated from its fields, or an
//! inherited one.

use crate::Argument;

use super::definition::{Class, Definition, last_part};
use super::module::Binding;
use super::names::{Modules, Origin};

/// The maximum depth of inheritance.
const MAX_BASES: usize = 16;
/// Bases that do not define a constructor.
const NEUTRAL_BASES: [&str; 4] = ["object", "ABC", "Generic", "Protocol"];

/// The constructor of a class.
pub(super) struct Constructor {
    /// The parameters, as written.
    pub parameters: Vec<String>,
    pub arguments: Vec<Argument>,
}

/// Returns the constructor of a class; `None` if it depends on a base class that was not read.
pub(super) fn find(modules: &Modules, origin: &Origin) -> Option<Constructor> {
    let mut order = Vec::new();
    let is_complete = linearize(modules, origin, &mut order, 0);
    for (index, origin) in order.iter().enumerate() {
        let class = class(modules, origin)?;
        if let Some(found) = own(class) {
            return Some(found);
        }
        if is_named_tuple(class) || is_dataclass(class) {
            let is_known = |origin: &Origin| linearize(modules, origin, &mut Vec::new(), 0);
            let known = is_named_tuple(class) || is_known(origin);
            return known.then(|| Constructor {
                parameters: fields(modules, origin),
                arguments: Vec::new(),
            });
        }
        // Decorators of other libraries may generate an `__init__`.
        if !class.head.decorators.iter().all(|one| is_harmless(one)) {
            return None;
        }
        // A base class that was not read may define the constructor.
        let has_unknown_base = class.bases.iter().any(|base| {
            !NEUTRAL_BASES.contains(&last_part(base)) && resolved(modules, origin, base).is_none()
        });
        if has_unknown_base || index > MAX_BASES {
            return None;
        }
    }
    is_complete.then(|| Constructor { parameters: Vec::new(), arguments: Vec::new() })
}

fn class<'a>(modules: &'a Modules, (module, name): &Origin) -> Option<&'a Class> {
    match modules.all.get(module)?.names.get(name)? {
        Binding::Class(class) => Some(class),
        _ => None,
    }
}

fn resolved(modules: &Modules, (module, _): &Origin, base: &str) -> Option<Origin> {
    let path = base.split('[').next().unwrap_or(base).trim();
    modules.resolve(module, path).filter(|origin| class(modules, origin).is_some())
}

/// Puts a class and its bases in Python's method resolution order; returns false if one of them was not read.
///
/// A base class shared by several classes comes after all of them.
fn linearize(modules: &Modules, origin: &Origin, order: &mut Vec<Origin>, depth: usize) -> bool {
    let Some(class) = class(modules, origin).filter(|_| depth < MAX_BASES) else { return false };
    order.retain(|known| known != origin);
    order.push(origin.clone());
    let mut is_complete = true;
    for base in class.bases.iter().filter(|base| !NEUTRAL_BASES.contains(&last_part(base))) {
        is_complete &= match resolved(modules, origin, base) {
            Some(base) => linearize(modules, &base, order, depth + 1),
            None => false,
        };
    }
    is_complete
}

/// Returns the constructor that a class itself defines.
fn own(class: &Class) -> Option<Constructor> {
    let takes_anything = |one: &Definition| {
        one.parameters.iter().all(|parameter| parameter.starts_with('*') && parameter != "*")
    };
    let (init, new) = (class.functions.get("__init__"), class.functions.get("__new__"));
    // If `__new__` takes anything, `__init__` defines the parameters.
    let found = match (init, new) {
        (Some(init), Some(new)) if takes_anything(new) => init,
        (_, Some(new)) => new,
        (init, None) => init?,
    };
    Some(Constructor { parameters: found.parameters.clone(), arguments: found.arguments() })
}

fn is_harmless(decorator: &str) -> bool {
    matches!(last_part(decorator), "final" | "runtime_checkable" | "total_ordering" | "deprecated")
}

fn is_named_tuple(class: &Class) -> bool {
    class.bases.iter().any(|base| last_part(base) == "NamedTuple")
}

fn is_dataclass(class: &Class) -> bool {
    data_decorator(class).is_some_and(|decorator| !has(decorator, "init=False"))
}

fn data_decorator(class: &Class) -> Option<&str> {
    let mut all = class.head.decorators.iter().map(String::as_str);
    all.find(|decorator| last_part(decorator) == "dataclass")
}

/// Returns true if a call has an argument, ignoring whitespace.
fn has(call: &str, argument: &str) -> bool {
    let plain: String = call.split_whitespace().collect();
    plain.split(['(', ')', ',']).any(|part| part == argument)
}

/// Returns the parameters generated from the fields of a data class and its bases.
fn fields(modules: &Modules, origin: &Origin) -> Vec<String> {
    let mut order = Vec::new();
    linearize(modules, origin, &mut order, 0);
    let mut parameters: Vec<Parameter> = Vec::new();
    for origin in order.iter().rev() {
        let Some(class) = class(modules, origin) else { continue };
        if data_decorator(class).is_none() && !is_named_tuple(class) {
            continue;
        }
        let mut is_keyword = data_decorator(class).is_some_and(|one| has(one, "kw_only=True"));
        for field in &class.fields {
            if last_part(&field.kind) == "KW_ONLY" {
                is_keyword = true;
                continue;
            }
            let Some(mut one) = Parameter::of(&field.name, &field.kind, field.value.as_deref())
            else {
                parameters
                    .retain(|known| known.name != field.name || field.kind.contains("ClassVar"));
                continue;
            };
            one.is_keyword |= is_keyword;
            // A field that is declared again keeps its position.
            match parameters.iter_mut().find(|known| known.name == one.name) {
                Some(known) => *known = one,
                None => parameters.push(one),
            }
        }
    }
    let (keywords, plain): (Vec<Parameter>, Vec<Parameter>) =
        parameters.into_iter().partition(|one| one.is_keyword);
    let mut shown: Vec<String> = plain.into_iter().map(|one| one.shown).collect();
    if !keywords.is_empty() {
        shown.push("*".to_owned());
    }
    shown.extend(keywords.into_iter().map(|one| one.shown));
    shown
}

/// The parameter generated from a field.
struct Parameter {
    name: String,
    shown: String,
    is_keyword: bool,
}

impl Parameter {
    /// Returns `None` for a field that belongs to the class, or that is set later.
    fn of(name: &str, kind: &str, value: Option<&str>) -> Option<Self> {
        let kind = kind.trim_matches(['"', '\'']);
        let is_field =
            value.is_some_and(|value| last_part(value) == "field" && value.ends_with(')'));
        let call = value.filter(|_| is_field);
        if last_part(kind) == "ClassVar" || call.is_some_and(|call| has(call, "init=False")) {
            return None;
        }
        let value = match call {
            Some(call) if call.contains("default_factory") => " = ...".to_owned(),
            Some(call) => default(call).map(|value| format!(" = {value}")).unwrap_or_default(),
            None => value.map(|value| format!(" = {value}")).unwrap_or_default(),
        };
        let inner = kind.split_once('[').filter(|_| last_part(kind) == "InitVar");
        let kind = inner.and_then(|(_, rest)| rest.strip_suffix(']')).unwrap_or(kind);
        Some(Self {
            name: name.to_owned(),
            shown: format!("{name}: {kind}{value}"),
            is_keyword: call.is_some_and(|call| has(call, "kw_only=True")),
        })
    }
}

/// Returns the value of `default` in a call of `field`; `...` if it is not a simple value.
fn default(call: &str) -> Option<String> {
    let rest = call.split_once("default=").or_else(|| call.split_once("default ="))?.1.trim();
    let value = rest.split([',', ')']).next().unwrap_or(rest).trim();
    let is_simple =
        !value.contains(['(', '[', '{', '"', '\'']) || value.matches(['"', '\'']).count() == 2;
    Some(if is_simple { value.to_owned() } else { "...".to_owned() })
}
