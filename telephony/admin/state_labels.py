"""Names and colours of agents' states in the admin, and the format of instants and lengths."""

from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.core.times import spell_length
from telephony.current_states import LOGGED_OUT, Current
from telephony.models import AgentState, BrowserPhone

Kind = AgentState.Kind
LABELS: dict[str, Any] = {**dict(Kind.choices), LOGGED_OUT: _("logged out")}
COLOURS: dict[str, str] = {
    Kind.FREE: "success",
    Kind.PREVIEW: "info",
    Kind.RINGING: "info",
    Kind.TALKING: "info",
    Kind.WRAP_UP: "warning",
    Kind.PAUSED: "danger",
    LOGGED_OUT: "default",
}


def label_of(current: Current) -> str:
    return state_label(current.status, current.pause_name, current.next_pause_name)


def state_label(status: str, pause: str, next_pause: str) -> str:
    """Return the name of the state, of the pause, and of the pause after a call."""
    label = str(LABELS[status])
    if next_pause:
        return _now("%(state)s, then %(pause)s") % {"state": label, "pause": next_pause}
    return f"{label}: {pause}" if pause else label


def phone_label(phone: str, status: str) -> str:
    """Return the state of a phone in the browser in words; an empty string for another phone."""
    if phone == BrowserPhone.State.READY and status in (Kind.RINGING, Kind.TALKING):
        return _now("phone: in a call")
    return str(BrowserPhone.State(phone).label) if phone in BrowserPhone.State.values else ""


def length(since: datetime | None, until: datetime | None = None) -> str:
    """Return the length between two instants; an open interval lasts until now."""
    return spell_length(((until or timezone.now()) - since).total_seconds()) if since else ""


def minutes(seconds: float) -> str:
    """Return the length, or a dash for 0."""
    return spell_length(seconds) if seconds else "–"
