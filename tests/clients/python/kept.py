"""A client that was there before the gateway was killed, and comes back after it: what the scripts beside this one share.

usage: python SCRIPT URL RESTARTED
Prints one line of JSON a step: {step, ok, detail}. After `started` the gateway may be killed; the rest follows when the file
RESTARTED is there.
"""
import asyncio
import json
import pathlib
import sys

URL, RESTARTED = sys.argv[1], pathlib.Path(sys.argv[2])


def text(result):
    return next((part.text for part in result.content if part.type == "text"), None)


def same(found, wanted):
    if found != wanted:
        raise AssertionError(f"{found!r} instead of {wanted!r}")
    return {"text": found}


class Told:
    failed = False

    async def step(self, name, work, limit=40):
        try:
            ok, detail = True, await asyncio.wait_for(work, limit)
        except BaseException as error:
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            ok, detail = False, {"message": f"{type(error).__name__}: {error}"}
        self.failed |= not ok
        print(json.dumps({"step": name, "ok": ok, "detail": detail}, default=str), flush=True)
        return ok


async def tell(opened, start, result, asked):
    """opened() is a connection as a context; start(connection, tool, arguments) gives a task's id, and result(connection, id) its
    text, with every question answered by a yes; asked counts the questions."""
    told, found = Told(), {}

    async def begin(client):
        found["job"] = await start(client, "slow_compute", {"seconds": 8, "label": "kept"})
        found["question"] = await start(client, "confirm_delete", {"filename": "kept.txt"})
        return found

    async def read(client, which, wanted):
        return same(await result(client, found[which]), wanted)

    async def answer(client):
        detail = await read(client, "question", "kept.txt is deleted.")
        if len(asked) != 1:
            raise AssertionError(f"asked {len(asked)} times")
        return detail

    async with opened() as before:
        if not await told.step("started", begin(before)):
            sys.exit(1)
        for _ in range(1200):
            if RESTARTED.exists():
                break
            await asyncio.sleep(0.1)
        await told.step("kill_same", read(before, "job", "computed for 8 s"))
        async with opened() as after:
            await told.step("kill_new", read(after, "job", "computed for 8 s"))
            await told.step("kill_input", answer(after))
    sys.exit(1 if told.failed else 0)
