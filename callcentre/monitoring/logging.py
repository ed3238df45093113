"""Logs: one JSON object per line on standard error, with the request id and without secrets."""

import logging
import os
import re
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TextIO

import orjson
import structlog

SECRET_KEYS = re.compile(r"password|secret|authorization|token|cookie|api_key|credential|fernet", re.IGNORECASE)
SECRET_TEXTS = re.compile(
    # credentials in headers, in addresses, and in quoted headers and bodies
    r"(?P<scheme>\b(?:Basic|Bearer)\s+)[A-Za-z0-9+/=._~-]{6,}"
    r"|(?P<url>\b[a-z][a-z0-9+.-]{0,30}://[^\s/:@]*:)[^\s/@]+(?=@)"
    r"|(?P<named>(?:password|secret|authorization|token|cookie|api_key)[\"']?\s*[:=]\s*)"
    r"(?:(?:Basic|Bearer)\s+)?(?:\"[^\"]*\"|'[^']*'|[^\s,;&})\]]+)"
    r"|\bwhsec_[A-Za-z0-9+/=]+"
    # values that PostgreSQL repeats: the row that broke a constraint, the parameter it could not read
    r"|(?P<detail>(?:\\n|\b)(?-i:DETAIL|CONTEXT|QUERY|STATEMENT):)(?:(?!\n|\\n).)*"
    # links that work without a log-in: a new password, a rating, a message for the switch; nginx.conf has the same list
    r"|(?P<link>/(?:admin/login/reset/[^/\s]+|sounds|ratings)/)[^/\s?\"']+"
    r"|(?P<value>\b(?:invalid input syntax for type [a-z ]{1,60}|out of range|invalid input value for enum \w+): )"
    r"(?:\"[^\"]*\"?|'[^']*'?)",
    re.IGNORECASE,
)
# Each secret contains one of these words, so most texts need only one search. It reads the text in lower case, which
# takes a seventh of the time of a search that ignores case.
_SUSPICIOUS = re.compile(
    r"basic|bearer|://|password|secret|authorization|token|cookie|api_key|whsec_|detail:|context:|query:|statement:"
    r"|invalid input|out of range|/reset/|/sounds/|/ratings/"
)
_is_secret_key = lru_cache(maxsize=1024)(SECRET_KEYS.search)


def _censored_text(text: str) -> str:
    if not _SUSPICIOUS.search(text.casefold()):
        return text
    return SECRET_TEXTS.sub(lambda m: (m[m.lastgroup] if m.lastgroup else "") + "[secret]", text)


def _censored(value: Any) -> Any:
    match value:
        case str():
            return _censored_text(value)
        case bytes():
            return _censored_text(value.decode(errors="replace"))
        case int() | float() | None:
            return value
        case Mapping():
            return {key: "[secret]" if _is_secret_key(str(key)) else _censored(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_censored(item) for item in value]
    return _censored_text(repr(value))


def censor(line: dict[str, Any]) -> None:
    """Remove credentials from a log line, found by their key or by their form."""
    for key, value in line.items():
        line[key] = "[secret]" if _is_secret_key(key) else _censored(value)


# No line names the place in the code, the thread or the process, so no record finds them out (Python's logging HOWTO,
# "Optimization").
logging._srcfile = None
logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False

# Attributes of every record. All others were given with `extra`.
_OF_RECORDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
_console = structlog.dev.ConsoleRenderer()


class LineFormatter(logging.Formatter):
    """The formatter of one line per record, for our processes and for servers with their own configuration."""

    def __init__(self, *, as_json: bool = True) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {"event": record.getMessage(), **structlog.contextvars.get_contextvars()}
        line["level"], line["logger"] = record.levelname.lower(), record.name
        line.update({key: value for key, value in vars(record).items() if key not in _OF_RECORDS})
        line["timestamp"] = datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z")
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        censor(line)
        if self._as_json:
            return orjson.dumps(line, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()
        return str(_console(None, record.levelname.lower(), line))


# A traceback up to the line that names the error, or a line with the indented ones after it.
_BLOCK = re.compile(r"(?m)^(?:Traceback \(.*\n(?:[ \t].*\n)*\S.*\n|(?!Traceback \().*\n(?:[ \t].*\n)*)")


class TextToLines:
    """Standard error whose text becomes lines of the log: what no logger wrote, such as a traceback or a sentence."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._of_thread = stream, threading.local()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        begun, end = getattr(self._of_thread, "text", "") + text, 0
        while block := _BLOCK.match(begun, end):
            self._stream.write(line_of(block[0]))
            end = block.end()
        self._of_thread.text = begun[end:]
        return len(text)


def line_of(block: str) -> str:
    """Return the line of the log for a block of text, which may be such a line already; "" for an empty block."""
    text = block.strip()
    if not text or text.startswith('{"event":'):
        return block.lstrip()
    event = text.splitlines()[-1 if text.startswith("Traceback ") else 0]
    level = logging.WARNING if "Warning: " in event else logging.ERROR
    values = {"name": "stderr", "levelno": level, "levelname": logging.getLevelName(level), "msg": event}
    return LineFormatter().format(logging.makeLogRecord(values | ({"exception": text} if text != event else {}))) + "\n"


def write_lines_only() -> None:
    """Let this process write nothing but lines of the log to standard error, unless a person reads it."""
    is_wanted = os.environ.get("LOG_JSON", "1").lower() not in ("0", "false", "no", "off")
    if is_wanted and not sys.stderr.isatty() and not isinstance(sys.stderr, TextToLines):
        lines: Any = TextToLines(sys.stderr)
        sys.stderr = lines


class WithoutSweeps(logging.Filter):
    """A filter that drops the line of each successful sweep: some sweeps run every second."""

    def filter(self, record: logging.LogRecord) -> bool:
        data = getattr(record, "data", None)
        name = str(data.get("name", "")) if isinstance(data, dict) else ""
        return record.levelno > logging.INFO or ".sweep" not in name


class WithoutAdvice(logging.Filter):
    """A filter that drops granian's advice at each start: we use more than two threads per core, since they wait for
    rows.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith(("Configuration allows spawning up to", "Configured number of workers"))


class WithoutTraces(logging.Filter):
    """A filter that removes the stack from Django's line about a refused request: any client can cause it."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith("django.security."):
            record.exc_info = record.exc_text = None
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


def logging_config(level: str, as_json: bool) -> dict[str, Any]:
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": LineFormatter, "as_json": as_json}},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["without_traces"]},
        },
        "filters": {"without_sweeps": {"()": WithoutSweeps}, "without_traces": {"()": WithoutTraces}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "django.server": {"handlers": [], "propagate": True},
            # Every refused request would get a second line beside our own; our own errors stay.
            "django.request": {"level": "ERROR"},
            # At DEBUG it logs every statement with its parameters.
            "django.db.backends": {"level": "INFO"},
            # Tasks log a line at their end; lines for sending and receiving would be two more.
            "celery.app.trace": {"filters": ["without_sweeps"]},
            "celery.beat": {"level": "WARNING"},
            "celery.worker.strategy": {"level": "WARNING"},
            # Its warnings about odd answers contain the URL of a webhook, which may hold a token.
            "urllib3": {"level": "ERROR"},
        },
    }
