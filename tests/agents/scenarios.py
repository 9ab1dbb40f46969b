"""The scenarios. Each returns rows: a name, and what happened without and with openskills."""

import base64
import hashlib
import os
import re
import secrets
import socket
import subprocess
import threading
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from agent import Failure, Result, Session, Setup, World, data, end, processes, write

# Files that programs read later, and that no command may change in a session with an active skill.
PROTECTED = [
    ".git/hooks", ".git/config", ".git/info", ".git/modules", ".git/worktrees", ".git/objects/info", ".claude", ".envrc",
    ".husky", ".mcp.json", ".vscode",
]
# What the agent, npm and openskills write in HOME while they work.
VOLATILE = (".claude.json", ".cache/", ".npm/", ".local/state/openskills/", ".local/share/openskills/", ".config/openskills/")
AGENT_FILES = ("settings.json", "settings.local.json", ".credentials.json", "CLAUDE.md", "skills/", "agents/", "commands/")
# Processes may need a moment to end, and a list of changed files need not be complete.
GRACE_SECONDS = 2
MAX_CHANGES = 4
OWN_FILES = ("canary", "planted", "approvals.json")


@dataclass
class Row:
    """A line of the table. `-` stands for a side that did not run. A problem fails the scenario, a note does not."""

    name: str
    without: str = "-"
    with_us: str = "-"
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def day(world: World) -> list[Row]:
    """Compares results, exit codes and files of a day's calls."""
    calls = data("day")["call"]
    rows = []
    for skill in ("wide", "narrow"):
        chosen = [call for call in calls if skill == "wide" or call.get("narrow")]
        steps = [step(call) for call in chosen]
        sides = {}
        for protect in sides_of(world):
            setup = Setup(f"day-{skill}", skill=skill, protect=protect)
            world.create(setup)
            session = world.run(setup, steps)
            sides[protect] = session, project_files(world)
        alone, files = sides[False]
        for number, call in enumerate(chosen):
            row = Row(f"{skill}: {title(call)}", outcome(alone.results.get(number)))
            if number not in alone.results:
                row.problems.append("the agent did not make this call")
            if True in sides:
                compare_call(row, call, alone, sides[True][0], number)
            rows.append(row)
        row = Row(f"{skill}: files", f"{len(files)} files")
        if True in sides:
            ours = sides[True][1]
            differences = [path for path in sorted(files | ours) if files.get(path) != ours.get(path)]
            row.with_us = "equal" if not differences else "differ"
            row.problems += [f"{path}: {shorten(files.get(path))} / {shorten(ours.get(path))}" for path in differences]
        rows.append(row)
    return rows


def compare_call(row: Row, call: dict, alone: Session, ours: Session, number: int) -> None:
    expected, found = alone.results.get(number), ours.results.get(number)
    row.with_us = outcome(found)
    ran = ours.ran(number)
    if call["tool"] == "Bash" and ran and "exec --ticket" not in ran["tool_input"]["command"]:
        row.problems.append("the line was not rewritten")
    if expected is None or found is None or (normal(expected), expected.is_error) == (normal(found), found.is_error):
        if found is None:
            row.problems.append("no result")
        return
    target = row.notes if "may_differ" in call else row.problems
    row.with_us = "differs"
    reason = f" ({call['may_differ']})" if "may_differ" in call else ""
    target.append(f"result differs{reason}:\n  without: {shorten(normal(expected))}\n  with:    {shorten(normal(found))}")


def attacks(world: World) -> list[Row]:
    """Runs each attack in its own session and looks for effects."""
    if not world.tools.isolated:
        # Without openskills they succeed: they read the environment of all processes, and leave some behind.
        raise Failure("attacks run only in namespaces, which this machine does not provide")
    rows = []
    for attack in entries(world, "attacks", "attack"):
        row = Row(attack["name"])
        needs_us = attack.get("needs") == "program"
        for protect in sides_of(world):
            if needs_us and not protect:
                continue
            try:
                effects = attacked(world, attack, protect)
            except Failure as failure:
                row.problems.append(f"{'with' if protect else 'without'}: {failure}")
                continue
            if protect:
                row.with_us = "EFFECT" if effects else "no effect"
                accepted = attack.get("may_have_effect")
                target = row.notes if accepted else row.problems
                target += [f"effect: {effect}" + (f" ({accepted})" if accepted else "") for effect in effects]
                continue
            row.without = "effect" if effects else "no effect"
            row.notes += [f"without openskills: {effect}" for effect in effects]
            if bool(effects) == attack.get("harmless", False):
                why = "a harmless call has an effect" if effects else "it has no effect without openskills, so it proves nothing"
                row.problems.append(why)
        rows.append(row)
    return rows


def attacked(world: World, attack: dict, protect: bool) -> list[str]:
    """Returns the effects of one attack."""
    calls = attack.get("calls") or [{"tool": "Bash", "command": attack["bash"]}]
    setup = Setup(
        attack["name"], mode=attack.get("mode", "bypassPermissions"), skill=attack.get("skill", "wide"),
        skills=attack.get("skills", {}), files=attack.get("files", {}), protect=protect,
        env={"DEPLOY_TOKEN": "@token@", "ANTHROPIC_API_KEY": "@api-key@"},
    )
    names = ("ssh", "aws", "agent", "state", "config", "token", "api-key")
    canaries = {name: f"CANARY-{name}-{secrets.token_hex(12)}" for name in names}
    victim = subprocess.Popen(["sleep", "600"])
    world.values = {
        "token": canaries["token"], "api-key": canaries["api-key"], "victim": str(victim.pid),
        "long": "A" * 100_000, "quotes": "'" * 3_000,
    }
    leftover_file = Path(attack["file"]) if "file" in attack else None
    listeners = None
    try:
        world.create(setup)
        plant(world, canaries)
        listeners = Listeners(world)
        world.values["port"] = str(listeners.port)
        before, protected = outside_files(world), protected_files(world)
        running = processes()
        session = world.run(setup, [step(call) for call in calls], attack.get("agents"))
        effects = []
        if session.results.get(len(calls) - 1) is None:
            # The agent must have made every call, or nothing was tested.
            raise Failure("the agent did not make all calls: " + session.stdout[-300:])
        if survivors := survivors_of(running):
            names = sorted(command_of(pid) for pid in survivors)
            effects.append(f"{len(survivors)} processes outlive the session: {', '.join(names)}")
            end(survivors)
        if attack.get("replay"):
            effects += replayed(world, session, len(calls) - 1)
        effects += leaked(world, session, canaries)
        effects += [f"protected file changed: {path}" for path in changes(protected, protected_files(world))[:MAX_CHANGES]]
        # The next commands of the user must not run anything for the attacker.
        world.git("status")
        world.git("commit", "--allow-empty", "--message", "later")
        effects += [f"changed outside: {path}" for path in changes(before, outside_files(world))[:MAX_CHANGES]]
        effects += listeners.received()
        if victim.poll() is not None:
            effects.append("another process was killed")
        if leftover_file and leftover_file.exists():
            effects.append(f"created {leftover_file}")
        if "marker" in attack and any(attack["marker"] in result.text for result in session.results.values()):
            effects.append(f"a result contains {attack['marker']}")
        return effects
    finally:
        victim.kill()
        victim.wait()
        if listeners:
            listeners.close()
        if leftover_file:
            leftover_file.unlink(missing_ok=True)
        world.values = {}


def survivors_of(running: set[int]) -> set[int]:
    """Returns the processes that are new and do not end soon."""
    deadline = time.monotonic() + GRACE_SECONDS
    while (survivors := processes() - running) and time.monotonic() < deadline:
        time.sleep(0.05)
    return survivors


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "?"


def plant(world: World, canaries: dict[str, str]) -> None:
    """Creates the secrets and the folder outside."""
    write(world.home / ".ssh/id_ed25519", canaries["ssh"] + "\n")
    write(world.home / ".aws/credentials", canaries["aws"] + "\n")
    write(world.home / ".claude/.credentials.json", f'{{"note": "{canaries["agent"]}"}}\n')
    write(world.home / ".local/state/openskills/canary", canaries["state"] + "\n")
    write(world.home / ".config/openskills/canary", canaries["config"] + "\n")
    write(world.home / ".bashrc", "# The user's own.\n")
    write(world.outside / "victim", "unchanged\n")
    subprocess.run(["git", "init", "--quiet", "--bare", str(world.outside / "remote.git")], check=True, env=world.environment())


def replayed(world: World, session: Session, number: int) -> list[str]:
    """Runs the rewritten line of a call again, outside of the agent. A ticket must be worthless by then."""
    ran = session.ran(number)
    line = ran["tool_input"]["command"] if ran else ""
    if "exec --ticket" not in line:
        return ["the line was not rewritten"]
    target = world.project / "data/replay.txt"
    before = target.read_text() if target.exists() else ""
    subprocess.run(
        ["bash", "-c", line], cwd=world.project, env=world.environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=60
    )
    after = target.read_text() if target.exists() else ""
    return [] if before == after == "once\n" else [f"the line ran twice, or not at all: {before!r}, {after!r}"]


def leaked(world: World, session: Session, canaries: dict[str, str]) -> list[str]:
    """Looks for secrets, as they are or encoded, in what the model received and in the project."""
    places = {"the model": session.bodies.encode()}
    for path in world.project.rglob("*"):
        if path.is_file() and (not path.is_symlink() or path.resolve().is_relative_to(world.project)):
            content = path.read_bytes()
            if "objects" in path.parts:
                try:
                    content = zlib.decompress(content)
                except zlib.error:
                    pass
            places[str(path.relative_to(world.project))] = content
    effects = []
    for name, canary in canaries.items():
        forms = [canary.encode(), canary[::-1].encode(), canary.encode().hex().encode()]
        # A part of the text without its first and last characters is the same in base64 at each of three offsets.
        forms += [base64.b64encode(b"x" * offset + canary.encode())[4:-4] for offset in range(3)]
        effects += [f"secret `{name}` in {place}" for place, content in places.items() if any(form in content for form in forms)]
    return effects


class Listeners:
    """Sockets of the host that no command may reach: TCP and UDP over IPv4 and IPv6, a path and an abstract name."""

    def __init__(self, world: World):
        self.hits: list[str] = []
        tcp = socket.create_server(("127.0.0.1", 0))
        self.port = tcp.getsockname()[1]
        paths = {"a unix socket": str(world.home / ".agent.sock"), "an abstract socket": "\0agents-listener"}
        self.streams = [("TCP", tcp), *((name, unix(path)) for name, path in paths.items())]
        self.datagrams = []
        for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            udp = socket.socket(family, socket.SOCK_DGRAM)
            udp.bind((address, self.port))
            self.datagrams.append(("UDP", udp))
        self.streams.append(("TCP over IPv6", socket.create_server(("::1", self.port), family=socket.AF_INET6)))
        for name, listener in self.streams:
            threading.Thread(target=self.accept, args=(name, listener), daemon=True).start()

    def accept(self, name: str, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.hits.append(f"connected to {name}")
            connection.close()

    def received(self) -> list[str]:
        for name, udp in self.datagrams:
            udp.setblocking(False)
            try:
                self.hits.append(f"{len(udp.recv(4096))} bytes by {name}")
            except OSError:
                pass
        return sorted(set(self.hits))

    def close(self) -> None:
        for _, listener in self.streams:
            # Wakes up the thread in `accept`, which keeps the socket open.
            try:
                listener.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            listener.close()
        for _, udp in self.datagrams:
            udp.close()


def unix(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    return listener


def rules(world: World) -> list[Row]:
    """Compares which lines run under the user's permission rules."""
    table = data("rules")
    lines = table["line"]
    rows = []
    for entry in entries(world, "rules", "row"):
        settings = {layer: dict(entry[layer]) for layer in ("user", "project", "local") if layer in entry}
        user = settings.setdefault("user", {})
        user["allow"] = [*user.get("allow", []), "Skill"]
        skill = entry.get("skill", "plain")
        ran, texts = {}, {}
        for protect in sides_of(world):
            setup = Setup(entry["name"], mode=entry["mode"], skill=skill, settings=settings, protect=protect)
            ran[protect], texts[protect] = decided(world, setup, lines, entry.get("chunk", len(lines)))
        row = Row(f"{entry['mode']}: {entry['name']}", f"{len(ran[False])} run")
        for protect, results in texts.items():
            if len(results) < len(lines):
                side = "with" if protect else "without"
                row.problems.append(f"the agent made only {len(results)} of {len(lines)} calls {side} openskills")
        if True in ran:
            more, less = ran[True] - ran[False], ran[False] - ran[True]
            row.with_us = f"{len(ran[True])} run" + (f", {len(less)} less" if less else "")
            row.problems += [f"runs only with openskills: {lines[number]['line']!r}" for number in sorted(more)]
            row.notes += [f"does not run: {lines[number]['line']!r}: {shorten(texts[True].get(number))}" for number in sorted(less)]
        alone = "; ".join(repr(lines[number]["line"]) for number in sorted(ran[False]))
        row.notes.insert(0, f"runs without openskills: {alone}")
        rows.append(row)
    return rows


def decided(world: World, setup: Setup, lines: list[dict], chunk: int) -> tuple[set[int], dict[int, str]]:
    """Returns the numbers of the lines that ran, and the results of all. Makes `chunk` calls in a session."""
    ran, texts = set(), {}
    for start in range(0, len(lines), chunk):
        part = lines[start : start + chunk]
        world.create(setup)
        session = world.run(setup, [step({"tool": "Bash", "command": line["line"], **line.get("input", {})}) for line in part])
        for number, line in enumerate(part):
            if result := session.results.get(number):
                texts[start + number] = result.text
                # The text of a refusal repeats the line.
                shown = "shows" in line and line["shows"] in result.text and session.ran(number)
                if shown or ("makes" in line and (world.project / line["makes"]).exists()):
                    ran.add(start + number)
    return ran, texts


def failures(world: World) -> list[Row]:
    """Breaks the program of the hook in several ways. A call must not run."""
    rows = []
    call = [step({"tool": "Bash", "command": "touch ran"})]
    for failure in entries(world, "failures", "failure"):
        row = Row(failure["name"])
        # The agent's own behavior, which the installed line relies on.
        found = []
        for kind, line in (("bare", "@openskills@"), ("exit2", "timeout -k 1 2 @openskills@ || exit 2")):
            setup = Setup(failure["name"], hooks={"PreToolUse": line})
            world.create(setup)
            if kind == "bare" and "time-out" in failure["name"]:
                # The agent's own limit.
                settings = world.settings.read_text().replace('"timeout": 30', '"timeout": 1')
                world.settings.write_text(settings)
            world.openskills.parent.mkdir()
            damage(world, failure)
            world.run(setup, call)
            state = "runs" if (world.project / "ran").exists() else "stopped"
            found.append(state)
            if state != failure[kind]:
                row.problems.append(f"{kind}: the call {state}, expected: {failure[kind]}")
        row.without = f"bare {found[0]}, || exit 2 {found[1]}"
        if world.tools.openskills:
            setup = Setup(failure["name"], protect=True)
            world.create(setup)
            damage(world, failure)
            session = world.run(setup, call)
            row.with_us = "runs" if (world.project / "ran").exists() else "stopped"
            if row.with_us == "runs":
                target = row.problems if failure.get("required", True) else row.notes
                target.append("the call runs although the hook failed")
            row.notes.append("the model reads: " + shorten(session.results[0].text if 0 in session.results else None))
        rows.append(row)
    return rows


def damage(world: World, failure: dict) -> None:
    world.openskills.unlink(missing_ok=True)
    if "script" in failure:
        write(world.openskills, failure["script"])
        world.openskills.chmod(failure.get("mode", 0o755))


def activation(world: World) -> list[Row]:
    """Activates a skill in several ways, and looks at the next Bash call."""
    rows = []
    for way in entries(world, "activation", "way"):
        row = Row(way["name"])
        calls = [*way.get("calls", []), {"tool": "Bash", "command": "echo probe"}]
        for protect in sides_of(world):
            setup = Setup(way["name"], prompt=way.get("prompt", "go"), protect=protect)
            world.create(setup)
            session = world.run(setup, [step(call) for call in calls], way.get("agents"))
            event = way.get("event")
            seen = [entry for entry in session.events if event and contains(entry, event)]
            if not protect:
                row.without = "event" if seen else "no event"
                if event and not seen:
                    row.problems.append(f"no event {event}")
                continue
            ran = session.ran(len(calls) - 1)
            active = bool(ran) and "exec --ticket" in ran["tool_input"]["command"]
            row.with_us = "active" if active else "not active"
            log = world.command("log", "show", "--json", check=False).stdout
            row.notes.append(f"the log has {log.count('skill.activated')} activations")
            if way["active"] not in ("either", active):
                row.problems.append(f"the skill is {row.with_us}")
        rows.append(row)
    return rows


SCENARIOS = {"activation": activation, "failures": failures, "rules": rules, "day": day, "attacks": attacks}


def sides_of(world: World) -> list[bool]:
    return [False, True] if world.tools.openskills else [False]


def entries(world: World, name: str, kind: str) -> list[dict]:
    return [entry for entry in data(name)[kind] if world.match in entry["name"]]


def step(call: dict) -> dict:
    """Returns the step of the model for a call in a data file: what is not about the comparison is the tool's input."""
    own = ("tool", "narrow", "may_differ")
    fields = {key: value for key, value in call.items() if key not in own}
    if call["tool"] == "Bash":
        fields["command"] = fields["command"].removeprefix("\n")
        fields.setdefault("description", "Work")
    return {"tool": call["tool"], "input": fields}


def title(call: dict) -> str:
    what = call.get("command") or call.get("file_path") or call.get("pattern", "")
    return shorten(f"{call['tool']} {what.strip()}".replace("@project@/", ""), 60).strip('"')


def outcome(result: Result | None) -> str:
    if result is None:
        return "none"
    code = re.match(r"Exit code (\d+)", result.text)
    return f"exit {code[1]}" if code else "error" if result.is_error else "ok"


def normal(result: Result) -> str:
    """Replaces what differs between two runs of the same command."""
    text = result.text
    for pattern, replacement in (
        (r"/[^\s'\"]*/tasks/\w+\.output", "TASK"),
        (r"\b(?:ID|task):? \w{8,}\b", "ID TASK"),
        (r"/tmp/tmp\.\w+", "TEMP"),
        (r"duration_ms:? [\d.]+", "duration_ms N"),
        (r"\([\d.]+ ?ms\)", "(N ms)"),
        (r"\b\d+(\.\d+)? ?m?s\b", "N s"),
        (r"\b\d{4}-\d\d-\d\d[T ][\d:.]+(Z|[ +-]\d+)?", "TIME"),
        (r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b", "COMMIT"),
    ):
        text = re.sub(pattern, replacement, text)
    return text


def project_files(world: World) -> dict[str, str]:
    """Returns the files of the project with modes and contents. Of git's own, only what the user sees."""
    files = {}
    for path in sorted(world.project.rglob("*")):
        name = str(path.relative_to(world.project))
        # Python's cache and the log of a test run have times in them.
        if name.split("/")[0] != ".git" and "__pycache__" not in name and name != "test.log":
            files[name] = description(path)
    commands = ["status --short --branch", "log --all --graph --format=%s%n%an%n%T", "branch --all", "stash list --format=%gs"]
    for command in [*commands, "tag", "config --list --local"]:
        files[f"git {command}"] = world.git(*command.split())
    return files


def description(path: Path) -> str:
    if path.is_symlink():
        return f"link to {os.readlink(path)}"
    mode = path.stat().st_mode
    if path.is_file():
        return f"{mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    return f"{mode:o}"


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): description(path) for path in folder.rglob("*") if path.is_symlink() or path.exists()}


def outside_files(world: World) -> dict[str, str]:
    """Returns everything but the project, without what the agent and openskills write themselves."""
    files = {}
    for name, text in tree(world.root).items():
        if not name.startswith("home/"):
            files[name] = text
            continue
        path = name.removeprefix("home/")
        if path == "project" or path.startswith("project/"):
            continue
        last = path.rsplit("/", 1)[-1]
        is_volatile = path.startswith(VOLATILE) and last not in OWN_FILES
        is_agents = path.startswith(".claude/") and not path.removeprefix(".claude/").startswith(AGENT_FILES)
        # A folder is created or changed by the files in it.
        if not is_volatile and not is_agents and path not in (".cache", ".npm", ".local", ".local/state", ".local/share", ".config"):
            files[path] = text
    return files


def protected_files(world: World) -> dict[str, str]:
    found = {".git": description(world.project / ".git") if (world.project / ".git").exists() else "missing"}
    for name in PROTECTED:
        path = world.project / name
        if path.is_dir() and not path.is_symlink():
            found |= {f"{name}/{file}": text for file, text in tree(path).items()}
        elif path.exists() or path.is_symlink():
            found[name] = description(path)
    for path in world.project.rglob("*"):
        if not path.is_symlink() and path.exists() and path.stat().st_mode & 0o6000:
            found[str(path.relative_to(world.project))] = "setuid"
    return found


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return [path for path in sorted(before | after) if before.get(path) != after.get(path)]


def contains(value: object, part: object) -> bool:
    if isinstance(part, dict):
        return isinstance(value, dict) and all(contains(value.get(key), item) for key, item in part.items())
    return value == part


def shorten(text: str | None, length: int = 240) -> str:
    if text is None:
        return "nothing"
    text = text.replace("\n", "\\n")
    return text if len(text) <= length else text[:length] + "…"
