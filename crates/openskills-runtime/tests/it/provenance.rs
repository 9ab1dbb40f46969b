//! Provenance of installed skills: trusted only with a receipt, and drift is detected.

use std::collections::BTreeMap;
use std::fs;

use openskills_runtime::Provenance;
use openskills_runtime::permit::{Authorization, RequestedAccess};
use skill::{Digest, Identifier, LEDGER_FILE, MARKER_FILE, Marker, RefKind};
use skill_fs::{Root, WalkLimits, digests, walk};
use skill_state::{Grant, Receipts};

use crate::{World, problems, skill};

/// A skill as installed by csk: with a marker, a ledger, and a symlink for another agent.
pub(crate) fn installed() -> World {
    let world = World::new(&skill("work/.agents/skills/pdf", "pdf"));
    world.add("//- /work/.agents/skills/pdf/references/a.md\nA.\n");
    fs::write(world.path(&format!("work/.agents/skills/{LEDGER_FILE}")), "{}").unwrap();
    world.link("../../.agents/skills/pdf", "work/.claude/skills/pdf");
    let root = Root::open(&world.root().join("work/.agents/skills/pdf")).unwrap();
    let digests = digests(&root, &walk(&root, &WalkLimits::SKILL).unwrap()).unwrap();
    let marker = Marker {
        context_rules: None,
        part: None,
        name: Identifier::new("pdf").unwrap(),
        source: Identifier::new("skill-pdf").unwrap(),
        git: Some("https://example.com/pdf.git".into()),
        ref_kind: RefKind::Tag,
        reference: "v1".into(),
        commit: "a".repeat(40),
        content_sha256: digests.content,
        context_sha256: Some(digests.bundle),
        bundle_sha256: Some(Digest::of(b"snapshot")),
        locale: None,
        agents: Vec::new(),
        commands: Vec::new(),
        command_paths: BTreeMap::new(),
        runtime_sha256: None,
        runtime_roots: Vec::new(),
        skill_schema_version: None,
        capabilities: None,
        installed_at: "2026-11-15T00:00:00Z".into(),
        files: Vec::new(),
    };
    fs::write(world.path(&format!("work/.agents/skills/pdf/{MARKER_FILE}")), marker.to_json())
        .unwrap();
    let mut receipts =
        Receipts::load(&world.root().join("home/.cocoaskills"), &world.root().join("work"));
    receipts.add(&marker.name, Digest::of(marker.to_json().as_bytes()), &marker.commit);
    receipts.save().unwrap();
    world
}

fn provenance(world: &World) -> Provenance {
    let runtime = world.discover();
    *runtime.skill("pdf").unwrap().provenance.clone().unwrap()
}

#[test]
fn an_installed_skill_has_its_origin() {
    let world = installed();
    let found = provenance(&world);
    assert_eq!(found.origin_url.as_deref(), Some("https://example.com/pdf.git"));
    assert_eq!(
        (found.reference.as_str(), found.commit.as_str()),
        ("tag v1", "a".repeat(40).as_str())
    );
    assert!(found.has_receipt && !found.is_drifted);
    assert_eq!(problems(&world, &world.discover()), "");
    let runtime = world.discover();
    let entry = serde_json::to_value(&runtime.index_entries(&runtime.list_skills())[0]).unwrap();
    assert_eq!(entry["originUrl"], "https://example.com/pdf.git");
    assert_eq!(entry["hash"], entry["provenance"]["contentSha256"]);
}

#[test]
fn a_marker_without_a_receipt_is_not_trusted() {
    let world = installed();
    fs::remove_dir_all(world.path("home/.cocoaskills")).unwrap();
    assert!(!provenance(&world).has_receipt);
    // A receipt does not cover an edited marker or a folder with another name.
    let world = installed();
    let marker = world.path(&format!("work/.agents/skills/pdf/{MARKER_FILE}"));
    let text = fs::read_to_string(&marker).unwrap().replace("example.com", "trusted.example");
    fs::write(&marker, text).unwrap();
    assert!(!provenance(&world).has_receipt);
    let world = installed();
    fs::rename(world.path("work/.agents/skills/pdf"), world.path("work/.agents/skills/other"))
        .unwrap();
    assert!(!provenance(&world).has_receipt);
}

#[test]
fn copies_made_by_csk_are_one_skill() {
    let world = installed();
    fs::remove_dir_all(world.path("work/.claude")).unwrap();
    let copy = [
        "-r",
        world.path("work/.agents").to_str().unwrap(),
        world.path("work/.claude").to_str().unwrap(),
    ]
    .map(str::to_owned);
    assert_eq!(
        world.env.run_args("cp", &copy.iter().map(String::as_str).collect::<Vec<_>>()).code,
        Some(0)
    );
    let runtime = world.discover();
    assert_eq!(
        crate::ids(&runtime),
        "project/pdf third_party\nproject-agents/pdf third_party < project/pdf\n"
    );
    assert_eq!(problems(&world, &runtime), "", "a copy of itself causes no warning");
    assert!(provenance(&world).has_receipt);
    fs::write(world.path("work/.agents/skills/pdf/references/a.md"), "B.\n").unwrap();
    let reported = problems(&world, &world.discover());
    assert!(reported.contains("content-drift") && reported.contains("shadowed"), "{reported}");
}

#[test]
fn a_marker_added_later_is_found() {
    let world = installed();
    let ledger = world.path(&format!("work/.agents/skills/{LEDGER_FILE}"));
    fs::remove_dir_all(world.path("work/.claude")).unwrap();
    fs::remove_file(&ledger).unwrap();
    let file = fs::File::open(world.path("work/.agents/skills/pdf/SKILL.md")).unwrap();
    while file.metadata().unwrap().modified().unwrap().elapsed().unwrap().as_millis() < 2_100 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(
        world.discover().skill("pdf").unwrap().provenance,
        None,
        "csk does not manage the folder"
    );
    fs::write(&ledger, "{}").unwrap();
    assert!(provenance(&world).has_receipt);
}

#[test]
fn any_change_counts_as_drift() {
    type Edit = fn(&World);
    let edits: [Edit; 4] = [
        |world| fs::write(world.path("work/.agents/skills/pdf/references/a.md"), "B.\n").unwrap(),
        |world| fs::write(world.path("work/.agents/skills/pdf/added"), "").unwrap(),
        |world| world.link("/etc/passwd", "work/.agents/skills/pdf/leak"),
        |world| {
            use std::os::unix::fs::PermissionsExt;
            let file = world.path("work/.agents/skills/pdf/references/a.md");
            fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
        },
    ];
    for edit in edits {
        let world = installed();
        assert!(!provenance(&world).is_drifted);
        edit(&world);
        assert!(provenance(&world).is_drifted);
        let reported = problems(&world, &world.discover());
        assert_eq!(reported.matches("content-drift").count(), 1, "{reported}");
    }
}

#[test]
fn a_broken_marker_is_reported_and_affects_nothing_else() {
    let world = installed();
    fs::write(world.path(&format!("work/.agents/skills/pdf/{MARKER_FILE}")), "{").unwrap();
    let runtime = world.discover();
    assert_eq!(runtime.skill("pdf").unwrap().provenance, None);
    assert!(
        problems(&world, &runtime).contains("install-marker"),
        "{}",
        problems(&world, &runtime)
    );
}

/// A revoked source is recognized by csk's receipt and by the repository's configuration, whatever the marker says.
#[test]
fn a_revoked_source_is_recognized_without_the_marker() {
    let runs = |world: &World| {
        let mut runtime = world.discover();
        let plan = runtime.plan_run("pdf", None, RequestedAccess::default()).unwrap();
        match runtime.authorize(plan, Some(Grant::default())).unwrap() {
            Authorization::Refusal(refusal) => refusal.reasons.join("; "),
            other => format!("{other:?}"),
        }
    };
    let revoke = |world: &World| {
        let policy = r#"{"schema_version": 1, "pins": [], "suppressions": [], "revoked": [
            {"source": "https://h.test/pdf.git", "reason": "stolen", "at": "2026-01-01T00:00:00Z"}]}"#;
        world.add(&format!("//- /home/.cocoaskills/audit/policy.json\n{policy}\n"));
    };
    let world = installed();
    revoke(&world);
    assert!(!runs(&world).contains("revoked"));
    let (home, work) = (world.root().join("home/.cocoaskills"), world.root().join("work"));
    let mut receipts = Receipts::load(&home, &work);
    receipts.add_origin(&Identifier::new("pdf").unwrap(), "git@h.test:pdf.git");
    receipts.save().unwrap();
    assert!(runs(&world).contains("it is revoked: stolen"));
    fs::remove_file(world.path("work/.agents/skills/pdf/.csk-install.json")).unwrap();
    assert!(runs(&world).contains("it is revoked: stolen"), "without its marker too");
    let world = World::new(&skill("home/.claude/skills/pdf", "pdf"));
    revoke(&world);
    assert!(!runs(&world).contains("revoked"));
    world.add("//- /home/.claude/skills/pdf/.git/config\n[remote \"origin\"]\n\tURL = https://h.test/pdf\n");
    assert!(runs(&world).contains("it is revoked: stolen"));
}
