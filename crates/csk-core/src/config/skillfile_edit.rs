//! Edits a Skillfile in place: everything else stays byte for byte as the user wrote it.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstRootNode};
use skill::Identifier;

use crate::Declaration;

/// Returns the file with `declaration` added at the end, or replacing the declaration of that name. Returns `None` if
/// `text` is not a Skillfile.
pub fn set_skill(text: &str, declaration: &Declaration) -> Option<String> {
    let root = parse(text)?;
    let skills = skills(&root)?;
    let fields = fields(declaration);
    match find(&skills, &declaration.name) {
        None => return Some(append(&root, &skills, &fields)),
        Some(object) => {
            replace_reference(&object, declaration);
            for (key, value) in fields {
                match (object.get(key), value) {
                    (Some(found), Some(value)) => found.set_value(CstInputValue::String(value)),
                    (Some(found), None) => found.remove(),
                    (None, Some(value)) => {
                        object.append(key, CstInputValue::String(value));
                    }
                    (None, None) => {}
                }
            }
        }
    }
    Some(root.to_string())
}

/// Adds a declaration at the end, on one line if the previous one is on one line.
fn append(
    root: &CstRootNode,
    skills: &CstArray,
    fields: &[(&'static str, Option<String>)],
) -> String {
    // Added as a placeholder that no file contains, then replaced by the one-line object.
    const PLACEHOLDER: &str = "csk\u{1}declaration";
    let given = fields.iter().filter_map(|(key, value)| Some((*key, value.as_ref()?)));
    let last = skills.elements().pop().map(|element| element.to_string());
    if last.is_none_or(|last| last.contains('\n')) {
        let object =
            given.map(|(key, value)| (key.to_owned(), CstInputValue::String(value.clone())));
        skills.append(CstInputValue::Object(object.collect()));
        return root.to_string();
    }
    skills.append(CstInputValue::String(PLACEHOLDER.to_owned()));
    let pairs: Vec<String> =
        given.map(|(key, value)| format!("\"{key}\": {}", serde_json::json!(value))).collect();
    let placeholder = serde_json::json!(PLACEHOLDER).to_string();
    root.to_string().replacen(&placeholder, &format!("{{ {} }}", pairs.join(", ")), 1)
}

/// Puts the new reference where the old one was, whatever its kind.
fn replace_reference(object: &CstObject, declaration: &Declaration) {
    let key = declaration.reference.kind.as_str();
    let mut other = ["tag", "branch", "revision"].into_iter().filter(|other| *other != key);
    let found = other.find_map(|other| object.get(other));
    if let Some(found) = found.filter(|_| object.get(key).is_none()) {
        let name = CstInputValue::String(declaration.reference.name.clone());
        let _ = found.replace_with(key, name);
    }
}

/// Returns the file without the skill `name`, or `None` if it is not declared.
pub fn remove_skill(text: &str, name: &Identifier) -> Option<String> {
    let root = parse(text)?;
    find(&skills(&root)?, name)?.remove();
    Some(root.to_string())
}

fn parse(text: &str) -> Option<CstRootNode> {
    CstRootNode::parse(text, &ParseOptions::default()).ok()
}

fn skills(root: &CstRootNode) -> Option<CstArray> {
    root.object_value()?.array_value("skills")
}

fn find(skills: &CstArray, name: &Identifier) -> Option<CstObject> {
    skills.elements().into_iter().filter_map(|element| element.as_object()).find(|object| {
        let value = object.get("name").and_then(|property| property.value()?.as_string_lit());
        value.is_some_and(|text| text.decoded_value().is_ok_and(|text| text == name.as_str()))
    })
}

fn fields(declaration: &Declaration) -> [(&'static str, Option<String>); 7] {
    let reference = |key: &str| {
        let is_it = declaration.reference.kind.as_str() == key;
        is_it.then(|| declaration.reference.name.clone())
    };
    let source = Some(declaration.source.to_string());
    [
        ("name", Some(declaration.name.to_string())),
        ("source", source.filter(|source| *source != declaration.name.as_str())),
        ("git", declaration.git.clone()),
        ("path", declaration.path.as_ref().map(ToString::to_string)),
        ("tag", reference("tag")),
        ("branch", reference("branch")),
        ("revision", reference("revision")),
    ]
}

#[cfg(test)]
mod tests {
    use skill::RefKind;

    use super::*;
    use crate::Reference;

    fn declaration(name: &str, kind: RefKind, reference: &str) -> Declaration {
        let name = Identifier::new(name).unwrap();
        let reference = Reference { kind, name: reference.into() };
        Declaration { source: name.clone(), name, git: None, path: None, reference }
    }

    #[test]
    fn only_the_requested_declaration_changes() {
        let text = "{\n    \"skills\": [\n        {\"name\":\"a\",   \"tag\": \"v1\"},\n        { \"tag\": \"v1\", \"name\": \"b\", \"note\": 1 }\n    ],\n    \"schema_version\": 1\n}\n";
        let added = set_skill(text, &declaration("c", RefKind::Tag, "v3")).unwrap();
        assert!(added.starts_with(&text[..text.find("v1\", \"name\": \"b\"").unwrap()]), "{added}");
        assert!(added.ends_with("    ],\n    \"schema_version\": 1\n}\n"), "{added}");
        assert!(added.contains("\n        { \"name\": \"c\", \"tag\": \"v3\" }\n"), "{added}");
        assert_eq!(remove_skill(&added, &Identifier::new("c").unwrap()).unwrap(), text);
        let moved = set_skill(text, &declaration("b", RefKind::Branch, "main")).unwrap();
        assert!(
            moved.contains("{ \"branch\": \"main\", \"name\": \"b\", \"note\": 1 }"),
            "{moved}"
        );
        let same = set_skill(text, &declaration("a", RefKind::Tag, "v1")).unwrap();
        assert_eq!(same, text, "an unchanged declaration is not rewritten");
    }

    #[test]
    fn any_valid_skillfile_can_be_edited() {
        for text in [
            "{\"schema_version\": 1, \"skills\": []}",
            "{\r\n\t\"schema_version\": 1,\r\n\t\"skills\": []\r\n}\r\n",
            "{\"schema_version\": 1, \"skills\": [{\"name\": \"a\", \"tag\": \"1\"}]}",
        ] {
            let added = set_skill(text, &declaration("b", RefKind::Tag, "v1")).unwrap();
            serde_json::from_str::<serde_json::Value>(&added).unwrap_or_else(|_| panic!("{added}"));
            let name = Identifier::new("b").unwrap();
            let removed = remove_skill(&added, &name).unwrap();
            let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
            assert_eq!(value(&removed), value(text), "{removed}");
            assert_eq!(remove_skill(&removed, &name), None);
        }
        assert_eq!(set_skill("[]", &declaration("b", RefKind::Tag, "v1")), None);
    }
}
