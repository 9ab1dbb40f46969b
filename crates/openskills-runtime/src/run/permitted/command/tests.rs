use std::ffi::OsString;

use sandbox::{GitData, PrivateFolder, ProcessId, Workspace};

use super::*;
use crate::decide::command::{
    ActiveSkill, ApplyTime, CommandPlan, CommandStreams, authorize_command,
};
use crate::decide::permit::tests::{permit_once, plan as skill_plan};
use crate::decide::permit::{Authorization, Plan, RequestedNetwork};
use skill::Digest;
use skill::capabilities::{Declared, Host};
use skill_state::SkillSource;

fn plan(background: Leftovers) -> CommandPlan {
    CommandPlan {
        line: "ls".to_owned(),
        cwd: "/project".into(),
        workspace: "/project".into(),
        timeout: None,
        tool_use_id: None,
        background,
        streams: CommandStreams::Shared,
        applies: ApplyTime::AtEnd,
        owner: None,
    }
}

/// A skill whose scripts may reach a host and get a variable.
fn granting() -> Plan {
    let mut plan = skill_plan(SkillSource::User);
    plan.requested.network = RequestedNetwork::Named(vec![Host::parse("api.test").unwrap()]);
    plan.requested.env = vec!["TOKEN".to_owned()];
    plan
}

fn active(plan: Plan) -> ActiveSkill {
    ActiveSkill {
        id: "personal/pdf".to_owned(),
        content: Digest::of(b"content"),
        bundle: Digest::of(b"bundle"),
        folder: Some("/skills/pdf".into()),
        decision: Authorization::Permit(Box::new(permit_once(plan))),
    }
}

fn provided() -> ProvidedToCommand {
    ProvidedToCommand {
        toolchains: vec!["/home/me/.cargo/bin".into()],
        private: vec!["/cache/home".into(), "/cache/tmp".into()],
        home: "/home/me".into(),
        own: vec!["/home/me/.local/state/openskills".into()],
        joins: None,
    }
}

fn variables(names: &[&str]) -> Vec<(OsString, OsString)> {
    names.iter().map(|name| (name.into(), "x".into())).collect()
}

/// Returns a specification that stays within the permit.
fn within() -> Spec {
    Spec {
        read: ["/skills/pdf", "/home/me/.cargo/bin"].map(PathBuf::from).to_vec(),
        env: variables(&["PATH", "TERM", "LC_ALL", "TOKEN", "GIT_CONFIG_COUNT"]),
        workspace: Some(Workspace { path: "/project".into(), writes: Writes::Layer }),
        network: Network::Proxy,
        git: GitData::Writable,
        private: vec![PrivateFolder { source: "/cache/home".into(), target: "/home/me".into() }],
        required: required(),
        ..Spec::new("/bin/bash")
    }
}

/// Returns the outcome for a specification that was changed after it was made.
fn check(skill: Plan, change: impl Fn(&mut Spec)) -> String {
    let permit = authorize_command(plan(Leftovers::End), vec![active(skill)]).unwrap();
    let mut spec = within();
    change(&mut spec);
    match PermittedCommand::new(permit, spec, &provided()) {
        Ok(_) => "permitted".to_owned(),
        Err(RuntimeError::PermissionDenied { message, hint: None }) => message,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_specification_of_a_command_never_exceeds_its_permit() {
    assert_eq!(check(granting(), |_| {}), "permitted");
    let other = ProcessId { pid: 1, started: 1 };
    let joins = BackgroundId { stage: other, init: other };
    type Change<'a> = &'a dyn Fn(&mut Spec);
    let changes: [(&str, Change<'_>); 12] = [
        ("reading `/etc`", &|spec| spec.read.push("/etc".into())),
        ("reading `/home/me/.ssh`", &|spec| spec.read.push("/home/me/.ssh".into())),
        ("reading `/skills/other`", &|spec| spec.read.push("/skills/other".into())),
        ("writing to `/home/me`", &|spec| {
            let folder = PrivateFolder { source: "/home/me".into(), target: "/tmp".into() };
            spec.private.push(folder);
        }),
        ("working in `/`", &|spec| {
            spec.workspace = Some(Workspace { path: "/".into(), writes: Writes::Layer });
        }),
        ("writing to `/project`", &|spec| {
            spec.workspace = Some(Workspace { path: "/project".into(), writes: Writes::Direct });
        }),
        ("the variable `SECRET`", &|spec| spec.env = variables(&["SECRET"])),
        ("the variable `LD_PRELOAD`", &|spec| spec.env = variables(&["LD_PRELOAD"])),
        ("running without the guarantee `fs_read`", &|spec| {
            spec.required.remove(&sandbox::Guarantee::FsRead);
        }),
        ("passing it data", &|spec| spec.payload = Some(Vec::new())),
        ("leaving processes behind", &|spec| spec.background = Background::Keep),
        ("sharing the network of other processes", &|spec| spec.joins = Some(joins)),
    ];
    for (what, change) in changes {
        let expected = format!("the command was not started: {what} was not approved");
        assert_eq!(check(granting(), change), expected);
    }
}

#[test]
fn a_command_gets_only_what_its_skills_were_granted() {
    let denied = |what: &str| format!("the command was not started: {what} was not approved");
    let plain = || skill_plan(SkillSource::User);
    let no_token = |spec: &mut Spec| spec.env = variables(&["PATH"]);
    assert_eq!(check(plain(), no_token), denied("network access"));
    let offline = |spec: &mut Spec| spec.network = Network::None;
    assert_eq!(check(plain(), offline), denied("the variable `TOKEN`"));
    let mut silent = granting();
    silent.declared = Declared { write: Some(Reach::nothing()), ..silent.declared };
    assert_eq!(check(silent, |_| {}), denied("writing to `/project`"));
}

#[test]
fn several_skills_allow_what_all_of_them_allow() {
    let both = [active(granting()), active(skill_plan(SkillSource::User))];
    let permit = authorize_command(plan(Leftovers::End), both.into()).unwrap();
    assert!(permit.hosts().is_nothing());
    assert!(permit.may_write());
    let none = authorize_command(plan(Leftovers::End), Vec::new()).unwrap();
    assert!(none.hosts().is_nothing() && none.may_write());
}
