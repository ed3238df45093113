"""Which URLs may be sent to: their spelling, and the addresses behind their names."""

import re
from collections.abc import Iterable, Sequence
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
# A registration waits no longer for a name server; the name is then one that does not resolve yet.
LOOK_UP_SECONDS = 3.0

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
# All of IPv6 that is routed today; loopback, local, mapped, multicast and reserved addresses are outside of it.
_GLOBAL_IPV6 = ip_network("2000::/3")
# IPv4 addresses for networks that have only IPv6: as good as the address within.
_NAT64 = ip_network("64:ff9b::/96")

_UNWANTED = re.compile(r"[\x00-\x20\x7f-\xa0\\]")
_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*\.?", re.ASCII)
# Ends like a number: 127.1, 0x7f000001, 2130706433, 0177.0.0.1. The C library reads those as addresses.
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
    """A URL that nothing is sent to; `code` says why."""

    def __init__(self, code: Code) -> None:
        super().__init__(_SENTENCES[code])
        self.code: Code = code


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes. The host is lower case ASCII, an IPv6 address without brackets."""

    url: str
    scheme: str
    host: str
    port: int
    # With the query, as the request line has it.
    path: str
    address: Address | None

    @property
    def origin(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def check_target(url: str) -> None:
    """Refuse, with a TargetError, what a webhook cannot be registered for.

    A name that does not resolve yet is accepted: every connection checks its addresses again.
    """
    target = parse_target(url)
    try:
        endpoints = addresses_of(target, LOOK_UP_SECONDS)
    except NoAddress:
        return
    if not are_allowed(endpoints, settings.WEBHOOK_ALLOWED_NETWORKS):
        raise TargetError("address")


@lru_cache(maxsize=1024)
def parse_target(url: str) -> Target:
    """Read a URL as it will be sent; the spelling only, no look-up. Raises TargetError."""
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
        # Port 0 is lost when requests writes the URL anew, and would become the usual one.
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
    """Read the host and the port of a server of another protocol, such as a mailbox; no look-up. Raises TargetError."""
    if set(host) & set("/?#@"):
        raise TargetError("url")
    target = parse_target(f"http://[{host}]:{port}/" if ":" in host and host[0] != "[" else f"http://{host}:{port}/")
    if target.port != port:
        raise TargetError("url")
    return target


def _literal(host: str) -> Address | None:
    """The address that the host is, None where it is a name."""
    if ":" in host:
        # A zone (fe80::1%eth0) chooses one of our own network cards.
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
    """What the host stands for now; never empty. Waits so long at most, then raises NoAddress."""
    if target.address is not None:
        return [Endpoint(str(target.address), target.port)]
    return look_up(target.host, target.port, seconds)


def are_allowed(endpoints: Sequence[Endpoint], networks: Iterable[str]) -> bool:
    """Whether all of them may be connected to: one forbidden address makes the whole name suspect."""
    networks = tuple(networks)
    return all(_is_public(endpoint.address) or _is_let_through(endpoint.address, networks) for endpoint in endpoints)


def are_within(endpoints: Sequence[Endpoint], networks: Iterable[str]) -> bool:
    """Return whether each address lies in one of the networks; a public address is no exception."""
    networks = tuple(networks)
    return all(_is_let_through(endpoint.address, networks) for endpoint in endpoints)


def _is_let_through(address: str, networks: Iterable[str]) -> bool:
    """Whoever lets 127.0.0.1 through means this machine: on most, `localhost` is ::1 as well."""
    return is_in_networks(address, networks) or (address == "::1" and is_in_networks("127.0.0.1", networks))


def _is_public(text: str) -> bool:
    address = ip_address(text)
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped or address in _NAT64:
            address = IPv4Address(int(address) & 0xFFFF_FFFF)
        elif address not in _GLOBAL_IPV6:
            return False
    return not any(address in network for network in _SPECIAL)
