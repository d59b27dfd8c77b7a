"""Who may look: by the token, and by the name under which a browser has come here.

On 127.0.0.1 only programs of this machine reach the page. But a page from elsewhere that is open in a browser
here may try to: by a name of its own that it lets point here. So the name of every request is checked, and
nothing but names of this machine is let in. At any other address a token is needed besides.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from http.cookies import CookieError, SimpleCookie

_NAMES_OF_LOOPBACK = ("localhost",)


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if address in _NAMES_OF_LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


class Guard:
    """Decides about requests.

    Args:
        address: the one that is listened at.
        always: ask for a token even if only this machine can reach the address.

    >>> guard = Guard("127.0.0.1")
    >>> guard.knows_host("localhost:8000"), guard.knows_host("evil.example:8000")
    (True, False)
    >>> guard.token is None, Guard("0.0.0.0").token is None
    (True, False)
    """

    def __init__(self, address: str, *, always: bool = False) -> None:
        """A token is drawn if one is needed."""
        self._local = is_loopback(address)
        self.token = None if self._local and not always else secrets.token_urlsafe(24)
        self._names = {"localhost"} if self._local else {"localhost", *_own_names(), address.lower()}

    def knows_host(self, header: str | None) -> bool:
        """Whether the header Host names this machine: by a known name, or by a number, which cannot lie."""
        name = host_of(header or "")
        if name in self._names:
            return True
        try:
            number = ipaddress.ip_address(name)
        except ValueError:
            return False
        return number.is_loopback if self._local else True

    def lets_in(self, given: str | None) -> bool:
        """Whether a token that came is the right one; how long that takes does not tell how wrong it is."""
        if self.token is None:
            return True
        return hmac.compare_digest((given or "").encode("utf-8", "replace"), self.token.encode("ascii"))


def host_of(header: str) -> str:
    """The header Host without its port.

    >>> host_of("LocalHost:80"), host_of("[::1]:8000"), host_of("10.0.0.7")
    ('localhost', '::1', '10.0.0.7')
    """
    name = header.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0].rstrip(".")


def token_of(name: str, cookie: str | None, authorisation: str | None) -> str | None:
    """The token that a request brings: in a cookie of this name, or as `Authorization: Bearer ...`.

    >>> token_of("saltus-80", "a=b; saltus-80=xyz", None), token_of("saltus-80", None, "Bearer xyz")
    ('xyz', 'xyz')
    """
    if authorisation is not None and authorisation.lower().startswith("bearer "):
        return authorisation[7:].strip()
    try:
        found = SimpleCookie(cookie or "").get(name)
    except CookieError:
        return None
    return None if found is None else found.value


def _own_names() -> set[str]:
    return {name.lower() for name in (socket.gethostname(), socket.getfqdn()) if name}
