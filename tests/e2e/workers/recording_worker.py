#!/usr/bin/env python3
"""A worker program for tests: the real one behind a proxy that checks every message of both sides against the contract.

Its environment names the real program (RECORDED_WORKER) and the file to which each message's name and its faults are
appended (RECORDED_MESSAGES), as JSON lines.
"""

import ctypes
import http.client
import http.server
import json
import os
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
from worker_contract import check, check_event  # noqa: E402

TO_POOL = {"ready": "ReadyCallback", "heartbeat": "Heartbeat", "deregister": "Deregistration"}
TO_WORKER = {"/execute": "ExecuteRequest", "/cancel": "CancelRequest", "/sessions": "SessionRequest"}
FROM_WORKER = {"/info": "WorkerInfo", "/sessions": "SessionList"}
lock = threading.Lock()


def record(side: str, name: str, checker, message: bytes) -> None:
    fault = None
    try:
        checker(json.loads(message))
    except Exception as error:
        fault = str(error).splitlines()[0]
    with lock, open(os.environ["RECORDED_MESSAGES"], "a") as file:
        file.write(json.dumps({"side": side, "name": name, "fault": fault}) + "\n")


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    pool = ""    # host:port of the pool's callbacks
    worker = ""  # host:port of the real worker, once it has told the pool

    def do_GET(self):
        self.forward(Proxy.worker, b"")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kind = self.path.rsplit("/", 1)[1]
        if self.path.startswith("/workers/"):
            record("worker", TO_POOL[kind], lambda message: check(message, TO_POOL[kind]), body)
            message = json.loads(body)
            if "uri" in message:
                Proxy.worker = message["uri"].removeprefix("http://")
                message["uri"] = f"http://127.0.0.1:{self.server.server_port}"
                body = json.dumps(message).encode()
            self.forward(Proxy.pool, body)
        else:
            if self.path in TO_WORKER:
                record("pool", TO_WORKER[self.path], lambda message: check(message, TO_WORKER[self.path]), body)
            self.forward(Proxy.worker, body)

    def forward(self, where: str, body: bytes) -> None:
        try:
            connection = http.client.HTTPConnection(where, timeout=60)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in ("content-length", "host")}
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
        except OSError:
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name in ("Content-Type", "Retry-After"):
            if answer.getheader(name):
                self.send_header(name, answer.getheader(name))
        if answer.getheader("Content-Length") is None:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.stream(answer)
        else:
            data = answer.read()
            if self.path in FROM_WORKER and answer.status == 200:
                record("worker", FROM_WORKER[self.path], lambda message: check(message, FROM_WORKER[self.path]), data)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def stream(self, answer) -> None:
        try:
            while line := answer.readline():
                if line.startswith(b"data: "):
                    record("worker", json.loads(line[6:])["type"], check_event, line[6:])
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.write(b"0\r\n\r\n")
        except OSError:  # the pool hung up; so does this connection to the worker, when it is dropped
            self.close_connection = True

    def log_message(self, *_):
        pass


def main() -> None:
    words = sys.argv[1:]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
    place = words.index("--callback-url") + 1
    Proxy.pool = words[place].removeprefix("http://").split("/")[0]
    words[place] = f"http://127.0.0.1:{server.server_port}/workers"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    end_with_parent = lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    process = subprocess.Popen([os.environ["RECORDED_WORKER"], *words], pass_fds=(3,), preexec_fn=end_with_parent)
    signal.signal(signal.SIGTERM, lambda *_: process.send_signal(signal.SIGTERM))
    sys.exit(process.wait())


if __name__ == "__main__":
    main()
