//! Reads the attributes of an item: its doc comment, whether it is hidden, where its file is.

use syn::{Attribute, Expr, Lit, Meta};

/// Returns true for `#[doc(hidden)]`, but not for a doc comment that contains the word.
pub(super) fn is_hidden(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    list.path.is_ident("doc")
        && list.tokens.clone().into_iter().any(|token| token.to_string() == "hidden")
}

/// Returns true for `#[cfg(test)]` and `#[cfg(all(test, ...))]`: users of the crate cannot use such an item.
pub(super) fn is_for_tests(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    let condition: String = list.tokens.to_string().split_whitespace().collect();
    let all = condition.strip_prefix("all(").and_then(|all| all.strip_suffix(')'));
    let mut parts = all.unwrap_or(&condition).split(',');
    list.path.is_ident("cfg") && parts.any(|part| part == "test")
}

/// Returns true if users cannot, or should not, use an item.
pub(super) fn is_excluded(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| is_hidden(attribute) || is_for_tests(attribute))
}

/// Returns true if an item has an attribute with this name.
pub(super) fn has(attributes: &[Attribute], name: &str) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident(name))
}

/// Returns the file in `#[path = "..."]`.
pub(super) fn path(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| text(attribute, "path"))
}

/// Returns the name of the macro in `#[proc_macro_derive(Name)]`.
pub(super) fn derived(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("proc_macro_derive") => {
            list.tokens.clone().into_iter().next().map(|name| name.to_string())
        }
        _ => None,
    })
}

/// Returns the doc comment of an item.
pub(super) fn docs(attributes: &[Attribute]) -> String {
    let lines: Vec<String> =
        attributes.iter().filter_map(|attribute| text(attribute, "doc")).collect();
    let trimmed = lines.iter().map(|line| line.strip_prefix(' ').unwrap_or(line));
    trimmed.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Returns the text of `#[name = "text"]`.
fn text(attribute: &Attribute, name: &str) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    let Expr::Lit(value) = &pair.value else { return None };
    match &value.lit {
        Lit::Str(text) if pair.path.is_ident(name) => Some(text.value()),
        _ => None,
    }
}
