"""Targets: checks of the URLs that events may be sent to, and of the addresses of their hosts."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address, ip_network
from typing import Literal

import requests
from django.conf import settings
from urllib3.util import parse_url

from callcentre.core.network import Address, is_in_networks
from webhooks.transport.dns import Endpoint, NoAddress, look_up

LONGEST_URL = 2000
# A registration waits no longer for a name server. The name then counts as not resolving yet.
LOOK_UP_SECONDS = 3.0
# Hosts that were looked up before the transaction under way.
_looked_up: ContextVar[Mapping[str, Sequence[Endpoint]]] = ContextVar("looked_up", default={})  # noqa: B039  (never changed)

# Python's own is_global differs between patch releases, and calls some of these global.
_SPECIAL = [
    ip_network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by the customers of a carrier
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # a public address by which Azure's machines reach their own platform
        "169.254.0.0/16",  # link-local, the metadata of cloud machines
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        "2001::/23",  # protocol assignments: Teredo, benchmarking, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: any IPv4 address within
        "3fff::/20",  # documentation
    )
]
# All IPv6 addresses that are routed today. Loopback, local, mapped, multicast and reserved addresses lie outside.
_GLOBAL_IPV6 = ip_network("2000::/3")
# IPv4 addresses for networks with only IPv6. The address inside is checked.
_NAT64 = ip_network("64:ff9b::/96")

_UNWANTED = re.compile(r"[\x00-\x20\x7f-\xa0\\]")
_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*\.?", re.ASCII)
# The last part of a host that the C library reads as an address: 127.1, 0x7f000001, 2130706433, 0177.0.0.1.
_NUMBER = re.compile(r"\A(?:[0-9]+|0x[0-9a-f]*)\Z", re.ASCII)

Code = Literal["length", "url", "scheme", "credentials", "address"]
_SENTENCES: dict[Code, str] = {
    "length": f"The URL has more than {LONGEST_URL} characters.",
    "url": "This is not a URL with a host.",
    "scheme": "The URL must start http:// or https://.",
    "credentials": "The URL must not contain credentials.",
    "address": "The host is in a network that may not be sent to.",
}


class TargetError(ValueError):
    """A URL that is refused; `code` is the reason."""

    def __init__(self, code: Code) -> None:
        super().__init__(_SENTENCES[code])
        self.code: Code = code


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a request. The host is lower case ASCII; an IPv6 address has no brackets."""

    url: str
    scheme: str
    host: str
    port: int
    # With the query, as the request line has it.
    path: str
    address: Address | None

    @property
    def origin(self) -> str:
        # A fully qualified name may end in a dot; its certificate has none.
        host = f"[{self.host}]" if ":" in self.host else self.host.removesuffix(".")
        return f"{self.scheme}://{host}:{self.port}"


def check_target(url: str) -> None:
    """Check the URL of a registration. Raises TargetError.

    A name that does not resolve yet is accepted, because each connection checks the addresses again.
    """
    target = parse_target(url)
    endpoints = _looked_up.get().get(target.host)
    if endpoints is None:
        endpoints = _look_up(target)
    if not are_allowed(endpoints, settings.WEBHOOK_ALLOWED_NETWORKS):
        raise TargetError("address")


@contextmanager
def looked_up(url: str) -> Iterator[None]:
    """Look up the host of a URL before a transaction: in the block, `check_target` asks no name server for it."""
    try:
        target = parse_target(url if "://" in url else f"https://{url}")
        known = {target.host: _look_up(target)}
    except TargetError:
        known = {}
    token = _looked_up.set(known)
    try:
        yield
    finally:
        _looked_up.reset(token)


def _look_up(target: Target) -> Sequence[Endpoint]:
    """Return the current addresses of the host, for the check of a registration; none if it has none yet."""
    try:
        return addresses_of(target, LOOK_UP_SECONDS)
    except NoAddress:
        return []


@lru_cache(maxsize=1024)
def parse_target(url: str) -> Target:
    """Parse a URL without a look-up. Raises TargetError."""
    if len(url) > LONGEST_URL:
        raise TargetError("length")
    scheme, separator, rest = url.partition("://")
    if not separator or _UNWANTED.search(url):
        raise TargetError("url")
    if scheme.lower() not in ("http", "https"):
        raise TargetError("scheme")
    if "@" in re.split("[/?#]", rest, maxsplit=1)[0]:
        raise TargetError("credentials")
    prepared = requests.PreparedRequest()
    try:
        # `requests` drops port 0 from the URL, so that it would become the default port.
        port = parse_url(url).port
        prepared.prepare_url(url, None)
        parsed = parse_url(prepared.url or "")
    except (requests.RequestException, ValueError) as error:
        raise TargetError("url") from error
    host = (parsed.host or "").lower().removeprefix("[").removesuffix("]")
    if port == 0 or len(host) > 254:
        raise TargetError("url")
    if port is None:
        port = 443 if scheme.lower() == "https" else 80
    return Target(prepared.url or "", scheme.lower(), host, port, parsed.request_uri, _literal(host))


def parse_server(host: str, port: int) -> Target:
    """Parse host and port of a server of another protocol, such as a mailbox, without a look-up. Raises TargetError."""
    if set(host) & set("/?#@"):
        raise TargetError("url")
    target = parse_target(f"http://[{host}]:{port}/" if ":" in host and host[0] != "[" else f"http://{host}:{port}/")
    if target.port != port:
        raise TargetError("url")
    return target


def _literal(host: str) -> Address | None:
    """Return the address that the host is; None for a name. Raises TargetError."""
    if ":" in host:
        # A zone (fe80::1%eth0) chooses one of this machine's network cards.
        if "%" in host:
            raise TargetError("address")
        try:
            return IPv6Address(host)
        except AddressValueError as error:
            raise TargetError("url") from error
    if _NUMBER.match(host.removesuffix(".").rpartition(".")[2]):
        try:
            return IPv4Address(host)
        except AddressValueError as error:
            raise TargetError("address") from error
    if not _NAME.fullmatch(host):
        raise TargetError("url")
    return None


def addresses_of(target: Target, seconds: float) -> Sequence[Endpoint]:
    """Return the current addresses of the host; never empty. Raises NoAddress, also after `seconds`."""
    if target.address is not None:
        return [Endpoint(str(target.address), target.port)]
    return look_up(target.host, target.port, seconds)


def are_allowed(endpoints: Sequence[Endpoint], networks: Iterable[str]) -> bool:
    """Return whether all addresses are permitted. One forbidden address refuses the whole name."""
    networks = tuple(networks)
    return all(_is_public(endpoint.address) or _is_let_through(endpoint.address, networks) for endpoint in endpoints)


def are_within(endpoints: Sequence[Endpoint], networks: Iterable[str]) -> bool:
    """Return whether each address lies in one of the networks; a public address is no exception."""
    networks = tuple(networks)
    return all(_is_let_through(endpoint.address, networks) for endpoint in endpoints)


def _is_let_through(address: str, networks: Iterable[str]) -> bool:
    """Return whether the networks hold the address. 127.0.0.1 also permits ::1: on most machines both are localhost."""
    return is_in_networks(address, networks) or (address == "::1" and is_in_networks("127.0.0.1", networks))


def _is_public(text: str) -> bool:
    address = ip_address(text)
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped or address in _NAT64:
            address = IPv4Address(int(address) & 0xFFFF_FFFF)
        elif address not in _GLOBAL_IPV6:
            return False
    return not any(address in network for network in _SPECIAL)
