//! Adds our hooks to the settings of Claude Code, and removes them. Everything else in the file stays as it is.

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use jsonc_parser::{ParseOptions, json};
use openskills_runtime::shell_word;

/// The events that call us. Tools of all names are checked, so there is no other matcher.
const EVENTS: [&str; 5] =
    ["PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptExpansion", "SessionEnd"];
/// After this many seconds, the agent gives up on a hook, and the call runs. The line below gives up earlier, and then
/// the call is stopped.
const AGENT_TIMEOUT: u32 = 60;
/// What makes a line recognizable as ours.
const MARK: &str = " check-tool --hook --enforce";
/// What makes a permission rule recognizable as ours.
const RULE_MARK: &str = " exec --ticket ";

/// Returns the line that the agent runs for each event. The agent runs a call if its hook fails in any way but with exit
/// code 2, and also if the hook prints nothing, or only a part of an answer. So success has an exit code of its own, and
/// everything else becomes exit code 2.
fn hook_line(program: &str) -> String {
    let program = shell_word(program);
    format!("o=$(timeout -k 1 20 {program}{MARK}); [ $? = 10 ] || exit 2; printf '%s' \"$o\"")
}

/// Returns the rule that allows rewritten command lines. Without a ticket of ours such a line does nothing.
fn permission_rule(program: &str) -> String {
    format!("Bash({} exec --ticket *)", shell_word(program))
}

/// Returns the text of the settings with our hooks.
pub(crate) fn with_hooks(text: Option<&str>, program: &str) -> Result<String, String> {
    if text.is_some_and(|text| is_current(text, program)) {
        return Ok(text.unwrap_or_default().to_owned());
    }
    let root = parse(&without_hooks(text)?)?;
    let settings = object_of(&root)?;
    let hooks = member_object(&settings, "hooks")?;
    for event in EVENTS {
        let groups = member_array(&hooks, event)?;
        let (command, timeout) = (hook_line(program), AGENT_TIMEOUT.to_string());
        let mut group = vec![(
            "hooks".to_owned(),
            CstInputValue::Array(vec![CstInputValue::Object(vec![
                ("type".to_owned(), json!("command")),
                ("command".to_owned(), CstInputValue::String(command)),
                ("timeout".to_owned(), CstInputValue::Number(timeout)),
            ])]),
        )];
        if event.ends_with("ToolUse") || event.ends_with("Failure") {
            group.insert(0, ("matcher".to_owned(), json!("*")));
        }
        groups.ensure_multiline();
        groups.append(CstInputValue::Object(group));
    }
    let permissions = member_object(&settings, "permissions")?;
    let allowed = member_array(&permissions, "allow")?;
    allowed.append(CstInputValue::String(permission_rule(program)));
    let text = root.to_string();
    Ok(if text.ends_with('\n') { text } else { format!("{text}\n") })
}

/// Returns the text of the settings without our hooks.
pub(crate) fn without_hooks(text: Option<&str>) -> Result<String, String> {
    let Some(text) = text else { return Ok(String::new()) };
    if !text.contains(MARK) && !text.contains(RULE_MARK) {
        return Ok(text.to_owned());
    }
    let root = parse(text)?;
    let settings = object_of(&root)?;
    if let Some(hooks) = settings.object_value("hooks") {
        for event in hooks.properties() {
            let Some(groups) = event.array_value() else { continue };
            for group in groups.elements() {
                remove_from_group(group);
            }
            if groups.elements().is_empty() {
                event.remove();
            }
        }
        remove_if_empty(&settings, "hooks");
    }
    if let Some(permissions) = settings.object_value("permissions") {
        if let Some(allowed) = permissions.array_value("allow") {
            let is_ours =
                |node: &CstNode| text_of(node).is_some_and(|rule| rule.contains(RULE_MARK));
            allowed.elements().into_iter().filter(is_ours).for_each(CstNode::remove);
            if allowed.elements().is_empty()
                && let Some(property) = permissions.get("allow")
            {
                property.remove();
            }
        }
        remove_if_empty(&settings, "permissions");
    }
    Ok(root.to_string())
}

/// Returns true if the settings have exactly the hooks that we would add.
fn is_current(text: &str, program: &str) -> bool {
    let Ok(value) = serde_json::from_str::<serde_json::Value>(text) else { return false };
    let line = hook_line(program);
    let has_line = |event: &str| {
        let groups = value["hooks"][event].as_array();
        let ours = groups.into_iter().flatten().filter(|group| {
            let hooks = group["hooks"].as_array();
            hooks.into_iter().flatten().any(|hook| hook["command"] == line.as_str())
        });
        ours.count() == 1
    };
    let rules = value["permissions"]["allow"].as_array();
    let rule = permission_rule(program);
    EVENTS.iter().all(|event| has_line(event))
        && text.matches(MARK).count() == EVENTS.len()
        && rules.into_iter().flatten().filter(|known| **known == rule.as_str()).count() == 1
}

/// Removes our hook from a group, and the group if it has no other.
fn remove_from_group(group: CstNode) {
    let Some(object) = group.as_object() else { return };
    let Some(hooks) = object.array_value("hooks") else { return };
    let is_ours = |hook: &CstNode| {
        let command = hook.as_object().and_then(|hook| hook.get("command")?.value());
        command.as_ref().and_then(text_of).is_some_and(|line| line.contains(MARK))
    };
    let ours: Vec<CstNode> = hooks.elements().into_iter().filter(is_ours).collect();
    if ours.len() == hooks.elements().len() && !ours.is_empty() {
        group.remove();
    } else {
        ours.into_iter().for_each(CstNode::remove);
    }
}

fn remove_if_empty(object: &CstObject, name: &str) {
    if object.object_value(name).is_some_and(|inner| inner.properties().is_empty())
        && let Some(property) = object.get(name)
    {
        property.remove();
    }
}

fn text_of(node: &CstNode) -> Option<String> {
    node.as_string_lit()?.decoded_value().ok()
}

fn parse(text: &str) -> Result<CstRootNode, String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())
}

fn object_of(root: &CstRootNode) -> Result<CstObject, String> {
    root.object_value().ok_or_else(|| "its content is not an object".to_owned())
}

fn member_object(object: &CstObject, name: &str) -> Result<CstObject, String> {
    object.object_value_or_create(name).ok_or_else(|| format!("`{name}` is not an object"))
}

fn member_array(object: &CstObject, name: &str) -> Result<CstArray, String> {
    object.array_value_or_create(name).ok_or_else(|| format!("`{name}` is not an array"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "/opt/own tools/openskills";

    #[test]
    fn hooks_are_added_once_and_removed_without_a_trace() {
        let original = "{\n  \"model\": \"x\", // mine\n  \"permissions\": {\n    \"allow\": [\"Bash(ls:*)\"]\n  },\n  \"hooks\": {\n    \"PreToolUse\": [\n      { \"matcher\": \"Bash\", \"hooks\": [{ \"type\": \"command\", \"command\": \"mine\" }] }\n    ]\n  }\n}\n";
        for before in [Some(original), Some("{}"), None] {
            let added = with_hooks(before, PROGRAM).expect("it can be edited");
            assert_eq!(added.matches(MARK).count(), EVENTS.len(), "{added}");
            assert!(
                added.contains("timeout -k 1 20 '/opt/own tools/openskills' check-tool"),
                "{added}"
            );
            assert!(added.contains("Bash('/opt/own tools/openskills' exec --ticket *)"), "{added}");
            assert_eq!(with_hooks(Some(&added), PROGRAM).expect("again"), added);
            let moved = with_hooks(Some(&added), "/other/openskills").expect("another program");
            assert!(!moved.contains("own tools") && moved.matches(MARK).count() == EVENTS.len());
            let removed = without_hooks(Some(&added)).expect("it can be edited");
            assert!(!removed.contains("openskills"), "{removed}");
            assert_eq!(removed.contains("\"mine\""), before == Some(original), "{removed}");
            assert_eq!(removed.contains("// mine"), before == Some(original), "{removed}");
        }
    }

    #[test]
    fn settings_of_another_shape_are_refused() {
        for (text, reason) in [
            ("[]", "its content is not an object"),
            ("{\"hooks\": []}", "`hooks` is not an object"),
            ("{\"hooks\": {\"PreToolUse\": {}}}", "`PreToolUse` is not an array"),
            ("{\"permissions\": 1}", "`permissions` is not an object"),
        ] {
            assert_eq!(with_hooks(Some(text), PROGRAM), Err(reason.to_owned()), "{text}");
        }
        assert!(with_hooks(Some("{"), PROGRAM).is_err());
    }
}
