"""fastmcp: its `Client`, its client of the skills extension, and its older utilities that read skills as resources."""

import hashlib
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from fastmcp.skills import SkillsClientExtension
from fastmcp.utilities.skills import download_skill, get_skill_manifest, list_skills
from walk import Session, expect, main


@asynccontextmanager
async def connect(plan):
    transport = plan["url"] or StdioTransport(command=plan["command"], args=plan["args"], env=plan["env"])
    async with Client(transport, extensions=[SkillsClientExtension()]) as client:

        async def names():
            return [tool.name for tool in await client.list_tools()]

        async def call(tool, arguments):
            try:
                result = await client.call_tool(tool, arguments)
            except ToolError as error:
                return str(error), True
            return "".join(block.text for block in result.content if block.type == "text"), False

        async def resource(uri):
            [content] = await client.read_resource(uri)
            return content.text

        async def own():
            await extension(client, plan)
            await utilities(client, plan)

        yield Session(names, call, resource, own)


async def extension(client, plan):
    """`skills/get`, and `skills/list`, which would fail as a whole if one entry were invalid."""
    skill = await client.get_skill(plan["skill"])
    expect(skill.frontmatter.name == "hello", f"skills/get gave {skill}")
    digests = {resource.uri: resource.digest for resource in skill.resources}
    root = plan["skill"].removesuffix("SKILL.md")
    expect(digests == {root + path: digest(text) for path, text in plan["files"].items()}, f"skills/get gave {digests}")
    found = {skill.frontmatter.name: skill.frontmatter.description for skill in await client.list_skills()}
    expect(found == plan["standard"], f"skills/list gave {found}")


async def utilities(client, plan):
    """Here, skills are resources with a known suffix; their name is the URI without it."""
    found = {skill.name.rsplit("/", 1)[1]: skill for skill in await list_skills(client)}
    expect(sorted(found) == plan["all"], f"resources/list gave {sorted(found)}")
    name = found["hello"].name
    manifest = await get_skill_manifest(client, name)
    hashes = {file.path: (file.size, file.hash) for file in manifest.files}
    expect(hashes == {path: (len(text), digest(text)) for path, text in plan["files"].items()}, f"_manifest gave {hashes}")
    with tempfile.TemporaryDirectory() as folder:
        copy = await download_skill(client, name, folder)
        files = {str(file.relative_to(copy)): file.read_text() for file in Path(copy).rglob("*") if file.is_file()}
    expect(files == plan["files"], f"downloaded {files}")


def digest(text):
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


main(connect)
