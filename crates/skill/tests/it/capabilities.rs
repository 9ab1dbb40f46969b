//! The capability lattice: combining narrows, in any order, and so does every declaration.

use proptest::prelude::*;
use skill::capabilities::{
    Anchor, AnchoredFolder, Capabilities, Cover, Declared, Host, Reach, ToolLimits,
};
use skill::{
    AllowedTools, DeclaredCapabilities, DeclaredFilesystem, DeclaredList, Input, Strictness, parse,
};

fn host() -> impl Strategy<Value = Host> {
    let names = ["a.test", "b.a.test", "c.b.a.test", "*.a.test", "*.b.a.test", "x.test", "*.test"];
    proptest::sample::select(names.to_vec()).prop_map(|name| Host::parse(name).unwrap())
}

fn folder() -> impl Strategy<Value = AnchoredFolder> {
    let paths = ["/", "/a", "/a/b", "/a/bc", "~/a", "~/a/b", ".", "src", "src/x", "/etc"];
    proptest::sample::select(paths.to_vec()).prop_map(|path| AnchoredFolder::parse(path).unwrap())
}

fn reach<T: Cover + std::fmt::Debug>(
    item: impl Strategy<Value = T>,
) -> impl Strategy<Value = Reach<T>> {
    prop_oneof![
        1 => Just(Reach::Everything),
        5 => proptest::collection::vec(item, 0..4).prop_map(Reach::only),
    ]
}

fn tools() -> impl Strategy<Value = ToolLimits> {
    let rules = ["Read", "Bash", "Bash(git:*)", "Write", "Bash("];
    let list = || {
        let rule = proptest::sample::select(rules.to_vec());
        proptest::collection::vec(rule, 0..3).prop_map(AllowedTools::from_items)
    };
    prop_oneof![
        Just(ToolLimits::default()),
        list().prop_map(|list| ToolLimits::allowing(&list)),
        list().prop_map(|list| ToolLimits::denying(&list)),
        (list(), list())
            .prop_map(|(one, other)| ToolLimits::allowing(&one).meet(&ToolLimits::denying(&other))),
    ]
}

fn capabilities() -> impl Strategy<Value = Capabilities> {
    let name = || proptest::sample::select(vec!["git", "jq", "sh"]).prop_map(str::to_owned);
    let files = (reach(folder()), reach(folder()), reach(host()));
    (files, reach(name()), reach(name()), reach(name()), tools()).prop_map(
        |((read, write, network), exec, env, secrets, tools)| Capabilities {
            read,
            write,
            network,
            exec,
            env,
            secrets,
            tools,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn meet_is_a_lattice_operation(a in capabilities(), b in capabilities(), c in capabilities()) {
        prop_assert_eq!(a.meet(&b), b.meet(&a), "commutative");
        prop_assert_eq!(a.meet(&b).meet(&c), a.meet(&b.meet(&c)), "associative");
        prop_assert_eq!(a.meet(&a), a.clone(), "idempotent");
        prop_assert_eq!(a.meet(&Capabilities::everything()), a.clone());
        let met = a.meet(&b);
        prop_assert!(a.covers(&met) && b.covers(&met), "never widens");
        prop_assert!(met.covers(&met) && Capabilities::everything().covers(&met));
        prop_assert!(a.covers(&Capabilities::nothing()), "everything covers nothing");
    }

    #[test]
    fn meet_allows_what_both_allow(
        a in reach(folder()), b in reach(folder()), one in folder(), h in reach(host()), i in reach(host()), name in host(),
    ) {
        prop_assert_eq!(a.meet(&b).has(&one), a.has(&one) && b.has(&one));
        prop_assert_eq!(h.meet(&i).has(&name), h.has(&name) && i.has(&name));
    }
}

#[test]
fn hosts_are_compared_by_label() {
    for (rule, host, covers) in [
        ("example.com", "EXAMPLE.com.", true),
        ("example.com", "www.example.com", false),
        ("*.example.com", "www.example.com", true),
        ("*.example.com", "a.b.example.com", true),
        ("*.example.com", "example.com", false),
        ("*.example.com", "badexample.com", false),
        ("*.example.com", "*.x.example.com", true),
        ("*.x.example.com", "*.example.com", false),
    ] {
        let (rule, host) = (Host::parse(rule).unwrap(), Host::parse(host).unwrap());
        assert_eq!(rule.covers(&host), covers, "{rule} {host}");
    }
    for bad in
        ["", "a b", "a/b", "http://a", "a:80", "a..b", "*", "*.", "a.*.b", "**.a", "a\u{200b}.b"]
    {
        assert_eq!(Host::parse(bad), None, "{bad}");
    }
}

#[test]
fn folders_are_compared_by_component_and_never_contain_dot_dot() {
    for (rule, path, covers) in [
        ("/project", "/project/a", true),
        ("/project", "/projectile", false),
        ("/project/", "/project/./a", true),
        ("~/a", "/home/me/a", false),
        (".", "src/x", true),
        ("src", "src2", false),
        ("/", "/etc", true),
        ("/", "~/a", false),
    ] {
        let (rule, path) =
            (AnchoredFolder::parse(rule).unwrap(), AnchoredFolder::parse(path).unwrap());
        assert_eq!(rule.covers(&path), covers, "{rule} {path}");
    }
    for bad in ["", "..", "/a/../b", "~/..", "a\0b", "a\\..\\b", "a\nb"] {
        assert_eq!(AnchoredFolder::parse(bad), None, "{bad:?}");
    }
}

fn declared(fields: &str, manifest: Option<&DeclaredCapabilities>) -> Declared {
    let text = format!("---\nname: x\ndescription: d\n{fields}---\nB.\n");
    let input = Input { file: "f", directory: Some("x"), bytes: text.as_bytes() };
    let document = parse(&input, Strictness::Lenient).document.unwrap();
    Declared::of(&document.frontmatter, manifest)
}

#[test]
fn undeclared_capabilities_get_the_minimum_grant() {
    let silent = declared("", None);
    assert_eq!(silent, Declared::default());
    let granted = silent.ceiling();
    assert!(
        granted.read.has(&AnchoredFolder::at(Anchor::Skill))
            && granted.read.has(&AnchoredFolder::at(Anchor::Workspace))
    );
    assert!(
        !granted.write.has(&AnchoredFolder::at(Anchor::Skill))
            && !granted.read.has(&AnchoredFolder::parse("/etc").unwrap())
    );
    assert!(granted.network.is_nothing() && granted.exec.is_nothing() && granted.env.is_nothing());
}

#[test]
fn every_declaration_narrows() {
    let reads = declared("allowed-tools: Read, Grep\n", None);
    assert_eq!((reads.read, reads.write), (Some(Reach::Everything), Some(Reach::nothing())));
    assert_eq!((reads.network, reads.exec), (Some(Reach::nothing()), Some(Reach::nothing())));
    let shell = declared("allowed-tools: Bash(git:*)\n", None);
    let git = Reach::only(["git".to_owned()]);
    assert_eq!((shell.write, shell.exec), (Some(Reach::Everything), Some(git)));
    // A rule for a launcher permits any program.
    for rules in ["Bash", "Bash(git:*) Bash(python3:*)", "Bash(convert:*)", "Bash(npm test)"] {
        let any = declared(&format!("allowed-tools: {rules}\n"), None);
        assert_eq!(any.exec, Some(Reach::Everything), "{rules}");
    }
    let web = declared("allowed-tools: WebFetch(domain:docs.test)\n", None);
    assert_eq!(web.network, Some(Reach::only([Host::parse("docs.test").unwrap()])));
    assert_eq!(declared("allowed-tools: WebSearch\n", None).network, Some(Reach::Everything));
    // An empty list and a malformed rule allow nothing.
    for nothing in ["allowed-tools: []\n", "allowed-tools: 'Bash('\n"] {
        assert_eq!(declared(nothing, None).tools, ToolLimits::nothing(), "{nothing}");
    }
    let quiet = declared("side_effects: [none]\n", None);
    assert_eq!((quiet.write, quiet.network), (Some(Reach::nothing()), Some(Reach::nothing())));
    let effects = declared("side_effects: [filesystem]\nallowed-tools: Write WebSearch\n", None);
    assert_eq!((effects.write, effects.network), (Some(Reach::Everything), Some(Reach::nothing())));
    let denied =
        declared("tools: {allow: [read, bash], deny: [bash]}\ndisallowed-tools: Write\n", None);
    assert_eq!((denied.tools.allow.len(), denied.tools.deny.len()), (1, 2));
}

#[test]
fn a_manifest_is_converted_exactly() {
    let manifest = DeclaredCapabilities {
        network: Some(DeclaredList::Only(vec!["*.a.test".into(), "not a host".into()])),
        filesystem: Some(DeclaredFilesystem::Paths(vec!["src".into(), "../up".into()])),
        exec: Some(DeclaredList::None),
        secrets: Some(DeclaredList::Only(vec!["github".into()])),
        env_read: Some(vec!["TOKEN".into()]),
        prompt_scope: None,
    };
    let found = declared("", Some(&manifest));
    assert_eq!(found.network, Some(Reach::only([Host::parse("*.a.test").unwrap()])));
    assert_eq!(found.write, Some(Reach::only([AnchoredFolder::parse("src").unwrap()])));
    assert!(
        found.read.as_ref().unwrap().has(&AnchoredFolder::at(Anchor::Skill)),
        "a skill can read itself"
    );
    assert_eq!(
        (found.exec.as_ref(), found.env.as_ref()),
        (Some(&Reach::nothing()), Some(&Reach::only(["TOKEN".to_owned()])))
    );
    // Tools and manifest narrow each other.
    let both = declared("allowed-tools: Read\n", Some(&manifest));
    assert_eq!((both.write, both.network), (Some(Reach::nothing()), Some(Reach::nothing())));
    let repo = DeclaredCapabilities {
        filesystem: Some(DeclaredFilesystem::Repo),
        ..DeclaredCapabilities::default()
    };
    assert_eq!(
        declared("", Some(&repo)).write,
        Some(Reach::only([AnchoredFolder::at(Anchor::Workspace)]))
    );
}
