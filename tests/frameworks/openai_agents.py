"""OpenAI Agents SDK: `MCPServerStdio` and `MCPServerStreamableHttp`, and one run of an agent with a scripted model."""

import json
from contextlib import asynccontextmanager

from agents import Agent, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from agents.testing import ScriptedModel, assistant_message, function_call
from walk import Session, expect, main

set_tracing_disabled(True)


@asynccontextmanager
async def connect(plan):
    if plan["url"]:
        created = MCPServerStreamableHttp({"url": plan["url"]}, name="skills")
    else:
        created = MCPServerStdio({"command": plan["command"], "args": plan["args"], "env": plan["env"]}, name="skills")
    async with created as server:

        async def names():
            return [tool.name for tool in await server.list_tools()]

        async def call(tool, arguments):
            result = await server.call_tool(tool, arguments)
            return "".join(block.text for block in result.content if block.type == "text"), bool(result.is_error)

        async def resource(uri):
            [content] = (await server.read_resource(uri)).contents
            return content.text

        async def own():
            script = [[function_call("skills_read", {"name": "hello"}, call_id="1")], [assistant_message("done")]]
            model = ScriptedModel(script)
            result = await Runner.run(Agent(name="tester", model=model, mcp_servers=[server]), "Say hello.")
            model.assert_complete()
            expect(result.final_output == "done", f"the agent ended with {result.final_output!r}")
            outputs = json.dumps([item.to_input_item() for item in result.new_items if item.type == "tool_call_output_item"])
            expect("run scripts/greet.sh with a name." in outputs, f"the agent got {outputs}")

        yield Session(names, call, resource, own)


main(connect)
