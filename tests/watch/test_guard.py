"""Who may look."""

from __future__ import annotations

import socket

import pytest

from saltus.watch.guard import Guard, host_of, is_loopback, token_of


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST:81", "127.0.0.1:81", "127.3.2.1", "[::1]:81"])
def test_this_machine_is_known_by_its_names(name: str) -> None:
    assert Guard("127.0.0.1").knows_host(name)


@pytest.mark.parametrize(
    "name",
    [None, "", "evil.example", "evil.example:81", "10.0.0.7", "localhost.evil.example", "127.0.0.1.nip.io"],
)
def test_other_names_are_not(name: str | None) -> None:
    assert not Guard("127.0.0.1").knows_host(name)


def test_elsewhere_numbers_and_own_names_are_known() -> None:
    guard = Guard("0.0.0.0")
    assert guard.knows_host("10.0.0.7:8000")  # no name, so no one can let it point elsewhere
    assert guard.knows_host(socket.gethostname())
    assert guard.knows_host("localhost:8000")  # through a tunnel
    assert not guard.knows_host("evil.example:8000")
    assert Guard("node.example").knows_host("node.example:1")


def test_a_token_is_needed_anywhere_else() -> None:
    assert Guard("127.0.0.1").token is None
    assert Guard("127.0.0.1").lets_in(None)
    for guard in (Guard("0.0.0.0"), Guard("::"), Guard("10.0.0.7"), Guard("127.0.0.1", always=True)):
        assert guard.token is not None
        assert len(guard.token) >= 32
        assert guard.lets_in(guard.token)
        for wrong in (None, "", guard.token[:-1], guard.token + "x", "ü\ud800"):
            assert not guard.lets_in(wrong)
    assert Guard("0.0.0.0").token != Guard("0.0.0.0").token


def test_where_a_token_is_found() -> None:
    assert token_of("saltus-1", "other=1; saltus-1=abc", None) == "abc"
    assert token_of("saltus-1", "saltus-2=abc", None) is None
    assert token_of("saltus-1", "\x00=;;=", None) is None
    assert token_of("saltus-1", None, "bearer abc ") == "abc"
    assert token_of("saltus-1", None, "Basic abc") is None
    assert host_of("[::1") == "::1"
    assert not is_loopback("nonsense")
