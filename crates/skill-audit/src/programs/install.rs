//! Package managers: what they install, and what they run from a package.

use super::{has, program_name};
use crate::evidence;
use crate::hosts::{HostClass, Remote, UNKNOWN};
use crate::op::{Action, OpCollector};
use crate::shell_code::{Invocation, Shell};
use crate::value::Value;

/// Package managers by the registry that they install from.
const MANAGERS: &[(&str, &str)] = &[
    ("pip", "pip"),
    ("pip3", "pip"),
    ("uv", "pip"),
    ("uvx", "pip"),
    ("pipx", "pip"),
    ("pipenv", "pip"),
    ("poetry", "pip"),
    ("pdm", "pip"),
    ("rye", "pip"),
    ("easy_install", "pip"),
    ("conda", "conda"),
    ("mamba", "conda"),
    ("micromamba", "conda"),
    ("pixi", "conda"),
    ("npm", "npm"),
    ("npx", "npm"),
    ("pnpm", "npm"),
    ("pnpx", "npm"),
    ("yarn", "npm"),
    ("bun", "npm"),
    ("bunx", "npm"),
    ("cargo", "cargo"),
    ("gem", "gem"),
    ("go", "go"),
    ("brew", "brew"),
    ("apt", "apt"),
    ("apt-get", "apt"),
    ("aptitude", "apt"),
    ("dnf", "dnf"),
    ("yum", "dnf"),
    ("zypper", "zypper"),
    ("apk", "apk"),
    ("pacman", "pacman"),
    ("snap", "snap"),
    ("flatpak", "flatpak"),
    ("choco", "choco"),
    ("winget", "winget"),
    ("scoop", "scoop"),
    ("dotnet", "nuget"),
    ("nuget", "nuget"),
    ("composer", "composer"),
    ("clawhub", "clawhub"),
];

/// Returns the registry of a package manager.
pub(crate) fn registry(program: &str) -> Option<&'static str> {
    MANAGERS.iter().find(|(name, _)| *name == program).map(|(_, registry)| *registry)
}

/// Returns a package's name without version, extras and markers.
pub(crate) fn package_name(registry: &str, package: &str) -> String {
    let package = package.trim().trim_matches(['"', '\'']);
    let name = match registry {
        "pip" => {
            package.split(['=', '<', '>', '~', '!', '[', ';', '@', ' ']).next().unwrap_or(package)
        }
        "npm" | "cargo" | "go" | "gem" => {
            let at = package.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
            at.map_or(package, |at| crate::excerpt::slice(package, ..at))
        }
        "apt" | "conda" => package.split(['=', '<', '>', '[']).next().unwrap_or(package),
        _ => package,
    };
    name.to_owned()
}

/// What a call of a package manager does.
#[derive(Default)]
struct Installs {
    packages: Vec<Value>,
    /// Where the command that it runs starts among the arguments.
    runs: Option<usize>,
    /// A package that is installed for one run, and run.
    is_runner: bool,
    /// Packages that the package installs when it runs.
    more: Vec<Value>,
    /// Skills that the package installs when it runs.
    sources: Vec<Value>,
}

pub(super) fn install(
    shell: &mut Shell,
    call: &Invocation<'_>,
    collector: &mut OpCollector,
) -> Value {
    let Some(registry) = registry(&call.program) else { return Value::unknown() };
    let Installs { packages, runs, is_runner, more, sources: skills } = installs(shell, call);
    for skill in skills.iter().filter(|skill| is_package("skill", &skill.text)) {
        let (by, registry) = (call.program.clone(), "skill".to_owned());
        collector.add(call.range, Action::Install { by, registry, what: skill.text.clone() });
    }
    let count = packages.len();
    for (at, package) in packages
        .iter()
        .chain(&more)
        .enumerate()
        .filter(|(_, package)| is_package(registry, &package.text))
    {
        collector.add(
            call.range,
            Action::Install {
                by: call.program.clone(),
                registry: registry.to_owned(),
                what: package.text.clone(),
            },
        );
        if is_runner && at < count {
            let name = package_name(registry, &package.text);
            collector.add(call.range, Action::Run { program: program_name(&name) });
        }
    }
    let sources = call.args.iter().filter_map(|arg| {
        let text = arg.text.strip_prefix("git+").unwrap_or(&arg.text);
        let text = text.rsplit_once('=').map_or(text, |(_, value)| value);
        Remote::parse(text).filter(|_| text.contains("://"))
    });
    for from in sources {
        collector.add(call.range, Action::Fetch(from.clone()));
        if !matches!(
            from.class,
            HostClass::Registry | HostClass::Code | HostClass::Vendor | HostClass::Local
        ) {
            let (by, registry) = (call.program.clone(), registry.to_owned());
            collector.add(call.range, Action::Install { by, registry, what: from.text });
        }
    }
    match runs.and_then(|at| call.args.get(at..)) {
        Some([]) | None => Value::unknown(),
        Some(words) => {
            let is_script = words.first().is_some_and(|word| word.text.contains(['/', '.']));
            if is_script {
                return Value::unknown();
            }
            shell.run(words.to_vec(), call.stdin.clone(), call.range, collector)
        }
    }
}

fn installs(shell: &Shell, call: &Invocation<'_>) -> Installs {
    let program = call.program.as_str();
    let Words { words, given, listed } = parse(call);
    let word = |nth: usize| words.get(nth).map_or("", |at| call.args[*at].text.as_str());
    let from = |nth: usize| -> Vec<Value> {
        words.iter().skip(nth).filter_map(|at| call.args.get(*at)).cloned().collect()
    };
    let runs = |nth: usize| words.get(nth).copied();
    let one = |nth: usize| from(nth).into_iter().take(1).collect::<Vec<_>>();
    let plain = |mut packages: Vec<Value>, given: Vec<Value>| {
        packages.extend(given);
        for list in &listed {
            packages.extend(requirements(shell, &list.text));
        }
        Installs { packages, ..Installs::default() }
    };
    let runner =
        |packages: Vec<Value>| Installs { packages, is_runner: true, ..Installs::default() };
    match (program, word(0), word(1)) {
        ("uvx" | "npx" | "pnpx" | "bunx", ..) if !given.is_empty() => {
            Installs { packages: given, runs: runs(0), ..Installs::default() }
        }
        ("npx" | "bunx" | "pnpx", "skills", _) => {
            let at = call.args.iter().position(|arg| arg.text == "add");
            let mut all = runner(one(0));
            let source = at.and_then(|at| call.args.get(at + 1));
            all.sources = source
                .filter(|source| !source.text.starts_with('-'))
                .cloned()
                .into_iter()
                .collect();
            all
        }
        ("npx", "expo", _) => {
            let at = call.args.iter().position(|arg| arg.text == "install");
            let mut all = runner(one(0));
            let more = at.and_then(|at| call.args.get(at + 1..)).unwrap_or_default();
            all.more = more.iter().filter(|arg| !arg.text.starts_with('-')).cloned().collect();
            all
        }
        ("uvx" | "npx" | "pnpx" | "bunx", ..) => runner(one(0)),
        ("uv", "pip", "install") => plain(from(2), given),
        ("uv", "tool", "run") | ("npm", "exec" | "x", _) if !given.is_empty() => {
            Installs { packages: given, runs: runs(2), ..Installs::default() }
        }
        ("uv", "tool", "install") => plain(one(2), given),
        ("uv", "tool", "run") => runner(one(2)),
        ("uv", "add", _) => plain(from(1), given),
        ("uv" | "poetry" | "pdm" | "pipenv" | "rye", "run", _) => Installs {
            packages: given,
            runs: runs(1).filter(|_| !has(call, &["-m", "--module"])),
            ..Installs::default()
        },
        ("pipx", "run", _) => runner(one(1)),
        ("pnpm" | "yarn", "dlx", _) | ("npm", "exec" | "x", _) | ("bun", "x", _) => runner(one(1)),
        ("pipx", "install" | "inject", _) => plain(one(1), given),
        ("pip" | "pip3" | "pipenv" | "easy_install", "install", _) => plain(from(1), given),
        ("poetry" | "pdm" | "rye" | "pixi", "add", _) => plain(from(1), given),
        ("conda" | "mamba" | "micromamba", "install" | "create", _) => plain(from(1), Vec::new()),
        ("npm" | "pnpm" | "bun", "install" | "i" | "add", _) => plain(from(1), given),
        ("yarn", "add", _) | ("apk", "add", _) => plain(from(1), given),
        ("yarn" | "bun" | "composer", "global", "add" | "require") => plain(from(2), given),
        ("cargo", "install" | "add" | "binstall", _) => plain(from(1), given),
        ("go", "install" | "get", _) => plain(from(1), given),
        ("winget", "install", _) if !given.is_empty() => plain(Vec::new(), given),
        (
            "gem" | "brew" | "apt" | "apt-get" | "aptitude" | "dnf" | "yum" | "zypper" | "snap"
            | "flatpak" | "choco" | "winget" | "scoop" | "clawhub" | "nuget",
            "install",
            _,
        ) => plain(from(1), given),
        ("brew", "reinstall" | "upgrade", _) | ("composer", "require", _) => plain(from(1), given),
        ("pacman", ..) if call.args.iter().any(|arg| arg.text.starts_with("-S")) => {
            plain(from(0), given)
        }
        ("dotnet", "add", _) => {
            let at = words.iter().position(|at| call.args[*at].text == "package");
            at.map_or_else(Installs::default, |at| plain(one(at + 1), given))
        }
        ("dotnet", "tool", "install") => plain(one(2), given),
        _ => Installs::default(),
    }
}

/// The arguments of a package manager.
#[derive(Default)]
struct Words {
    /// Positions of the words that are neither options nor their values.
    words: Vec<usize>,
    /// Packages given by options.
    given: Vec<Value>,
    /// Files that list packages.
    listed: Vec<Value>,
}

fn parse(call: &Invocation<'_>) -> Words {
    let program = call.program.as_str();
    let Words { mut words, mut given, mut listed } = Words::default();
    let mut at = 0;
    while let Some(arg) = call.args.get(at) {
        let (flag, inline) = match arg.text.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag, Some(value)),
            _ => (arg.text.as_str(), None),
        };
        if !flag.starts_with('-') || flag.len() < 2 {
            // What follows the command of a runner belongs to the command.
            words.push(at);
            if is_command_start(program, &words, &call.args) {
                break;
            }
        } else if takes_value(program, flag) {
            let value = match inline {
                Some(value) => Some(Value { text: value.to_owned(), ..arg.clone() }),
                None => {
                    at += 1;
                    call.args.get(at).cloned()
                }
            };
            match (flag, value) {
                ("--with" | "--from" | "--package" | "--id" | "-e" | "--editable", Some(value)) => {
                    given.push(value);
                }
                ("-p", Some(value)) if program == "npx" => given.push(value),
                ("-r" | "--requirement", Some(value)) => listed.push(value),
                _ => {}
            }
        }
        at += 1;
    }
    Words { words, given, listed }
}

/// Returns true if the words end with the command of a runner.
fn is_command_start(program: &str, words: &[usize], args: &[Value]) -> bool {
    let word = |nth: usize| words.get(nth).map_or("", |at| args[*at].text.as_str());
    match program {
        "npx" | "uvx" | "bunx" | "pnpx" => words.len() == 1,
        "uv" | "poetry" | "pdm" | "pipenv" | "rye" | "pipx" if word(0) == "run" => words.len() == 2,
        "pnpm" | "yarn" | "npm" | "bun" if matches!(word(0), "dlx" | "exec" | "x") => {
            words.len() == 2
        }
        "uv" if word(0) == "tool" && word(1) == "run" => words.len() == 3,
        _ => false,
    }
}

/// Returns the packages in a requirements file of the skill.
fn requirements(shell: &Shell, path: &str) -> Vec<Value> {
    let Some(content) = shell.written(path) else { return Vec::new() };
    let lines = content.text.lines().map(|line| line.split('#').next().unwrap_or(line).trim());
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('-'))
        .take(200)
        .map(Value::plain)
        .collect()
}

fn takes_value(program: &str, flag: &str) -> bool {
    let flags: &[&str] = match program {
        "pip" | "pip3" | "uv" | "uvx" | "pipx" | "poetry" | "pdm" | "pipenv" => &[
            "-r",
            "--requirement",
            "-c",
            "--constraint",
            "-i",
            "--index-url",
            "--extra-index-url",
            "-e",
            "--editable",
            "-t",
            "--target",
            "--prefix",
            "--root",
            "--python",
            "-f",
            "--find-links",
            "--python-version",
            "--platform",
            "--trusted-host",
            "--with",
            "--from",
            "-p",
            "--default-index",
            "--index",
            "--project",
            "--directory",
            "--with-requirements",
            "--group",
            "--extra",
            "-G",
            "--source",
            "--timeout",
            "--spec",
            "--env-file",
            "--with-editable",
        ],
        "npx" | "npm" | "pnpm" | "yarn" | "bun" | "bunx" | "pnpx" => &[
            "-p",
            "--package",
            "--registry",
            "--prefix",
            "-w",
            "--workspace",
            "-c",
            "--call",
            "--filter",
            "-C",
            "--dir",
            "--tag",
        ],
        "conda" | "mamba" | "micromamba" => {
            &["-c", "--channel", "-n", "--name", "-p", "--prefix", "-f", "--file"]
        }
        "cargo" => &[
            "--version",
            "--vers",
            "--git",
            "--branch",
            "--tag",
            "--rev",
            "--path",
            "--features",
            "-F",
            "--root",
            "--target",
            "-p",
            "--package",
        ],
        "gem" => &["-v", "--version", "-s", "--source", "-i", "--install-dir"],
        "dotnet" | "nuget" => {
            &["-v", "--version", "-s", "--source", "-f", "--framework", "--add-source"]
        }
        "winget" | "choco" | "scoop" => &["--id", "--source", "-s", "--version", "-v", "--scope"],
        "apt" | "apt-get" | "aptitude" => &["-t", "-o", "-c"],
        "apk" => &["-t", "--virtual", "-X", "--repository"],
        "brew" | "snap" => &["--channel"],
        _ => &[],
    };
    flags.contains(&flag) && !(program == "cargo" && matches!(flag, "-p" | "--package"))
}

/// Returns true for the name or URL of a package, as opposed to paths, options and placeholders.
fn is_package(registry: &str, text: &str) -> bool {
    const PLACEHOLDERS: [&str; 18] = [
        "package",
        "packages",
        "package-name",
        "package_name",
        "your-package",
        "my-package",
        "pkg",
        "foo",
        "bar",
        "module",
        "dependency",
        "library",
        "lib",
        "name",
        "...",
        "crate",
        "some-package",
        "packagename",
    ];
    let text = text.trim();
    if text.contains("://") {
        return true;
    }
    let lower = text.to_lowercase();
    if matches!(registry, "pip" | "conda" | "apt") && text.contains('/') {
        return false;
    }
    text.len() >= 2
        && !text.starts_with([
            '.', '/', '~', '-', '$', '<', '{', '[', '(', '|', '&', '>', '#', '\\', '=',
        ])
        && !text.contains([UNKNOWN, '<', '{', '$', '`', '|', '*', '…', ' ', '('])
        && text.contains(|c: char| c.is_ascii_alphanumeric())
        && !PLACEHOLDERS.contains(&lower.as_str())
        && !lower.starts_with("your-")
        && !lower.starts_with("path/")
        && ![".txt", ".toml", ".json", ".whl", ".tgz", ".deb", ".yml", ".yaml", ".tar.gz"]
            .iter()
            .any(|end| lower.ends_with(end))
}

/// Collects what `-m` runs: `python -m pip install x`.
pub(super) fn module(
    shell: &mut Shell,
    call: &Invocation<'_>,
    collector: &mut OpCollector,
) -> bool {
    let at = call.args.iter().position(|arg| !arg.text.starts_with('-') || arg.text == "-m");
    let Some(at) = at.filter(|at| has(call, &["-m"]) && call.args[*at].text == "-m") else {
        return false;
    };
    let Some(words) = call.args.get(at + 1..).filter(|words| !words.is_empty()) else {
        return false;
    };
    let is_known =
        matches!(evidence::familiarity(&words[0].text), Some(evidence::Familiarity::Program));
    if is_known || words[0].text == "debugpy" {
        shell.run(words.to_vec(), call.stdin.clone(), call.range, collector);
    }
    true
}
