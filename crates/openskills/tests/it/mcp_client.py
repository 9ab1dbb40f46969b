"""Uses the server with the client of the official Python SDK, in each of its connection modes."""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import ElicitResult


def server():
    if sys.argv[1].startswith("http"):
        return sys.argv[1]
    return stdio_client(StdioServerParameters(command=sys.argv[1], args=["mcp", "--dir", "s"]))


async def asked(context, params):
    return ElicitResult(action="accept", content={"decision": "once"})


async def talk(mode):
    async with Client(server(), mode=mode, elicitation_callback=asked) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert "skills.read" in tools, tools
        listed = await client.call_tool("skills.list", {})
        assert listed.structured_content["skills"][0]["id"] == "s/pdf", listed
        read = await client.call_tool("skills.read", {"name": "pdf"})
        assert "the guide" in read.content[0].text, read
        ran = await client.call_tool("skills.run_script", {"name": "pdf", "args": ["x"], "input": 1})
        assert json.loads(ran.content[0].text) == {"hi": ["x"], "in": 1}, ran
        assert ran.meta["openskills/result"]["exitCode"] == 0, ran
        resources = (await client.list_resources()).resources
        assert [str(one.uri) for one in resources] == ["skill://index.json", "skill://s/pdf/SKILL.md", "skill://s/quick/SKILL.md", "skill://s/waits/SKILL.md"]
        contents = (await client.read_resource("skill://s/pdf/references/guide.md")).contents
        assert contents[0].text == "The guide.\n", contents
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert prompts == {"pdf", "quick", "slow", "waits"}, prompts
        prompt = await client.get_prompt("pdf", {"arguments": "tables"})
        assert "about tables" in prompt.messages[0].content.text, prompt
        # Over stdio, the user is asked through this client. Over HTTP without a token, the call is refused.
        ran = await client.call_tool("skills.run_script", {"name": "quick"})
        if sys.argv[1].startswith("http"):
            assert ran.is_error and "openskills approve" in ran.content[0].text, ran
        else:
            assert ran.content[0].text == "quick\n", ran


for mode in ("legacy", "auto"):
    asyncio.run(talk(mode))
print("all is well")
