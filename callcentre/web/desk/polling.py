"""The parts of the desk. A part is sent again only if its facts have changed.

`facts` are read for each poll, in a query or two. `context` builds on them, only for a part that is sent. The digest of
the facts stands on the page, and the page sends it back with the next poll.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string

from callcentre.web.desk import calls, chats, customers, incoming, records, work
from callcentre.web.desk.situation import Situation


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the page, with a template of its name."""

    name: str
    facts: Callable[[Situation], Any]
    context: Callable[[Situation, Any], dict[str, Any]]

    @property
    def template(self) -> str:
        return f"admin/desk/{self.name}.html"


# The bar of every page of an agent.
INCOMING = Part("incoming", incoming.incoming_facts, incoming.incoming_context)
PARTS = (
    Part("state", calls.state_facts, calls.state_context),
    Part("offer", records.offer_facts, records.offer_context),
    Part("call", calls.call_facts, calls.call_context),
    Part("transfer", calls.transfer_facts, calls.transfer_context),
    Part("record", records.record_facts, records.record_context),
    Part("topic", calls.topic_facts, calls.topic_context),
    Part("customer", customers.customer_facts, customers.customer_context),
    Part("chats", chats.chats_facts, chats.chats_context),
    Part("conversation", chats.conversation_facts, chats.conversation_context),
    Part("canned", chats.canned_facts, chats.canned_context),
    Part("missed", work.missed_facts, work.missed_context),
    Part("tickets", work.tickets_facts, work.tickets_context),
    Part("numbers", work.numbers_facts, work.numbers_context),
)


def changed_parts(desk: Situation, parts: Iterable[Part], known: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the digest and the HTML of each part whose digest is not the known one."""
    changed = {}
    for part in parts:
        facts = part.facts(desk)
        digest = _digest(facts)
        if known.get(part.name) != digest:
            html = render_to_string(part.template, part.context(desk, facts), request=desk.request).strip()
            changed[part.name] = {"digest": digest, "html": html}
    return changed


def _digest(facts: Any) -> str:
    return hashlib.blake2s(repr(facts).encode(), digest_size=6).hexdigest()
