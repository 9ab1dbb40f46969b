"""Strands: `MCPClient`."""

from contextlib import asynccontextmanager

from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from strands.tools.mcp import MCPClient
from walk import Session, main


@asynccontextmanager
async def connect(plan):
    if plan["url"]:
        client = MCPClient(url=plan["url"])
    else:
        client = MCPClient(lambda: stdio_client(StdioServerParameters(command=plan["command"], args=plan["args"], env=plan["env"])))
    with client:

        async def names():
            return [tool.tool_name for tool in client.list_tools_sync()]

        async def call(tool, arguments):
            result = await client.call_tool_async("1", tool, arguments)
            return "".join(block.get("text", "") for block in result["content"]), result["status"] == "error"

        async def resource(uri):
            [content] = client.read_resource_sync(uri).contents
            return content.text

        yield Session(names, call, resource)


main(connect)
