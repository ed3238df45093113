"""The id of the request that is being answered, which log lines, answers, tasks and queued work carry."""

import structlog


def current_request_id() -> str:
    """Return the id, or "" outside a request and its tasks."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))
