"""A stock FastMCP server for the interop tests: --http (a free port, printed as a URL) or --stdio."""
import asyncio
import socket
import sys

from fastmcp import Context, FastMCP

mcp = FastMCP("stock-fastmcp")


@mcp.tool
def add(a: int, b: int) -> int:
    """Adds two integers."""
    return a + b


@mcp.tool
async def countdown(steps: int, ctx: Context) -> str:
    """Reports progress for each step, then says it is done."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps)
        await asyncio.sleep(0.02)
    return f"counted {steps} steps"


@mcp.resource("info://greeting")
def greeting() -> str:
    """A text that never changes."""
    return "hello from fastmcp"


@mcp.resource("info://square/{n}")
def square(n: int) -> str:
    """The square of n."""
    return str(n * n)


@mcp.prompt
def review(topic: str) -> str:
    """Asks for a review of a topic."""
    return f"Please review {topic}."


async def serve_http() -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    await mcp.run_http_async(transport="http", sockets=[listener], show_banner=False, log_level="warning")


if sys.argv[1:] == ["--http"]:
    asyncio.run(serve_http())
elif sys.argv[1:] == ["--stdio"]:
    mcp.run(transport="stdio", show_banner=False)
else:
    sys.exit("usage: fastmcp_server.py --http | --stdio")
