"""Stock host that is asked: the Python SDK's client or FastMCP's.   asked.py URL mcp|mcp-sse|fastmcp ROUNDS

In each round two calls run at once, one that elicits and one that samples; what their tools got is printed."""
import asyncio
import json
import re
import sys

from mcp.types import CreateMessageResult, ElicitResult, TextContent

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def number_in(text):
    return int(re.search(r"n=(\d+)", text)[1])


def decided(message):
    n = number_in(message)
    return ElicitResult(action="decline") if n % 2 else ElicitResult(action="accept", content={"n": n})


async def elicited(context, params):
    return decided(params.message)


async def elicited_fast(message, response_type, params, context):
    return decided(message)


def sampled_text(messages):
    return f"sampled {number_in(messages[0].content.text)}"


async def sampled(context, params):
    text = TextContent(type="text", text=sampled_text(params.messages))
    return CreateMessageResult(role="assistant", model="stock", content=text)


async def sampled_fast(messages, params, context):
    return sampled_text(messages)


def connect(url, which):
    if which == "fastmcp":
        from fastmcp import Client
        return Client(url, mode="legacy", elicitation_handler=elicited_fast, sampling_handler=sampled_fast)
    from mcp import Client
    from mcp.client.sse import sse_client
    return Client(sse_client(url) if which == "mcp-sse" else url, mode="legacy", elicitation_callback=elicited,
                  sampling_callback=sampled)


async def run(url, which, rounds):
    async with connect(url, which) as client:
        async def quiz(id, method, params):
            arguments = {"id": json.dumps(id), "method": method, "params": json.dumps(params)}
            result = await client.call_tool("quiz", arguments)
            return json.loads(result.content[0].text)

        got, progress = [], []
        for n in range(rounds):
            got += await asyncio.gather(
                quiz(f"e{n}", "elicitation/create", {"message": f"n={n}", "requestedSchema": SCHEMA}),
                quiz(f"s{n}", "sampling/createMessage", {
                    "maxTokens": 9, "messages": [{"role": "user", "content": {"type": "text", "text": f"n={n}"}}]}))
        listed = await client.list_tools()
        tools = [tool.name for tool in (listed if isinstance(listed, list) else listed.tools)]

        async def note(value, total=None, message=None):
            progress.append(value)
        handler = {"progress_handler" if which == "fastmcp" else "progress_callback": note}
        await client.call_tool("steps", {"key": which, "n": 5, "pause": 0.03}, **handler)
    print(json.dumps({"got": got, "tools": tools, "progress": progress}))


asyncio.run(run(sys.argv[1], sys.argv[2], int(sys.argv[3])))
