"""Clients of the Model Context Protocol, many at once, and a fastmcp server for comparison."""
import http.client
import json
import os
import subprocess
import sys
import threading
import time

# Installed without its own requirements: its newest versions require a release of certifi that may not exist yet.
FASTMCP = "fastmcp-slim==4.1.8"
FASTMCP_NEEDS = """mcp==2.3.0 authlib certifi cyclopts exceptiongroup griffelib httpx2>=2.5.0 joserfc jsonref jsonschema jsonschema-path
openapi-pydantic opentelemetry-api packaging platformdirs py-key-value-aio[filetree,memory]>=0.4.6,<0.5 pydantic[email] pydantic-settings
pyperclip python-dotenv python-multipart pyyaml rich starlette>=1.0.1 typing-extensions uncalled-for uvicorn watchfiles websockets""".split()
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
PROVIDER = """\
import sys
from pathlib import Path
from fastmcp import FastMCP
from fastmcp.server.providers.skills import SkillsDirectoryProvider
server = FastMCP("skills")
server.add_provider(SkillsDirectoryProvider(roots=Path(sys.argv[1])))
server.run(show_banner=False)
"""


class Lines:
    """A client of a server on standard input and output, one message per line."""

    def __init__(self, command, env):
        self.start = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
        self.number = 0
        self.ask("initialize", HELLO)
        self.say(READY)

    def say(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.say({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                return answer["result"]

    def tool(self, tool, **arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        return result

    def at_once(self, count, tool, arguments):
        """Sends many calls before it reads a response. Returns how many succeeded."""
        first = self.number + 1
        calls = range(first, first + count)
        self.number += count
        line = lambda number: json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
        text = "".join(line(number) + "\n" for number in calls).encode()
        writing = threading.Thread(target=lambda: (self.process.stdin.write(text), self.process.stdin.flush()))
        writing.start()
        left, good = set(calls), 0
        while left:
            answer = json.loads(self.process.stdout.readline())
            left.discard(answer.get("id"))
            good += "result" in answer and not answer["result"].get("isError")
        writing.join()
        return good

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def peak(process):
    """Returns the peak memory of a process in MB."""
    with open(f"/proc/{process.pid}/status") as file:
        line = next(line for line in file if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def by_http(program, skills, env, clients, calls, name):
    """Has many clients, each with its own session and connection, read a skill. Returns how many calls succeeded, the time and the memory."""
    command = [program, "mcp", "--dir", skills, "--http", "127.0.0.1:0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env)
    address = server.stderr.readline().split("http://")[1].split("/")[0]
    good, lock = [0], threading.Lock()
    call = {"name": "skills.read", "arguments": {"name": name}}

    def client():
        connection = http.client.HTTPConnection(address, timeout=60)
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

        def post(message):
            connection.request("POST", "/mcp", json.dumps(message), headers)
            answer = connection.getresponse()
            return answer, answer.read()

        answer, _ = post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
        headers["Mcp-Session-Id"] = answer.getheader("Mcp-Session-Id")
        post(READY)
        for number in range(calls):
            answer, body = post({"jsonrpc": "2.0", "id": number + 1, "method": "tools/call", "params": call})
            result = json.loads(body).get("result", {"isError": True})
            with lock:
                good[0] += answer.status == 200 and not result.get("isError")

    start = time.perf_counter()
    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took, memory = time.perf_counter() - start, peak(server)
    server.terminate()
    server.wait()
    return good[0], took, memory


def fastmcp(scratch, skills, env):
    """Starts fastmcp's provider of skills; returns None if PyPI cannot be reached."""
    folder = os.path.join(scratch, "fastmcp")
    try:
        if os.path.exists(f"{folder}/provider.py"):
            return Lines([f"{folder}/bin/python", f"{folder}/provider.py", skills], env)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True)
        subprocess.run([f"{folder}/bin/pip", "install", "--quiet", *FASTMCP_NEEDS], check=True, capture_output=True)
        subprocess.run([f"{folder}/bin/pip", "install", "--quiet", "--no-deps", FASTMCP], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    with open(f"{folder}/provider.py", "w") as file:
        file.write(PROVIDER)
    return Lines([f"{folder}/bin/python", f"{folder}/provider.py", skills], env)
