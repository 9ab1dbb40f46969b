"""LangChain: tools and resources with `MultiServerMCPClient`, which opens a session for each call."""

from contextlib import asynccontextmanager

from langchain_mcp_adapters.client import MultiServerMCPClient
from walk import Session, main, texts


@asynccontextmanager
async def connect(plan):
    if plan["url"]:
        connection = {"transport": "streamable_http", "url": plan["url"]}
    else:
        connection = {"transport": "stdio", "command": plan["command"], "args": plan["args"], "env": plan["env"]}
    client = MultiServerMCPClient({"skills": connection})
    tools = {tool.name: tool for tool in await client.get_tools()}

    async def names():
        return list(tools)

    async def call(tool, arguments):
        # A call in the form that an agent makes returns the message that the model gets.
        message = await tools[tool].ainvoke({"type": "tool_call", "id": "1", "name": tool, "args": arguments})
        return texts([block["text"] for block in message.content_blocks if block["type"] == "text"]), message.status == "error"

    async def resource(uri):
        [blob] = await client.get_resources("skills", uris=[uri])
        return blob.as_string()

    yield Session(names, call, resource)


main(connect)
