"""What the documents of the API say of telephony: a module for each kind of thing."""

from telephony.api import agents_docs, connections_docs, queues_docs  # noqa: F401
