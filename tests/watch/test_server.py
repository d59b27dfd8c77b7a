"""The page over HTTP: what is answered, and what is refused."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from saltus import Study
from saltus.study import SettingsError
from saltus.watch import Server

from .records import grow, new


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    made = new(tmp_path_factory.mktemp("watch"))
    grow(made, 3)
    return made


@pytest.fixture(scope="module")
def server(study: Study) -> Iterator[Server]:
    with Server(study) as served:
        yield served


def request(
    server: Server, path: str, method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], str]:
    """Status, headers and content of an answer; headers are given with _ for -."""
    port = urlsplit(server.url).port
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=given)
        answer = connection.getresponse()
        content = answer.read()
        if answer.headers.get("Content-Encoding") == "gzip":
            content = gzip.decompress(content)
        return answer.status, dict(answer.headers), content.decode("utf-8")


def test_the_page(server: Server) -> None:
    status, headers, page = request(server, "/")
    assert status == 200
    assert "<h1>box</h1>" in page
    assert 'data-live="' in page
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["Cache-Control"] == "no-store"
    assert request(server, "/", Accept_Encoding="gzip")[2] == page
    assert request(server, "/", method="HEAD")[2] == ""


def test_only_what_is_there_is_answered(server: Server) -> None:
    assert request(server, "/box.db")[0] == 404
    assert request(server, "/../../etc/passwd")[0] == 404
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert request(server, "/", method=method)[0] == 501


def test_another_name_is_refused(server: Server) -> None:
    """A page of elsewhere may let its own name point here."""
    for path in ("/", "/changes", "/events"):
        status, _, words = request(server, path, Host="evil.example")
        assert status == 403
        assert "another name" in words
        assert "box" not in words
    assert request(server, "/", Host=f"localhost:{urlsplit(server.url).port}")[0] == 200
    assert request(server, "/changes", Sec_Fetch_Site="cross-site")[0] == 403


def test_changes(study: Study, server: Server) -> None:
    news = json.loads(request(server, "/changes?since=nonsense")[2])
    assert {"head", "best", "convergence", "trials"} <= news["parts"].keys()
    assert json.loads(news["parts"]["trials"])["names"] == list(study.space.keys)
    version = server._feed.version
    grow(study, 1)
    while server._feed.wait(version, 30) == version:
        raise AssertionError("nothing has changed")
    news = json.loads(request(server, f"/changes?since={version}")[2])
    assert "head" in news["parts"]
    assert "failures" not in news["parts"]  # nothing has failed: it is as it was
    assert json.loads(request(server, f"/changes?since={news['version']}")[2])["version"]
    for odd in ("-", f"{version.split('-')[0]}-{'9' * 400}", "%00", "a" * 500):
        assert request(server, f"/changes?since={odd}")[0] == 200


def test_events(study: Study, server: Server) -> None:
    port = urlsplit(server.url).port
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", "/events")
        answer = connection.getresponse()
        assert answer.headers["Content-Type"] == "text/event-stream"

        def next_version() -> str:
            while True:
                line = answer.readline().decode()
                if line.startswith("data: "):
                    return line.removeprefix("data: ").strip()

        first = next_version()
        grow(study, 1)
        assert next_version() != first


def test_the_token(study: Study) -> None:
    with Server(study, address="0.0.0.0") as server:
        token = urlsplit(server.url).query.removeprefix("token=")
        for path in ("/", "/changes", "/events", "/?token=", "/?token=wrong"):
            status, _, words = request(server, path)
            assert status == 403
            assert "token" in words
            assert "box" not in words
        wrong = {"Authorization": f"Bearer {token}x"}
        assert request(server, "/", **wrong)[0] == 403
        assert request(server, "/changes", Authorization=f"Bearer {token}")[0] == 200
        status, headers, _ = request(server, f"/?token={token}")
        assert status == 303
        assert headers["Location"] == "/"
        cookie = headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert request(server, "/", Cookie=cookie.split(";")[0])[0] == 200
        assert request(server, f"/changes?token={token}")[0] == 403  # not where it would be seen


def test_a_client_that_says_nonsense_harms_nobody(server: Server) -> None:
    port = urlsplit(server.url).port
    for nonsense in (b"", b"\x00\xff\r\n\r\n", b"GET / HTTP/1.1\r\nHost\r\n\r\n", b"GET " + b"/" * 70_000):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
            client.sendall(nonsense)
    assert request(server, "/")[0] == 200


def test_what_cannot_be_served(study: Study, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"cannot listen at 127.0.0.1, port {port}"):
            Server(study, port=port)
    with pytest.raises(SettingsError, match="from 0"):
        Server(study, port=70_000)
    gone = new(tmp_path)
    with Server(gone) as server:
        version = server._feed.version
        gone.path.unlink()
        assert server._feed.wait(version, 30) != version
        page = request(server, "/")[2]
        assert "there is no record" in page
        assert "<h1>box</h1>" in page  # what was there stays to be seen
