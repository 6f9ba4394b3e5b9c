"""Stock hosts: the Python SDK's client and FastMCP's.   py_sdk.py PLAN_JSON mcp|mcp-sse|fastmcp auto|legacy

One JSON document on stdout, as hosts/steps.mjs writes it; leaving the client ends the session."""
import asyncio
import json
import sys


async def pages(fetch, key):
    """All items of a paged list; FastMCP's client pages by itself and returns a plain list."""
    items, cursor = [], None
    while True:
        page = await (fetch() if cursor is None else fetch(cursor=cursor))
        if isinstance(page, list):
            return page
        items += getattr(page, key)
        cursor = page.next_cursor
        if cursor is None:
            return items


def answering(answer):
    """A callback that gives the plan's answer to every elicitation."""
    async def answer_it(context, params):
        from mcp.types import ElicitResult
        return ElicitResult(**answer)
    return answer_it


def connect(which, plan, mode):
    url, ask = plan["url"], plan.get("ask")
    if which in ("mcp", "mcp-sse"):
        from mcp import Client
        from mcp.client.sse import sse_client
        return Client(sse_client(url) if which == "mcp-sse" else url, mode=mode,
                      elicitation_callback=answering(ask["answer"]) if ask else None)
    from fastmcp import Client
    return Client(url, mode=mode)


async def call(which, client, step, progress):
    async def note(value, total=None, message=None):
        progress.append(value)
    if which in ("mcp", "mcp-sse"):
        return await client.call_tool(step["tool"], step["args"], progress_callback=note)
    return await client.call_tool(step["tool"], step["args"], progress_handler=note)


async def run(plan, which, mode):
    async with connect(which, plan, mode) as client:
        answer = {
            "tools": [tool.name for tool in await pages(client.list_tools, "tools")],
            "prompts": [prompt.name for prompt in await pages(client.list_prompts, "prompts")],
            "resources": [str(item.uri) for item in await pages(client.list_resources, "resources")],
            "steps": [],
        }
        for step in plan["steps"]:
            progress = []
            result = await call(which, client, step, progress)
            read = await client.read_resource(step["resource"])
            prompt = await client.get_prompt(step["prompt"], step["promptArgs"])
            answer["steps"].append({
                "text": next(block.text for block in result.content if block.type == "text"),
                "error": bool(getattr(result, "is_error", False)),
                "progress": progress,
                "resource": getattr(read, "contents", read)[0].text,
                "prompt": prompt.messages[0].content.text,
            })
        if plan.get("ask"):
            result = await call(which, client, {"tool": plan["ask"]["tool"], "args": {}}, [])
            answer["asked"] = [getattr(block, "text", "") for block in result.content]
    answer["terminated"] = True
    print(json.dumps(answer))


asyncio.run(run(json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]))
