//! How an object of a class is made: by its own `__init__` or `__new__`, by its fields, or as its bases say.

use crate::Argument;

use super::definition::{Class, Definition, last_part};
use super::module::Meaning;
use super::names::{Modules, Origin};

/// How deep bases may be nested.
const MAX_BASES: usize = 16;
/// Bases that say nothing of how an object is made.
const SILENT: [&str; 4] = ["object", "ABC", "Generic", "Protocol"];

/// What the class statement and its bases say.
pub(super) struct Made {
    /// What stands between the brackets of the call.
    pub taken: Vec<String>,
    pub arguments: Vec<Argument>,
}

/// Returns how an object of a class is made; none if a base that was not read decides it.
pub(super) fn made(modules: &Modules, origin: &Origin) -> Option<Made> {
    let mut order = Vec::new();
    let is_whole = linear(modules, origin, &mut order, 0);
    for (at, origin) in order.iter().enumerate() {
        let class = class(modules, origin)?;
        if let Some(found) = own(class) {
            return Some(found);
        }
        if is_named_tuple(class) || is_data(class) {
            let is_known = |origin: &Origin| linear(modules, origin, &mut Vec::new(), 0);
            let known = is_named_tuple(class) || is_known(origin);
            return known.then(|| Made { taken: fields(modules, origin), arguments: Vec::new() });
        }
        // Decorators of other libraries may write an `__init__`.
        if !class.head.decorators.iter().all(|one| is_harmless(one)) {
            return None;
        }
        // After a base that was not read nothing is sure.
        let is_cut = class.bases.iter().any(|base| {
            !SILENT.contains(&last_part(base)) && resolved(modules, origin, base).is_none()
        });
        if is_cut || at > MAX_BASES {
            return None;
        }
    }
    is_whole.then(|| Made { taken: Vec::new(), arguments: Vec::new() })
}

fn class<'a>(modules: &'a Modules, (module, name): &Origin) -> Option<&'a Class> {
    match modules.all.get(module)?.names.get(name)? {
        Meaning::Class(class) => Some(class),
        _ => None,
    }
}

fn resolved(modules: &Modules, (module, _): &Origin, base: &str) -> Option<Origin> {
    let path = base.split('[').next().unwrap_or(base).trim();
    modules.written(module, path).filter(|origin| class(modules, origin).is_some())
}

/// Puts a class and its bases in the order that Python asks them; false if one of them was not read.
///
/// A base that several classes share comes after all of them.
fn linear(modules: &Modules, origin: &Origin, order: &mut Vec<Origin>, depth: usize) -> bool {
    let Some(class) = class(modules, origin).filter(|_| depth < MAX_BASES) else { return false };
    order.retain(|there| there != origin);
    order.push(origin.clone());
    let mut is_whole = true;
    for base in class.bases.iter().filter(|base| !SILENT.contains(&last_part(base))) {
        is_whole &= match resolved(modules, origin, base) {
            Some(base) => linear(modules, &base, order, depth + 1),
            None => false,
        };
    }
    is_whole
}

/// Returns how a class itself says that it is made.
fn own(class: &Class) -> Option<Made> {
    let is_open = |one: &Definition| {
        one.parameters.iter().all(|taken| taken.starts_with('*') && taken != "*")
    };
    let (init, new) = (class.functions.get("__init__"), class.functions.get("__new__"));
    // One that takes anything leaves it to the other.
    let found = match (init, new) {
        (Some(init), Some(new)) if is_open(new) => init,
        (_, Some(new)) => new,
        (init, None) => init?,
    };
    Some(Made { taken: found.parameters.clone(), arguments: found.arguments() })
}

fn is_harmless(decorator: &str) -> bool {
    matches!(last_part(decorator), "final" | "runtime_checkable" | "total_ordering" | "deprecated")
}

fn is_named_tuple(class: &Class) -> bool {
    class.bases.iter().any(|base| last_part(base) == "NamedTuple")
}

fn is_data(class: &Class) -> bool {
    data_decorator(class).is_some_and(|decorator| !has(decorator, "init=False"))
}

fn data_decorator(class: &Class) -> Option<&str> {
    let mut all = class.head.decorators.iter().map(String::as_str);
    all.find(|decorator| last_part(decorator) == "dataclass")
}

/// Returns true if a call has an argument, however it is spaced.
fn has(call: &str, argument: &str) -> bool {
    let plain: String = call.split_whitespace().collect();
    plain.split(['(', ')', ',']).any(|part| part == argument)
}

/// Returns what the fields of a data class and of its bases make it take.
fn fields(modules: &Modules, origin: &Origin) -> Vec<String> {
    let mut order = Vec::new();
    linear(modules, origin, &mut order, 0);
    let mut taken: Vec<Taken> = Vec::new();
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
            let Some(mut one) = Taken::of(&field.name, &field.kind, field.value.as_deref()) else {
                taken.retain(|there| there.name != field.name || field.kind.contains("ClassVar"));
                continue;
            };
            one.is_keyword |= is_keyword;
            // A field that is declared again keeps its place.
            match taken.iter_mut().find(|there| there.name == one.name) {
                Some(there) => *there = one,
                None => taken.push(one),
            }
        }
    }
    let (keywords, plain): (Vec<Taken>, Vec<Taken>) =
        taken.into_iter().partition(|one| one.is_keyword);
    let mut shown: Vec<String> = plain.into_iter().map(|one| one.shown).collect();
    if !keywords.is_empty() {
        shown.push("*".to_owned());
    }
    shown.extend(keywords.into_iter().map(|one| one.shown));
    shown
}

/// What a field makes its class take.
struct Taken {
    name: String,
    shown: String,
    is_keyword: bool,
}

impl Taken {
    /// Returns nothing for a field that belongs to the class, or that is set later.
    fn of(name: &str, kind: &str, value: Option<&str>) -> Option<Self> {
        let kind = kind.trim_matches(['"', '\'']);
        let is_field =
            value.is_some_and(|value| last_part(value) == "field" && value.ends_with(')'));
        let call = value.filter(|_| is_field);
        if last_part(kind) == "ClassVar" || call.is_some_and(|call| has(call, "init=False")) {
            return None;
        }
        let given = match call {
            Some(call) if call.contains("default_factory") => " = ...".to_owned(),
            Some(call) => default(call).map(|value| format!(" = {value}")).unwrap_or_default(),
            None => value.map(|value| format!(" = {value}")).unwrap_or_default(),
        };
        let inner = kind.split_once('[').filter(|_| last_part(kind) == "InitVar");
        let kind = inner.and_then(|(_, rest)| rest.strip_suffix(']')).unwrap_or(kind);
        Some(Self {
            name: name.to_owned(),
            shown: format!("{name}: {kind}{given}"),
            is_keyword: call.is_some_and(|call| has(call, "kw_only=True")),
        })
    }
}

/// Returns the value of `default` in a call of `field`; `...` if it is more than a word.
fn default(call: &str) -> Option<String> {
    let rest = call.split_once("default=").or_else(|| call.split_once("default ="))?.1.trim();
    let value = rest.split([',', ')']).next().unwrap_or(rest).trim();
    let is_simple =
        !value.contains(['(', '[', '{', '"', '\'']) || value.matches(['"', '\'']).count() == 2;
    Some(if is_simple { value.to_owned() } else { "...".to_owned() })
}
