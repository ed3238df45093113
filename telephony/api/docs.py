"""Documents of telephony's API, in a module for each resource."""

from telephony.api import (  # noqa: F401
    agents_docs,
    calls_docs,
    connections_docs,
    queues_docs,
    shortcuts_docs,
    topics_docs,
    transcriptions_docs,
)
