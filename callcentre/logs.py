"""Logs: one JSON object a line on standard error, with the request id and without secrets."""

import re
from collections.abc import MutableMapping
from typing import Any

import orjson
import structlog

SECRET_KEYS = re.compile(r"password|secret|authorization|token|cookie|api_key|credential|fernet", re.IGNORECASE)
SECRET_TEXTS = re.compile(
    r"(?P<basic>\b(?:Basic|Bearer)\s+)[A-Za-z0-9+/=._~-]{6,}"
    r"|(?P<url>\b[a-z][a-z0-9+.-]*://[^\s/:@]*:)[^\s/@]+(?=@)"
    r"|\bwhsec_[A-Za-z0-9+/=]+"
)


def _censored_text(text: str) -> str:
    return SECRET_TEXTS.sub(lambda m: (m["basic"] or m["url"] or "") + "[secret]", text)


def censor(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Drop what looks like a credential, by its key or by its form, from a log line."""
    for key, value in event.items():
        if key.startswith("_"):
            continue
        if SECRET_KEYS.search(key):
            event[key] = "[secret]"
        elif isinstance(value, str):
            event[key] = _censored_text(value)
    return event


def _to_json(event: Any, **kwargs: Any) -> str:
    return orjson.dumps(event, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()


SHARED = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def logging_config(level: str, as_json: bool) -> dict[str, Any]:
    last: list[Any] = [structlog.processors.format_exc_info, censor]
    last.append(structlog.processors.JSONRenderer(_to_json) if as_json else structlog.dev.ConsoleRenderer())
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": SHARED,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "django.server": {"handlers": [], "propagate": True},
            # Every refused request would be a second line beside our own; faults of ours stay.
            "django.request": {"level": "ERROR"},
            "django.security.DisallowedHost": {"level": "ERROR"},
        },
    }
