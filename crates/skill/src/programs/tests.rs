use std::collections::BTreeSet;

use super::*;
use crate::AllowedTools;

/// Calls `visit` with every usage in the table and the program it belongs to.
fn usages(visit: &mut dyn FnMut(&str, &Usage)) {
    fn kind_of(name: &str, kind: ProgramKind, visit: &mut dyn FnMut(&str, &Usage)) {
        match kind {
            ProgramKind::Described(usages) => {
                usages.iter().for_each(|usage| visit(name, usage));
            }
            ProgramKind::Commands(commands) => {
                commands.bare.iter().for_each(|usage| visit(name, usage));
                for command in commands.commands {
                    kind_of(&format!("{name} {}", command.names[0]), command.kind, visit);
                }
            }
            ProgramKind::Launcher(how) | ProgramKind::ChangesTrust(how) => {
                assert!(!how.is_empty(), "{name}");
            }
        }
    }
    for program in all() {
        kind_of(program.names[0], program.kind, visit);
    }
}

#[test]
fn every_entry_of_the_table_is_well_formed() {
    let mut names = BTreeSet::new();
    for program in all() {
        assert!(!program.source.is_empty(), "{:?}", program.names);
        for name in program.names {
            assert!(names.insert(*name), "`{name}` is a duplicate");
        }
    }
    usages(&mut |name, usage| {
        let mut spellings = BTreeSet::new();
        for option in usage.all_options() {
            for spelling in option.names {
                let letters = spelling.trim_start_matches('-');
                assert!(spelling.starts_with('-') && !letters.is_empty(), "{name}: {spelling}");
                spellings.insert(spelling);
            }
        }
        for group in usage.options.iter().chain([&usage.operands]) {
            for word in group.split_whitespace() {
                let role = word.split_once('=').map_or(word, |(_, role)| role);
                let is_option = word.starts_with('-');
                for role in role.trim_end_matches([']', '*', '?']).split(',') {
                    let is_flag = is_option && !word.contains('=');
                    assert!(is_flag || Role::is_known(role), "{name}: {word}");
                }
            }
        }
        for needed in usage.needs.split_whitespace().flat_map(|group| group.split('|')) {
            assert!(
                spellings.contains(needed),
                "{name} needs `{needed}`, which is not one of its options"
            );
        }
        let stars = usage.all_operands().iter().filter(|(_, count)| *count == Count::Any).count();
        assert!(stars <= 1, "{name}: {}", usage.operands);
    });
}

#[test]
fn a_rule_permits_one_program_or_arbitrary_code() {
    for (rule, program) in [
        ("Bash(git:*)", "git"),
        ("Bash(git status)", "git"),
        ("Bash(/usr/bin/git log *)", "git"),
        ("Bash(npm view *)", "npm"),
        ("Bash(docker ps *)", "docker"),
        ("Bash(docker compose logs *)", "docker"),
        ("Bash(kubectl get *)", "kubectl"),
        ("Bash(convert a.png b.png)", "convert"),
        ("Bash(./build.sh)", "./build.sh"),
        ("Bash(python3 --version)", "python"),
        ("Bash(find:*)", "find"),
        ("Bash(cat /proc/*)", "cat"),
    ] {
        let tools = AllowedTools::from_items([rule]);
        assert_eq!(launcher_rules(&tools).next(), None, "{rule}");
        let specifier = rule.strip_prefix("Bash(").and_then(|rule| rule.strip_suffix(')'));
        assert_eq!(meaning(specifier), RuleMeaning::Program(program.to_owned()), "{rule}");
    }
    for rule in [
        "Bash",
        "Bash(*)",
        "Bash(* --version)",
        "Bash(python3:*)",
        "Bash(python3.12 scripts/x.py)",
        "Bash(/usr/bin/python3 *)",
        "Bash(npm test)",
        "Bash(npm *)",
        "Bash(docker:*)",
        "Bash(docker run *)",
        "Bash(kubectl exec *)",
        "Bash(make)",
        "Bash(awk:*)",
        "Bash(ssh:*)",
        "Bash(xargs:*)",
        "Bash(convert:*)",
        "Bash(./git:*)",
        "Bash(/tmp/git:*)",
        "Bash(scripts/*)",
        "Bash(openskills:*)",
        "Bash(openskills run *)",
        "Bash(csk exec *)",
        "Bash(python3 --version *)",
        "Terminal(node:*)",
    ] {
        let tools = AllowedTools::from_items([rule]);
        assert_eq!(launcher_rules(&tools).count(), 1, "{rule}");
    }
    let others = AllowedTools::from_text("Read Write(src/**) WebFetch");
    assert_eq!(launcher_rules(&others).next(), None);
}
