import pytest
from django.contrib.auth.models import Permission

from callcentre.core.scope import Scope, within_scope
from tests.backoffice import BackOffice
from tests.callcentre.factories import UserFactory
from tests.tickets.factories import TicketFactory
from tickets.models import Ticket

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("collected_static")]


def test_a_person_sees_the_tickets_of_their_queues_only():
    inside, _outside = TicketFactory(), TicketFactory()
    user = UserFactory(staff=True, scope_ticket_queues=[inside.queue_id])

    assert list(within_scope(Ticket.objects.all(), user)) == [inside]


def test_a_scope_includes_those_inside_it():
    wide, narrow = Scope(call_queues=(1, 2)), Scope(call_queues=(2,), outbounds=(5,))

    assert wide.includes(narrow)
    assert not narrow.includes(wide)
    assert Scope().includes(wide)
    assert not wide.includes(Scope())


def test_the_list_and_the_pages_of_tickets_are_narrowed():
    inside, outside = TicketFactory(), TicketFactory()
    user = UserFactory(staff=True, scope_ticket_queues=[inside.queue_id])
    user.user_permissions.set(Permission.objects.filter(codename="view_ticket"))
    client = BackOffice()
    client.force_login(user)

    page = client.page("/admin/tickets/ticket/")

    assert f"#{inside.pk}" in page
    assert f"#{outside.pk}" not in page
