//! The reference of file formats is generated from the published schemas.

use std::fs;
use std::path::Path;

#[test]
fn the_format_pages_are_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let made = tempfile::tempdir().unwrap();
    let mut index = String::from(
        "<!-- Generated from `schemas/`; a test checks it. -->\n\n# File formats and outputs\n\n",
    );
    let mut names: Vec<String> = fs::read_dir(root.join("schemas"))
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".schema.json")?.to_owned()))
        .collect();
    names.sort();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        let text = fs::read_to_string(root.join(format!("schemas/{name}.schema.json"))).unwrap();
        let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
        let page = testkit::schema_page(&name, &schema);
        assert!(page.lines().count() > 6, "{name}: {page}");
        fs::write(made.path().join(format!("{name}.md")), page).unwrap();
        let about = schema["description"].as_str().or(schema["title"].as_str()).unwrap_or_default();
        let about = about.lines().next().unwrap_or_default();
        index += &format!("- [{name}]({name}.md): {about}\n");
    }
    fs::write(made.path().join("README.md"), index).unwrap();
    testkit::same_pages(made.path(), "docs/formats", "");
}
