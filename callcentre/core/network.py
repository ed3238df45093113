"""Network addresses: the client of a request, and the networks that clients and receivers may be in."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from django.conf import settings

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address


@lru_cache(maxsize=1024)
def parse_networks(networks: tuple[str, ...]) -> tuple[Network, ...]:
    """Return the networks in CIDR notation; a plain address is a network of one. Raise ValueError for other texts."""
    return tuple(ip_network(network) for network in networks)


def parse_address(text: str) -> Address | None:
    """Return the address, or None. IPv4 written as IPv6 (::ffff:10.0.0.1) becomes IPv4."""
    try:
        address = ip_address(text.strip())
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def is_in_networks(text: str, networks: Iterable[str]) -> bool:
    parsed = parse_networks(tuple(networks))
    if not parsed or (address := parse_address(text)) is None:
        return False
    return any(address in network for network in parsed)


def client_address(meta: Mapping[str, Any]) -> str:
    """Return the address of the client behind our own proxies (TRUSTED_PROXIES), from a WSGI environment.

    X-Forwarded-For is read from right to left, only as far as trusted proxies have added entries. A client therefore
    cannot choose its address by sending the header.
    """
    address = str(meta.get("REMOTE_ADDR") or "")
    proxies = settings.TRUSTED_PROXIES
    if not proxies:
        return address
    hops = [hop.strip() for hop in str(meta.get("HTTP_X_FORWARDED_FOR", "")).split(",") if hop.strip()]
    while hops and is_in_networks(address, proxies):
        address = hops.pop()
    return address
