"""Pydantic AI: `MCPToolset`, alone and in an agent whose model is a function."""

from contextlib import asynccontextmanager

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from walk import Session, expect, main, texts


@asynccontextmanager
async def connect(plan):
    transport = plan["url"] or StdioTransport(command=plan["command"], args=plan["args"], env=plan["env"])
    async with MCPToolset(transport) as toolset:

        async def names():
            return [tool.name for tool in await toolset.list_tools()]

        async def call(tool, arguments):
            try:
                return texts(await toolset.direct_call_tool(tool, arguments)), False
            except ModelRetry as retry:
                return retry.message, True

        async def resource(uri):
            return await toolset.read_resource(uri)

        async def own():
            calls = [("skills_read", {"name": "hello"}), ("skills_read", {"name": "nope"})]

            def model(messages, info):
                done = len([message for message in messages if isinstance(message, ModelResponse)])
                return ModelResponse(parts=[ToolCallPart(*calls[done]) if done < len(calls) else TextPart("done")])

            result = await Agent(FunctionModel(model), toolsets=[toolset]).run("Say hello.")
            received = texts([part.content for message in result.all_messages() for part in message.parts if hasattr(part, "content")])
            expect(result.output == "done", f"the agent ended with {result.output!r}")
            expect("run scripts/greet.sh with a name." in received and "nope" in received, f"the agent got {received}")

        yield Session(names, call, resource, own)


main(connect)
