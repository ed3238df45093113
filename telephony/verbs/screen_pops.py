"""Screen pops: the addresses of other programs that belong to a call, at a moment of it.

Values are escaped, so that a caller's number cannot change an address. `problem` says what is wrong with a template.
"""

from string import Formatter
from urllib.parse import quote, urlsplit

from django.utils.translation import gettext as _

from telephony import events
from telephony.models.connection import Connection
from telephony.models.screen_pop import ScreenPop

Moment, Way = ScreenPop.Moment, ScreenPop.Way

PLACEHOLDERS = ("number", "connection_id", "customer_id", "record_id", "agent", "queue", "campaign")


def problem(url: str) -> str:
    """Return a sentence about what is wrong with the template of an address; "" if it can be used."""
    try:
        parts = list(Formatter().parse(url))
        host = urlsplit(url).netloc
    except ValueError:
        return _("A bracket has no partner.")
    for _text, name, form, conversion in parts:
        if name is not None and (name not in PLACEHOLDERS or form or conversion):
            known = ", ".join(f"{{{placeholder}}}" for placeholder in PLACEHOLDERS)
            return _("There is no {%(name)s}; there are %(known)s.") % {"name": name, "known": known}
    if not url.lower().startswith(("http://", "https://")) or not host or "{" in host:
        return _("The address begins with http:// or https:// and the name of a host.")
    return (
        "" if url.isprintable() and " " not in url else _("The address has a space or a character that is not shown.")
    )


def of_call(connection: Connection, way: str, *moments: str) -> list[ScreenPop]:
    """Return the screen pops of the call's queue or campaign at these moments."""
    if connection.campaign_id:
        owner = {"campaign_id": connection.campaign_id}
    elif connection.queue_id:
        owner = {"queue_id": connection.queue_id}
    else:
        return []
    return list(ScreenPop.objects.filter(is_active=True, moment__in=moments, way=way, **owner))


def address(pop: ScreenPop, connection: Connection, agent_login: str) -> str:
    """Return the address with the facts of the call; an unknown one is empty."""
    facts = {
        "number": connection.customer_number,
        "connection_id": connection.uid,
        "customer_id": connection.customer_id,
        "record_id": connection.record_id,
        "agent": agent_login,
        "queue": connection.queue.name if connection.queue else "",
        "campaign": connection.campaign_code,
    }
    return pop.url.format(**{name: quote("" if fact is None else str(fact), safe="") for name, fact in facts.items()})


def record(connection: Connection, agent_login: str, moment: str) -> None:
    """Record SCREEN_POP for the pops of this moment that webhooks get."""
    for pop in of_call(connection, Way.EVENT, moment):
        url = address(pop, connection, agent_login)
        events.screen_pop(connection, agent_login, moment=moment, name=pop.name, url=url)
