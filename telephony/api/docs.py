"""What the documents of the API say of telephony: a module for each kind of thing."""

from telephony.api import (  # noqa: F401
    agents_docs,
    calls_docs,
    connections_docs,
    queues_docs,
    shortcuts_docs,
    topics_docs,
    transcriptions_docs,
)
