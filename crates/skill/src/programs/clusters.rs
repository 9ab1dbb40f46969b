//! Programs that query a cluster, a container engine or a forge. Changes there need approval.

use super::{Command, Commands, Program, Usage};

/// Global kubectl options: without `--kubeconfig`, `--server` and the like, which redirect it or name programs.
const KUBE: &str =
    "-n|--namespace=TEXT --context=TEXT --cluster=TEXT --request-timeout=TEXT -v|--v=NUM";
const GET: &str = "\
    -A|--all-namespaces -o|--output=TEXT -l|--selector=TEXT --field-selector=TEXT -L|--label-columns=TEXT --no-headers --show-labels --show-kind \
    --sort-by=TEXT -w|--watch --watch-only --ignore-not-found --chunk-size=NUM --show-managed-fields --subresource=TEXT --template=TEXT";

const KUBECTL: &[Command] = &[
    Command::described(&["get"], &[Usage::new(&[KUBE, GET], "TEXT*")]),
    Command::described(
        &["describe"],
        &[Usage::new(
            &[KUBE, "-A|--all-namespaces -l|--selector=TEXT --show-events --chunk-size=NUM"],
            "TEXT*",
        )],
    ),
    Command::described(
        &["logs"],
        &[Usage::new(
            &[
                KUBE,
                "-c|--container=TEXT -f|--follow -p|--previous -l|--selector=TEXT --all-containers --all-pods --since=TEXT --since-time=TEXT \
           --tail=TEXT --timestamps --prefix --limit-bytes=NUM --max-log-requests=NUM --ignore-errors --pod-running-timeout=TEXT",
            ],
            "TEXT*",
        )],
    ),
    Command::described(
        &["top"],
        &[Usage::new(
            &[
                KUBE,
                "-A|--all-namespaces -l|--selector=TEXT --containers --no-headers --sort-by=TEXT",
            ],
            "TEXT*",
        )],
    ),
    Command::described(
        &["explain"],
        &[Usage::new(&[KUBE, "--recursive --api-version=TEXT -o|--output=TEXT"], "TEXT")],
    ),
    Command::described(
        &["version"],
        &[Usage::new(&[KUBE, "--client --short -o|--output=TEXT"], "")],
    ),
    Command::described(
        &["api-resources", "api-versions"],
        &[Usage::new(
            &[
                KUBE,
                "--api-group=TEXT --namespaced --no-headers -o|--output=TEXT --sort-by=TEXT --verbs=TEXT --cached",
            ],
            "",
        )],
    ),
    Command::described(&["cluster-info"], &[Usage::new(&[KUBE], "")]),
    Command::described(
        &["events"],
        &[Usage::new(
            &[KUBE, "-A|--all-namespaces --for=TEXT --types=TEXT -o|--output=TEXT -w|--watch"],
            "",
        )],
    ),
    // `oc whoami -t` prints the token.
    Command::described(
        &["whoami"],
        &[Usage::new(&[KUBE, "--show-console --show-context --show-server"], "")],
    ),
    Command::described(
        &["status", "project", "projects"],
        &[Usage::new(&[KUBE, "-q|--short"], "")],
    ),
    Command::commands(
        &["rollout"],
        &Commands {
            options: "",
            commands: &[Command::described(
                &["status", "history"],
                &[Usage::new(
                    &[KUBE, "-w|--watch --timeout=TEXT --revision=NUM -o|--output=TEXT"],
                    "TEXT*",
                )],
            )],
            bare: &[],
        },
    ),
    Command::commands(
        &["auth"],
        &Commands {
            options: "",
            commands: &[Command::described(
                &["can-i", "whoami"],
                &[Usage::new(
                    &[KUBE, "-A|--all-namespaces --list -q|--quiet -o|--output=TEXT"],
                    "TEXT*",
                )],
            )],
            bare: &[],
        },
    ),
    Command::commands(
        &["config"],
        &Commands {
            options: "",
            commands: &[Command::described(
                &["current-context", "get-contexts", "get-clusters"],
                &[Usage::new(&[KUBE, "--no-headers -o|--output=TEXT"], "TEXT*")],
            )],
            bare: &[],
        },
    ),
    Command::launcher(&["exec", "debug", "run", "rsh", "attach"], "runs commands in containers"),
];

const DOCKER_LIST: &str = "-a|--all -q|--quiet --no-trunc -f|--filter=TEXT --format=TEXT";

const DOCKER: &[Command] = &[
    Command::described(
        &["ps"],
        &[Usage::new(&[DOCKER_LIST, "-n|--last=NUM -l|--latest -s|--size"], "")],
    ),
    Command::described(&["images"], &[Usage::new(&[DOCKER_LIST, "--digests --tree"], "TEXT?")]),
    Command::described(
        &["inspect"],
        &[Usage::new(&["-f|--format=TEXT -s|--size --type=TEXT"], "TEXT*")],
    ),
    Command::described(
        &["logs"],
        &[Usage::new(
            &["--details -f|--follow --since=TEXT --until=TEXT -n|--tail=TEXT -t|--timestamps"],
            "TEXT",
        )],
    ),
    Command::described(
        &["stats"],
        &[Usage::new(&["-a|--all --format=TEXT --no-stream --no-trunc"], "TEXT*")],
    ),
    Command::described(&["top"], &[Usage::new(&[], "TEXT TEXT*")]),
    Command::described(&["port", "diff"], &[Usage::new(&[], "TEXT TEXT?")]),
    Command::described(
        &["history"],
        &[Usage::new(&["--format=TEXT -H|--human --no-trunc -q|--quiet"], "TEXT")],
    ),
    Command::described(
        &["events"],
        &[Usage::new(&["-f|--filter=TEXT --format=TEXT --since=TEXT --until=TEXT"], "")],
    ),
    Command::described(&["version", "info"], &[Usage::new(&["-f|--format=TEXT"], "")]),
    Command::described(
        &["search"],
        &[Usage::new(&["-f|--filter=TEXT --format=TEXT --limit=NUM --no-trunc"], "TEXT")],
    ),
    Command::commands(
        &["container", "image", "volume", "network", "context"],
        &Commands {
            options: "",
            commands: &[
                Command::described(&["ls", "list"], &[Usage::new(&[DOCKER_LIST], "TEXT?")]),
                Command::described(
                    &["inspect"],
                    &[Usage::new(&["-f|--format=TEXT -s|--size"], "TEXT*")],
                ),
                Command::described(
                    &["logs"],
                    &[Usage::new(
                        &["-f|--follow --since=TEXT -n|--tail=TEXT -t|--timestamps"],
                        "TEXT",
                    )],
                ),
                Command::described(&["show"], &[Usage::new(&[], "")]),
                Command::launcher(&["run", "exec", "build"], "runs commands in containers"),
            ],
            bare: &[],
        },
    ),
    Command::commands(
        &["system"],
        &Commands {
            options: "",
            commands: &[Command::described(
                &["df", "info"],
                &[Usage::new(&["-v|--verbose --format=TEXT"], "")],
            )],
            bare: &[],
        },
    ),
    Command::commands(
        &["compose"],
        &Commands {
            options: "-f|--file=LOCAL -p|--project-name=TEXT --profile=TEXT --ansi=TEXT",
            commands: &[
                Command::described(
                    &["ps"],
                    &[Usage::new(
                        &[
                            "-a|--all -q|--quiet --services --status=TEXT --filter=TEXT --format=TEXT --no-trunc",
                        ],
                        "TEXT*",
                    )],
                ),
                Command::described(
                    &["logs"],
                    &[Usage::new(
                        &[
                            "-f|--follow --since=TEXT --until=TEXT -n|--tail=TEXT -t|--timestamps --no-color --no-log-prefix",
                        ],
                        "TEXT*",
                    )],
                ),
                Command::described(
                    &["config"],
                    // Without one of these it prints the contents of `.env` and the variable files.
                    &[Usage::new(
                        &["--services --volumes --images --profiles -q|--quiet --no-interpolate"],
                        "",
                    )
                    .needs("--services|--volumes|--images|--profiles|--quiet")],
                ),
                Command::described(&["version"], &[Usage::new(&["-f|--format=TEXT --short"], "")]),
                Command::described(
                    &["ls", "images", "top", "port"],
                    &[Usage::new(&["-a|--all -q|--quiet --format=TEXT --filter=TEXT"], "TEXT*")],
                ),
                Command::launcher(
                    &["up", "run", "exec", "build", "start", "restart", "create", "watch"],
                    "runs containers",
                ),
            ],
            bare: &[],
        },
    ),
    Command::launcher(
        &[
            "run", "exec", "build", "buildx", "start", "restart", "create", "attach", "stack",
            "service", "swarm", "plugin",
        ],
        "runs commands in containers, which can be given access to the whole machine",
    ),
];

/// Global helm options: without `--kubeconfig`, `--kube-apiserver` and `--post-renderer`.
const HELM: &str = "-n|--namespace=TEXT --kube-context=TEXT --debug";

const HELM_COMMANDS: &[Command] = &[
    Command::described(
        &["list", "ls"],
        &[Usage::new(
            &[
                HELM,
                "-A|--all-namespaces -a|--all --deployed --failed --pending --uninstalled --uninstalling --superseded -d|--date -r|--reverse \
           -q|--short -f|--filter=TEXT -l|--selector=TEXT -m|--max=NUM --offset=NUM -o|--output=TEXT --time-format=TEXT --no-headers",
            ],
            "",
        )],
    ),
    Command::described(
        &["status"],
        &[Usage::new(
            &[HELM, "--revision=NUM -o|--output=TEXT --show-desc --show-resources"],
            "TEXT",
        )],
    ),
    Command::described(&["history"], &[Usage::new(&[HELM, "--max=NUM -o|--output=TEXT"], "TEXT")]),
    Command::described(&["version"], &[Usage::new(&[HELM, "--short --template=TEXT"], "")]),
    Command::described(&["env"], &[Usage::new(&[HELM], "TEXT?")]),
    Command::described(
        &["lint"],
        &[Usage::new(
            &[HELM, "-f|--values=LOCAL --set=TEXT --strict --quiet --with-subcharts"],
            "READ*",
        )],
    ),
    Command::commands(
        &["get"],
        &Commands {
            options: "",
            commands: &[Command::described(
                &["all", "hooks", "manifest", "metadata", "notes", "values"],
                &[Usage::new(
                    &[HELM, "-a|--all --revision=NUM -o|--output=TEXT --template=TEXT"],
                    "TEXT",
                )],
            )],
            bare: &[],
        },
    ),
    Command::commands(
        &["search"],
        &Commands {
            options: "",
            commands: &[Command::described(
                &["repo", "hub"],
                &[Usage::new(
                    &[
                        HELM,
                        "-l|--versions --version=TEXT --devel -o|--output=TEXT --max-col-width=NUM -r|--regexp",
                    ],
                    "TEXT*",
                )],
            )],
            bare: &[],
        },
    ),
    Command::commands(
        &["repo", "plugin", "dependency"],
        &Commands {
            options: "",
            commands: &[Command::described(
                &["list", "ls"],
                &[Usage::new(&[HELM, "-o|--output=TEXT"], "READ?")],
            )],
            bare: &[],
        },
    ),
];

/// gh: without `--web`, which opens a browser, and `--editor`.
const GH: &str = "-R|--repo=HUB --json=TEXT -q|--jq=TEXT -t|--template=TEXT";
const GH_LIST: &str = "\
    -L|--limit=NUM -s|--state=TEXT -S|--search=TEXT -l|--label=TEXT -a|--assignee=TEXT -A|--author=TEXT -B|--base=TEXT -H|--head=TEXT -d|--draft \
    -m|--milestone=TEXT -b|--branch=TEXT -u|--user=TEXT -e|--event=TEXT --status=TEXT -c|--commit=TEXT";

const GH_WRITE: &str = "-b|--body=TEXT -F|--body-file=SENT -R|--repo=HUB";

const GH_COMMANDS: &[Command] = &[
    Command::commands(&["pr"], &Commands {
        options: "",
        commands: &[
            Command::described(&["list", "ls"], &[Usage::new(&[GH, GH_LIST], "")]),
            Command::described(&["view"], &[Usage::new(&[GH, "-c|--comments"], "LOCAL?")]),
            Command::described(&["status"], &[Usage::new(&[GH, "-c|--conflict-status"], "")]),
            Command::described(&["diff"], &[Usage::new(&["-R|--repo=HUB --color=TEXT --name-only --patch"], "LOCAL?")]),
            Command::described(&["checks"], &[Usage::new(&[GH, "--required --watch --fail-fast -i|--interval=NUM"], "LOCAL?")]),
            Command::described(&["create", "new"], &[Usage::new(
                &[GH_WRITE, "-t|--title=TEXT -B|--base=TEXT -H|--head=TEXT -d|--draft -f|--fill --fill-first --fill-verbose -l|--label=TEXT \
                   -a|--assignee=TEXT -r|--reviewer=TEXT -m|--milestone=TEXT -p|--project=TEXT --no-maintainer-edit --dry-run"],
                "",
            )
            .needs("-t|-f|--fill-first|--fill-verbose")]),
            Command::described(&["comment"], &[Usage::new(&[GH_WRITE, "--edit-last"], "LOCAL?").needs("-b|-F")]),
            Command::described(&["edit"], &[Usage::new(
                &[GH_WRITE, "-t|--title=TEXT -B|--base=TEXT --add-label=TEXT --remove-label=TEXT --add-assignee=TEXT --add-reviewer=TEXT"],
                "TEXT?",
            )]),
            Command::described(&["review"], &[Usage::new(&[GH_WRITE, "-a|--approve -c|--comment -r|--request-changes"], "LOCAL?")]),
            Command::described(&["merge"], &[Usage::new(
                &["-R|--repo=HUB -m|--merge -s|--squash -r|--rebase -d|--delete-branch --auto --disable-auto -t|--subject=TEXT -b|--body=TEXT"],
                "TEXT?",
            )]),
            Command::described(&["close", "reopen", "ready", "checkout", "co"], &[Usage::new(&["-R|--repo=HUB -c|--comment=TEXT -d|--delete-branch"], "LOCAL?")]),
        ],
        bare: &[],
    }),
    Command::commands(&["issue"], &Commands {
        options: "",
        commands: &[
            Command::described(&["list", "ls"], &[Usage::new(&[GH, GH_LIST], "")]),
            Command::described(&["view"], &[Usage::new(&[GH, "-c|--comments"], "LOCAL")]),
            Command::described(&["status"], &[Usage::new(&[GH], "")]),
            Command::described(&["create", "new"], &[Usage::new(
                &[GH_WRITE, "-t|--title=TEXT -l|--label=TEXT -a|--assignee=TEXT -m|--milestone=TEXT -p|--project=TEXT"],
                "",
            )
            .needs("-t")]),
            Command::described(&["comment"], &[Usage::new(&[GH_WRITE, "--edit-last"], "LOCAL").needs("-b|-F")]),
            Command::described(&["edit"], &[Usage::new(&[GH_WRITE, "-t|--title=TEXT --add-label=TEXT --remove-label=TEXT --add-assignee=TEXT"], "LOCAL*")]),
            Command::described(&["close", "reopen"], &[Usage::new(&["-R|--repo=HUB -c|--comment=TEXT -r|--reason=TEXT"], "LOCAL")]),
        ],
        bare: &[],
    }),
    Command::commands(&["repo"], &Commands {
        options: "",
        commands: &[
            Command::described(&["list", "ls"], &[Usage::new(&[GH, GH_LIST], "LOCAL?")]),
            Command::described(&["view"], &[Usage::new(&["--json=TEXT -q|--jq=TEXT -t|--template=TEXT -b|--branch=TEXT"], "HUB?")]),
        ],
        bare: &[],
    }),
    Command::commands(&["run", "workflow", "release", "label", "cache", "ruleset"], &Commands {
        options: "",
        commands: &[
            Command::described(&["list", "ls"], &[Usage::new(&[GH, GH_LIST, "-w|--workflow=TEXT"], "LOCAL?")]),
            Command::described(&["view"], &[Usage::new(&[GH, "--log --log-failed --job=TEXT -j=TEXT -v|--verbose --exit-status -a|--attempt=NUM"], "LOCAL?")]),
            Command::described(&["watch"], &[Usage::new(&["-R|--repo=HUB -i|--interval=NUM --exit-status"], "LOCAL?")]),
        ],
        bare: &[],
    }),
    Command::commands(&["search"], &Commands {
        options: "",
        commands: &[Command::described(
            &["issues", "prs", "repos", "code", "commits"],
            &[Usage::new(&[GH, "-L|--limit=NUM --state=TEXT --owner=TEXT --author=TEXT --label=TEXT --language=TEXT --sort=TEXT --order=TEXT"], "TEXT*")],
        )],
        bare: &[],
    }),
    // `--show-token` prints the token.
    Command::commands(&["auth"], &Commands {
        options: "",
        commands: &[Command::described(&["status"], &[Usage::new(&["-h|--hostname=TEXT -a|--active"], "")])],
        bare: &[],
    }),
    Command::described(&["status", "version"], &[Usage::new(&["-o|--org=TEXT"], "")]),
];

pub(super) const PROGRAMS: &[Program] = &[
    Program::commands(
        &["kubectl", "oc"],
        "kubectl reference 1.31; oc 4.16",
        &Commands { options: "-n|--namespace=TEXT --context=TEXT", commands: KUBECTL, bare: &[] },
    ),
    Program::commands(
        &["docker", "podman"],
        "docker CLI reference 27",
        &Commands { options: "", commands: DOCKER, bare: &[Usage::new(&["-v|--version"], "")] },
    ),
    Program::commands(
        &["docker-compose"],
        "docker compose reference 2.29",
        &Commands {
            options: "-f|--file=READ -p|--project-name=TEXT",
            commands: &[
                Command::described(
                    &["ps", "images"],
                    &[Usage::new(&["-a|--all -q|--quiet --services"], "TEXT*")],
                ),
                Command::described(
                    &["logs"],
                    &[Usage::new(&["-f|--follow --tail=TEXT -t|--timestamps --no-color"], "TEXT*")],
                ),
                Command::described(
                    &["config", "version"],
                    &[Usage::new(&["--services --volumes -q|--quiet --short"], "")],
                ),
                Command::launcher(
                    &["up", "run", "exec", "build", "start", "restart", "create"],
                    "runs containers",
                ),
            ],
            bare: &[Usage::new(&["-v|--version"], "")],
        },
    ),
    Program::commands(
        &["helm"],
        "helm reference 3.15",
        &Commands { options: "-n|--namespace=TEXT", commands: HELM_COMMANDS, bare: &[] },
    ),
    Program::commands(
        &["gh"],
        "gh manual 2.55",
        &Commands { options: "", commands: GH_COMMANDS, bare: &[Usage::new(&["--version"], "")] },
    ),
];
