"""Checks the launcher of the npm package, with shell scripts in place of the programs: npm-launcher.py PACKAGE

PACKAGE is the unpacked package `cocoaskills`. Prints one line for each case, and exits with 1 if one failed.
"""

import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PACKAGE = os.path.abspath(sys.argv[1])
NODE = shutil.which("node")
GLIBC, MUSL, WINDOWS = "linux-x64", "linux-x64-musl", "win32-x64"
ECHO = '#!/bin/sh\nfor word in "$@"; do printf "<%s>" "$word"; done\necho " $0"\n'
CASES = []


def case(scripts):
    """Registers a function as a case. Its project has these scripts, given as {(platform, name): text}."""
    return lambda function: CASES.append((function, scripts)) or function


class Project:
    """A project with the launcher and the given platform packages."""

    def __init__(self, folder, scripts):
        self.folder = folder
        self.modules = os.path.join(folder, "node_modules")
        shutil.copytree(PACKAGE, os.path.join(self.modules, "cocoaskills"))
        for (platform, name), text in scripts.items():
            self.write(os.path.join(self.modules, "@cocoaskills", platform, "bin", name), text)
        self.path = os.path.join(folder, "path")
        self.write(os.path.join(self.path, "csk"), "#!/bin/sh\necho wrong: from PATH\n")
        self.environment = {"PATH": f"{self.path}:{os.path.dirname(NODE)}:/usr/bin:/bin", "HOME": folder}

    def write(self, path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def command(self, *arguments, program="csk", platform=None):
        options = []
        # The cases are about the packages for x86-64, whatever machine this is.
        system, cpu = (platform or "linux-x64").split("-")
        preload = os.path.join(self.folder, "platform.cjs")
        self.write(
            preload,
            f"for (const [name, value] of [['platform', '{system}'], ['arch', '{cpu}']])"
            "  Object.defineProperty(process, name, { value });",
        )
        options = ["--require", preload]
        return [NODE, *options, os.path.join(self.modules, "cocoaskills/bin", f"{program}.js"), *arguments]

    def run(self, *arguments, input="", **options):
        return subprocess.run(
            self.command(*arguments, **options), env=self.environment, input=input, capture_output=True, encoding="utf-8"
        )

    def start(self, *arguments):
        process = subprocess.Popen(
            self.command(*arguments), env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8"
        )
        assert process.stdout.readline() == "ready\n"
        return process


@case({(GLIBC, "csk"): ECHO, (MUSL, "csk"): ECHO})
def arguments_are_passed(project):
    words = ["a b", "", "--flag", '"quoted"', "%PATH%", "$HOME", "*", "ü"]
    done = project.run(*words)
    assert done.stdout.startswith("".join(f"<{word}>" for word in words)), done
    assert done.stdout.endswith("@cocoaskills/linux-x64/bin/csk\n"), done
    done = project.run("csk", "x", program="cocoaskills")
    assert done.stdout.startswith("<x>") and done.returncode == 0, done


@case({(GLIBC, "csk"): ECHO})
def the_launcher_without_a_program_prints_its_usage(project):
    for arguments in ([], ["other"]):
        done = project.run(*arguments, program="cocoaskills")
        assert done.returncode == 2 and done.stderr.startswith("usage: cocoaskills csk <ARGS>"), done


@case({(GLIBC, "openskills"): "#!/bin/sh\ncat; echo to stderr >&2; exit 7\n"})
def stdio_and_the_exit_code_are_passed(project):
    text = "line\n" * 100_000
    done = project.run(program="openskills", input=text)
    assert (done.stdout, done.stderr, done.returncode) == (text, "to stderr\n", 7), done.returncode


@case({
    (GLIBC, "csk"): "#!/usr/bin/env python3\nimport os, sys\nprint(os.get_blocking(0), os.get_blocking(1), flush=True)\nprint(sys.stdin.readline(), end='')\n"
})
def pipes_stay_blocking(project):
    # Programs do not expect that a read fails with EAGAIN.
    process = subprocess.Popen(project.command(), env=project.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    time.sleep(0.5)
    output, _ = process.communicate(b"late\n")
    assert output == b"True True\nlate\n", output


@case({(GLIBC, "csk"): "#!/bin/sh\ntrap 'exit 42' \"$1\"\necho ready\nwhile :; do sleep 0.05; done\n"})
def signals_are_forwarded(project):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        process = project.start(number.name.removeprefix("SIG"))
        process.send_signal(number)
        assert process.wait(20) == 42, number


@case({(GLIBC, "csk"): '#!/bin/sh\nkill -"$1" $$\nsleep 5\n'})
def a_signal_that_ends_the_program_ends_the_launcher(project):
    for number in (signal.SIGKILL, signal.SIGTERM):
        assert project.run(str(int(number))).returncode == -number
    assert project.run(str(int(signal.SIGPIPE))).returncode == 128 + signal.SIGPIPE


@case({
    (GLIBC, "csk"): "#!/bin/sh\ntrap 'echo interrupted; n=1' INT\necho ready\n"
    'while [ -z "$n" ]; do sleep 0.05; done\nsleep 0.5\necho done\nexit 3\n'
})
def the_terminal_interrupts_the_program_once(project):
    pid, terminal = pty.fork()
    if pid == 0:
        command = project.command()
        os.execve(command[0], command, project.environment)
    output = b""
    while b"ready" not in output:
        output += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    while b"done" not in output:
        output += os.read(terminal, 1000)
    _, status = os.waitpid(pid, 0)
    assert output.count(b"interrupted") == 1, output
    assert os.waitstatus_to_exitcode(status) == 3, status


@case({
    # The kernel reports a missing interpreter like a missing loader.
    (GLIBC, "csk"): "#!/missing/ld-linux\n",
    (MUSL, "csk"): "#!/bin/sh\necho static\n",
})
def without_glibc_the_static_program_runs(project):
    assert project.run().stdout == "static\n"


@case({(WINDOWS, "csk.exe"): ECHO})
def the_program_is_never_searched_on_path(project):
    done = project.run()
    assert done.returncode == 2 and done.stdout == "", done
    assert "error: the npm package @cocoaskills/linux-x64 or @cocoaskills/linux-x64-musl is not installed" in done.stderr, done
    assert "hint: install cocoaskills again" in done.stderr, done


@case({(GLIBC, "csk"): ECHO})
def an_unsupported_platform_is_reported(project):
    done = project.run(platform="sunos-sparc")
    assert done.returncode == 2 and done.stdout == "", done
    expected = "does not support sunos-sparc; supported: linux-x64, linux-x64-musl, linux-arm64, win32-x64\n"
    assert expected in done.stderr, done


@case({(WINDOWS, "csk.exe"): ECHO, (GLIBC, "csk"): ECHO})
def windows_uses_the_exe(project):
    done = project.run("x", platform="win32-x64")
    assert done.stdout.endswith("@cocoaskills/win32-x64/bin/csk.exe\n"), done


def main():
    failed = 0
    for check, scripts in CASES:
        name = check.__name__.replace("_", " ")
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(Project(os.path.realpath(folder), scripts))
                print(f"ok      {name}")
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                print(f"FAILED  {name}: {error!r}")
                failed = 1
    sys.exit(failed)


main()
