use std::collections::BTreeSet;
use std::ffi::OsString;

use skill::capabilities::Declared;

use super::*;
use crate::decide::permit::tests::{permit_once, plan};
use crate::decide::permit::{Plan, RequestedAccess, RequestedNetwork};
use crate::run::Invocation;
use skill_state::SkillSource;

fn provided() -> ProvidedPaths {
    ProvidedPaths {
        skill: "/cache/runs/1/skill".into(),
        interpreters: vec!["/opt/python/lib".into()],
        packages: vec!["/project/node_modules".into()],
        workspace: "/project".into(),
        home: Some("/home/me".into()),
        own: vec!["/home/me/.local/state/openskills".into()],
    }
}

fn places(texts: &[&str]) -> BTreeSet<AnchoredFolder> {
    texts.iter().map(|text| AnchoredFolder::parse(text).unwrap()).collect()
}

/// A plan of the user's own skill that requests a folder, a host and a variable, and gets them.
fn granting() -> Plan {
    let mut plan = plan(SkillSource::User);
    plan.requested.network = RequestedNetwork::Named(vec![Host::parse("api.test").unwrap()]);
    plan.requested.env = vec!["TOKEN".to_owned()];
    plan.outside.named = places(&["~/data"]);
    plan
}

/// Returns a specification that stays within the permit.
fn within(permit: &Permit) -> Spec {
    let writes = Writes::Layer;
    let source = permit.plan().subject.source;
    Spec {
        read: ["/cache/runs/1/skill", "/opt/python/lib", "/home/me/data", "/project/node_modules"]
            .map(PathBuf::from)
            .to_vec(),
        env: variables(&["HOME", "SKILL_ID", "LC_TIME", "TOKEN"]),
        workspace: Some(Workspace { path: "/project".into(), writes }),
        network: Network::Proxy,
        required: required(source, writes, permit.allow_degraded()),
        ..Spec::new("/opt/python/bin/python3")
    }
}

fn variables(names: &[&str]) -> Vec<(OsString, OsString)> {
    names.iter().map(|name| (name.into(), "x".into())).collect()
}

/// Returns the outcome for a specification that was changed after it was made for a plan.
fn check(plan: Plan, change: impl Fn(&mut Spec)) -> String {
    let permit = permit_once(plan);
    let mut spec = within(&permit);
    change(&mut spec);
    match Permitted::new(permit, spec, &provided()) {
        Ok(_) => "permitted".to_owned(),
        Err(RuntimeError::PermissionDenied { message, hint: None }) => message,
        Err(error) => panic!("{error}"),
    }
}

fn refused(what: &str) -> String {
    format!("`personal/pdf` was not started: {what} was not approved")
}

#[test]
fn a_specification_within_its_permit_is_accepted() {
    assert_eq!(check(granting(), |_| {}), "permitted");
    let below = |spec: &mut Spec| spec.read.push("/home/me/data/2026/a.csv".into());
    assert_eq!(check(granting(), below), "permitted");
}

#[test]
fn a_specification_never_reads_more_than_its_permit() {
    for path in [
        "/etc",
        "/",
        "/home/me",
        "/home/me/database",
        "/home/me/.ssh",
        "/cache/runs/2/skill",
        "/opt/python",
        "/project",
    ] {
        let told = check(granting(), |spec| spec.read.push(path.into()));
        assert_eq!(told, refused(&format!("reading `{path}`")));
    }
    // Not even a grant opens the folders of openskills.
    let mut wide = granting();
    wide.outside.named = places(&["~/data", "~/.local"]);
    let own = "/home/me/.local/state/openskills/log";
    let told = check(wide, |spec| spec.read.push(own.into()));
    assert_eq!(told, refused(&format!("reading `{own}`")));
}

#[test]
fn a_specification_never_writes_more_than_its_permit() {
    let direct = |spec: &mut Spec| {
        let workspace = Workspace { path: "/project".into(), writes: Writes::Direct };
        spec.required.insert(Guarantee::SubpathProtect);
        spec.workspace = Some(workspace);
    };
    assert_eq!(check(granting(), direct), refused("writing to `/project`"));
    let mut plan = granting();
    (plan.requested.direct_writes, plan.requested.deletions) = (true, true);
    assert_eq!(check(plan.clone(), direct), "permitted");
    plan.invocation.dry_run = true;
    let told = check(plan, |spec| {
        direct(spec);
        spec.network = Network::None;
    });
    assert_eq!(told, refused("writing to `/project`"));
    let elsewhere = |spec: &mut Spec| {
        spec.workspace = Some(Workspace { path: "/home/me".into(), writes: Writes::Layer });
    };
    assert_eq!(check(granting(), elsewhere), refused("working in `/home/me`"));
    // A skill that declares no writes cannot write, not even to a layer.
    let mut silent = granting();
    silent.declared = Declared { write: Some(Reach::nothing()), ..silent.declared };
    assert_eq!(check(silent, |_| {}), refused("writing to `/project`"));
}

#[test]
fn a_specification_never_has_network_access_beyond_its_permit() {
    let mut closed = granting();
    closed.requested.network = RequestedNetwork::AsDeclared;
    assert_eq!(check(closed, |_| {}), refused("network access"));
    let mut dry = granting();
    dry.invocation = Invocation { dry_run: true, ..Invocation::default() };
    assert_eq!(check(dry, |_| {}), refused("network access"));
}

#[test]
fn a_specification_never_has_a_variable_beyond_its_permit() {
    for name in ["OTHER_TOKEN", "PERL5LIB", "LD_PRELOAD", "token", ""] {
        let told = check(granting(), |spec| spec.env.extend(variables(&[name])));
        assert_eq!(told, refused(&format!("the variable `{name}`")));
    }
}

#[test]
fn a_sandbox_is_never_weaker_than_its_permit() {
    let weaker = |spec: &mut Spec| {
        spec.required.remove(&Guarantee::FsRead);
    };
    let told = refused("running without the guarantee `fs_read`");
    assert_eq!(check(granting(), weaker), told);
    let mut plan = granting();
    plan.requested.allow_degraded.insert(Guarantee::TreeKill);
    assert_eq!(check(plan.clone(), weaker), told);
    plan.requested =
        RequestedAccess { allow_degraded: [Guarantee::FsRead].into(), ..plan.requested };
    assert_eq!(check(plan, weaker), "permitted");
    // An untrusted skill requires more than the core guarantees.
    let mut theirs = plan_of_third_party();
    let core = |spec: &mut Spec| spec.required = Guarantee::CORE.into();
    assert!(check(theirs.clone(), core).contains("running without the guarantee"));
    theirs.requested.allow_degraded = Guarantee::ALL.into();
    assert_eq!(check(theirs, core), "permitted");
}

fn plan_of_third_party() -> Plan {
    let mut plan = granting();
    plan.subject.source = SkillSource::ThirdParty;
    plan
}

#[test]
fn only_the_runner_passes_data_to_a_program() {
    let told = check(granting(), |spec| spec.payload = Some(Vec::new()));
    assert_eq!(told, refused("passing it data"));
}

#[test]
fn the_module_runner_gets_no_more_access_than_its_module() {
    let permit = permit_once(granting());
    let spec = within(&permit);
    let run = Permitted::new(permit, spec, &provided()).unwrap();
    let runner = Path::new("/usr/bin/openskills");
    let told = |change: &dyn Fn(&mut Spec)| {
        let mut spec = Spec { program: runner.to_owned(), env: Vec::new(), ..run.spec().clone() };
        spec.read.push(runner.to_owned());
        change(&mut spec);
        run.in_runner(spec, runner).err().map(|error| error.to_string())
    };
    assert_eq!(told(&|_| {}), None);
    assert_eq!(told(&|spec| (spec.workspace, spec.network) = (None, Network::None)), None);
    let changes: [&dyn Fn(&mut Spec); 5] = [
        &|spec| spec.read.push("/etc".into()),
        &|spec| spec.env = variables(&["PYTHONPATH"]),
        &|spec| spec.required.clear(),
        &|spec| spec.workspace = Some(Workspace { path: "/".into(), writes: Writes::Layer }),
        &|spec| spec.program = "/bin/sh".into(),
    ];
    for change in changes {
        assert!(told(change).is_some_and(|told| told.contains("was not approved")));
    }
}

#[test]
fn hosts_are_granted_by_name_or_pattern_for_web_ports_only() {
    let hosts = ["api.test", "*.wide.test", "10.1.2.3"].map(|host| Host::parse(host).unwrap());
    let only = Reach::only(hosts);
    for (host, port, expected) in [
        ("api.test", 443, HostGrant::Exact),
        ("api.test", 80, HostGrant::Exact),
        ("api.test", 22, HostGrant::Denied),
        ("x.wide.test", 443, HostGrant::Pattern),
        ("wide.test", 443, HostGrant::Denied),
        ("10.1.2.3", 443, HostGrant::Exact),
        ("10.1.2.4", 443, HostGrant::Denied),
        ("fd12::1", 443, HostGrant::Denied),
    ] {
        assert_eq!(granted(&only, host, port), expected, "{host}:{port}");
    }
    // `Any host` names no specific host, so it does not include private addresses.
    assert_eq!(granted(&Reach::Everything, "10.1.2.3", 443), HostGrant::Pattern);
    assert_eq!(granted(&Reach::Everything, "10.1.2.3", 6379), HostGrant::Denied);
}

#[test]
fn python_imports_from_prepared_packages_only() {
    let importing = |value: &str| {
        let variable = ("PYTHONPATH".into(), value.into());
        check(granting(), move |spec| spec.env.push(variable.clone()))
    };
    assert_eq!(importing("/project/node_modules"), "permitted");
    assert_eq!(importing("/project"), refused("importing from `/project`"));
    let second = importing("/project/node_modules:/home/me/data");
    assert_eq!(second, refused("importing from `/home/me/data`"));
}
