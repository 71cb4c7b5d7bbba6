"""The Python SDK 1.x with its experimental tasks over the kill of the gateway. usage: python mcp1.py URL RESTARTED"""
import asyncio
from contextlib import asynccontextmanager

from kept import URL, tell, text
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, ElicitResult

asked = []


async def elicited(_context, params):
    asked.append(params.message)
    return ElicitResult(action="accept", content={"confirm": True})


@asynccontextmanager
async def opened():
    async with streamable_http_client(URL) as (reading, writing, _):
        async with ClientSession(reading, writing, elicitation_callback=elicited) as client:
            await client.initialize()
            yield client


async def start(client, tool, arguments):
    return (await client.experimental.call_tool_as_task(tool, arguments, ttl=600_000)).task.taskId


async def result(client, task):
    return text(await client.experimental.get_task_result(task, CallToolResult))


asyncio.run(tell(opened, start, result, asked))
