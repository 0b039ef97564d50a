"""The remote that the destinations lead to: a real HTTP server on loopback that misbehaves as a row's key says.

Keys begin with what is to happen; effects are counted by destination and key, apart from what was answered.
"""

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Remote:
    def __init__(self, authorization: dict[str, str]) -> None:
        """authorization has the required header Authorization by destination."""
        self.effects: Counter[tuple[str, str]] = Counter()
        self.requests: Counter[tuple[str, str]] = Counter()
        self.lookups: Counter[tuple[str, str]] = Counter()
        self.held = threading.Event()  # a request is in flight
        self.release = threading.Event()  # that request may be answered
        self.wrong: list[str] = []
        self._authorization = authorization
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()

    def send(self, destination: str, key: str, authorization: str | None, body: bytes) -> int | None:
        """The status to answer with, or None for a connection that ends without one."""
        with self._lock:
            self.requests[destination, key] += 1
            first = self.requests[destination, key] == 1
            if json.loads(body) != payload(destination, key):
                self.wrong.append(f"{destination} {key}: the body is not the row's payload")
            if authorization != self._authorization.get(destination):
                self.wrong.append(f"{destination} {key}: the secret is not the destination's")
            if key.startswith("busy") and first:
                return 429
            if key.startswith("refused"):
                return 422
            if key.startswith("cut-before") and first:
                return None
            if destination != "charge" or not self.effects[destination, key]:
                self.effects[destination, key] += 1  # charge recognises a repeated key
        if key.startswith("hold"):
            self.held.set()
            self.release.wait(timeout=290)  # less than the destination's send_timeout
        return None if key.startswith("cut-after") and first else 200

    def look(self, destination: str, key: str) -> int:
        with self._lock:
            self.lookups[destination, key] += 1
            return 200 if self.effects[destination, key] else 404

    def _handler(remote) -> type[BaseHTTPRequestHandler]:  # self is the request
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args) -> None:
                """Logs nothing: the counters suffice."""

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                key = self.headers.get("Idempotency-Key", "")
                status = remote.send(self.path.strip("/"), key, self.headers.get("Authorization"), body)
                if status is None:
                    self.close_connection = True
                    return
                self.reply(status, {"id": "remote-" + key})

            def do_GET(self) -> None:
                destination, key = self.path.strip("/").split("/", 1)
                status = remote.look(destination, key)
                self.reply(status, {"state": "sent"} if status == 200 else {"error": "no such thing"})

            def reply(self, status: int, document: dict) -> None:
                body = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        return Handler


def payload(destination: str, key: str) -> dict:
    """The payload of a row. Part of it is a secret that no log may contain."""
    return {"for": destination, "secret": f"do-not-log-{key}"}
