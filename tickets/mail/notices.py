"""The mails of notices. They hold no text of the customer: the ticket is behind a link."""

from operator import attrgetter

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _

from callcentre.core.mail_outbox import Letter, Outbox
from tickets.models.notice import OF_ASSIGNEE, Notice


def _letters(notice: Notice) -> list[Letter]:
    agent = notice.agent
    # What concerns the assignee is no news for an agent who has not got the ticket any more.
    is_outdated = notice.kind in OF_ASSIGNEE and notice.ticket.agent_id != agent.pk
    has_left = not agent.is_active or (agent.user is not None and not agent.user.is_active)
    if is_outdated or has_left or not agent.email:
        return []
    lines = [str(notice)]
    if notice.actor_name:
        lines.append(_("By: %(who)s") % {"who": notice.actor_name})
    if settings.PUBLIC_URL:
        lines.append(settings.PUBLIC_URL + reverse("admin:tickets_ticket_change", args=[notice.ticket_id]))
        choice = settings.PUBLIC_URL + reverse("admin:tickets_agentpreferences_own")
        lines += ["", _("You choose which notices come by mail: %(page)s") % {"page": choice}]
    return [Letter(agent.email, str(notice), lines)]


outbox = Outbox(
    Notice,
    compose=_letters,
    # Users have no language of their own.
    language=lambda _notice: settings.LANGUAGE_CODE,
    written_at=attrgetter("created_at"),
    related=["agent__user", "ticket"],
)
