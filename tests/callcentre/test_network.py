from typing import Any

import pytest
from django.test import Client

from callcentre.core.network import client_address, is_in_networks, parse_address, parse_networks


@pytest.mark.parametrize(
    ("address", "networks", "expected"),
    [
        ("10.1.2.3", ["10.0.0.0/8"], True),
        ("11.1.2.3", ["10.0.0.0/8"], False),
        ("10.1.2.3", ["10.1.2.3"], True),
        ("::ffff:10.1.2.3", ["10.0.0.0/8"], True),
        ("2001:db8::5", ["10.0.0.0/8", "2001:db8::/32"], True),
        ("2001:db8::5", ["0.0.0.0/0"], False),
        ("10.1.2.3", ["::/0"], False),
        ("10.1.2.3", [], False),
        ("", ["0.0.0.0/0"], False),
        ("unix:", ["0.0.0.0/0"], False),
    ],
)
def test_an_address_is_in_a_network_or_not(address: str, networks: list[str], expected: bool) -> None:
    assert is_in_networks(address, networks) is expected


@pytest.mark.parametrize("network", ["10.0.0.0/33", "10.0.0.1/8", "x", "", "10.0.0", "::/129"])
def test_malformed_networks_are_refused(network: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_networks((network,))


@pytest.mark.parametrize("text", ["", "x", "1.2.3", "1.2.3.4:80", "[::1]", "1.2.3.4, 5.6.7.8"])
def test_malformed_addresses_are_none(text: str) -> None:
    assert parse_address(text) is None


def _address(remote: str, forwarded: str, proxies: list[str], settings: Any) -> str:
    settings.TRUSTED_PROXIES = proxies
    return client_address({"REMOTE_ADDR": remote, "HTTP_X_FORWARDED_FOR": forwarded})


def test_without_trusted_proxies_a_client_cannot_choose_its_address(settings: Any) -> None:
    assert _address("203.0.113.9", "10.0.0.1", [], settings) == "203.0.113.9"


def test_forwarding_headers_of_untrusted_senders_are_ignored(settings: Any) -> None:
    assert _address("203.0.113.9", "10.0.0.1", ["10.0.0.0/8"], settings) == "203.0.113.9"


def test_a_trusted_proxy_names_the_client(settings: Any) -> None:
    assert _address("10.0.0.1", "203.0.113.9", ["10.0.0.0/8"], settings) == "203.0.113.9"


def test_in_a_chain_the_last_untrusted_hop_is_the_client(settings: Any) -> None:
    forwarded = "1.1.1.1, 203.0.113.9, 10.0.0.2"

    assert _address("10.0.0.1", forwarded, ["10.0.0.0/8"], settings) == "203.0.113.9"


@pytest.mark.parametrize("forwarded", ["", " , ", ","])
def test_a_proxy_without_a_header_is_the_client(forwarded: str, settings: Any) -> None:
    assert _address("10.0.0.1", forwarded, ["10.0.0.0/8"], settings) == "10.0.0.1"


@pytest.mark.django_db
def test_only_a_trusted_proxy_can_mark_a_request_as_https(settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]
    headers = {"x-forwarded-proto": "https"}

    assert Client().get("/ratings/x", headers=headers, REMOTE_ADDR="10.0.0.1").status_code == 404
    assert Client().get("/ratings/x", headers=headers, REMOTE_ADDR="203.0.113.9").status_code == 301
