use std::collections::BTreeSet;

use skill::capabilities::{Anchor, AnchoredFolder};

use super::*;

const NOW: &str = "2026-06-01T00:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn subject(source: SkillSource) -> Subject {
    Subject {
        skill_id: "personal/pdf".to_owned(),
        name: "pdf".to_owned(),
        names: vec!["pdf".to_owned(), "personal/pdf".to_owned()],
        source,
        origin: "https://github.com/acme/pdf".to_owned(),
        claimed: Vec::new(),
        content: Digest::of(b"content"),
        bundle: Digest::of(b"bundle"),
        folder: Digest::of(b"bundle"),
        is_drifted: false,
        is_served: false,
        asks_each_session: false,
        is_disabled: false,
    }
}

pub(crate) fn plan(source: SkillSource) -> Plan {
    Plan {
        subject: subject(source),
        script: None,
        version: String::new(),
        declared: Declared::default(),
        side_effects: None,
        arguments: None,
        requested: RequestedAccess::default(),
        invocation: Invocation::default(),
        outside: OutsidePaths::default(),
        inspection: Inspection { reports: Vec::new(), clearance: Clearance::Clear },
        packages: BTreeSet::new(),
    }
}

fn host(text: &str) -> Host {
    Host::parse(text).unwrap()
}

fn hosts(texts: &[&str]) -> Reach<Host> {
    Reach::only(texts.iter().map(|text| host(text)))
}

fn named(texts: &[&str]) -> RequestedAccess {
    let network = RequestedNetwork::Named(texts.iter().map(|text| host(text)).collect());
    RequestedAccess { network, ..RequestedAccess::default() }
}

fn declaring(plan: Plan, network: Reach<Host>) -> Plan {
    Plan { declared: Declared { network: Some(network), ..plan.declared.clone() }, ..plan }
}

fn context() -> AuthorizeContext {
    AuthorizeContext { now: now(), session: "one".to_owned(), once: None }
}

fn approved(plan: &Plan, grant: Grant) -> Approvals {
    let mut approvals = Approvals::default();
    approvals.add(Approval {
        origin: plan.subject.origin.clone(),
        skill: plan.subject.name.clone(),
        skill_id: plan.subject.skill_id.clone(),
        bundle: plan.subject.bundle,
        grant,
        capabilities: plan.declared.extents(),
        approved_at: now(),
        expires_at: None,
        session: None,
    });
    approvals
}

/// Returns the permit for a plan that the user approves for this run only, with everything it requests.
pub(crate) fn permit_once(plan: Plan) -> Permit {
    let (policy, approvals) = (OrgPolicy::default(), Approvals::default());
    let once = Some(request(&plan, &policy, &approvals).unwrap().grant);
    match authorize(plan, &policy, &approvals, &AuthorizeContext { once, ..context() }) {
        Authorization::Permit(permit) => *permit,
        other => panic!("{other:?}"),
    }
}

/// Shows the outcome of a plan: the network of a permit, or the reasons of a request or refusal.
fn check(
    plan: Plan,
    policy: &OrgPolicy,
    approvals: &Approvals,
    context: &AuthorizeContext,
) -> String {
    match authorize(plan, policy, approvals, context) {
        Authorization::Permit(permit) => {
            let network = match &permit.capabilities().network {
                Reach::Everything => "any".to_owned(),
                Reach::Only(hosts) => {
                    hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
                }
            };
            format!("permit [{network}]")
        }
        Authorization::Ask(request) => format!("ask: {}", request.reasons.join("; ")),
        Authorization::Refusal(refusal) => format!("refusal: {}", refusal.reasons.join("; ")),
    }
}

fn plainly(plan: Plan) -> String {
    check(plan, &OrgPolicy::default(), &Approvals::default(), &context())
}

#[test]
fn the_trust_level_decides_whether_approval_is_needed() {
    for source in [SkillSource::Builtin, SkillSource::Org] {
        assert_eq!(plainly(plan(source)), "permit []", "{source}");
        let wants = declaring(plan(source), hosts(&["a.test"]));
        assert_eq!(
            plainly(wants),
            "ask: it requests network: a.test",
            "the network needs a word in every trust level"
        );
        for requested in [
            RequestedAccess { direct_writes: true, deletions: true, ..RequestedAccess::default() },
            RequestedAccess { deletions: true, ..RequestedAccess::default() },
            RequestedAccess { env: vec!["NAME".to_owned()], ..RequestedAccess::default() },
        ] {
            assert!(plainly(Plan { requested, ..plan(source) }).starts_with("ask: it requests"));
        }
    }
    // Direct writes cannot be kept from deleting files, so one is never granted without the other.
    for source in [SkillSource::Builtin, SkillSource::User, SkillSource::ThirdParty] {
        let requested = RequestedAccess { direct_writes: true, ..RequestedAccess::default() };
        let refused = plainly(Plan { requested, ..plan(source) });
        assert!(refused.starts_with("refusal: direct writes cannot be allowed"), "{refused}");
    }
    assert_eq!(
        plainly(plan(SkillSource::User)),
        "ask: scripts of your own skills need approval before they run"
    );
    assert_eq!(
        plainly(plan(SkillSource::ThirdParty)),
        "ask: scripts of untrusted skills need approval before they run"
    );
    let off = Subject { is_disabled: true, ..subject(SkillSource::Builtin) };
    assert!(plainly(Plan { subject: off, ..plan(SkillSource::Builtin) }).starts_with("refusal"));
}

#[test]
fn a_third_party_skill_reaches_only_hosts_that_the_user_grants() {
    let none = OrgPolicy::default();
    let stranger = declaring(plan(SkillSource::ThirdParty), Reach::Everything);
    let bare = approved(&stranger, Grant::default());
    assert_eq!(check(stranger.clone(), &none, &bare, &context()), "permit []");
    let wants = Plan { requested: named(&["a.test"]), ..stranger.clone() };
    assert!(
        check(wants.clone(), &none, &bare, &context()).starts_with("ask"),
        "that was not approved"
    );
    let grant = Grant { network: hosts(&["a.test"]), ..Grant::default() };
    let granted = approved(&stranger, grant);
    assert_eq!(check(wants, &none, &granted, &context()), "permit [a.test]");
    assert_eq!(
        check(stranger, &none, &granted, &context()),
        "permit [a.test]",
        "it was named once"
    );
    // The request of an untrusted skill never grants what only the skill declares.
    let stranger = declaring(plan(SkillSource::ThirdParty), hosts(&["b.test"]));
    let request = request(&stranger, &none, &Approvals::default()).unwrap();
    assert!(request.grant.network.is_nothing());
    let own = declaring(plan(SkillSource::User), hosts(&["b.test"]));
    let request = super::request(&own, &none, &Approvals::default()).unwrap();
    assert_eq!(request.grant.network, hosts(&["b.test"]));
    assert_eq!(request.command(""), "openskills approve personal/pdf --net b.test");
    let mut local = declaring(plan(SkillSource::User), hosts(&["b.test"]));
    local.subject.asks_each_session = true;
    let request = super::request(&local, &none, &Approvals::default()).unwrap();
    assert!(request.command("").ends_with(" --session SESSION"), "{}", request.command(""));
}

#[test]
fn a_grant_replaces_a_missing_declaration_but_never_exceeds_one() {
    let none = OrgPolicy::default();
    let requested = named(&["a.test"]);
    let silent = Plan { requested: requested.clone(), ..plan(SkillSource::User) };
    let grant = Grant { network: hosts(&["a.test"]), ..Grant::default() };
    assert_eq!(
        check(silent.clone(), &none, &approved(&silent, grant.clone()), &context()),
        "permit [a.test]"
    );
    let closed = Plan { requested, ..declaring(plan(SkillSource::User), Reach::nothing()) };
    let told = check(closed.clone(), &none, &approved(&closed, grant.clone()), &context());
    assert_eq!(
        told,
        "refusal: `personal/pdf` declares network access as `nothing`; a grant cannot exceed the declaration"
    );
    // Not even a wider approval extends the declaration.
    let closed = Plan { requested: RequestedAccess::default(), ..closed };
    assert_eq!(check(closed.clone(), &none, &approved(&closed, grant), &context()), "permit []");
    let env = RequestedAccess { env: vec!["B".to_owned()], ..RequestedAccess::default() };
    let declared = Declared { env: Some(Reach::only(["A".to_owned()])), ..Declared::default() };
    let told = plainly(Plan { requested: env, declared, ..plan(SkillSource::Org) });
    assert_eq!(told, "refusal: `personal/pdf` does not declare the variable `B`");
}

#[test]
fn an_approval_covers_one_bundle_from_one_origin_until_it_expires() {
    let none = OrgPolicy::default();
    let plan = plan(SkillSource::User);
    let approvals = approved(&plan, Grant::default());
    assert_eq!(check(plan.clone(), &none, &approvals, &context()), "permit []");
    let others: [fn(&mut Subject); 4] = [
        |subject| subject.bundle = Digest::of(b"other"),
        |subject| subject.origin = "https://github.com/evil/pdf".to_owned(),
        |subject| subject.name = "pdfs".to_owned(),
        |subject| subject.asks_each_session = true,
    ];
    let late = AuthorizeContext { now: now() - SignedDuration::from_hours(1), ..context() };
    let told = check(plan.clone(), &none, &approvals, &late);
    assert!(told.starts_with("ask"), "an approval from the future is none: {told}");
    for change in others {
        let mut other = plan.clone();
        change(&mut other.subject);
        assert!(check(other, &none, &approvals, &context()).starts_with("ask"));
    }
    let ends = |end: &str| {
        let mut approvals = Approvals::default();
        let mut approval = approved(&plan, Grant::default()).iter().next().unwrap().clone();
        approval.expires_at = Some(end.parse().unwrap());
        approvals.add(approval);
        check(plan.clone(), &none, &approvals, &context())
    };
    assert_eq!(ends("2026-06-01T00:00:01Z"), "permit []");
    assert!(ends(NOW).starts_with("ask"), "its time is over");
    let policy = OrgPolicy { max_approval_days: Some(30), ..OrgPolicy::default() };
    let later = |days: i64| AuthorizeContext {
        now: now() + SignedDuration::from_hours(24 * days),
        ..context()
    };
    assert_eq!(check(plan.clone(), &policy, &approvals, &later(29)), "permit []");
    assert!(check(plan.clone(), &policy, &approvals, &later(30)).starts_with("ask"));
    // An approval for one session does not apply to another.
    let mut of_session = Approvals::default();
    let mut approval = approvals.iter().next().unwrap().clone();
    approval.session = Some("one".to_owned());
    of_session.add(approval);
    let local = Subject { asks_each_session: true, ..plan.subject.clone() };
    let local = Plan { subject: local, ..plan };
    assert_eq!(check(local.clone(), &none, &of_session, &context()), "permit []");
    let other = AuthorizeContext { session: "two".to_owned(), ..context() };
    assert!(check(local, &none, &of_session, &other).starts_with("ask"));
}

#[test]
fn approve_once_permits_one_run_if_the_organization_allows_it() {
    let once = |grant: Grant| AuthorizeContext { once: Some(grant), ..context() };
    let none = Approvals::default();
    let plan = plan(SkillSource::ThirdParty);
    assert_eq!(
        check(plan.clone(), &OrgPolicy::default(), &none, &once(Grant::default())),
        "permit []"
    );
    let more = Plan {
        requested: RequestedAccess { deletions: true, ..RequestedAccess::default() },
        ..plan.clone()
    };
    let told = check(more, &OrgPolicy::default(), &none, &once(Grant::default()));
    assert!(told.starts_with("ask"), "what was not granted is not there: {told}");
    let policy = OrgPolicy { may_approve_once: false, ..OrgPolicy::default() };
    let told = check(plan, &policy, &none, &once(Grant::default()));
    assert!(told.ends_with("the organization does not allow one-time approvals"), "{told}");
}

#[test]
fn a_drifted_skill_needs_an_approval_of_its_current_content() {
    let drifted = Subject { is_drifted: true, ..subject(SkillSource::Org) };
    let drifted = Plan { subject: drifted, ..plan(SkillSource::Org) };
    let told = plainly(drifted.clone());
    assert_eq!(told, "refusal: `personal/pdf` differs from what csk installed");
    let once = AuthorizeContext { once: Some(Grant::default()), ..context() };
    let told = check(drifted.clone(), &OrgPolicy::default(), &Approvals::default(), &once);
    assert!(told.starts_with("refusal"), "{told}");
    let approvals = approved(&drifted, Grant::default());
    assert_eq!(check(drifted, &OrgPolicy::default(), &approvals, &context()), "permit []");
}

#[test]
fn the_organizations_policy_overrides_approvals() {
    let pattern = |text: &str| skill_state::Pattern::new(skill_state::origin_key(text));
    let plan = declaring(plan(SkillSource::User), hosts(&["a.test", "b.test", "*.c.test"]));
    let all = Grant { network: hosts(&["a.test", "b.test", "*.c.test"]), ..Grant::default() };
    let approvals = approved(&plan, all);
    let told = |policy: OrgPolicy| check(plan.clone(), &policy, &approvals, &context());
    let policy = OrgPolicy::default;
    let required = |run: SkillSource| OrgPolicy {
        required: skill_state::RequiredTrust { run, ..policy().required },
        ..policy()
    };
    assert_eq!(told(policy()), "permit [a.test b.test *.c.test]");
    for (policy, expected) in [
        (
            OrgPolicy { denied_skills: vec![skill_state::Pattern::new("pd*")], ..policy() },
            "refusal: the organization denies the skill `pd*`",
        ),
        (
            OrgPolicy { denied_origins: vec![pattern("git@github.com:acme/*")], ..policy() },
            "refusal: the organization denies skills from `github.com/acme/*`",
        ),
        (
            OrgPolicy { denied_origins: vec![pattern("https://GitHub.com/ACME/*")], ..policy() },
            "refusal: the organization denies skills from `github.com/ACME/*`",
        ),
        (
            OrgPolicy {
                allowed_origins: Some(vec![pattern("https://git.acme.test/*")]),
                ..policy()
            },
            "refusal: the organization does not allow skills from `github.com/acme/pdf`",
        ),
        (
            OrgPolicy { denied_digests: vec![Digest::of(b"bundle")], ..policy() },
            &format!(
                "refusal: the organization denies the content digest `{}`",
                Digest::of(b"bundle")
            ),
        ),
        (
            required(SkillSource::Org),
            "refusal: the organization requires trust level `org` or higher to run scripts; this skill has `user`",
        ),
        (required(SkillSource::User), "permit [a.test b.test *.c.test]"),
        (
            OrgPolicy { denied_hosts: vec![host("b.test"), host("x.c.test")], ..policy() },
            "permit [a.test]",
        ),
        (OrgPolicy { allowed_hosts: hosts(&["b.test"]), ..policy() }, "permit [b.test]"),
    ] {
        assert_eq!(told(policy), expected);
    }
    let anywhere = declaring(plan.clone(), Reach::Everything);
    let policy = OrgPolicy { denied_hosts: vec![host("b.test")], ..policy() };
    let told = check(anywhere, &policy, &approvals, &context());
    assert_eq!(
        told,
        "refusal: the organization denies some hosts; list the hosts that the skill needs"
    );
    let named = Plan { requested: named(&["b.test"]), ..plan };
    let told = check(named, &policy, &approvals, &context());
    assert_eq!(told, "refusal: the organization does not allow these hosts");
}

#[test]
fn an_approval_request_shows_changes_since_the_last_approval() {
    let before = declaring(plan(SkillSource::User), hosts(&["a.test"]));
    let approvals = approved(&before, Grant::default());
    let mut after = declaring(before, hosts(&["b.test"]));
    after.subject.bundle = Digest::of(b"later");
    after.declared.read = Some(Reach::only([AnchoredFolder::at(Anchor::Home)]));
    let Authorization::Ask(request) =
        authorize(after, &OrgPolicy::default(), &approvals, &context())
    else {
        panic!("it asks")
    };
    assert!(request.previous.is_some());
    let lines = crate::change_lines(&request.changes);
    assert_eq!(
        lines,
        ["+ read: ~", "- read: <not declared>", "+ network: b.test", "- network: a.test"]
    );
    assert_eq!(
        request.grant.lines().into_iter().collect::<BTreeSet<_>>(),
        BTreeSet::from(["network: b.test".to_owned()])
    );
}

fn place(text: &str) -> AnchoredFolder {
    AnchoredFolder::parse(text).unwrap()
}

/// A skill that declares files, a variable and a host.
fn greedy(source: SkillSource) -> Plan {
    let listed = [place("~/data"), place("~/.ssh")];
    Plan {
        declared: Declared {
            read: Some(Reach::only(listed.clone())),
            env: Some(Reach::only(["TOKEN".to_owned()])),
            network: Some(hosts(&["a.test"])),
            secrets: Some(Reach::only(["vault".to_owned()])),
            ..Declared::default()
        },
        outside: OutsidePaths {
            declared: BTreeSet::from([place("~/data")]),
            protected: BTreeSet::from([place("~/.ssh")]),
            listed: Some(BTreeSet::from(listed)),
            ..OutsidePaths::default()
        },
        ..plan(source)
    }
}

/// Shows what a permit grants outside the skill and the workspace.
fn reached(authorization: Authorization) -> String {
    let Authorization::Permit(permit) = authorization else { panic!("{authorization:?}") };
    let Capabilities { read, network, env, secrets, .. } = permit.capabilities();
    let shown = |all: Vec<String>| all.join(" ");
    let places = match read {
        Reach::Everything => vec!["everything".to_owned()],
        Reach::Only(places) => {
            let outside =
                |place: &&AnchoredFolder| matches!(place.anchor(), Anchor::Home | Anchor::Root);
            places.iter().filter(outside).map(ToString::to_string).collect()
        }
    };
    let hosts = match network {
        Reach::Everything => vec!["any".to_owned()],
        Reach::Only(hosts) => hosts.iter().map(ToString::to_string).collect(),
    };
    let names = |reach: &Reach<String>| match reach {
        Reach::Everything => vec!["any".to_owned()],
        Reach::Only(names) => names.iter().cloned().collect(),
    };
    let parts = [places, hosts, names(env), names(secrets)].map(shown);
    format!("[{}] {}", parts.join("|"), permit.not_granted().join(", "))
}

#[test]
fn a_declaration_needs_approval_at_every_trust_level() {
    let (policy, none) = (OrgPolicy::default(), Approvals::default());
    for source in
        [SkillSource::Builtin, SkillSource::Org, SkillSource::User, SkillSource::ThirdParty]
    {
        let plan = greedy(source);
        assert!(plainly(plan.clone()).starts_with("ask"), "{source}: nobody confirmed anything");
        // A flag confirms nothing that is merely declared.
        let request = request(&plan, &policy, &none).unwrap();
        let once = AuthorizeContext { once: Some(request.named.clone()), ..context() };
        let by_flag = reached(authorize(plan.clone(), &policy, &none, &once));
        assert!(by_flag.starts_with("[|||] "), "{source}: {by_flag}");
        for line in ["read: ~/data", "read: ~/.ssh (protected)", "network: a.test", "env: TOKEN"] {
            assert!(by_flag.contains(line), "{source}: {line} of {by_flag}");
        }
        assert_eq!(request.clone().by_flags().grant, Grant::default());
        // Answering the prompt confirms what was shown, but never protected places.
        let once = AuthorizeContext { once: Some(request.grant.clone()), ..context() };
        let answered = reached(authorize(plan.clone(), &policy, &none, &once));
        let network = if source == SkillSource::ThirdParty { "" } else { "a.test" };
        assert!(answered.starts_with(&format!("[~/data|{network}|TOKEN|]")), "{answered}");
        assert!(answered.contains("~/.ssh (protected)"), "{answered}");
        // Explicit requests are granted, even for protected places.
        let network = RequestedNetwork::Named(vec![host("a.test")]);
        let requested = RequestedAccess {
            network,
            env: vec!["TOKEN".to_owned()],
            ..RequestedAccess::default()
        };
        let outside = OutsidePaths {
            named: BTreeSet::from([place("~/.ssh/known_hosts")]),
            ..plan.outside.clone()
        };
        let plan = Plan { requested, outside, ..plan };
        let named = super::request(&plan, &policy, &none).unwrap().named;
        let once = AuthorizeContext { once: Some(named), ..context() };
        let named = reached(authorize(plan, &policy, &none, &once));
        assert!(named.starts_with("[~/.ssh/known_hosts|a.test|TOKEN|]"), "{named}");
    }
    // An older, wider approval does not extend the declaration either.
    let plan = greedy(SkillSource::User);
    let wide = Grant {
        read: BTreeSet::from([place("/srv/other"), place("~/data/2026")]),
        env: BTreeSet::from(["TOKEN".to_owned(), "OTHER".to_owned()]),
        network: Reach::Everything,
        ..Grant::default()
    };
    let approvals = approved(&plan, wide);
    let told = reached(authorize(plan, &policy, &approvals, &context()));
    assert!(told.starts_with("[~/data/2026|a.test|TOKEN|]"), "{told}");
}

#[test]
fn a_confirmed_folder_is_dropped_once_it_contains_protected_files() {
    let (policy, before) = (OrgPolicy::default(), greedy(SkillSource::User));
    let confirmed = request(&before, &policy, &Approvals::default()).unwrap().grant;
    let read = BTreeSet::from([place("~/data")]);
    let named = Grant { read: read.clone(), named: read, ..Grant::default() };
    let outside = OutsidePaths {
        declared: BTreeSet::new(),
        protected: BTreeSet::from([place("~/data"), place("~/.ssh")]),
        ..before.outside.clone()
    };
    let now = Plan { outside, ..before.clone() };
    for (grant, plan, expected) in [
        (&confirmed, &before, "[~/data|a.test|TOKEN|]"),
        (&confirmed, &now, "[|a.test|TOKEN|]"),
        (&named, &now, "[~/data|||]"),
    ] {
        let approvals = approved(plan, grant.clone());
        let told = reached(authorize(plan.clone(), &policy, &approvals, &context()));
        assert!(told.starts_with(expected), "{told}");
    }
    // Requesting it explicitly now is enough, whatever was confirmed before.
    let outside = OutsidePaths { named: BTreeSet::from([place("~/data")]), ..now.outside.clone() };
    let approvals = approved(&now, confirmed);
    let told = reached(authorize(Plan { outside, ..now }, &policy, &approvals, &context()));
    assert!(told.starts_with("[~/data|"), "{told}");
}

#[test]
fn flags_beyond_the_declaration_are_refused() {
    let plan = greedy(SkillSource::User);
    let outside =
        OutsidePaths { named: BTreeSet::from([place("/srv/other")]), ..plan.outside.clone() };
    let told = plainly(Plan { outside, ..plan });
    assert_eq!(told, "refusal: `personal/pdf` does not declare read access to `/srv/other`");
}

#[test]
fn access_to_any_host_must_be_requested_and_is_shown() {
    let none = OrgPolicy::default();
    let open = declaring(plan(SkillSource::User), Reach::Everything);
    let requested = plainly(open.clone());
    assert!(requested.ends_with("it requests network: any host"), "{requested}");
    let named = request(&open, &none, &Approvals::default()).unwrap().named;
    let once = AuthorizeContext { once: Some(named), ..context() };
    let told = check(open.clone(), &none, &Approvals::default(), &once);
    assert_eq!(told, "permit []", "--approve-once names no host");
    let any = RequestedAccess { network: RequestedNetwork::Any, ..RequestedAccess::default() };
    let open = Plan { requested: any.clone(), ..open };
    let named = request(&open, &none, &Approvals::default()).unwrap().named;
    let once = AuthorizeContext { once: Some(named), ..context() };
    assert_eq!(check(open, &none, &Approvals::default(), &once), "permit [any]");
    let theirs = declaring(plan(SkillSource::ThirdParty), Reach::Everything);
    let told = plainly(Plan { requested: any, ..theirs });
    assert_eq!(told, "refusal: an untrusted skill can only reach hosts that you list explicitly");
}

#[test]
fn no_approval_permits_what_the_audit_refuses() {
    let refused = Clearance::Refused { reason: "it is revoked: x".to_owned(), hint: String::new() };
    let refused = Inspection { reports: Vec::new(), clearance: refused };
    for source in
        [SkillSource::Builtin, SkillSource::Org, SkillSource::User, SkillSource::ThirdParty]
    {
        let plan = Plan { inspection: refused.clone(), ..plan(source) };
        let approvals = approved(&plan, Grant::default());
        let once = AuthorizeContext { once: Some(Grant::default()), ..context() };
        for (approvals, context) in [
            (&Approvals::default(), &context()),
            (&approvals, &context()),
            (&Approvals::default(), &once),
            (&approvals, &once),
        ] {
            let told = check(plan.clone(), &OrgPolicy::default(), approvals, context);
            assert_eq!(told, "refusal: `personal/pdf` is blocked: it is revoked: x", "{source}");
        }
        assert!(request(&plan, &OrgPolicy::default(), &approvals).is_err(), "nor is it approved");
    }
    // Findings that need review are part of the permit, unless a stored approval already covers them.
    let review = Clearance::Review("audit verdict REVIEW: x".to_owned());
    let plan = Plan {
        inspection: Inspection { reports: Vec::new(), clearance: review },
        ..plan(SkillSource::User)
    };
    let once = AuthorizeContext { once: Some(Grant::default()), ..context() };
    let (policy, none) = (OrgPolicy::default(), Approvals::default());
    let permit = authorize(plan.clone(), &policy, &none, &once);
    assert!(permit.decision().1.ends_with("; audit verdict REVIEW: x"), "{permit:?}");
    let approvals = approved(&plan, Grant::default());
    let permit = authorize(plan, &policy, &approvals, &context());
    assert!(!permit.decision().1.contains("REVIEW"), "{permit:?}");
}

#[test]
fn waived_guarantees_are_in_the_request_the_permit_and_the_log() {
    let allow_degraded = BTreeSet::from([Guarantee::Mem, Guarantee::Pids]);
    let requested =
        RequestedAccess { allow_degraded: allow_degraded.clone(), ..RequestedAccess::default() };
    let wants = Plan { requested, ..plan(SkillSource::User) };
    let question = request(&wants, &OrgPolicy::default(), &Approvals::default()).unwrap();
    assert_eq!(question.allow_degraded, allow_degraded);
    let shown = ("sandbox", "guarantees given up: mem, pids".to_owned());
    assert!(question.access_rows().contains(&shown), "{:?}", question.access_rows());
    let approvals = approved(&wants, Grant::default());
    let authorization = authorize(wants, &OrgPolicy::default(), &approvals, &context());
    let (_, reason) = authorization.decision();
    assert!(reason.ends_with("; guarantees given up: mem, pids"), "{reason}");
    let Authorization::Permit(permit) = authorization else { panic!("{authorization:?}") };
    assert_eq!(*permit.allow_degraded(), allow_degraded);
    // A permit whose plan requests no degraded guarantees allows none.
    assert!(permit_once(plan(SkillSource::User)).allow_degraded().is_empty());
    let usual = request(&plan(SkillSource::User), &OrgPolicy::default(), &Approvals::default());
    assert!(usual.unwrap().access_rows().iter().all(|(kind, _)| *kind != "sandbox"));
}

fn package_set(hash: &str) -> PackageSet {
    let request: PackageRequest = "pypdf".parse().unwrap();
    PackageSet {
        source: skill_state::PackageSource::Pypi,
        requests: BTreeSet::from([request]),
        index: "pypi.org".to_owned(),
        packages: [("pypdf-7.1.0-py3-none-any.whl".to_owned(), hash.to_owned())].into(),
        files: Digest::of(b"files"),
    }
}

/// A plan with a prepared package, as after `--with pypdf`.
fn with_package(hash: &str) -> Plan {
    let mut plan = plan(SkillSource::User);
    plan.requested.with = vec!["pypdf".parse().unwrap()];
    plan.packages = BTreeSet::from([package_set(hash)]);
    plan
}

#[test]
fn an_approval_covers_exactly_the_packages_that_it_lists() {
    let (policy, wanted) = (OrgPolicy::default(), with_package("sha256:1"));
    let grant = Grant { packages: wanted.packages.clone(), ..Grant::default() };
    let approvals = approved(&wanted, grant);
    let packages = |plan: Plan| match authorize(plan, &policy, &approvals, &context()) {
        Authorization::Permit(permit) => format!("permit {}", permit.packages().len()),
        Authorization::Ask(request) => {
            assert!(request.command("").ends_with(" --with pypdf"), "{}", request.command(""));
            format!("ask {}", request.reasons.join("; ").contains("pypi.org"))
        }
        Authorization::Refusal(refusal) => refusal.reasons.join("; "),
    };
    assert_eq!(packages(wanted.clone()), "permit 1");
    // Later runs use what was approved without requesting it again.
    assert_eq!(packages(plan(SkillSource::User)), "permit 1");
    // Another hash, another index: the user is asked again.
    assert_eq!(packages(with_package("sha256:2")), "ask true");
    let mut other = with_package("sha256:1");
    let moved = PackageSet { index: "other.pypi.org".to_owned(), ..package_set("sha256:1") };
    other.packages = BTreeSet::from([moved]);
    assert_eq!(packages(other), "ask true");
    // Packages that were not prepared are never granted.
    let unprepared = Plan { packages: BTreeSet::new(), ..wanted };
    assert_eq!(packages(unprepared), "the package `pypdf` was not prepared");
}

#[test]
fn packages_need_approval_at_every_trust_level() {
    for source in [SkillSource::Builtin, SkillSource::Org, SkillSource::ThirdParty] {
        let plan = Plan { subject: subject(source), ..with_package("sha256:1") };
        assert!(plainly(plan).contains("packages: pypdf from pypi.org"), "{source}");
    }
}
