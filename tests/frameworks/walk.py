"""Runs the plan that `check` writes, through the classes of a framework.

A framework's file creates a `Session` and calls `main`. Every step that passes prints a line `ok STEP`; the first that fails raises an
exception.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Session:
    """A connection, as four functions over a framework's own classes."""

    # Names of the tools, as the framework shows them to a model.
    tools: Callable[[], Awaitable[list[str]]]
    # Calls a tool. Returns all text that the model would get, and whether the framework treats it as an error.
    call: Callable[[str, dict[str, Any]], Awaitable[tuple[str, bool]]]
    # Reads a resource by URI, if the framework can.
    resource: Callable[[str], Awaitable[str]] | None = None
    # Checks what only this framework has.
    own: Callable[[], Awaitable[None]] | None = None


Connect = Callable[[dict[str, Any]], AbstractAsyncContextManager[Session]]


def main(connect: Connect) -> None:
    plan = json.loads(Path(sys.argv[1]).read_text())
    asyncio.run(walk(plan, connect))


async def walk(plan: dict[str, Any], connect: Connect) -> None:
    async with connect(plan) as session:
        names = await session.tools()
        expect(set(plan["tools"]) <= set(names), f"tools are {names}")
        for step, calls in plan["steps"].items():
            for call in calls:
                text, error = await session.call(call["tool"], call["arguments"])
                message = f"{step}: {call['tool']} {call['arguments']} gave {'an error' if error else 'a result'}: {text!r}"
                expect(error == call["error"], message)
                expect(all(part in text for part in call["contains"]), message)
            if step == "resource" and session.resource:
                for uri, wanted in plan["resources"].items():
                    text = await session.resource(uri)
                    expect(text == wanted, f"{uri} gave {text!r}")
            print(f"ok {step}", flush=True)
        if session.own:
            await session.own()
        print("ok own" if session.own else "none own", flush=True)


def expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def texts(value: Any) -> str:
    """Returns every text in a value, however deep: some frameworks pass on the text of a result, others its data."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(texts(part) for part in value.values())
    if isinstance(value, (list, tuple)):
        return "\n".join(texts(part) for part in value)
    return ""
