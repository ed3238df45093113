import pytest
from django.test import Client

from callcentre.core.network import client_address, is_in_networks, parse_address, parse_networks


def test_an_address_is_in_a_network_or_not():
    for address, networks, expected in [
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
    ]:
        assert is_in_networks(address, networks) is expected


def test_malformed_networks_are_refused_and_malformed_addresses_are_none():
    for network in ("10.0.0.0/33", "10.0.0.1/8", "x", "", "10.0.0", "::/129"):
        with pytest.raises(ValueError, match=r".*"):
            parse_networks((network,))
    for text in ("", "x", "1.2.3", "1.2.3.4:80", "[::1]", "1.2.3.4, 5.6.7.8"):
        assert parse_address(text) is None, text


@pytest.mark.parametrize(
    ("remote", "forwarded", "proxies", "client"),
    [
        ("203.0.113.9", "10.0.0.1", [], "203.0.113.9"),
        ("203.0.113.9", "10.0.0.1", ["10.0.0.0/8"], "203.0.113.9"),
        ("10.0.0.1", "203.0.113.9", ["10.0.0.0/8"], "203.0.113.9"),
        # In a chain the last hop that is not trusted is the client.
        ("10.0.0.1", "1.1.1.1, 203.0.113.9, 10.0.0.2", ["10.0.0.0/8"], "203.0.113.9"),
        *(("10.0.0.1", forwarded, ["10.0.0.0/8"], "10.0.0.1") for forwarded in ("", " , ", ",")),
    ],
)
def test_only_a_trusted_proxy_names_the_client(remote, forwarded, proxies, client, settings):
    settings.TRUSTED_PROXIES = proxies

    assert client_address({"REMOTE_ADDR": remote, "HTTP_X_FORWARDED_FOR": forwarded}) == client


@pytest.mark.django_db
def test_only_a_trusted_proxy_can_mark_a_request_as_https(settings):
    settings.SECURE_SSL_REDIRECT = True
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]
    headers = {"x-forwarded-proto": "https"}

    assert Client().get("/ratings/x", headers=headers, REMOTE_ADDR="10.0.0.1").status_code == 404
    assert Client().get("/ratings/x", headers=headers, REMOTE_ADDR="203.0.113.9").status_code == 301
