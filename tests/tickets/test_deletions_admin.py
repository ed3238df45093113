"""Deletions through the admin: a page that counts what goes, a reason, a worker, a trace."""

from typing import Any

import pytest
from django.urls import reverse

from callcentre.core import deletions
from callcentre.core.deletions import Deletion
from callcentre.models import User
from tests.backoffice import BackOffice, errors_of, messages_of, page_of, shown, staff, superuser
from tests.callcentre.factories import DeletionFactory
from tests.statements import few_statements
from tests.telephony.factories import RecordingFactory
from tests.tickets.deleting import MARK, a_chat, a_file, a_mail, a_person, a_ticket, left_of
from tests.tickets.factories import CustomerFactory, MessageFactory, TicketFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "own_storage")]

LIST = reverse("admin:callcentre_deletion_changelist")
# Kind -> a row of it, and the permission to see it.
KINDS: dict[str, tuple[Any, str]] = {
    "customer": (lambda: CustomerFactory(surname=MARK), "view_customer"),
    "ticket": (lambda: a_ticket("a"), "view_ticket"),
    "chat": (a_chat, "view_chat"),
    "mail": (lambda: a_mail("a", outcome="quarantined"), "view_receivedmail"),
    "file": (lambda: a_file("a", message=MessageFactory()), "view_storedfile"),
    "recording": (lambda: RecordingFactory(ready=True), "view_recording"),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def of_kind(kind: str) -> Any:
    return KINDS[kind][0]()


def ask(client: BackOffice, row: Any, **values: Any) -> Any:
    return client.submit(page_of(row, "delete"), **{"reason": "request of 21 November", **values})


@each_kind
def test_a_superuser_deletes_with_a_reason_and_sees_the_trace(kind):
    client, row = superuser(), of_kind(kind)
    name = str(row)

    assert page_of(row, "delete") in client.page(page_of(row))
    unreasoned = ask(client, row, reason="  ", expected=200)
    assert errors_of(unreasoned) == {"reason": ["This field is required."]}
    assert not Deletion.objects.exists()
    answer = ask(client, row)
    deletion = Deletion.objects.get()
    assert errors_of(ask(client, row, expected=200)) == {"": ["It is being deleted already."]}
    waiting = client.page(answer["Location"])
    deletions.run(deletion.pk)

    assert answer["Location"] == page_of(deletion)
    progress = reverse("admin:callcentre_deletion_progress", args=[deletion.pk])
    assert progress in waiting
    assert client.get(progress).json() == {"has_ended": True}
    page = client.page(page_of(deletion))
    assert "request of 21 November" in page
    assert client.page(LIST).count(page_of(deletion)) == 2
    deletion = Deletion.objects.get()
    user = User.objects.get(is_superuser=True)
    assert (deletion.state, deletion.actor_id, deletion.object_id) == ("finished", user.pk, str(row.pk))
    # A recording is named by its call, which stays.
    assert kind == "recording" or name not in page + client.page(LIST)
    assert left_of(MARK) == {}


@each_kind
def test_a_deletion_needs_its_own_right_and_the_right_to_view(kind):
    """Neither Django's `delete_…` nor the right alone is enough."""
    row, may_see = of_kind(kind), KINDS[kind][1]
    viewer, other = staff(may_see), staff("delete_personal_data")
    both = staff(may_see, "delete_personal_data")

    for client in (viewer, staff(may_see, may_see.replace("view", "delete")), other):
        assert client.get(page_of(row, "delete")).status_code == 403
        assert client.post(page_of(row, "delete"), {"reason": "x"}).status_code == 403
    assert page_of(row, "delete") not in viewer.page(page_of(row))
    assert not Deletion.objects.exists()
    assert page_of(row, "delete") in both.page(page_of(row))
    assert both.page(ask(both, row)["Location"])


def test_the_page_counts_deleted_and_emptied_rows():
    customer = a_person()

    page = " ".join(superuser().page(page_of(customer, "delete")).split())

    for name, count in (("customers", 2), ("tickets", 2), ("messages", 4), ("files", 4), ("recordings", 2)):
        assert f'<tr><td>{name}</td><td class="cc-right">{count}</td></tr>' in page, name
    assert '<tr><td>calls</td><td class="cc-right">2</td></tr>' in page
    assert "The agents work report no longer counts its replies (2) and closings (2)." in page
    assert "The agents work report no longer counts its chats: answered 1, closed 1." in page


def test_the_query_count_of_the_deletion_page_is_constant():
    for count in (1, 8):
        customer = CustomerFactory(email=f"{count}@client.example")
        for number in range(count):
            a_ticket(f"{count}{number}", customer=customer)
        client = superuser()
        with few_statements(31):
            client.page(page_of(customer, "delete"))


def test_a_recording_of_a_call_that_goes_on_is_not_deleted():
    recording = RecordingFactory(ready=True, connection__talking=True)
    client = superuser()

    assert "The call still goes on." in client.page(page_of(recording, "delete"))
    assert client.post(page_of(recording, "delete"), {"reason": "x"}).status_code == 200
    assert not Deletion.objects.exists()


# The trace


def test_traces_are_read_only():
    deletion, client = DeletionFactory(finished=True), superuser()

    assert client.get(reverse("admin:callcentre_deletion_add")).status_code == 403
    assert client.post(page_of(deletion, "delete"), {"post": "yes"}).status_code == 403
    client.post(page_of(deletion), {"reason": "another"})
    deletion.refresh_from_db()
    assert deletion.reason == "request of 21 November"


def test_traces_are_found_by_object_and_person():
    traces = [
        DeletionFactory(object_id="4711", finished=True),
        DeletionFactory(kind="chat", actor_name="anna", failed=True),
    ]
    client = superuser()

    queries = [{"kind": "chat"}, {"state__exact": "failed"}, {"q": "4711"}, {"q": "ANNA"}, {"q": " # "}]
    found = [shown(client.page(LIST, **query), *traces) for query in queries]
    assert found == [traces[1:], traces[1:], traces[:1], traces[1:], traces]


def test_a_failed_deletion_is_retried_by_a_person_with_the_right():
    deletion = DeletionFactory(failed=True, object_id=str(TicketFactory().pk))
    again = reverse("admin:callcentre_deletion_again", args=[deletion.pk])

    assert staff("view_deletion").post(again).status_code == 403
    assert again not in staff("view_deletion").page(page_of(deletion))
    assert again in superuser().page(page_of(deletion))
    superuser().post(again)
    deletions.run(deletion.pk)

    deletion.refresh_from_db()
    assert (deletion.state, deletion.deleted) == ("finished", {"tickets.ticket": 1})
    assert "Something else changed" in messages_of(superuser().post(again))[0]


def test_the_history_of_a_ticket_names_deleted_parts_and_its_page_opens_without_them():
    message = MessageFactory()
    mail = a_mail("a", message=message, outcome="stored")
    file = a_file("b", message=message)
    client = superuser()
    for row in (file, mail):
        ask(client, row)
        deletions.run(Deletion.objects.latest("id").pk)

    page = client.page(page_of(message.ticket))
    assert "file deleted" in page
    assert "Nothing was written yet." in page
    assert "It was deleted." in client.page(page_of(mail))
    assert page_of(mail) in client.page(reverse("admin:tickets_receivedmail_changelist"), outcome="deleted")
