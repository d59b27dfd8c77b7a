"""The page of a study over HTTP: the page itself, what has changed since, and word whenever something has.

Nothing can be changed from here: there are three addresses, and all are read.
"""

from __future__ import annotations

import gzip
import json
import socket
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ..report.page import policy
from ..study import SettingsError, Study
from .feed import Feed
from .guard import Guard, token_of

STILL_THERE = 15.0  # seconds after which whoever waits hears that there is nothing new
MOST_CONNECTIONS = 64
_LONGEST_WAIT = 30.0  # seconds for a client that says nothing, or takes nothing
_HEADERS = {
    "Content-Security-Policy": policy("; connect-src 'self'; frame-ancestors 'none'"),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Server:
    """A page that is served until it is closed.

    Attributes:
        url: where, with the token if one is needed.
    """

    def __init__(
        self, study: Study, *, address: str = "127.0.0.1", port: int = 0, token: bool = False
    ) -> None:
        """Begin to serve.

        Args:
            study: it may be running.
            address: where to listen; at any other than 127.0.0.1, a token is needed.
            port: 0 is a free one.
            token: ask for a token also at 127.0.0.1, where other users of the machine may look.
        """
        if not 0 <= port < 65536:
            raise SettingsError(f"a port is a number from 0 (any that is free) to 65535, got {port}")
        self._feed = Feed(study)
        try:
            self._http = _Http(address, port, self._feed, Guard(address, always=token))
        except OSError as error:
            self._feed.close()
            why = error.strerror or str(error)
            raise SettingsError(f"cannot listen at {address}, port {port}: {why}; try another") from error
        self.url = self._http.url(address)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving; pages that are open stay as they are, and say that they are not connected."""
        self._feed.close()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> Server:
        """Closed at the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop serving."""
        self.close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: str, port: int, feed: Feed, guard: Guard) -> None:
        self.feed, self.guard = feed, guard
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        if ":" in address:
            self.address_family = socket.AF_INET6
        super().__init__((address, port), _Handler)
        self.cookie = f"saltus-{self.server_address[1]}"  # cookies do not know ports

    def server_bind(self) -> None:
        """Without asking the network for a name, which may take long."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def url(self, address: str) -> str:
        host = socket.gethostname() if address in ("0.0.0.0", "::") else address
        host = f"[{host}]" if ":" in host else host
        token = "" if self.guard.token is None else f"?token={self.guard.token}"
        return f"http://{host}:{self.server_port}/{token}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread of its own, unless there are too many."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error; and nothing else may end up in a user's terminal."""


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "saltus", ""
    timeout = _LONGEST_WAIT

    def do_GET(self) -> None:
        guard, address = self.server.guard, urlsplit(self.path)
        if not guard.knows_host(self.headers.get("Host")):
            return self._refuse("this page is served under another name: use the address that was printed")
        if self.headers.get("Sec-Fetch-Site", "same-origin") == "cross-site" and address.path != "/":
            return self._refuse("another page may not read this")
        query = parse_qs(address.query)
        given = query.get("token", [None])[0]
        if guard.token is not None and address.path == "/" and given is not None and guard.lets_in(given):
            return self._remember(given)
        own = token_of(self.server.cookie, self.headers.get("Cookie"), self.headers.get("Authorization"))
        if not guard.lets_in(own):
            return self._refuse("a token is needed: use the address that was printed, all of it")
        match address.path:
            case "/":
                self._send(self.server.feed.page(), "text/html; charset=utf-8")
            case "/changes":
                version, parts = self.server.feed.changes(query.get("since", [""])[0])
                self._send(json.dumps({"version": version, "parts": parts}), "application/json")
            case "/events":
                self._tell()
            case _:
                self._send("there is nothing here\n", "text/plain; charset=utf-8", HTTPStatus.NOT_FOUND)

    do_HEAD = do_GET

    def _tell(self) -> None:
        """Server-sent events: the version, whenever it is another."""
        self.close_connection = True
        self.send_response(HTTPStatus.OK)
        self._headers({"Content-Type": "text/event-stream", "Connection": "close"})
        if self.command == "HEAD":
            return
        feed, told = self.server.feed, None
        self.wfile.write(b"retry: 1000\n\n")
        while not feed.closed:
            version = feed.wait(told, STILL_THERE)
            line = ": still there\n\n" if version == told else f"data: {version}\n\n"
            self.wfile.write(line.encode("ascii"))
            self.wfile.flush()
            told = version

    def _remember(self, token: str) -> None:
        """The token moves from the address, which others may see, into a cookie."""
        self.send_response(HTTPStatus.SEE_OTHER)
        cookie = f"{self.server.cookie}={token}; HttpOnly; SameSite=Strict; Path=/"
        self._headers({"Location": "/", "Set-Cookie": cookie, "Content-Length": "0"})

    def _refuse(self, why: str) -> None:
        self.close_connection = True
        self._send(why + "\n", "text/plain; charset=utf-8", HTTPStatus.FORBIDDEN)

    def _send(self, content: str, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        data, more = content.encode("utf-8"), {}
        if "gzip" in self.headers.get("Accept-Encoding", "") and len(data) > 1000:
            data, more = gzip.compress(data, 5), {"Content-Encoding": "gzip"}
        self.send_response(status)
        self._headers({"Content-Type": kind, "Content-Length": str(len(data)), **more})
        if self.command != "HEAD":
            self.wfile.write(data)

    def _headers(self, own: dict[str, str]) -> None:
        for name, value in (_HEADERS | own).items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not written down: the token may be in them."""
