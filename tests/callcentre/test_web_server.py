"""The web server behind a proxy: slow clients, bodies of strangers, headers, refused requests."""

import base64
import select
import socket
from typing import Any

import pytest

from callcentre.core.file_store import FileStore
from tests.processes import wait_for
from tests.serving import Answer, WebServer, web_servers

HOST = "callcentre.example"
MANY = 200
JSON, TEXT = "application/json", "text/plain"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=x"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("web-server")


@pytest.fixture(scope="module")
def server(django_db_setup, django_db_blocker, folder):
    """Run a production server behind a proxy on this machine. A trickling body is given up after a minute."""
    production = {
        "ALLOWED_HOSTS": f"127.0.0.1,{HOST}",
        "TRUSTED_PROXIES": "127.0.0.1/32",
        "SECURE_SSL_REDIRECT": "1",
        "BODY_TIMEOUT_SECONDS": "60",
    }
    with django_db_blocker.unblock(), web_servers(1, folder, **production) as (running,):
        yield running


def ask(server: WebServer, path: str, method: str = "GET", *, auth: str = "", **headers: str) -> Answer:
    """Send a request as the proxy does."""
    given = {"Host": HOST, "X_Forwarded_Proto": "https", "X_Forwarded_For": "203.0.113.9"} | headers
    return server.request(method, path, auth=auth, **given)


def begin(server: WebServer, request: str, *, credential: str = "", body: bytes = b"", **headers: str) -> socket.socket:
    """Send the head of a request and this much of its body, on a connection of its own."""
    given = {"Host": HOST, "X-Forwarded-Proto": "https"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    if credential:
        given["Authorization"] = f"Basic {base64.b64encode(credential.encode()).decode()}"
    lines = [f"{request} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
    client = socket.create_connection(("127.0.0.1", server.port), timeout=100)
    client.sendall("\r\n".join([*lines, "", ""]).encode() + body)
    return client


def status_of(client: socket.socket) -> int:
    return int(client.recv(4096).split(b" ", 2)[1])


def await_readiness(server: WebServer) -> None:
    """Wait until the probe says 200. On a busy machine the stores may answer later than it waits for them."""
    # Another web server of this run may have marked its own folder of files as that of all hosts.
    FileStore.objects.all().delete()
    wait_for(lambda: server.request("GET", "/health/ready").status == 200)


@pytest.mark.parametrize("credential_is_right", [False, True], ids=["strangers", "users"])
def test_many_trickling_bodies_delay_no_other_request(server, credential, credential_is_right):
    """Open 200 connections to 8 threads."""
    form, json = {"Content_Type": FORM, "Content_Length": "5000"}, {"Content_Type": JSON}
    upload = {"Content_Type": TEXT, "Content_Length": "20000000"}
    chunked = json | {"Transfer_Encoding": "chunked"}
    known = credential if credential_is_right else ""
    clients = []
    for _ in range(MANY // 4):
        clients.append(begin(server, "POST /admin/login/", body=b"a", **form))
        clients.append(begin(server, "POST /api/outbounds", credential=known, body=b"{", **json, Content_Length="500"))
        clients.append(begin(server, "POST /api/outbounds", credential=known, body=b"1\r\n{\r\n", **chunked))
        clients.append(begin(server, "POST /api/temporary_files?filename=a", credential=known, body=b"a", **upload))

    statuses = [
        ask(server, "/health/live").status,
        ask(server, "/ratings/none").status,
        ask(server, "/api/ping", auth=credential).status,
    ]
    await_readiness(server)
    for client in clients:
        client.send(b"a")
    waiting = len(clients) - len(select.select(clients, [], [], 0)[0])

    assert statuses == [200, 404, 204]
    assert waiting == (MANY if credential_is_right else MANY // 4)
    for client in clients:
        client.close()


def test_clients_that_do_not_read_their_file_delay_no_other_request(server, credential):
    large = begin(
        server,
        "POST /api/temporary_files?filename=a.bin",
        credential=credential,
        body=b"x" * 8_000_000,
        Content_Type="text/plain",
        Content_Length="8000000",
    )
    answer = large.recv(4096).decode()
    token = answer.partition('"token":"')[2].partition('"')[0]
    clients = [begin(server, f"GET /api/files/{token}", credential=credential) for _ in range(40)]
    assert [status_of(client) for client in clients] == [200] * 40

    assert ask(server, "/api/ping", auth=credential).status == 204
    for client in [large, *clients]:
        client.close()


@pytest.mark.parametrize(
    ("line", "body", "login", "expected"),
    [
        ("POST /api/outbounds", (JSON, "100"), "", 401),
        ("POST /api/outbounds", (JSON, "chunked"), "", 401),
        ("POST /api/outbounds", (JSON, "100"), "a:b", 401),
        ("POST /api/outbounds", (JSON, "chunked"), "a:b", 401),
        ("POST /api/temporary_files", (TEXT, "20000000"), "a:b", 401),
        ("POST /api/no_such", (TEXT, "20000000"), "", 401),
        ("POST /admin/login/", (MULTIPART, "400000000"), "", 413),
        ("POST /admin/login/", (FORM, "70000"), "", 413),
        ("POST /admin/language", (FORM, "70000"), "", 413),
        ("POST /ratings/x", (MULTIPART, "70000"), "", 413),
        ("POST /health/live", (MULTIPART, "70000"), "", 413),
        ("POST /admin/campaigns/recordimport/add/", (MULTIPART, "100"), "", 302),
        ("POST /admin/tickets/ticket/1/change/", (MULTIPART, "100"), "", 302),
        ("POST /admin/campaigns/recordimport/add/", (FORM, "chunked"), "", 302),
    ],
)
def test_a_body_to_be_refused_is_not_awaited(server, line, body, login, expected):
    """Send only the head; the answer comes without the body."""
    media_type, size = body
    length: dict[str, Any] = {"Transfer_Encoding": size} if size == "chunked" else {"Content_Length": size}

    client = begin(server, line, credential=login, Content_Type=media_type, **length)

    assert status_of(client) == expected
    client.close()


def test_a_users_too_large_body_is_not_awaited(server, credential):
    line = "POST /api/outbounds"

    client = begin(server, line, credential=credential, Content_Type=JSON, Content_Length="400000000")

    assert status_of(client) == 413
    client.close()


# Behind a proxy


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        # The proxy names another address; the client names this machine, which may read metrics.
        *(
            ("/metrics", f"X-Forwarded-For: 203.0.113.9\r\n{name}: 127.0.0.1", 404)
            for name in ("X_Forwarded_For", "X-Forwarded_For", "x_forwarded-for")
        ),
        ("/admin/login/", "X_Forwarded_Proto: https", 301),
    ],
)
def test_no_spelling_of_a_header_replaces_the_proxys_header(server, path, headers, status):
    with socket.create_connection(("127.0.0.1", server.port), timeout=100) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n{headers}\r\n\r\n".encode())
        assert status_of(client) == status


def test_a_request_over_tls_is_answered_with_hsts_and_one_without_is_redirected_once(server):
    secure, plain = ask(server, "/admin/"), ask(server, "/admin/login/", X_Forwarded_Proto="http")

    assert (secure.status, secure.headers["location"]) == (302, "/admin/login/?next=/admin/")
    assert secure.headers["strict-transport-security"] == "max-age=31536000; includeSubDomains; preload"
    assert (plain.status, plain.headers["location"]) == (301, f"https://{HOST}/admin/login/")
    assert "strict-transport-security" not in plain.headers


def test_probes_need_no_tls(server, committed_db):
    assert [server.request("GET", path).status for path in ("/health/live", "/metrics")] == [200, 200]
    await_readiness(server)


def test_a_foreign_host_is_one_line_in_the_log(server, folder):
    log = folder / "web0.log"
    before = len(log.read_text().splitlines())

    statuses = [ask(server, path, Host="elsewhere.example").status for path in ("/", "/api/ping", "/health/live")]

    assert statuses == [400, 400, 400]
    lines = log.read_text().splitlines()[before:]
    assert len(lines) == 3
    assert not [line for line in lines if "Traceback" in line]
