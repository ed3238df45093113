"""Logs: one JSON object a line on standard error, with the request id and without secrets."""

import logging
import re
from collections.abc import Mapping, MutableMapping
from functools import lru_cache
from typing import Any

import orjson
import structlog

SECRET_KEYS = re.compile(r"password|secret|authorization|token|cookie|api_key|credential|fernet", re.IGNORECASE)
SECRET_TEXTS = re.compile(
    # credentials in headers, in addresses, in headers and bodies that somebody quotes
    r"(?P<scheme>\b(?:Basic|Bearer)\s+)[A-Za-z0-9+/=._~-]{6,}"
    r"|(?P<url>\b[a-z][a-z0-9+.-]{0,30}://[^\s/:@]*:)[^\s/@]+(?=@)"
    r"|(?P<named>(?:password|secret|authorization|token|cookie|api_key)[\"']?\s*[:=]\s*)"
    r"(?:(?:Basic|Bearer)\s+)?(?:\"[^\"]*\"|'[^']*'|[^\s,;&})\]]+)"
    r"|\bwhsec_[A-Za-z0-9+/=]+"
    # values that PostgreSQL repeats: the row that broke a constraint, the parameter it could not read
    r"|(?P<detail>(?:\\n|\b)(?-i:DETAIL|CONTEXT|QUERY|STATEMENT):)(?:(?!\n|\\n).)*"
    r"|(?P<value>\b(?:invalid input syntax for type [a-z ]{1,60}|out of range|invalid input value for enum \w+): )"
    r"(?:\"[^\"]*\"?|'[^']*'?)",
    re.IGNORECASE,
)
# What each of them has at least: most texts are done with one look.
_SUSPICIOUS = re.compile(
    r"basic|bearer|://|password|secret|authorization|token|cookie|api_key|whsec_|detail:|context:|query:|statement:"
    r"|invalid input|out of range",
    re.IGNORECASE,
)
_is_secret_key = lru_cache(maxsize=1024)(SECRET_KEYS.search)


def _censored_text(text: str) -> str:
    if not _SUSPICIOUS.search(text):
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


def censor(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Drop what looks like a credential, by its key or by its form, from a log line."""
    for key, value in event.items():
        if key[0] == "_":
            continue
        event[key] = "[secret]" if _is_secret_key(key) else _censored(value)
    return event


def _to_json(event: Any, **kwargs: Any) -> str:
    return orjson.dumps(event, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()


SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def line_formatter(*, as_json: bool = True) -> logging.Formatter:
    """One line a record. For our own processes, and for servers that take a logging configuration of their own."""
    last: list[Any] = [structlog.processors.format_exc_info, censor]
    last.append(structlog.processors.JSONRenderer(_to_json) if as_json else structlog.dev.ConsoleRenderer())
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=SHARED,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
    )


class WithoutSweeps(logging.Filter):
    """Drops the line of a sweep that went well: some look every second whether there is work, all day long."""

    def filter(self, record: logging.LogRecord) -> bool:
        data = getattr(record, "data", None)
        name = str(data.get("name", "")) if isinstance(data, dict) else ""
        return record.levelno > logging.INFO or ".sweep" not in name


class WithoutAdvice(logging.Filter):
    """Drops what granian advises at each start: our threads are more than two a core because they wait for rows."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith(("Configuration allows spawning up to", "Configured number of workers"))


class WithoutTraces(logging.Filter):
    """Makes a warning without a stack of Django's line on a refused request: any client can cause it."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith("django.security."):
            record.exc_info = record.exc_text = None
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


def logging_config(level: str, as_json: bool) -> dict[str, Any]:
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": "callcentre.monitoring.logging.line_formatter", "as_json": as_json}},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["without_traces"]},
        },
        "filters": {"without_sweeps": {"()": WithoutSweeps}, "without_traces": {"()": WithoutTraces}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "django.server": {"handlers": [], "propagate": True},
            # Every refused request would be a second line beside our own; faults of ours stay.
            "django.request": {"level": "ERROR"},
            # At DEBUG it logs every statement with its parameters.
            "django.db.backends": {"level": "INFO"},
            # A task that ends has a line; sent and received, every few seconds, would be two more.
            "celery.app.trace": {"filters": ["without_sweeps"]},
            "celery.beat": {"level": "WARNING"},
            "celery.worker.strategy": {"level": "WARNING"},
            # Its warnings about odd answers have the URL of a webhook, which may hold a token.
            "urllib3": {"level": "ERROR"},
        },
    }
