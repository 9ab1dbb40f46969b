//! Approvals of real folders, and the organization's policy.

use std::fs;

use openskills_runtime::permit::{Authorization, RequestedAccess, RequestedNetwork};
use openskills_runtime::policy::{Decision, ToolLists};
use openskills_runtime::{OpenSkillRuntime, ReadOptions, RuntimeConfig, ToolContext};
use skill::capabilities::Host;
use skill_state::{Grant, SkillSource};

use crate::provenance::installed;
use crate::{World, discover, skill};

fn world() -> World {
    let world = World::new(&skill("home/.claude/skills/pdf", "pdf"));
    world.add("//- /home/.claude/skills/pdf/scripts/a.py\nprint(1)\n");
    world
}

/// Returns the authorization of a run.
fn run(runtime: &mut OpenSkillRuntime, name: &str, once: Option<Grant>) -> &'static str {
    let plan = runtime.plan_run(name, Some("scripts/a.py"), RequestedAccess::default()).unwrap();
    match runtime.authorize(plan, once).unwrap() {
        Authorization::Permit(_) => "permit",
        Authorization::Ask(_) => "ask",
        Authorization::Refusal(_) => "refusal",
    }
}

fn approve(runtime: &mut OpenSkillRuntime, name: &str) {
    let plan = runtime.plan_run(name, None, RequestedAccess::default()).unwrap();
    let request = runtime.request(&plan).unwrap().unwrap();
    runtime.approve(&request, None).unwrap();
}

#[test]
fn a_changed_script_needs_approval_again() {
    let world = world();
    let mut runtime = world.discover();
    assert_eq!(run(&mut runtime, "pdf", None), "ask");
    assert_eq!(run(&mut runtime, "pdf", Some(Grant::default())), "permit", "once");
    assert_eq!(run(&mut runtime, "pdf", None), "ask", "but not twice");
    approve(&mut runtime, "pdf");
    assert_eq!(run(&mut runtime, "pdf", None), "permit");
    assert_eq!(run(&mut world.discover(), "pdf", None), "permit", "also in another process");
    world.add("//- /home/.claude/skills/pdf/scripts/a.py\nprint(2)\n");
    assert_eq!(run(&mut world.discover(), "pdf", None), "ask");
    world.add("//- /home/.claude/skills/pdf/scripts/a.py\nprint(1)\n");
    assert_eq!(
        run(&mut world.discover(), "pdf", None),
        "permit",
        "it is the approved content again"
    );
    // The file mode is part of the content.
    use std::os::unix::fs::PermissionsExt;
    let script = world.path("home/.claude/skills/pdf/scripts/a.py");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(run(&mut world.discover(), "pdf", None), "ask");
    // The same bytes from another location are not approved.
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    fs::create_dir_all(world.path("other")).unwrap();
    fs::rename(world.path("home/.claude/skills/pdf"), world.path("other/pdf")).unwrap();
    assert_eq!(run(&mut world.discover_in("other"), "pdf", None), "ask");
    let gone = runtime.revoke(|approval| approval.skill == "pdf").unwrap();
    assert_eq!(gone.len(), 1);
    assert!(runtime.approvals().unwrap().iter().next().is_none());
}

#[test]
fn a_skill_with_an_escaping_symlink_cannot_be_approved() {
    let world = world();
    world.link("/etc/passwd", "home/.claude/skills/pdf/scripts/link");
    let plan = world.discover().plan_run("pdf", None, RequestedAccess::default());
    assert!(plan.is_err(), "its digest would not cover what runs");
}

#[test]
fn an_approval_covers_the_whole_snapshot_until_it_drifts() {
    let world = installed();
    let mut runtime = world.discover();
    let plan = runtime.plan_run("pdf", None, RequestedAccess::default()).unwrap();
    assert_eq!(plan.subject.origin, "https://example.com/pdf.git");
    assert_eq!(plan.subject.bundle, skill::Digest::of(b"snapshot"));
    assert_eq!(plan.subject.source, SkillSource::ThirdParty, "the project is not trusted");
    approve(&mut runtime, "pdf");
    assert_eq!(run(&mut runtime, "pdf", None), "permit");
    world.add("//- /work/.agents/skills/pdf/references/a.md\nAnother.\n");
    let mut runtime = world.discover();
    let plan = runtime.plan_run("pdf", None, RequestedAccess::default()).unwrap();
    assert!(plan.subject.is_drifted && plan.subject.origin.starts_with('/'));
    assert_eq!(run(&mut runtime, "pdf", Some(Grant::default())), "refusal");
    approve(&mut runtime, "pdf");
    assert_eq!(run(&mut runtime, "pdf", None), "permit", "the user approved it");
}

#[test]
fn a_skill_can_lower_but_not_raise_its_trust() {
    let source = |trust: &str| {
        let world = World::new(&format!(
            "//- /home/.claude/skills/pdf/SKILL.md\n---\nname: pdf\ndescription: d\ntrust: {trust}\n---\nB.\n"
        ));
        let plan = world.discover().plan_run("pdf", None, RequestedAccess::default()).unwrap();
        (plan.subject.source, plan.subject.asks_each_session)
    };
    assert_eq!(source("managed"), (SkillSource::User, false));
    assert_eq!(source("package"), (SkillSource::User, false));
    assert_eq!(source("project"), (SkillSource::ThirdParty, false));
    assert_eq!(source("local"), (SkillSource::User, true));
    // A skill that declares itself local is approved for one session.
    let world = World::new(
        "//- /home/.claude/skills/pdf/SKILL.md\n---\nname: pdf\ndescription: d\ntrust: local\n---\nB.\n",
    );
    let of = |session: &str| {
        discover(RuntimeConfig { session_id: Some(session.to_owned()), ..world.config() })
    };
    let plan = world.discover().plan_run("pdf", None, RequestedAccess::default()).unwrap();
    let mut nameless = world.discover();
    let request = nameless.request(&plan).unwrap().unwrap();
    assert_eq!(
        nameless.approve(&request, None).unwrap_err().code(),
        "setup",
        "there is no session id"
    );
    approve(&mut of("one"), "pdf");
    assert_eq!(run(&mut of("one"), "pdf", None), "permit");
    assert_eq!(run(&mut of("two"), "pdf", None), "ask");
}

#[test]
fn manifests_declare_capabilities_and_broken_ones_are_errors() {
    let world = world();
    let manifest = |text: &str| {
        world.add(&format!("//- /home/.claude/skills/pdf/csk-skill.json\n{text}\n"));
        world.discover().plan_run("pdf", None, RequestedAccess::default())
    };
    let plan = manifest(
        r#"{"schema_version": 3, "commands": {}, "capabilities": {"network": ["a.test"]}}"#,
    )
    .unwrap();
    assert!(plan.declared.network.unwrap().has(&Host::parse("a.test").unwrap()));
    assert_eq!(manifest("{").unwrap_err().code(), "invalid-manifest");
}

#[test]
fn malformed_or_unreadable_files_stop_the_run() {
    let world = world();
    let state = "home/.local/state/openskills";
    fs::create_dir_all(world.path(state)).unwrap();
    let approvals = world.path(&format!("{state}/approvals.json"));
    let plan = || {
        let runtime = world.discover();
        let plan = runtime.plan_run("pdf", None, RequestedAccess::default()).unwrap();
        (runtime, plan)
    };
    for text in [
        "",
        "{",
        "[]",
        r#"{"schema_version": 2, "approvals": []}"#,
        r#"{"schema_version": 1}"#,
        r#"{"schema_version": 1, "approvals": [{}]}"#,
        r#"{"schema_version": 1, "approvals": [], "more": 1}"#,
    ] {
        fs::write(&approvals, text).unwrap();
        let (mut runtime, plan) = plan();
        assert_eq!(runtime.authorize(plan, None).unwrap_err().code(), "invalid-config", "{text}");
        assert_eq!(fs::read_to_string(&approvals).unwrap(), text, "the file is unchanged");
    }
    fs::remove_file(&approvals).unwrap();
    std::os::unix::fs::symlink("nowhere", &approvals).unwrap();
    let (mut runtime, planned) = plan();
    assert!(runtime.authorize(planned, None).is_err(), "a broken symlink is not an empty list");
    fs::remove_file(&approvals).unwrap();
    // An approval with an invalid expiry or invalid hosts does not become unlimited.
    let mut runtime = world.discover();
    approve(&mut runtime, "pdf");
    let whole = fs::read_to_string(&approvals).unwrap();
    for (old, new) in [
        ("\"approved_at\"", "\"expires_at\": \"soon\", \"approved_at\""),
        ("\"network\": []", "\"network\": [\"a b\"]"),
        ("\"network\": []", "\"network\": \"all\""),
        ("\"deletions\": false", "\"deletions\": \"no\""),
        ("sha256:", "sha1:"),
    ] {
        assert!(whole.contains(old));
        fs::write(&approvals, whole.replacen(old, new, 1)).unwrap();
        assert_eq!(world.discover().approvals().unwrap_err().code(), "invalid-config", "{new}");
    }
    fs::write(&approvals, &whole).unwrap();
    assert_eq!(run(&mut world.discover(), "pdf", None), "permit");
    // The same for the policy, even before discovery.
    for text in [
        "",
        "{",
        r#"{"schema_version": 1, "denny": {}}"#,
        r#"{"schema_version": 1, "deny": {"hosts": ["a b"]}}"#,
        r#"{"schema_version": 1, "required_trust": {"run": "root"}}"#,
    ] {
        fs::write(world.path("org-policy.json"), text).unwrap();
        let mut runtime = OpenSkillRuntime::with_config(world.config());
        assert_eq!(runtime.discover_skills().unwrap_err().code(), "invalid-config", "{text}");
    }
    fs::remove_file(world.path("org-policy.json")).unwrap();
    fs::create_dir(world.path("org-policy.json")).unwrap();
    let mut runtime = OpenSkillRuntime::with_config(world.config());
    assert!(runtime.discover_skills().is_err(), "it cannot be read");
}

#[test]
fn the_organization_can_deny_skills_tools_and_trust_levels() {
    let world = world();
    world.add(&skill("home/.claude/skills/evil", "evil"));
    world.add(&skill("work/.claude/skills/theirs", "theirs"));
    let with = |policy: &str| {
        fs::write(world.path("org-policy.json"), policy).unwrap();
        world.discover()
    };
    let mut runtime = with(
        r#"{"schema_version": 1, "deny": {"skills": ["ev*"], "tools": ["Bash(curl:*)"]},
            "required_trust": {"activate": "user"}, "allowed_tools": "allowlist", "allow_approve_once": false}"#,
    );
    let names: Vec<String> =
        runtime.list_skills().iter().map(|skill| skill.name.to_string()).collect();
    assert_eq!(names, ["pdf"], "denied skills are not in the catalog");
    let told: Vec<String> =
        runtime.problems().iter().map(|problem| problem.message.clone()).collect();
    assert_eq!(
        told,
        [
            "the organization denies the skill `ev*`",
            "the organization requires trust level `user` or higher; this skill has `third_party`"
        ]
    );
    for name in ["evil", "personal/evil", "theirs"] {
        let refused = runtime.activate_skill(name).unwrap_err();
        assert_eq!(refused.code(), "permission-denied", "{refused}");
        let read = runtime.read_resource(name, "SKILL.md", &ReadOptions::default());
        assert_eq!(read.map(|_| ()).unwrap_err().code(), "permission-denied");
    }
    let context = ToolContext { skill: Some("pdf".to_owned()), ..ToolContext::default() };
    let call = serde_json::json!({ "command": "curl x" });
    let verdict = runtime.check_tool(&context, "Bash", &call).unwrap().unwrap();
    assert_eq!(verdict.decision, Decision::Deny, "{}", verdict.reason);
    // The user's settings cannot loosen the organization's policy.
    world.add("//- /home/.config/openskills/config.json\n{\"schema_version\": 1, \"allowed_tools\": \"preapprove\"}\n");
    assert_eq!(runtime.tool_lists().unwrap(), ToolLists::Allowlist);
    assert_eq!(run(&mut runtime, "pdf", Some(Grant::default())), "ask", "not even once");
    let digest = runtime.hash(runtime.skill("pdf").unwrap()).unwrap();
    let mut runtime =
        with(&format!(r#"{{"schema_version": 1, "deny": {{"digests": ["{digest}"]}}}}"#));
    assert_eq!(runtime.activate_skill("pdf").unwrap_err().code(), "permission-denied");
    assert_eq!(run(&mut runtime, "pdf", None), "refusal");
    assert_eq!(runtime.tool_lists().unwrap(), ToolLists::Preapprove);
    let mut runtime =
        with(r#"{"schema_version": 1, "allowed_origins": ["https://git.acme.test/*"]}"#);
    assert_eq!(runtime.activate_skill("pdf").unwrap_err().code(), "permission-denied");
    // A skill that lowers its own trust level falls below the required one.
    world.add("//- /home/.claude/skills/low/SKILL.md\n---\nname: low\ndescription: d\ntrust: project\n---\nB.\n");
    let mut runtime = with(r#"{"schema_version": 1, "required_trust": {"activate": "user"}}"#);
    assert_eq!(runtime.activate_skill("low").unwrap_err().code(), "permission-denied");
    // The second key is the old name.
    for key in ["required_trust", "required_tier"] {
        let mut runtime = with(&format!(r#"{{"schema_version": 1, "{key}": {{"run": "org"}}}}"#));
        runtime.activate_skill("low").unwrap();
        assert_eq!(run(&mut runtime, "pdf", Some(Grant::default())), "refusal");
    }
}

#[test]
fn decisions_and_approvals_are_logged() {
    let world = world();
    let mut runtime = world.discover();
    run(&mut runtime, "pdf", None);
    let asked = RequestedAccess {
        network: RequestedNetwork::Named(vec![Host::parse("a.test").unwrap()]),
        ..RequestedAccess::default()
    };
    let plan = runtime.plan_run("pdf", None, asked).unwrap();
    let request = runtime.request(&plan).unwrap().unwrap();
    runtime.approve(&request, Some("2100-01-01T00:00:00Z".parse().unwrap())).unwrap();
    runtime.revoke(|_| true).unwrap();
    let log = openskills_runtime::log::Source::Folder(
        world.root().join("home/.local/state/openskills/log"),
    );
    let entries: Vec<_> = log.entries(3).unwrap().map(|entry| entry.unwrap()).collect();
    let kinds: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(kinds, ["policy.decided", "approval.granted", "approval.revoked"]);
    assert_eq!(entries[0].fields["decision"], "ask");
    assert_eq!(entries[0].fields["input"], "scripts/a.py");
    assert_eq!(entries[1].fields["granted"], serde_json::json!(["network: a.test"]));
    assert_eq!(entries[1].fields["expiresAt"], "2100-01-01T00:00:00.000Z");
}

#[test]
fn users_cannot_loosen_the_organizations_policy() {
    let world = installed();
    world.add(&skill("mine/own", "own"));
    let with = |policy: &str| {
        fs::write(world.path("org-policy.json"), policy).unwrap();
        world.discover()
    };
    let refused = |mut runtime: OpenSkillRuntime, name: &str| {
        runtime.activate_skill(name).map(|_| ()).unwrap_err().code().to_owned()
    };
    // A folder that the user configures as the organization's counts as the user's.
    world.add(&format!(
        "//- /home/.config/openskills/config.json\n{{\"schema_version\": 1, \"directories\": {{\"x\": {{\"path\": \"{}\", \"source\": \"org\"}}}}}}\n",
        world.path("mine").display()
    ));
    assert_eq!(
        world.discover().skill("x/own").unwrap().source,
        SkillSource::Org,
        "allowed without a policy"
    );
    let runtime = with(r#"{"schema_version": 1, "required_trust": {"activate": "org"}}"#);
    assert_eq!(refused(runtime, "x/own"), "permission-denied");
    // The origin that a skill claims is enough to deny it, even if it is modified, copied or without a receipt.
    let evil = r#"{"schema_version": 1, "deny": {"origins": ["https://EXAMPLE.com/*"]}}"#;
    assert_eq!(refused(with(evil), "pdf"), "permission-denied");
    world.add("//- /work/.agents/skills/pdf/references/a.md\nAnother.\n");
    assert_eq!(refused(with(evil), "pdf"), "permission-denied", "drifted");
    fs::remove_dir_all(world.path("home/.cocoaskills")).unwrap();
    fs::remove_file(world.path("work/.agents/skills/.csk-managed.json")).unwrap();
    assert_eq!(refused(with(evil), "pdf"), "permission-denied", "without receipt and ledger");
    // Content denied by either digest can be neither activated nor read.
    let runtime = with(r#"{"schema_version": 1}"#);
    let plan = runtime.plan_run("x/own", None, RequestedAccess::default()).unwrap();
    for digest in [plan.subject.content, plan.subject.bundle] {
        let policy = format!(r#"{{"schema_version": 1, "deny": {{"digests": ["{digest}"]}}}}"#);
        assert_eq!(refused(with(&policy), "x/own"), "permission-denied");
        let read = with(&policy).read_resource("x/own", "SKILL.md", &ReadOptions::default());
        assert_eq!(read.map(|_| ()).unwrap_err().code(), "permission-denied");
    }
    for name in ["OWN", "x/Own", "ow*"] {
        let policy = format!(r#"{{"schema_version": 1, "deny": {{"skills": ["{name}"]}}}}"#);
        assert_eq!(refused(with(&policy), "own"), "permission-denied", "{name}");
    }
    // The policy limits how long approvals last.
    let mut runtime = with(r#"{"schema_version": 1, "max_approval_days": 1}"#);
    let plan = runtime.plan_run("own", None, RequestedAccess::default()).unwrap();
    let request = runtime.request(&plan).unwrap().unwrap();
    let approval =
        runtime.approve(&request, Some("2900-01-01T00:00:00Z".parse().unwrap())).unwrap();
    assert!(approval.expires_at.unwrap() < "2899-01-01T00:00:00Z".parse().unwrap());
    let mut runtime = with(r#"{"schema_version": 1, "max_approval_days": 0}"#);
    assert_eq!(runtime.approve(&request, None).unwrap_err().code(), "permission-denied");
    for wrong in [
        r#"{"schema_version": 1, "deny": {"skills": [null]}}"#,
        r#"{"schema_version": 1, "allowed_origins": null}"#,
    ] {
        fs::write(world.path("org-policy.json"), wrong).unwrap();
        let mut runtime = OpenSkillRuntime::with_config(world.config());
        assert_eq!(runtime.discover_skills().unwrap_err().code(), "invalid-config", "{wrong}");
    }
    fs::remove_file(world.path("org-policy.json")).unwrap();
    std::os::unix::fs::symlink("nowhere", world.path("org-policy.json")).unwrap();
    let mut runtime = OpenSkillRuntime::with_config(world.config());
    assert_eq!(
        runtime.discover_skills().unwrap_err().code(),
        "setup",
        "a broken symlink is not a missing file"
    );
}
