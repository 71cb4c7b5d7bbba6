"""The Python SDK 2.x over the kill of the gateway. It has no words for tasks of its own, so the extension is told to it here.
usage: python mcp2.py URL RESTARTED"""
import asyncio
from typing import Any, ClassVar, Literal

from kept import URL, tell
from mcp.client import Client
from mcp.client.extension import ClientExtension, ResultClaim
from mcp_types import CallToolResult, ElicitResult, Request, RequestParams, Result
from pydantic import ConfigDict, Field

asked = []


class Made(Result):
    """What a call gives in place of a result."""

    result_type: Literal["task"] = Field(alias="resultType")
    task_id: str = Field(alias="taskId")


class Seen(Result):
    """What `tasks/get` gives."""

    model_config = ConfigDict(extra="allow")
    status: str
    interval: int = Field(alias="pollIntervalMs")
    result: dict[str, Any] | None = None
    questions: dict[str, Any] | None = Field(default=None, alias="inputRequests")


class Naming(RequestParams):
    task_id: str = Field(serialization_alias="taskId")
    answers: dict[str, Any] | None = Field(default=None, serialization_alias="inputResponses")


class Named(Request[Naming, str]):
    name_param: ClassVar[str] = "taskId"
    method: str


class Extension(ClientExtension):
    identifier = "io.modelcontextprotocol/tasks"

    def claims(self):
        async def resolve(made, context):
            return CallToolResult.model_validate(await settled(context.session, made.task_id))

        return (ResultClaim(result_type="task", model=Made, resolve=resolve),)


async def elicited(_context, params):
    asked.append(params.message)
    return ElicitResult(action="accept", content={"confirm": True})


async def settled(session, task):
    while True:
        seen = await session.send_request(Named(method="tasks/get", params=Naming(task_id=task)), Seen)
        if seen.result is not None:
            return seen.result
        for key, question in (seen.questions or {}).items():
            asked.append(question["params"]["message"])
            params = Naming(task_id=task, answers={key: {"action": "accept", "content": {"confirm": True}}})
            await session.send_request(Named(method="tasks/update", params=params), Result)
        await asyncio.sleep(seen.interval / 1000)


def opened():
    return Client(URL, mode="auto", elicitation_callback=elicited, extensions=[Extension()])


async def start(client, tool, arguments):
    return (await client.session.call_tool(tool, arguments, allow_claimed=True)).task_id


async def result(client, task):
    return (await settled(client.session, task))["content"][0]["text"]


asyncio.run(tell(opened, start, result, asked))
