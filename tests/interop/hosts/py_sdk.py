"""Stock hosts: the Python SDK's client and FastMCP's.   py_sdk.py PLAN_JSON mcp|fastmcp auto|legacy

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


def connect(which, url, mode):
    if which == "mcp":
        from mcp import Client
        return Client(url, mode=mode)
    from fastmcp import Client
    return Client(url, mode=mode)


async def call(which, client, step, progress):
    async def note(value, total=None, message=None):
        progress.append(value)
    if which == "mcp":
        return await client.call_tool(step["tool"], step["args"], progress_callback=note)
    return await client.call_tool(step["tool"], step["args"], progress_handler=note)


async def run(plan, which, mode):
    async with connect(which, plan["url"], mode) as client:
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
    answer["terminated"] = True
    print(json.dumps(answer))


asyncio.run(run(json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]))
