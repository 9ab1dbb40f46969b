"""Installs Claude Code and runs sessions of it, each in a fresh HOME with a scripted model."""

import json
import os
import shutil
import signal
import subprocess
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = "@anthropic-ai/claude-code@2.1.325"
INSTALL_SECONDS = 600
SESSION_SECONDS = 120
# Grep and Glob exist only when they are requested.
TOOLS = "Agent,Bash,Edit,Glob,Grep,Monitor,Read,Skill,ToolSearch,Write"
# `default` is named `manual` on the command line.
MODE_NAMES = {"default": "manual"}
EVENTS = ["PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptExpansion"]
SKILLS = {
    "narrow": "allowed-tools: Bash(git:*) Read\n",
    "wide": "allowed-tools: Bash(*) Read Write Edit Grep Glob Monitor Agent Skill ToolSearch\n",
    "plain": "",
}


class Failure(Exception):
    """An error that prevents a scenario from running."""


@dataclass(frozen=True)
class Tools:
    """The programs under test: the agent, the scripted model, and openskills unless only the agent itself is tested."""

    claude: Path
    model_server: Path
    openskills: Path | None
    isolated: bool


@dataclass
class Setup:
    """What a session starts with. `settings` has the permission rules of each layer: user, project, local."""

    name: str
    mode: str = "bypassPermissions"
    skill: str = ""
    prompt: str = "go"
    settings: dict = field(default_factory=dict)
    skills: dict = field(default_factory=dict)
    files: dict = field(default_factory=dict)
    hooks: dict = field(default_factory=dict)
    env: dict = field(default_factory=dict)
    protect: bool = False


@dataclass
class Result:
    text: str
    is_error: bool


@dataclass
class Session:
    """What happened: results by step, hook events in order, and all text that the model received."""

    results: dict[int, Result]
    events: list[dict]
    bodies: str
    stdout: str
    seconds: float

    def ran(self, step: int) -> dict | None:
        """Returns the event after the call of this step, if the tool ran. Its input is the rewritten one."""
        for event in self.events:
            if event["hook_event_name"].startswith("PostToolUse") and event.get("tool_use_id") == f"toolu_{step:03}":
                return event
        return None


def install(folder: Path) -> Path:
    """Installs Claude Code unless this version is already there. Returns its program."""
    stamp, program = folder / "package.txt", folder / "node_modules/.bin/claude"
    if not stamp.is_file() or stamp.read_text() != PACKAGE:
        if not shutil.which("npm"):
            raise Failure("npm is not installed")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--silent", PACKAGE]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"npm took more than {INSTALL_SECONDS} seconds") from error
        if done.returncode != 0:
            lines = (done.stderr + done.stdout).strip().splitlines()
            raise Failure("cannot install: " + (lines[-1] if lines else f"exit code {done.returncode}"))
        stamp.write_text(PACKAGE)
    return program


def data(name: str) -> dict:
    return tomllib.loads((HERE / f"{name}.toml").read_text())


class World:
    """A folder with a HOME, a project in it and a folder outside. Every run uses the same paths, so results can be compared."""

    def __init__(self, base: Path, tools: Tools, match: str = ""):
        self.tools, self.match = tools, match
        self.root = base / "run"
        self.home = self.root / "home"
        self.project = self.home / "project"
        self.outside = self.root / "outside"
        self.meta = base / "meta"
        self.openskills = self.root / "bin/openskills"
        self.settings = self.home / ".claude/settings.json"
        self.values: dict[str, str] = {}

    def create(self, setup: Setup) -> None:
        """Deletes what an earlier run left, and creates everything for this one."""
        for folder in (self.root, self.meta):
            shutil.rmtree(folder, ignore_errors=True)
        for folder in (self.home / ".claude", self.project, self.outside, self.meta / "tmp"):
            folder.mkdir(parents=True)
        write(self.home / ".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n")
        for path, text in [*sections((HERE / "project.txt").read_text()), *setup.files.items()]:
            write(self.project / path, text)
        self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Start")
        for path, text in sections((HERE / "changes.txt").read_text()):
            write(self.project / path, text)
        for name, frontmatter in (SKILLS | setup.skills).items():
            body = "Do it." if isinstance(frontmatter, str) else frontmatter["body"]
            frontmatter = frontmatter if isinstance(frontmatter, str) else frontmatter.get("frontmatter", "")
            text = f"---\nname: {name}\ndescription: The {name} skill of the tests.\n{frontmatter}---\n{body}\n"
            write(self.home / ".claude/skills" / name / "SKILL.md", self.fill(text))
        for layer, path in (("project", "settings.json"), ("local", "settings.local.json")):
            if layer in setup.settings:
                write(self.project / ".claude" / path, json.dumps({"permissions": setup.settings[layer]}))
        # Records every event. The text goes to the file in one write, because hooks of one event run at the same time.
        record = f"e=$(cat); printf '%s\\n' \"$e\" >> '{self.meta}/events.jsonl'"
        hooks = {event: [{"hooks": [{"type": "command", "command": record}]}] for event in EVENTS}
        for event, command in setup.hooks.items():
            hooks[event] = [*hooks[event], {"hooks": [{"type": "command", "command": self.fill(command), "timeout": 30}]}]
        write(self.settings, json.dumps({"permissions": setup.settings.get("user", {}), "hooks": hooks}, indent=2))
        if setup.protect:
            self.protect(setup)

    def protect(self, setup: Setup) -> None:
        """Installs the hook of a copy of openskills, which tests may damage."""
        self.openskills.parent.mkdir()
        shutil.copy(self.tools.openskills, self.openskills)
        self.command("hook", "install", "claude-code", "--yes")
        for name in dict.fromkeys([*SKILLS, *setup.skills]):
            self.command("approve", name, "--deletions", "--yes", check=False)

    def command(self, *args: str, check: bool = True) -> subprocess.CompletedProcess:
        done = subprocess.run(
            [str(self.openskills), *args], cwd=self.project, env=self.environment(), capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=60,
        )
        if check and done.returncode != 0:
            raise Failure(f"`openskills {' '.join(args)}`: exit code {done.returncode}: {done.stderr.strip()}")
        return done

    def git(self, *args: str) -> str:
        """Runs the user's git in the project, as the user does before and after a session."""
        done = subprocess.run(
            ["git", *args], cwd=self.project, env=self.environment(), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60,
        )
        return done.stdout + done.stderr

    def environment(self) -> dict[str, str]:
        node = str(Path(shutil.which("node") or "/usr/bin/node").parent)
        # The shell is fixed: Claude Code takes zsh if it finds one and SHELL is not set.
        return {
            "HOME": str(self.home), "PATH": f"{node}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "SHELL": "/bin/bash",
            "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
        }

    def fill(self, text: str) -> str:
        """Replaces `@home@` and the like."""
        values = {
            "home": self.home, "project": self.project, "outside": self.outside, "openskills": self.openskills,
            "settings": self.settings, "meta": self.meta,
        }
        for name, value in (values | self.values).items():
            text = text.replace(f"@{name}@", str(value))
        return text

    def run(self, setup: Setup, steps: list[dict], agents: dict[str, list[dict]] | None = None) -> Session:
        """Runs a session in which the model makes the calls of `steps`, after it activated the skill."""
        first = [{"tool": "Skill", "input": {"skill": setup.skill}}] if setup.skill else []
        script = {"steps": first + steps, "agents": agents or {}}
        write(self.meta / "script.json", json.dumps(filled(script, self.fill)))
        before = processes()
        server = subprocess.Popen(
            [str(self.tools.model_server), *(str(self.meta / name) for name in ("script.json", "model.jsonl", "bodies.jsonl"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        started = time.monotonic()
        try:
            port = server.stdout.readline().strip()
            if not port:
                raise Failure("the model server did not start")
            stdout = self.claude(setup, port, before | {server.pid})
        finally:
            server.stdin.close()
            server.wait(10)
        seconds = time.monotonic() - started
        # The step of a result is the position of its call; the model server counts results, so it is one less.
        results = {
            entry["step"] - 1 - len(first): Result(text_of(entry["result"].get("content")), bool(entry["result"].get("is_error")))
            for entry in lines(self.meta / "model.jsonl")
            if entry.get("script") == "" and entry.get("result")
        }
        events = lines(self.meta / "events.jsonl")
        for event in events:
            number = event.get("tool_use_id", "").removeprefix("toolu_")
            if number.isdigit():
                event["tool_use_id"] = f"toolu_{int(number) - len(first):03}"
        return Session(results, events, (self.meta / "bodies.jsonl").read_text(), stdout, seconds)

    def claude(self, setup: Setup, port: str, keep: set[int]) -> str:
        """Runs the agent. Everything that it started and that still lives is left for `leftover`, unless it hangs."""
        command = [
            str(self.tools.claude), "-p", "--output-format", "stream-json", "--verbose", "--model", "m", "--tools", TOOLS,
            "--setting-sources", "user,project,local", "--strict-mcp-config",
            "--permission-mode", MODE_NAMES.get(setup.mode, setup.mode),
        ]
        environment = self.environment() | {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "ANTHROPIC_API_KEY": "x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_TMPDIR": str(self.meta / "tmp"),
        } | {name: self.fill(value) for name, value in setup.env.items()}
        if os.geteuid() == 0:
            # Claude Code refuses bypassPermissions for root outside of a sandbox.
            environment["IS_SANDBOX"] = "1"
        with open(self.meta / "out.jsonl", "w") as out, open(self.meta / "err.txt", "w") as err:
            # Files instead of pipes: a process in the background would keep a pipe open.
            process = subprocess.Popen(command, cwd=self.project, env=environment, stdin=subprocess.PIPE, stdout=out, stderr=err, text=True)
            process.stdin.write(self.fill(setup.prompt))
            process.stdin.close()
            try:
                process.wait(SESSION_SECONDS)
            except subprocess.TimeoutExpired as error:
                process.kill()
                process.wait()
                end(processes() - keep - {os.getpid()} if self.tools.isolated else set())
                raise Failure(f"the agent took more than {SESSION_SECONDS} seconds") from error
        return (self.meta / "out.jsonl").read_text()


def processes() -> set[int]:
    """Returns all processes but those that have ended and that their parent, here often this program, has not reaped."""
    return {int(name) for name in os.listdir("/proc") if name.isdigit() and is_running(name)} if os.path.isdir("/proc") else set()


def is_running(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (OSError, IndexError):
        return False


def end(pids: set[int]) -> None:
    """Kills processes by ID. Only called in the harness's own PID namespace, where all of them belong to the run."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def text_of(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(block.get("text", "") if isinstance(block, dict) else str(block) for block in content)
    return str(content or "")


def filled(value: object, fill) -> object:
    if isinstance(value, dict):
        return {key: filled(item, fill) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, fill) for item in value]
    return fill(value) if isinstance(value, str) else value


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if text.startswith("#!"):
        path.chmod(0o755)


def sections(text: str) -> list[tuple[str, str]]:
    """Splits a text with `//- /path` lines into files."""
    files = []
    for line in text.splitlines(keepends=True):
        if line.startswith("//- /"):
            files.append([line[5:].strip(), ""])
        else:
            files[-1][1] += line
    return [(path, text) for path, text in files]
