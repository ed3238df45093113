"""Where webhooks may be sent: spellings of URLs, and the addresses behind them."""

import socket
import threading

import pytest

from webhooks.transport.dns import NoAddress, look_up
from webhooks.transport.targets import TargetError, check_target, parse_target


@pytest.fixture(autouse=True)
def _no_network_is_allowed(settings):
    settings.WEBHOOK_ALLOWED_NETWORKS = []


@pytest.fixture
def names(monkeypatch):
    """What names resolve to; any other name does not."""
    known: dict[str, list[str]] = {}

    def getaddrinfo(host, port, **rest):
        if host not in known:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in known[host]]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return known


def _refusal(url: str) -> str:
    with pytest.raises(TargetError) as caught:
        check_target(url)
    return caught.value.code


@pytest.mark.parametrize(
    "url",
    [
        "https://8.8.8.8/hook",
        "http://8.8.8.8:8080/hook?a=b",
        "HTTPS://8.8.8.8",
        "https://[2606:4700:4700::1111]/",
        "https://[::ffff:8.8.8.8]/",
        "https://[64:ff9b::8.8.8.8]/",
        "https://receiver.example/ścieżka",
        # Names that do not resolve yet
        "https://zażółć.example/",
        "https://under_score.example./hook#part",
        "https://receiver.example/" + "a" * 1975,
    ],
)
def test_a_url_of_the_open_internet_is_accepted(url, names):
    names.update({"receiver.example": ["93.184.215.14"]})

    check_target(url)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("", "url"),
        ("receiver.example/hook", "url"),
        ("https:receiver.example", "url"),
        ("ftp://receiver.example/", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("gopher://127.0.0.1:6379/_FLUSHALL", "scheme"),
        ("http+unix://%2Fvar%2Frun%2Fdocker.sock/", "scheme"),
        ("https://", "url"),
        ("https:///hook", "url"),
        ("https://:443/", "url"),
        ("https://user:password@receiver.example/", "credentials"),
        ("https://user@receiver.example/", "credentials"),
        ("https://@receiver.example/", "credentials"),
        ("https://receiver.example@127.0.0.1/", "credentials"),
        ("https://receiver.example\\@127.0.0.1/", "url"),
        ("https://receiver.example:0/", "url"),
        ("https://receiver.example:65536/", "url"),
        ("https://receiver.example:-1/", "url"),
        ("https://receiver.example:port/", "url"),
        ("https://receiver.example/ a", "url"),
        ("https://receiver.example/\r\nX-Header: 1", "url"),
        ("https://rece\tiver.example/", "url"),
        (" https://receiver.example/", "url"),
        ("https://rece%20ver.example/", "url"),
        ("https://rece..ver.example/", "url"),
        ("https://-receiver.example/", "url"),
        ("https://*.example/", "url"),
        (f"https://{'a' * 64}.example/", "url"),
        (f"https://{'a.' * 130}example/", "url"),
        ("https://１２７.0.0.1/", "url"),
        ("https://127。0。0。1/", "url"),
        ("https://①②⑦.0.0.1/", "url"),
        ("https://[::1/", "url"),
        ("https://[receiver.example]/", "url"),
        ("https://[]/", "url"),
        ("https://receiver.example/" + "a" * 1976, "length"),
    ],
)
def test_a_url_that_cannot_be_sent_to_is_refused(url, code, names):
    assert _refusal(url) == code


SPECIAL_ADDRESSES = """
0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 168.63.129.16 169.254.169.254
172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.1
203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 [::] [::1] [::127.0.0.1] [::ffff:127.0.0.1]
[::ffff:10.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:7f00:0001] [64:ff9b::127.0.0.1] [64:ff9b::a00:1] [64:ff9b:1::1]
[100::1] [2001::1] [2001:0:4136:e378:8000:63bf:3fff:fdd2] [2001:2::1] [2001:db8::1] [2002:7f00:1::]
[2002:808:808::1] [3fff::1] [4000::1] [5f00::1] [fc00::1] [fd00:ec2::254] [fe80::1] [fe80::1%25eth0]
[2606:4700:4700::1111%25eth0] [fec0::1] [ff02::1]
"""
ODD_SPELLINGS = """
2130706433 0x7f000001 0X7F000001 017700000001 127.1 127.0.1 0177.0.0.1 0x7f.0.0.1 127.0.0.0x1 127.0.0.1. 127.0.0.01
%31%32%37.0.0.1 134744072 010.8.8.8 8.8.2056 256.256.256.256 receiver.example.1
localhost:8000
"""


@pytest.mark.parametrize("host", [*SPECIAL_ADDRESSES.split(), *ODD_SPELLINGS.split()])
def test_an_address_that_is_not_of_the_open_internet_is_refused(host):
    assert _refusal(f"https://{host}/hook") == "address"


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], ["93.184.215.14", "10.0.0.1"], ["::ffff:10.0.0.1"], ["fe80::1%eth0"], ["64:ff9b::a00:1"]],
)
def test_a_name_with_one_forbidden_address_is_refused(addresses, names):
    names["inside.example"] = addresses

    assert _refusal("https://inside.example/hook") == "address"


@pytest.mark.parametrize(
    "url",
    ["http://10.1.2.3/", "http://[::ffff:10.1.2.3]/", "http://[fd00::1]/", "https://inside.example/"],
)
def test_an_allowed_network_is_sent_to(url, names, settings):
    settings.WEBHOOK_ALLOWED_NETWORKS = ["10.1.0.0/16", "fd00::/64"]
    names["inside.example"] = ["10.1.0.1", "93.184.215.14"]

    check_target(url)


def test_localhost_is_sent_to_where_the_loopback_is_allowed(names, settings):
    settings.WEBHOOK_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    names["localhost"] = ["::1", "127.0.0.1"]

    check_target("http://localhost:9000/hook")
    check_target("http://[::1]:9000/hook")
    assert _refusal("http://[::2]/hook") == "address"


@pytest.mark.parametrize("url", ["http://10.2.0.1/", "http://127.0.0.1/", "http://[fd00:1::1]/", "http://10.1.1/"])
def test_an_allowed_network_allows_no_other(url, settings):
    settings.WEBHOOK_ALLOWED_NETWORKS = ["10.1.0.0/16", "fd00::/64"]

    assert _refusal(url) == "address"


def test_an_international_name_is_sent_to_in_its_ascii_form():
    target = parse_target("https://ZAŻÓŁĆ.example:8443/ścieżka?q=ż")

    assert target.url == "https://xn--za-6ja4f8n1l.example:8443/%C5%9Bcie%C5%BCka?q=%C5%BC"


def test_a_refusal_repeats_nothing_of_the_url():
    with pytest.raises(TargetError) as caught:
        check_target("https://user:hunter2@receiver.example/")

    assert str(caught.value) == "The URL must not contain credentials."


def test_simultaneous_look_ups_of_one_name_are_shared(monkeypatch):
    asked = []
    may_answer = threading.Event()

    def hanging(host, port, **rest):
        asked.append(host)
        may_answer.wait(60)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", port))]

    monkeypatch.setattr(socket, "getaddrinfo", hanging)
    # Each request is sent without waiting for an answer. The answers come after all three.
    for _ in range(3):
        with pytest.raises(NoAddress):
            look_up("slow.example", 443, 0.05)
    may_answer.set()

    assert look_up("slow.example", 443, 60) == [("93.184.215.14", 443)]
    assert len(asked) <= 2


def test_a_failed_look_up_is_repeated(names):
    with pytest.raises(NoAddress):
        look_up("later.example", 80, 60)
    names["later.example"] = ["93.184.215.14"]

    assert look_up("later.example", 80, 60) == [("93.184.215.14", 80)]
