"""Microsoft Agent Framework: `MCPStdioTool` and `MCPStreamableHTTPTool`, and skills with `MCPSkillsSource`."""

import json
from contextlib import asynccontextmanager

from agent_framework import MCPSkillsSource, MCPStdioTool, MCPStreamableHTTPTool, SkillsSourceContext
from agent_framework.exceptions import ToolExecutionException
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from walk import Session, expect, main, texts


@asynccontextmanager
async def connect(plan):
    if plan["url"]:
        created = MCPStreamableHTTPTool("skills", plan["url"])
    else:
        created = MCPStdioTool("skills", plan["command"], args=plan["args"], env=plan["env"])
    async with created as tool:

        async def names():
            return [function.name for function in tool.functions]

        async def call(name, arguments):
            try:
                contents = await tool.call_tool(name, **arguments)
            except ToolExecutionException as error:
                return str(error), True
            return unwrap("".join(content.text for content in contents if content.type == "text")), False

        async def own():
            started = StdioServerParameters(command=plan["command"], args=plan["args"], env=plan["env"])
            async with Client(plan["url"] or stdio_client(started)) as client:
                await source(MCPSkillsSource(client), plan)

        yield Session(names, call, own=own)


def unwrap(text):
    """Returns the text of a result; this framework puts its data first, as JSON in a text block."""
    try:
        return texts(json.loads(text))
    except ValueError:
        return text


async def source(source, plan):
    """`MCPSkillsSource` reads `skill://index.json`."""
    skills = {skill.frontmatter.name: skill for skill in await source.get_skills(SkillsSourceContext(agent=None))}
    expect(set(plan["standard"]) <= set(skills), f"the index gave {sorted(skills)}")
    hello = skills["hello"]
    expect(hello.frontmatter.description == plan["standard"]["hello"], f"the index gave {hello.frontmatter}")
    content = await hello.get_content()
    expect("run scripts/greet.sh with a name." in content, f"SKILL.md is {content!r}")
    words = await hello.get_resource("references/words.md")
    text = await words.read()
    expect(text == plan["files"]["references/words.md"], f"the resource is {text!r}")
    expect(await hello.get_resource("references/none.md") is None, "a missing resource was found")


main(connect)
