"""A stand-in of a provider of OpenID Connect on a socket: discovery, keys, tokens, user information, its messages."""

import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.urls import reverse
from joserfc import jwt
from joserfc.jwk import ECKey

from callcentre.signin import provider
from callcentre.signin.provider import LOGOUT_EVENT
from tests.backoffice import BackOffice

BEGIN, BACK, END = reverse("provider-log-in"), reverse("provider-back"), reverse("provider-log-out")
CLIENT_ID = "callcentre"


class StandIn:
    """The provider: people log in by `authorise`, and its answers can be changed by its attributes."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.key = self.new_key("first")
        self.person: dict[str, Any] = {
            "sub": "1000",
            "preferred_username": "ewa",
            "email": "ewa@firm.example",
            "given_name": "Ewa",
            "family_name": "Kot",
            "groups": ["team"],
        }
        # Claims of the ID token beside those of the person; None takes a claim away.
        self.token_claims: dict[str, Any] = {}
        # Status and body of the endpoint of tokens, in the place of a token.
        self.refusal: tuple[int, dict[str, Any]] | None = None
        self.has_refresh_tokens = True
        self.user_status = 200
        self.codes: dict[str, dict[str, str]] = {}
        self.sent: list[dict[str, str]] = []
        # The paths of all requests.
        self.asked: list[str] = []

    @staticmethod
    def new_key(name: str) -> ECKey:
        return ECKey.generate_key("P-256", {"kid": name, "use": "sig", "alg": "ES256"})

    def authorise(self, address: str) -> dict[str, str]:
        """Log in the person of a browser that was led here. Return the parameters with which it comes back."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        code = f"code-{len(self.codes)}"
        self.codes[code] = query
        return {"code": code, "state": query["state"]}

    def signed(self, claims: dict[str, Any], **header: Any) -> str:
        kept = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode({"alg": "ES256", "kid": self.key.kid, **header}, kept, self.key)

    def id_token(self, nonce: str | None) -> str:
        now = int(time.time())
        about = {"iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "auth_time": now, "sid": "s1"}
        return self.signed({**self.person, **about, "nonce": nonce, **self.token_claims})

    def logout_token(self, **claims: Any) -> str:
        about = {"iss": self.issuer, "aud": CLIENT_ID, "iat": int(time.time()), "jti": "1", "sid": "s1"}
        return self.signed({**about, "events": {LOGOUT_EVENT: {}}, **claims}, typ="logout+jwt")

    def answer(self, path: str, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        self.asked.append(path)
        if path == "/.well-known/openid-configuration":
            names = {"token_endpoint": "/token", "userinfo_endpoint": "/user", "jwks_uri": "/keys"}
            pages = {"authorization_endpoint": "/authorise", "end_session_endpoint": "/end"}
            addresses = {name: self.issuer + end for name, end in (names | pages).items()}
            return 200, {"issuer": self.issuer, **addresses}
        if path == "/keys":
            return 200, {"keys": [self.key.as_dict(private=False)]}
        if path == "/user":
            return self.user_status, self.person
        assert path == "/token"
        self.sent.append(form)
        if self.refusal:
            return self.refusal
        nonce = None
        if form["grant_type"] == "authorization_code":
            asked = self.codes.pop(form["code"])
            proof = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
            assert (asked["code_challenge_method"], asked["code_challenge"]) == ("S256", proof)
            nonce = asked["nonce"]
        tokens = {"access_token": "access", "token_type": "Bearer", "expires_in": 300, "id_token": self.id_token(nonce)}
        return 200, tokens | ({"refresh_token": f"refresh-{len(self.sent)}"} if self.has_refresh_tokens else {})


@contextmanager
def serving() -> Iterator[StandIn]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            form = {name: values[0] for name, values in parse_qs(content).items()}
            status, body = standing.answer(urlsplit(self.path).path, form)
            sent = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    standing = StandIn(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield standing
    finally:
        server.shutdown()
        server.server_close()
        provider.provider.cache_clear()


def log_in(standing: StandIn, client: BackOffice | None = None, **query: str) -> tuple[BackOffice, Any]:
    """Go through the whole log-in. Return the browser and the answer to its return."""
    client = client or BackOffice()
    led = client.get(BEGIN, query)
    return client, client.get(BACK, standing.authorise(led["Location"]))


def is_logged_in(client: BackOffice) -> bool:
    return bool(client.get(reverse("admin:index")).status_code == 200)
