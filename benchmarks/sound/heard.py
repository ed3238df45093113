"""The sound of the far ends, read from the loopback interface as it passes: which tone each hears, and since when.

Also when the service asks Asterisk for the bridge of a call, and when all its channels are in it.

Needs the right to read raw packets (root). Agents play one tone and people outside another, so that music and the tone
of a standing line are neither. A packet has 20 ms of G.711 u-law. Times are those of the kernel, in seconds since 1970.
"""

import ipaddress
import math
import re
import socket
import struct
import threading
import wave
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

AGENT_HZ, OUTSIDE_HZ = 800, 1500
RATE = 8000
# A tone has this share of the energy of its packet.
_MOST = 0.5
# Within this time an answer is repeated until it is confirmed.
_REPEATED_SECONDS = 2
_TIMESTAMP_NS = 35
_ALL_PROTOCOLS, _OUTGOING = 3, 4
_TCP, _UDP = 6, 17
_USER = rb"<sips?:([+\w]+)@"
_CALL = re.compile(rb"^INVITE .*?^From: " + _USER + rb".*?^m=audio (\d+) ", re.DOTALL | re.MULTILINE)
_ANSWER = re.compile(rb"^SIP/2.0 200 OK\r?$.*?^To: " + _USER + rb".*?^m=audio (\d+) ", re.DOTALL | re.MULTILINE)
_BRIDGE = re.compile(rb"^POST /ari/bridges(?:/callcentre-(\d+)/addChannel|\?\S*bridgeId=callcentre-(\d+))")


class Ears:
    """The sound at all far ends. `ends`: of each number the time of its SDP, as of its answer, and its RTP port.

    `bridges`: of each call the times at which its bridge was asked for, and at which its channels were in it.
    """

    def __init__(self, sip_port: int, ari_port: int) -> None:
        self.ends: dict[str, tuple[float, int]] = {}
        self.bridges: dict[int, list[float]] = {}
        self._sip_port, self._ari_port = sip_port, ari_port
        # Of each connection to Asterisk: the call whose channels are put into its bridge.
        self._joining: dict[int, int] = {}
        self._taken: list[socket.socket] = []
        self._packets: defaultdict[int, list[tuple[float, bytes]]] = defaultdict(list)
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.ntohs(_ALL_PROTOCOLS))
        self._socket.bind(("lo", 0))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64_000_000)
        self._socket.setsockopt(socket.SOL_SOCKET, _TIMESTAMP_NS, 1)
        threading.Thread(target=self._hear, daemon=True).start()

    def forget(self) -> None:
        """Forget the sounds so far."""
        self._packets.clear()

    def first(self, number: str, hertz: int, since: float) -> float | None:
        """Return when the far end with this number first heard the tone after the time; None if it did not."""
        if (end := self.ends.get(number)) is None:
            return None
        packets = list(self._packets.get(end[1], ()))
        return next((at for at, sound in packets if at >= since and _has(sound, hertz)), None)

    def _hear(self) -> None:
        while True:
            packet, notes, _flags, address = self._socket.recvmsg(4096, 64)
            # Each packet passes twice, and UDP without options of IP begins at 20.
            if address[2] == _OUTGOING or packet[9] not in (_TCP, _UDP):
                continue
            seconds, nanoseconds = struct.unpack("qq", notes[0][2])
            at = seconds + nanoseconds / 1e9
            source, target = struct.unpack_from("!HH", packet, 20)
            if packet[9] == _TCP:
                if self._ari_port in (source, target):
                    self._see(at, source, target, packet[20 + (packet[32] >> 4) * 4 :])
            elif len(packet) == 200 and packet[28] == 0x80 and packet[29] & 0x7F == 0:
                self._packets[target].append((at, packet[40:]))
            elif target == self._sip_port and (found := _ANSWER.match(packet[28:]) or _CALL.match(packet[28:])):
                number, port = found[1].decode(), int(found[2])
                before, port_before = self.ends.get(number, (0.0, 0))
                if port != port_before or at - before > _REPEATED_SECONDS:
                    self.ends[number] = (at, port)
                    self._take(str(ipaddress.ip_address(packet[12:16])), port)

    def _see(self, at: float, source: int, target: int, content: bytes) -> None:
        if source == self._ari_port:
            if content.startswith(b"HTTP/1.1 2") and (call := self._joining.pop(target, None)):
                self.bridges[call].append(at)
        elif found := _BRIDGE.match(content):
            call = int(found[1] or found[2])
            if found[1]:
                self._joining[source] = call
            else:
                self.bridges[call] = [at]

    def _take(self, host: str, port: int) -> None:
        """Receive at a port at which no program listens: the kernel would answer each packet with an error."""
        with suppress(OSError):  # taken already
            ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            ear.bind((host, port))
            self._taken.append(ear)


def write_tones(folder: Path, hertz: int) -> None:
    """Write a second of the tone for sipp (tone.ulaw), and for the microphone of Chromium (tone.wav)."""
    folder.mkdir(exist_ok=True)
    samples = [int(12_000 * math.sin(2 * math.pi * hertz * n / RATE)) for n in range(RATE)]
    (folder / "tone.ulaw").write_bytes(bytes(_encoded(sample) for sample in samples))
    with wave.open(str(folder / "tone.wav"), "wb") as sound:
        sound.setparams((1, 2, 48_000, 0, "NONE", ""))
        tone = (int(12_000 * math.sin(2 * math.pi * hertz * n / 48_000)) for n in range(48_000))
        sound.writeframes(b"".join(struct.pack("<h", sample) for sample in tone))


def _has(sound: bytes, hertz: int) -> bool:
    samples = [_DECODED[byte] for byte in sound]
    energy = sum(sample * sample for sample in samples)
    turn = 2 * math.pi * hertz / RATE
    real = sum(sample * math.cos(turn * n) for n, sample in enumerate(samples))
    imaginary = sum(sample * math.sin(turn * n) for n, sample in enumerate(samples))
    return energy > len(samples) * 100**2 and 2 * (real**2 + imaginary**2) > _MOST * energy * len(samples)


def _encoded(sample: int) -> int:
    """Return a sample of 16 bits as G.711 u-law."""
    sign, amount = (0x80, -sample) if sample < 0 else (0, sample)
    amount = min(amount, 32_635) + 0x84
    exponent = amount.bit_length() - 8
    return ~(sign | exponent << 4 | amount >> exponent + 3 & 0x0F) & 0xFF


def _decoded(byte: int) -> int:
    byte = ~byte & 0xFF
    amount = (((byte & 0x0F) << 3) + 0x84 << (byte >> 4 & 7)) - 0x84
    return -amount if byte & 0x80 else amount


_DECODED = [_decoded(byte) for byte in range(256)]
