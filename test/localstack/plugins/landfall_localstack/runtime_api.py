"""The part of the Lambda runtime API that a function calls; see AWS's documentation of custom runtimes."""

import queue
import re
import threading
import time
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATH = re.compile(r"/2018-06-01/runtime/(?:init/(?P<init>error)|invocation/(?P<id>[^/]+)(?:/(?P<verb>response|error))?)$")


@dataclass
class Answer:
    payload: bytes
    failed: bool


@dataclass
class Invocation:
    id: str
    arn: str
    trace: str
    payload: bytes
    deadline: float  # as time.time
    answer: Future = field(default_factory=Future)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address) -> None:
        """A process that was killed while it waited is no longer there to be answered."""


class RuntimeAPI:
    """Serves one process. It ends with `close`; until then the process is kept waiting for its next invocation."""

    def __init__(self) -> None:
        self.ready: Future = Future()  # its result is None, or the Answer that tells why the process cannot start
        self._waiting: queue.Queue[Invocation | None] = queue.Queue()
        self._current: Invocation | None = None
        self._server = Server(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def invoke(self, invocation: Invocation) -> None:
        self._current = invocation
        self._waiting.put(invocation)

    def exited(self) -> None:
        """Nobody will answer any more."""
        gone = Answer(b'{"errorType":"Runtime.ExitError","errorMessage":"the process has ended"}', failed=True)
        settle(self.ready, gone)
        if self._current:
            settle(self._current.answer, gone)

    def close(self) -> None:
        self._waiting.put(None)
        self._server.shutdown()
        self._server.server_close()

    def answered(self, request_id: str, answer: Answer) -> bool:
        current = self._current
        if current is None or current.id != request_id:
            return False
        settle(current.answer, answer)
        return True

    def _handler(api) -> type[BaseHTTPRequestHandler]:  # self is the request
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args) -> None:
                """Requests are not worth a line each."""

            def do_GET(self) -> None:
                call = PATH.match(self.path)
                if not call or call["id"] != "next":
                    return self.reply(404)
                settle(api.ready, None)
                invocation = api._waiting.get()
                if invocation is None:
                    return self.reply(410)
                self.reply(
                    200,
                    invocation.payload,
                    {
                        "Lambda-Runtime-Aws-Request-Id": invocation.id,
                        "Lambda-Runtime-Invoked-Function-Arn": invocation.arn,
                        "Lambda-Runtime-Trace-Id": invocation.trace,
                        "Lambda-Runtime-Deadline-Ms": str(int(invocation.deadline * 1000)),
                    },
                )

            def do_POST(self) -> None:
                body = self.body()
                call = PATH.match(self.path)
                if not call:
                    return self.reply(404)
                if call["init"]:
                    settle(api.ready, Answer(body, failed=True))
                    return self.reply(202)
                known = api.answered(call["id"], Answer(body, failed=call["verb"] == "error"))
                self.reply(202 if known else 400)

            def body(self) -> bytes:
                if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                parts = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                while self.rfile.readline().strip():
                    pass  # trailers
                return b"".join(parts)

            def reply(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        return Handler


def settle(future: Future, result: object) -> None:
    """Only the first result counts."""
    try:
        future.set_result(result)
    except InvalidStateError:
        pass


def seconds_until(deadline: float) -> float:
    return max(0.0, deadline - time.time())
