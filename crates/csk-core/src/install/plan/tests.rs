//! Current state, desired state and the resulting plan, one line each.
//!
//! `pdf@1+run` is version 1 of the skill `pdf`, which provides the command `run`. A suffix after a colon says what is
//! special about it: see [`Fixture::have`] and [`Fixture::want`].

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use expect_test::{Expect, expect};
use skill::{Digest, Identifier, Marker, RefKind, RelPath};
use skill_fs::{AbsPath, Digests};

use super::{Action, Facts, Plan, PlanInput, SkillContent, SkillContents, SkillPlan, plan};
use crate::content::context::CONTEXT_RULES;
use crate::install::AgentsFrom;
use crate::install::gate::{Gated, gate_project};
use crate::install::observe::ObservedAdapter;
use crate::install::project_checks::{CommandConflicts, UnignoredEntries};
use crate::install::store::StoreLayout;
use crate::install::{
    AdapterState, CommandFilesState, ContextState, FingerprintCache, IgnorePolicy, LockfileMode,
    Observed, Prepared, Receipts, Resolution, ResolveRules, SkillError, TagPolicy, Target,
};
use crate::{
    AdapterMode, Agent, CommandFiles, CommandOrder, Commit, Declaration, Ledger, Reference, Scope,
};

/// The folder of the only agent.
const CLAUDE: &str = ".claude/skills";

fn check(have: &str, want: &str, expected: &Expect) {
    let mut fixture = Fixture::new(want);
    fixture.have(have);
    expected.assert_eq(&shown(&fixture.plan()));
}

fn name(text: &str) -> Identifier {
    Identifier::new(text).unwrap()
}

fn commit(version: &str) -> Commit {
    Commit::new(&version.repeat(40)).unwrap()
}

/// One skill in a fixture line.
struct SkillSpec<'a> {
    name: Identifier,
    version: &'a str,
    commands: Vec<Identifier>,
    special: &'a str,
}

impl<'a> SkillSpec<'a> {
    fn read(spec: &'a str) -> Self {
        let (spec, special) = spec.split_once(':').unwrap_or((spec, ""));
        let mut parts = spec.split('+');
        let (skill, version) = parts.next().unwrap().split_once('@').unwrap_or((spec, "1"));
        Self { name: name(skill), version, commands: parts.map(name).collect(), special }
    }

    fn command_paths(&self) -> BTreeMap<Identifier, RelPath> {
        let path = |command: &Identifier| RelPath::new(format!("scripts/{command}")).unwrap();
        self.commands.iter().map(|command| (command.clone(), path(command))).collect()
    }

    fn digests(&self) -> Digests {
        let digest =
            |what: &str| Digest::of(format!("{what} {}{}", self.name, self.version).as_bytes());
        Digests { content: digest("content"), bundle: digest("bundle") }
    }

    fn prepared(&self) -> Prepared {
        let Digests { content, bundle } = self.digests();
        let commands = self.command_paths();
        Prepared {
            files: Vec::new(),
            content,
            context: bundle,
            first_content: None,
            bundle,
            warnings: Vec::new(),
            name_warning: None,
            manifest: None,
            runtime: (!commands.is_empty()).then(|| CommandFiles { files: Vec::new(), commands }),
            audit: None,
            is_rendered: false,
            list: None,
            part: None,
            runtime_id: commit(self.version).as_str().to_owned(),
            origin: None,
        }
    }
}

struct Fixture {
    target: Target,
    resolution: Resolution,
    observed: Observed,
    contents: BTreeMap<Identifier, Result<SkillContent, SkillError>>,
    revoked: BTreeMap<Identifier, String>,
    store: StoreLayout,
    tags: TagPolicy,
}

impl Fixture {
    fn new(want: &str) -> Self {
        let target = Target {
            alias: "project".to_owned(),
            root: AbsPath::new("/project").unwrap(),
            scope: Scope::Project,
            adapter_base: AbsPath::new("/project").unwrap(),
            agents_from: AgentsFrom::Settings,
            agents: vec![Agent {
                id: "claude-code".to_owned(),
                adapter: Some(CLAUDE.to_owned()),
                user_adapter: None,
            }],
            adapter_mode: AdapterMode::Symlink,
            order: CommandOrder::Last,
            locale: None,
            skills: Vec::new(),
            lock: None,
        };
        let observed = Observed {
            ledger: Ledger::default(),
            contexts: BTreeMap::new(),
            adapters: BTreeMap::from([(CLAUDE.to_owned(), ObservedAdapter::default())]),
            bin: ObservedAdapter::default(),
            env: Vec::new(),
            receipts: Receipts::default(),
            seen: FingerprintCache::default(),
        };
        let mut fixture = Self {
            target,
            resolution: Resolution::default(),
            observed,
            contents: BTreeMap::new(),
            revoked: BTreeMap::new(),
            store: StoreLayout::new(&AbsPath::new("/home/.csk").unwrap()),
            tags: TagPolicy::Warn,
        };
        fixture.want(want);
        fixture
    }

    /// Declares skills: `:uncloned`, `:fails` (its content cannot be prepared), `:blocked` (by an audit), `:revoked`,
    /// `:tag`.
    fn want(&mut self, specs: &str) {
        let specs: Vec<SkillSpec<'_>> = specs.split_whitespace().map(SkillSpec::read).collect();
        for spec in &specs {
            let kind = if spec.special == "tag" { RefKind::Tag } else { RefKind::Branch };
            self.target.skills.push(Declaration {
                name: spec.name.clone(),
                source: spec.name.clone(),
                git: None,
                path: None,
                reference: Reference { kind, name: "main".to_owned() },
            });
            let content = match spec.special {
                "fails" => Err(SkillError::Write("it cannot be read".to_owned())),
                "blocked" => {
                    let (reason, hint) = ("BLOCK".to_owned(), "do not".to_owned());
                    Err(SkillError::Audit { reason, hint })
                }
                _ => Ok(SkillContent {
                    new: Gated::unchecked(Arc::new(spec.prepared())),
                    previous: None,
                }),
            };
            self.contents.insert(spec.name.clone(), content);
            if spec.special == "revoked" {
                self.revoked.insert(spec.name.clone(), "it is stolen".to_owned());
            }
        }
        let commits = self.target.skills.iter().zip(&specs).map(|(skill, spec)| {
            let commit = match spec.special {
                "uncloned" => Err(SkillError::NotCloned { url: "https://example.com".to_owned() }),
                _ => Ok(commit(spec.version)),
            };
            (skill, commit)
        });
        self.resolution = Resolution::of(commits);
    }

    /// Installs skills: `:edited`, `:unknown` (no receipt), `:foreign`, `:newer`, `:broken`, `:unlinked` (no agent
    /// entry), `:taken` (the user's own folder in its place), `:tampered` (command files).
    fn have(&mut self, specs: &str) {
        for spec in specs.split_whitespace().map(SkillSpec::read) {
            let state = match spec.special {
                "foreign" => ContextState::Foreign,
                "newer" => ContextState::Newer("a newer csk made it".to_owned()),
                "broken" => ContextState::Broken("it is no folder".to_owned()),
                _ => self.installed(&spec),
            };
            if spec.special != "foreign" {
                self.observed.ledger.entries.insert(spec.name.clone());
            }
            self.observed.contexts.insert(spec.name.clone(), state);
            let claude = self.observed.adapters.get_mut(CLAUDE).unwrap();
            let entry = match spec.special {
                "taken" => AdapterState::Other,
                "unlinked" | "foreign" => continue,
                _ => AdapterState::Link(self.target.link_text(CLAUDE, &spec.name)),
            };
            claude.entries.insert(spec.name.clone(), entry);
            if spec.special != "taken" {
                claude.ledger.entries.insert(spec.name.clone());
            }
        }
    }

    fn installed(&mut self, spec: &SkillSpec<'_>) -> ContextState {
        let (digests, version) = (spec.digests(), commit(spec.version));
        for (command, path) in spec.command_paths() {
            let place = self.store.path(&spec.name, version.as_str()).join(path.as_str());
            let link = AdapterState::Link(place.to_string());
            self.observed.bin.entries.insert(command.clone(), link);
            self.observed.bin.ledger.entries.insert(command);
        }
        let is_tag = self
            .target
            .skills
            .iter()
            .any(|skill| skill.name == spec.name && skill.reference.kind == RefKind::Tag);
        let found = match spec.special {
            "edited" => Digest::of(b"edited"),
            _ => digests.content,
        };
        let has_commands = !spec.commands.is_empty();
        ContextState::Installed {
            marker: Box::new(Marker {
                name: spec.name.clone(),
                source: spec.name.clone(),
                git: None,
                part: None,
                ref_kind: if is_tag { RefKind::Tag } else { RefKind::Branch },
                reference: "main".to_owned(),
                commit: version.as_str().to_owned(),
                content_sha256: digests.content,
                context_sha256: None,
                bundle_sha256: Some(digests.bundle),
                context_rules: Some(CONTEXT_RULES),
                locale: None,
                agents: self.target.agent_ids(),
                commands: spec.commands.iter().map(ToString::to_string).collect(),
                command_paths: spec.command_paths(),
                runtime_sha256: None,
                runtime_roots: Vec::new(),
                skill_schema_version: has_commands.then_some(2),
                capabilities: None,
                installed_at: "2026-01-01T00:00:00Z".to_owned(),
                files: vec!["SKILL.md".to_owned()],
            }),
            content: Digests { content: found, bundle: digests.bundle },
            warning: None,
            runtime: has_commands.then(|| match spec.special {
                "tampered" => CommandFilesState::Tampered("scripts/run was changed".to_owned()),
                _ => CommandFilesState::Intact(Digest::of(b"list")),
            }),
            marker_digest: Digest::of(b"marker"),
            is_receipted: spec.special != "unknown",
        }
    }

    fn plan(&self) -> Plan {
        let rules = ResolveRules { tags: self.tags, lock: LockfileMode::Follow };
        let Self { target, resolution, observed, contents, revoked, store, .. } = self;
        let facts = Facts { target, resolution, observed, rules };
        plan(&PlanInput { facts, contents: SkillContents::New(contents), revoked, store })
    }
}

fn shown(plan: &Plan) -> String {
    let mut text = String::new();
    for skill in plan.removals.iter().chain(&plan.skills) {
        writeln!(text, "{}", line(skill)).unwrap();
    }
    for change in &plan.unowned {
        writeln!(text, "delete command {}", change.command).unwrap();
    }
    for collision in &plan.collisions {
        writeln!(text, "collision: {collision}").unwrap();
    }
    text
}

fn line(plan: &SkillPlan) -> String {
    let kept = |keeps: bool| if keeps { ", keep edits" } else { "" };
    let action = match &plan.action {
        Action::Current => "nothing".to_owned(),
        Action::Install(install) => {
            let version = &install.content.runtime_id[..1];
            format!("install @{version}{}", kept(install.keeps_edits))
        }
        Action::Repair(repair) if repair.content.is_some() => "repair command files".to_owned(),
        Action::Repair(_) => "repair".to_owned(),
        Action::Remove(remove) if remove.text => format!("remove{}", kept(remove.keeps_edits)),
        Action::Remove(_) => "unlink".to_owned(),
        Action::Refused(error) => format!("refuse, {error}"),
    };
    let mut line = format!("{} ({}): {action}", plan.name, plan.label.as_str());
    for adapter in plan.adapters() {
        let verb = if adapter.present { "make" } else { "delete" };
        write!(line, "; {verb} {}", adapter.folder).unwrap();
    }
    for change in &plan.commands {
        let verb = if change.target.is_some() { "make" } else { "delete" };
        write!(line, "; {verb} command {}", change.command).unwrap();
    }
    for before in &plan.after {
        write!(line, "; after {before}").unwrap();
    }
    for warning in &plan.warnings {
        write!(line, "; warning: {warning}").unwrap();
    }
    line
}

#[test]
fn nothing_changes_if_everything_is_as_declared() {
    check(
        "pdf@1+run csv@2",
        "pdf@1+run csv@2",
        &expect![[r#"
        pdf (up-to-date): nothing
        csv (up-to-date): nothing
    "#]],
    );
    let mut fixture = Fixture::new("pdf@1+run");
    fixture.have("pdf@1+run");
    assert!(fixture.plan().is_empty());
    assert!(fixture.plan().is_current());
}

#[test]
fn new_and_newer_skills_are_installed_with_their_entries_and_commands() {
    check(
        "",
        "pdf@1+run",
        &expect![[r#"
        pdf (missing): install @1; make .claude/skills; make command run
    "#]],
    );
    check(
        "pdf@1+run",
        "pdf@2+run",
        &expect![[r#"
        pdf (update-available): install @2; make command run
    "#]],
    );
    check(
        "pdf@1+run+old",
        "pdf@2+run",
        &expect![[r#"
        pdf (update-available): install @2; make command run; delete command old
    "#]],
    );
}

#[test]
fn undeclared_skills_are_removed() {
    check(
        "pdf@1+run csv@1:edited",
        "",
        &expect![[r#"
        csv (removed): remove, keep edits; delete .claude/skills
        pdf (removed): remove; delete .claude/skills; delete command run
    "#]],
    );
    check(
        "pdf:newer",
        "",
        &expect![[r#"
        pdf (error): refuse, a newer csk made it
    "#]],
    );
    check(
        "pdf:broken",
        "",
        &expect![[r#"
        pdf (removed): remove, keep edits; delete .claude/skills
    "#]],
    );
}

#[test]
fn edits_are_backed_up() {
    check(
        "pdf@1:edited",
        "pdf@1",
        &expect![[r#"
        pdf (content-drift): install @1, keep edits
    "#]],
    );
    check(
        "pdf@1:edited",
        "pdf@2",
        &expect![[r#"
        pdf (update-available): install @2, keep edits
    "#]],
    );
    check(
        "pdf@1:broken",
        "pdf@1",
        &expect![[r#"
        pdf (content-drift): install @1, keep edits
    "#]],
    );
}

#[test]
fn an_install_without_a_receipt_is_reinstalled() {
    check(
        "pdf@1+run:unknown",
        "pdf@1+run",
        &expect![[r#"
        pdf (update-available): install @1; make .claude/skills
    "#]],
    );
    // The installed files do not match the commit that the marker claims.
    check(
        "pdf@2:unknown",
        "pdf@1",
        &expect![[r#"
        pdf (content-drift): install @1, keep edits; make .claude/skills
    "#]],
    );
}

#[test]
fn missing_parts_are_repaired() {
    check(
        "pdf@1:unlinked",
        "pdf@1",
        &expect![[r#"
        pdf (content-drift): repair; make .claude/skills
    "#]],
    );
    check(
        "pdf@1+run:tampered",
        "pdf@1+run",
        &expect![[r#"
        pdf (content-drift): repair command files
    "#]],
    );
    let mut fixture = Fixture::new("pdf@1+run");
    fixture.have("pdf@1+run");
    fixture.observed.bin.entries.clear();
    expect![[r#"
        pdf (content-drift): nothing; make command run
    "#]]
    .assert_eq(&shown(&fixture.plan()));
}

#[test]
fn the_users_files_are_never_replaced() {
    check(
        "pdf:foreign",
        "pdf@1",
        &expect![[r#"
        pdf (error): refuse, `/project/.agents/skills/pdf` exists and was not created by csk
    "#]],
    );
    check(
        "pdf@1:taken",
        "pdf@1",
        &expect![[r#"
        pdf (error): refuse, `/project/.claude/skills/pdf` exists and was not created by csk
    "#]],
    );
    check(
        "pdf@1:newer",
        "pdf@1",
        &expect![[r#"
        pdf (error): refuse, a newer csk made it
    "#]],
    );
    let mut fixture = Fixture::new("pdf@1+run");
    fixture.observed.bin.entries.insert(name("run"), AdapterState::Other);
    expect![[r#"
        pdf (missing): refuse, `/project/.agents/bin/run` exists and was not created by csk
    "#]]
    .assert_eq(&shown(&fixture.plan()));
}

#[test]
fn a_failing_skill_keeps_its_commands_and_stops_no_other() {
    check(
        "pdf@1+run",
        "pdf@2+run:fails csv@1",
        &expect![[r#"
        pdf (update-available): refuse, it cannot be read
        csv (missing): install @1; make .claude/skills
    "#]],
    );
    check(
        "",
        "pdf@1:uncloned csv@1",
        &expect![[r#"
            pdf (missing): refuse, repository not cloned yet; run `csk install` to clone it from `https://example.com`
            csv (missing): install @1; make .claude/skills
        "#]],
    );
    check(
        "",
        "pdf@1:blocked",
        &expect![[r#"
        pdf (missing): refuse, BLOCK
    "#]],
    );
    check(
        "pdf@1",
        "pdf@1:revoked",
        &expect![[r#"
            pdf (up-to-date): nothing; warning: `pdf` is revoked: it is stolen; remove it from Skillfile.json, or choose another version
        "#]],
    );
}

#[test]
fn skills_that_hand_over_a_command_change_together() {
    check(
        "pdf@1+run csv@1",
        "pdf@2 csv@2+run",
        &expect![[r#"
        pdf (update-available): install @2; delete command run
        csv (update-available): install @2; make command run; after pdf
    "#]],
    );
    // The owner cannot give it up.
    check(
        "pdf@1+run csv@1",
        "pdf@2:fails csv@2+run",
        &expect![[r#"
            pdf (update-available): refuse, it cannot be read
            csv (update-available): refuse, command `run` still belongs to `pdf`, which cannot be updated
        "#]],
    );
    check(
        "pdf@1+run",
        "csv@1+run",
        &expect![[r#"
        pdf (removed): remove; delete .claude/skills; delete command run
        csv (missing): install @1; make .claude/skills; make command run; after pdf
    "#]],
    );
}

#[test]
fn a_command_without_a_skill_is_removed() {
    let mut fixture = Fixture::new("pdf@1");
    fixture.have("pdf@1");
    let link = fixture.store.path(&name("gone"), commit("1").as_str()).join("scripts/old");
    fixture.observed.bin.entries.insert(name("old"), AdapterState::Link(link.to_string()));
    fixture.observed.bin.ledger.entries.insert(name("old"));
    expect![[r#"
        pdf (up-to-date): nothing
        delete command old
    "#]]
    .assert_eq(&shown(&fixture.plan()));
}

#[test]
fn a_command_collision_stops_both_skills() {
    check(
        "",
        "pdf@1+run csv@1+Run md@1",
        &expect![[r#"
            pdf (missing): refuse, Command collision: `csv` also provides the command `run`
            csv (missing): refuse, Command collision: `pdf` also provides the command `Run`
            md (missing): install @1; make .claude/skills
            collision: `run` is provided by pdf and csv (as `Run`)
        "#]],
    );
}

#[test]
fn a_moved_tag_is_a_warning_or_an_error() {
    check(
        "pdf@1:",
        "pdf@2:tag",
        &expect![[r#"
        pdf (update-available): install @2; warning: Moved tag for pdf: main 1111111 -> 2222222
    "#]],
    );
    let mut fixture = Fixture::new("pdf@2:tag");
    fixture.have("pdf@1");
    fixture.tags = TagPolicy::Strict;
    expect![[r#"
        pdf (update-available): refuse, Moved tag for pdf: main 1111111 -> 2222222
    "#]]
    .assert_eq(&shown(&fixture.plan()));
}

#[test]
fn a_project_passes_its_gate_only_without_problems() {
    let tracked = |path: &str| CommandConflicts {
        tracked: Some(path.to_owned()),
        shadowed: vec!["`run` is shadowed".to_owned()],
    };
    let open = |rule: Option<&str>| UnignoredEntries {
        entries: vec![".agents/".to_owned()],
        rule: rule.map(str::to_owned),
        is_private: false,
    };
    let gate =
        |want: &str, conflicts: CommandConflicts, open: UnignoredEntries, ignore: IgnorePolicy| {
            let plan = Fixture::new(want).plan();
            match gate_project(plan, conflicts, open, ignore) {
                Ok(plan) => {
                    format!(
                        "passes, adds {:?}, warns {:?}",
                        plan.get().ignore.entries,
                        plan.get().warnings
                    )
                }
                Err(error) => format!("refused, {error}"),
            }
        };
    let nothing = UnignoredEntries::default;
    let clear = || CommandConflicts { tracked: None, ..tracked("") };
    for (found, expected) in [
        (
            gate("pdf@1+run csv@1+run", clear(), nothing(), IgnorePolicy::Fix),
            expect!["refused, Command collision: `run` is provided by pdf and csv"],
        ),
        (
            gate("pdf@1", tracked(".agents/bin/run"), nothing(), IgnorePolicy::Fix),
            expect![
                "refused, git tracks `.agents/bin/run`, which is in csk's command folder; anyone with push access could put programs on PATH"
            ],
        ),
        (
            gate("pdf@1", clear(), open(None), IgnorePolicy::Require),
            expect!["refused, not ignored by git: .agents/"],
        ),
        (
            gate("pdf@1", clear(), open(Some("!.agents in .gitignore:1")), IgnorePolicy::Fix),
            expect![
                "refused, not ignored by git: .agents/ (because of rule !.agents in .gitignore:1)"
            ],
        ),
        (
            gate("pdf@1", clear(), open(None), IgnorePolicy::Fix),
            expect![[r#"passes, adds [".agents/"], warns ["`run` is shadowed"]"#]],
        ),
        (
            gate("pdf@1", clear(), nothing(), IgnorePolicy::Require),
            expect![[r#"passes, adds [], warns ["`run` is shadowed"]"#]],
        ),
    ] {
        expected.assert_eq(&found);
    }
}

#[test]
fn nothing_is_written_if_the_audit_refuses_everything() {
    let mut fixture = Fixture::new("pdf@1:blocked");
    let file = || crate::install::observe::EnvFile {
        path: ".agents/env.sh",
        text: String::new(),
        is_foreign: false,
    };
    fixture.observed.env.push(file());
    assert!(fixture.plan().is_empty());
    let mut fixture = Fixture::new("pdf@1:blocked csv@1");
    fixture.observed.env.push(file());
    assert_eq!(fixture.plan().env, [file()]);
}
