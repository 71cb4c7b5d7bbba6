"""FastMCP's client over the kill of the gateway. It resumes no task by its id in public, so the handle is made by hand.
usage: python fastmcp4.py URL RESTARTED"""
import asyncio

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp_tasks import ToolTask, call_tool_task
from fastmcp_tasks.client import ClientCreateTaskResult
from kept import URL, tell, text

asked = []


async def elicited(message, _type, _params, _context):
    asked.append(message)
    return ElicitResult(action="accept", content={"confirm": True})


def opened():
    return Client(URL, elicitation_handler=elicited)


async def start(client, tool, arguments):
    return (await call_tool_task(client, tool, arguments)).task_id


async def result(client, task):
    made = {"resultType": "task", "taskId": task, "status": "working", "createdAt": "", "lastUpdatedAt": ""}
    handle = ToolTask(client, "slow_compute", ClientCreateTaskResult.model_validate(made))
    return text(await handle.result())


asyncio.run(tell(opened, start, result, asked))
