import pytest

from callcentre.core.errors import ErrorCode, Invalid
from tests.conftest import ACTOR
from tests.tickets.factories import TicketFactory, TicketSubstatusFactory
from tickets.models import TicketStatus
from tickets.verbs.tickets import edit_ticket

pytestmark = pytest.mark.django_db


def test_no_substatus_makes_a_ticket_merged():
    ticket = TicketFactory()
    substatus = TicketSubstatusFactory(status=TicketStatus.objects.get(kind="merged"))

    with pytest.raises(Invalid) as raised:
        edit_ticket(ticket, ACTOR, substatus_id=substatus.pk)

    assert [(fault.code, fault.field) for fault in raised.value.faults] == [
        (ErrorCode.STATUS_MERGED_BY_HAND, "substatus_id")
    ]
    ticket.refresh_from_db()
    assert ticket.status.kind == "new"
