"""LlamaIndex: tools with `McpToolSpec`, resources with `BasicMCPClient`, which opens a session for each request."""

from contextlib import asynccontextmanager

from llama_index.tools.mcp import BasicMCPClient, McpToolSpec
from walk import Session, main


@asynccontextmanager
async def connect(plan):
    if plan["url"]:
        client = BasicMCPClient(plan["url"])
    else:
        client = BasicMCPClient(plan["command"], args=plan["args"], env=plan["env"])
    tools = {tool.metadata.name: tool for tool in await McpToolSpec(client, include_resources=True).to_tool_list_async()}

    async def names():
        return list(tools)

    async def call(tool, arguments):
        result = (await tools[tool].acall(**arguments)).raw_output
        return "".join(block.text for block in result.content if block.type == "text"), bool(result.is_error)

    async def resource(uri):
        [content] = (await client.read_resource(uri)).contents
        return content.text

    yield Session(names, call, resource)


main(connect)
