//! Formats items as users see them: without bodies, attributes and private fields.

use quote::ToTokens;
use syn::{Fields, Generics, ItemEnum, ItemStruct, ItemTrait, ItemUnion, Variant, Visibility};

use super::attributes::is_excluded;

/// Replaces private fields.
const PRIVATE: &str = "/* private fields */";

pub(super) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Formats a syntax node as source code.
pub(super) fn written(item: &impl ToTokens) -> String {
    plain(&item.to_token_stream().to_string())
}

pub(super) fn structure(item: &ItemStruct) -> String {
    let head = format!("pub struct {}{}", item.ident, written(&item.generics));
    let bounds = bounds(&item.generics);
    match &item.fields {
        Fields::Named(_) => format!("{head}{bounds} {}", named(&item.fields)),
        Fields::Unnamed(fields) => {
            let is_open = |field: &syn::Field| is_public(&field.vis) && !is_excluded(&field.attrs);
            let shown = |field: &syn::Field| {
                if is_open(field) { format!("pub {}", written(&field.ty)) } else { "_".to_owned() }
            };
            let inside = if fields.unnamed.iter().any(is_open) {
                fields.unnamed.iter().map(shown).collect::<Vec<_>>().join(", ")
            } else {
                PRIVATE.to_owned()
            };
            format!("{head}({inside}){bounds};")
        }
        Fields::Unit => format!("{head}{bounds};"),
    }
}

pub(super) fn union(item: &ItemUnion) -> String {
    let fields = named(&Fields::Named(item.fields.clone()));
    let bounds = bounds(&item.generics);
    format!("pub union {}{}{bounds} {fields}", item.ident, written(&item.generics))
}

/// Returns the public fields, in braces.
fn named(fields: &Fields) -> String {
    let is_open = |field: &&syn::Field| is_public(&field.vis) && !is_excluded(&field.attrs);
    let name = |field: &syn::Field| field.ident.as_ref().map(ToString::to_string);
    let mut shown: Vec<String> = fields
        .iter()
        .filter(is_open)
        .map(|field| format!("pub {}: {}", name(field).unwrap_or_default(), written(&field.ty)))
        .collect();
    if shown.len() < fields.len() {
        shown.push(PRIVATE.to_owned());
    }
    if shown.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", shown.join(", ")) }
}

pub(super) fn enumeration(item: &ItemEnum) -> String {
    let shown = item.variants.iter().filter(|variant| !is_excluded(&variant.attrs));
    let shown: Vec<String> = shown.map(variant).collect();
    let bounds = bounds(&item.generics);
    let head = format!("pub enum {}{}{bounds}", item.ident, written(&item.generics));
    format!("{head} {{ {} }}", shown.join(", "))
}

/// Returns a variant with its fields, which are always public.
pub(super) fn variant(item: &Variant) -> String {
    let mut bare = item.clone();
    bare.attrs.clear();
    bare.fields.iter_mut().for_each(|field| field.attrs.clear());
    written(&bare)
}

/// Returns the head of a trait, with its supertraits and bounds.
pub(super) fn trait_head(item: &ItemTrait) -> String {
    let keyword = if item.unsafety.is_some() { "pub unsafe trait" } else { "pub trait" };
    let mut head = format!("{keyword} {}{}", item.ident, written(&item.generics));
    if !item.supertraits.is_empty() {
        head += &format!(": {}", written(&item.supertraits));
    }
    head + &bounds(&item.generics)
}

fn bounds(generics: &Generics) -> String {
    let bounds = generics.where_clause.as_ref().map(written).unwrap_or_default();
    if bounds.is_empty() { bounds } else { format!(" {}", bounds.trim_end_matches(',')) }
}

/// Returns a signature with another name: replaces the first word that equals the old name.
pub(super) fn renamed(usage: &str, old: &str, new: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let is_whole = |at: &usize| {
        let before = usage[..*at].chars().next_back();
        let after = usage[at + old.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    };
    let found = usage.match_indices(old).map(|(at, _)| at).find(is_whole);
    match found {
        Some(at) if old != new => format!("{}{new}{}", &usage[..at], &usage[at + old.len()..]),
        _ => usage.to_owned(),
    }
}

/// Returns tokens with the usual spacing.
fn plain(tokens: &str) -> String {
    let mut text = tokens.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(rest) = text.strip_prefix("< ") {
        text = format!("<{rest}");
    }
    for (from, to) in [
        (" :: ", "::"),
        (" ::", "::"),
        (":: ", "::"),
        (" < ", "<"),
        (" > ", "> "),
        (" >", ">"),
        ("& ", "&"),
        (" , ", ", "),
        (" ,", ","),
        (" ( ", "("),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        (" ;", ";"),
        (" : ", ": "),
        (" ?", "?"),
        ("- >", "->"),
    ] {
        text = text.replace(from, to);
    }
    text
}
