"""A stand-in for the switch behind SIP over WebSocket: it registers a phone by SHA-256, and offers it calls.

It checks what the phone sends. Sound does not reach it: the offer names an address of no machine.
"""

import hashlib
import re
import uuid
from dataclasses import dataclass, field

from playwright.sync_api import Page, WebSocketRoute

REALM, NONCE = "asterisk", "1764000000/abcdef"
OFFER = "\r\n".join(
    [
        "v=0",
        "o=- 1 1 IN IP4 192.0.2.1",
        "s=Asterisk",
        "c=IN IP4 192.0.2.1",
        "t=0 0",
        "a=group:BUNDLE 0",
        "m=audio 40000 UDP/TLS/RTP/SAVPF 8 101",
        "a=mid:0",
        "a=setup:actpass",
        "a=fingerprint:SHA-256 " + ":".join(["AB"] * 32),
        "a=ice-ufrag:abcd",
        "a=ice-pwd:abcdefghijklmnopqrstuvwx",
        "a=rtpmap:8 PCMA/8000",
        "a=rtpmap:101 telephone-event/8000",
        "a=rtcp-mux",
        "a=sendrecv",
        "",
    ]
)


@dataclass(frozen=True)
class Message:
    """A message of the phone."""

    text: str

    @property
    def start(self) -> str:
        return self.text.partition("\r\n")[0]

    def header(self, name: str) -> str:
        found = re.search(rf"^{name}: (.*)\r$", self.text, re.MULTILINE | re.IGNORECASE)
        return found[1] if found else ""

    @property
    def answers(self) -> str:
        """The status and the method, as "200 INVITE"; the method of a request."""
        words = self.start.split()
        if words[0] != "SIP/2.0":
            return words[0]
        return f"{words[1]} {self.header('CSeq').split()[1]}"


@dataclass
class SipStandIn:
    """The switch of one phone. `passwords` are those that it accepts now; `heard` is what the phone has sent."""

    number: str
    passwords: set[str]
    heard: list[Message] = field(default_factory=list)
    sockets: list[WebSocketRoute] = field(default_factory=list)
    contact: str = ""

    def join(self, page: Page) -> None:
        page.context.route_web_socket(re.compile(r"/ws$"), self._connected)

    def _connected(self, socket: WebSocketRoute) -> None:
        self.sockets.append(socket)
        socket.on_message(lambda text: self._receive(socket, Message(str(text))))

    def _receive(self, socket: WebSocketRoute, message: Message) -> None:
        self.heard.append(message)
        if message.answers != "REGISTER":
            return
        if not (given := message.header("Authorization")):
            challenge = f'Digest realm="{REALM}",nonce="{NONCE}",opaque="x",algorithm=SHA-256,qop="auth"'
            self._answer(socket, message, "401 Unauthorized", f"WWW-Authenticate: {challenge}\r\n")
        elif self._is_right(given):
            self.contact = re.search(r"<([^>]*)>", message.header("Contact"))[1]  # type: ignore[index]
            self._answer(socket, message, "200 OK", f"Contact: {message.header('Contact')}\r\n")
        else:
            self._answer(socket, message, "403 Forbidden")

    def _is_right(self, given: str) -> bool:
        values = dict(re.findall(r'(\w+)="?([^",]*)"?', given))
        assert (values["username"], values["algorithm"], values["qop"]) == (self.number, "SHA-256", "auth")
        asked = _hash(f"REGISTER:{values['uri']}")
        rest = f"{NONCE}:{values['nc']}:{values['cnonce']}:auth:{asked}"
        secrets = {_hash(f"{self.number}:{REALM}:{password}") for password in self.passwords}
        return values["response"] in {_hash(f"{secret}:{rest}") for secret in secrets}

    def _answer(self, socket: WebSocketRoute, message: Message, status: str, headers: str = "") -> None:
        kept = "".join(f"{name}: {message.header(name)}\r\n" for name in ("Via", "From", "Call-ID", "CSeq"))
        socket.send(f"SIP/2.0 {status}\r\n{kept}To: {message.header('To')};tag=s\r\n{headers}Content-Length: 0\r\n\r\n")

    # Calls

    def offer(self, call_id: str, caller: str = "+48225550107", *, headers: str = "", sequence: int = 1) -> None:
        self.request(
            "INVITE",
            call_id,
            caller,
            headers=f"Session-Expires: 90\r\nSupported: timer\r\n{headers}",
            sequence=sequence,
            body=OFFER,
        )

    def request(
        self,
        method: str,
        call_id: str,
        caller: str = "+48225550107",
        *,
        headers: str = "",
        sequence: int = 1,
        body: str = "",
    ) -> None:
        tag = f";tag={self.tag(call_id)}" if method in ("ACK", "BYE", "UPDATE") or sequence > 1 else ""
        kind = "Content-Type: application/sdp\r\n" if body else ""
        self.sockets[-1].send(
            f"{method} {self.contact} SIP/2.0\r\nVia: SIP/2.0/WS 192.0.2.1:8088;branch=z9hG4bK{uuid.uuid4().hex}\r\n"
            f'f: "Caller" <sip:{caller}@192.0.2.1>;tag=caller\r\nTo: <sip:{self.number}@192.0.2.1>{tag}\r\n'
            f"Call-ID: {call_id}\r\nCSeq: {sequence} {method}\r\n"
            f"Contact: <sip:asterisk@192.0.2.1:8088;transport=ws>\r\n{headers}{kind}"
            f"Content-Length: {len(body)}\r\n\r\n{body}"
        )

    def of(self, call_id: str) -> list[str]:
        """Return what the phone has said of a call."""
        return [message.answers for message in self.heard if message.header("Call-ID") == call_id]

    def last(self, call_id: str, answers: str) -> Message:
        return [one for one in self.heard if one.header("Call-ID") == call_id and one.answers == answers][-1]

    def tag(self, call_id: str) -> str:
        return self.last(call_id, "180 INVITE").header("To").partition(";tag=")[2]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
