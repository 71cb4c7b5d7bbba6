#!/usr/bin/env python3
"""The job API of the tutorial: a render farm with a dozen lines of state. Usage: job_server.py PORT"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

TOKEN = "farm-token-of-the-tutorial"
FRAMES = 4
# A render takes two seconds, or for ever, or breaks on the way.
RENDERS = []


def view(render):
    done = min(FRAMES, int((time.time() - render["began"]) * 2))
    phase = "ready" if done == FRAMES else "working" if done else "waiting"
    if render["scene"] == "endless":
        done, phase = 1, "working"
    if render["scene"] == "cursed" and done:
        done, phase = 1, "broken"
    if render["stopped"]:
        phase = "stopped"
    told = {"number": render["number"], "phase": phase, "frames": {"done": done, "of": FRAMES}}
    if phase == "broken":
        told["why"] = "frame 2 has no light"
    return told


class Farm(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_one(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        address = urlsplit(self.path)
        steps = address.path.strip("/").split("/")
        if self.headers.get("X-Farm-Token") != TOKEN:
            return self.answer(401, {"problem": "who are you?"})
        if steps == ["renders"] and self.command == "POST":
            wish = json.loads(body)
            if not wish.get("scene"):
                return self.answer(422, {"problem": "a render needs a scene"})
            render = {"number": len(RENDERS) + 1, "scene": wish["scene"], "label": wish.get("label"), "began": time.time(), "stopped": False}
            RENDERS.append(render)
            return self.answer(201, {"render": view(render)})
        if steps == ["renders"]:
            label = parse_qs(address.query).get("label", [None])[0]
            return self.answer(200, {"renders": [view(render) for render in RENDERS if render["label"] == label]})
        number = int(steps[1]) if len(steps) > 1 and steps[1].isdigit() else 0
        if steps[0] != "renders" or not 0 < number <= len(RENDERS):
            return self.answer(404, {"problem": "there is no such render"})
        render = RENDERS[number - 1]
        if steps[2:] == ["stop"] and self.command == "POST":
            if view(render)["phase"] in ("ready", "broken", "stopped"):
                return self.answer(409, {"problem": "it has ended"})
            render["stopped"] = True
            return self.answer(202, {})
        if steps[2:] == ["picture"]:
            return self.answer(200, {"caption": f"A picture of {render['scene']}.", "width": 640})
        return self.answer(200, {"render": view(render)})

    do_GET = do_POST = handle_one

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Farm).serve_forever()
