"""Google ADK: `McpToolset`. Tools get the context of a real session, but no model is called."""

from contextlib import asynccontextmanager

from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.sessions import InMemorySessionService
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams
from google.adk.tools.tool_context import ToolContext
from mcp import StdioServerParameters
from walk import Session, expect, main


@asynccontextmanager
async def connect(plan):
    if plan["url"]:
        parameters = StreamableHTTPConnectionParams(url=plan["url"])
    else:
        started = StdioServerParameters(command=plan["command"], args=plan["args"], env=plan["env"])
        parameters = StdioConnectionParams(server_params=started, timeout=20)
    toolset = McpToolset(connection_params=parameters)
    service = InMemorySessionService()
    session = await service.create_session(app_name="tests", user_id="tester")
    agent = LlmAgent(name="tester", model="none", tools=[toolset])
    invocation = InvocationContext(invocation_id="1", agent=agent, session=session, session_service=service)
    tools = {tool.name: tool for tool in await toolset.get_tools()}

    async def names():
        return list(tools)

    async def call(tool, arguments):
        result = await tools[tool].run_async(args=arguments, tool_context=ToolContext(invocation, function_call_id="1"))
        if "content" not in result:
            return str(result), True
        return "".join(block["text"] for block in result["content"] if block["type"] == "text"), bool(result.get("isError"))

    async def own():
        # This framework identifies resources by name, and can only read listed ones.
        [content] = await toolset.read_resource("hello")
        expect("run scripts/greet.sh with a name." in content.text, f"the resource is {content.text!r}")

    try:
        yield Session(names, call, own=own)
    finally:
        await toolset.close()


main(connect)
