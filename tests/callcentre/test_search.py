"""The search of everything: readings of a text, groups, rights, and the number of statements."""

from typing import Any

import pytest
from django.db import connection
from django.urls import reverse

from callcentre.core.search import SearchText
from tests.backoffice import page_of, staff, superuser
from tests.campaigns.factories import AdditionalNumberFactory, RecordFactory
from tests.conftest import ACTOR
from tests.knowledgebase.factories import ArticleFactory
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory, ConnectionFactory
from tests.tickets.factories import (
    ChatFactory,
    ChatMessageFactory,
    CompanyFactory,
    CustomerFactory,
    CustomFieldFactory,
    MessageFactory,
    ReceivedMailFactory,
    TicketFactory,
)
from tickets.admin import chats
from tickets.models import Chat, Customer, Ticket
from tickets.verbs.customers import merge_customers

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]
SEARCH = reverse("admin:search")
SPELLINGS = ["+48 22 555 01 07", "22 555 01 07", "(22) 555-01-07", "0048225550107", "225550107", "tel:+48225550107"]
ENDINGS = ["0107", "01 07", "50107", "555 01 07"]


def found(text: str, client: Any = None) -> list[str]:
    """Return the addresses of the hits, in their order."""
    values = (client or superuser()).values(SEARCH, q=text)
    return [url for group in values["groups"] for _hit, url in group["hits"]]


@pytest.mark.parametrize(
    "text", ["łucja", "lucja", "LUCJA", "żółkiewska", "zolkiewska", "zolk", "kiew", "lucja zolk", "lu zo"]
)
def test_a_customer_is_found_by_parts_of_the_name_without_accents(text):
    customer = CustomerFactory(name="Łucja", surname="Żółkiewska")
    CustomerFactory(name="Jan", surname="Kowal")

    assert found(text) == [page_of(customer)]


@pytest.mark.parametrize(
    ("make", "texts"),
    [
        (lambda: CompanyFactory(name="Müller Söhne GmbH"), ["muller", "MÜLLER", "sohne gmbh"]),
        (
            lambda: AgentFactory(login="agent77", name="Zofia", surname="Wójcik", number="7701"),
            ["zofia", "wojcik", "agent77", "7701"],
        ),
    ],
)
def test_companies_and_agents_are_found_without_accents(make, texts):
    row = make()

    assert {text: found(text) for text in texts} == {text: [page_of(row)] for text in texts}
    # All words of a name are wanted.
    assert found(f"{texts[0]} nowak") == []


# Signs of patterns begin no address.
SIGNS = ["customer_@", "customer%", "%@client.example"]


@pytest.mark.parametrize(
    "text", ["%%", "__", "\\\\", "'; --", "a' b", "!!", "<script>", "x" * 300, "& |", ":*", *SIGNS]
)
def test_special_characters_find_nothing_and_break_nothing(text):
    CustomerFactory(surname="Kowal", email="customer3@client.example")
    MessageFactory(ticket=TicketFactory(subject="Parcel"), body="Where is it?")

    assert found(text) == []


# Numbers


@pytest.mark.parametrize("text", [*SPELLINGS, *ENDINGS])
def test_customers_records_and_calls_are_found_by_any_spelling_and_any_ending(text):
    customer = CustomerFactory(phone_numbers=["+48 22 555 01 07"])
    record = RecordFactory(phone_number="22 555 01 07", number="+48225550107")
    call_in = ConnectionFactory(inbound=True, src="225550107")
    call_out = ConnectionFactory(dst="+48225550107")
    CustomerFactory(phone_numbers=["+48225550108"])
    RecordFactory(phone_number="+48225550108", number="+48225550108")
    ConnectionFactory(dst="+48225550108")

    assert sorted(found(text)) == sorted(map(page_of, (customer, record, call_in, call_out)))


def test_an_additional_number_and_an_open_call_are_found_by_four_digits():
    record, call = RecordFactory(), ConnectionFactory(waiting=True, src="+48225550107")
    AdditionalNumberFactory(record=record, phone_number="+48225550107", number="+48225550107")

    assert sorted(found("0107")) == sorted(map(page_of, (record, call)))
    assert found("107") == []


@pytest.mark.parametrize("text", ["0107", "107"])
def test_an_extension_is_found_as_a_whole_number(text):
    customer = CustomerFactory(phone_numbers=[text])

    assert found(text) == [page_of(customer)]


def test_the_lists_find_endings_too():
    customer = CustomerFactory(phone_numbers=["+48225550107"])
    record, call = RecordFactory(number="+48225550107"), ConnectionFactory(dst="+48225550107")

    for row, name in ((customer, "tickets_customer"), (record, "campaigns_record"), (call, "telephony_connection")):
        assert page_of(row) in superuser().page(reverse(f"admin:{name}_changelist"), q="0107")


# Addresses, identifiers, ids


def test_rows_are_found_by_their_address_identifier_or_id():
    customer, ticket = CustomerFactory(email="Jan@client.example"), TicketFactory(sender="jan@client.example")
    other, record = CustomerFactory(identifier="ERP-77"), RecordFactory(identifier="ERP-77")
    call = ConnectionFactory()

    for text in ("jan@client.example", "JAN@client.example", " jan@client.example "):
        assert found(text) == [page_of(customer), page_of(ticket)]
    assert found("ERP-77") == [page_of(other), page_of(record)]
    assert found(call.uid) == [page_of(call)]


@pytest.mark.parametrize("text", ["customer3@", "Customer3@Client", "customer3", "customer3@client.example"])
def test_the_beginning_of_an_address_finds_all_that_has_it(text):
    rows = (
        CustomerFactory(email="customer3@client.example"),
        TicketFactory(sender="customer3@client.example"),
        ChatFactory(client_name="Jan", client_email="customer3@client.example"),
        AgentFactory(email="customer3@client.example"),
    )
    CustomerFactory(email="customer30@client.example" if "@" in text else "customer4@client.example")
    mail = ReceivedMailFactory(sender="customer3@client.example")

    assert found(text) == [page_of(row) for row in rows]
    for row in rows:
        name = f"{row._meta.app_label}_{row._meta.model_name}"
        assert page_of(row) in superuser().page(reverse(f"admin:{name}_changelist"), q=text), name
    mails = superuser().page(reverse("admin:tickets_receivedmail_changelist"), q=text.casefold())
    assert page_of(mail) in mails


def test_beginnings_of_addresses_are_found_by_indexes():
    indexes = {
        Customer: ("email", "customer_address"),
        Ticket: ("sender", "ticket_address"),
        Chat: ("client_email", "chat_address"),
    }
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        for model, (column, index) in indexes.items():
            table = model._meta.db_table
            for condition in ("LIKE UPPER(%s)", "= UPPER(%s)"):
                statement = f"EXPLAIN SELECT id FROM {table} WHERE UPPER({column}) {condition} AND {column} <> ''"
                cursor.execute(statement, ["customer3@%"])
                assert index in str(cursor.fetchall()), (column, condition)


def test_a_merged_customer_leads_to_the_other_one():
    source, target = CustomerFactory(email="jan@client.example", surname="Kowal"), CustomerFactory(surname="Nowak")
    merge_customers(source, target, ACTOR)

    assert found("jan@client.example") == [page_of(target)]
    assert found("kowal") == []


def test_a_ticket_is_found_by_its_number_first_and_by_a_custom_field_of_text():
    order = CustomFieldFactory(name="order")
    priority = CustomFieldFactory(name="priority", type="choice", options=["A-77"])
    ticket = TicketFactory(custom_fields={str(order.pk): "A-77"})
    other = TicketFactory(custom_fields={str(priority.pk): "A-77"})
    MessageFactory(ticket=other, body=f"It is about {ticket.pk}.")

    assert [found(text)[0] for text in (f"#{ticket.pk}", f"[#{ticket.pk}]")] == [page_of(ticket)] * 2
    assert found("A-77") == [page_of(ticket)]


# Words


@pytest.mark.parametrize("text", ["zlamana noga", "ZŁAMANA", "noga zlam", "stolik", "uszkodzony", "noga"])
def test_a_ticket_is_found_by_words_of_its_subject_and_of_its_messages(text):
    ticket = TicketFactory(subject="Uszkodzony stolik")
    MessageFactory(ticket=ticket, body="<p>Złamana <b>noga</b> stolika.</p>")
    MessageFactory(ticket=ticket, type="COMMENT", body="", comment="Do wymiany.")
    other = TicketFactory(subject="Parcel")
    MessageFactory(ticket=other, body='<p class="noga">Where is it?</p>')

    assert found(text) == [page_of(ticket)]


@pytest.mark.slow("opens many pages")
def test_a_chat_is_found_by_words_of_its_messages_and_by_its_client():
    chat = ChatFactory(client_name="Łucja Żak", client_email="")
    ChatMessageFactory(chat=chat, body="Where is my przesyłka?")
    ChatMessageFactory(chat=ChatFactory(client_name="Zbigniew"), body="Hello.")

    for text in ("przesylka", "przesy", "my przesyłka", "zak", "lucja zak"):
        assert found(text) == [page_of(chat)], text
        page = superuser().page(reverse("admin:tickets_chat_changelist"), q=text)
        assert page.count(f'href="{page_of(chat)}') > 0, text
        assert "Zbigniew" not in page, text


def test_a_word_of_very_many_chats_finds_some_of_them(monkeypatch):
    monkeypatch.setattr(chats, "MAX_FOUND", 3)
    ChatMessageFactory.create_batch(5, body="Good morning.")

    page = superuser().page(reverse("admin:tickets_chat_changelist"), q="morning")

    assert page.count(">Jan Kowal<") == 3
    assert "The search stopped" in page


def test_an_unknown_caller_stands_once_in_a_hit():
    CustomerFactory(name="", surname="+48 22 555 01 07", email="", phone_numbers=["+48 22 555 01 07"])

    [group] = superuser().values(SEARCH, q="0107")["groups"]

    assert [(hit.title, hit.notes) for hit, _url in group["hits"]] == [("+48 22 555 01 07", ())]


def test_a_comment_is_searched_and_a_tag_is_not():
    ticket = TicketFactory(subject="Parcel")
    MessageFactory(ticket=ticket, type="COMMENT", body="", comment="<p>Do <strong>wymiany</strong>.</p>")

    assert found("wymiany") == [page_of(ticket)]
    assert found("strong") == []


def test_a_very_long_message_is_stored_and_found_by_its_beginning():
    ticket = TicketFactory()
    MessageFactory(ticket=ticket, body="refrigerator " + " ".join(f"w{number}" for number in range(300_000)))

    assert found("refrigerator") == [page_of(ticket)]


def test_an_article_is_found_by_its_words_if_it_is_published():
    article = ArticleFactory(is_public=True, title="Returning a parcel", content="<p>Print the label.</p>")
    ArticleFactory(draft=True, title="Label of a draft")

    assert found("label") == [page_of(article)]


# Groups and rights


def test_groups_have_five_hits_in_the_box_and_lead_to_the_list():
    CustomerFactory.create_batch(6, surname="Kowal")

    (group,) = superuser().values(SEARCH, q="kowal", box="1")["groups"]

    assert len(group["hits"]) == 5
    assert group["all_url"] == f"{reverse('admin:tickets_customer_changelist')}?q=kowal"
    (group,) = superuser().values(SEARCH, q="kowal")["groups"]
    assert (len(group["hits"]), group["all_url"]) == (6, "")


@pytest.mark.parametrize(
    ("right", "title"),
    [
        ("view_customer", "Customers"),
        ("view_company", "Companies"),
        ("change_ticket", "Tickets"),
        ("view_chat", "Chats"),
        ("view_connection", "Calls"),
        ("view_record", "Records"),
        ("view_article", "Articles"),
        ("view_agent", "Agents"),
    ],
)
def test_a_group_needs_the_permission_to_view_its_rows(right, title):
    text = "22555107"
    CustomerFactory(identifier=text)
    CompanyFactory(name=text)
    TicketFactory(subject=text)
    ChatMessageFactory(body=text)
    ConnectionFactory(dst=text)
    RecordFactory(identifier=text)
    ArticleFactory(is_public=True, title=f"Parcel {text}")
    AgentFactory(login=text)

    groups = staff(right).values(SEARCH, q=text)["groups"]

    assert [str(group["title"]) for group in groups] == ([title] if title != "Articles" else [])


def test_a_text_of_one_character_and_a_stranger_search_nothing(client):
    person = superuser()

    with few_statements(2):
        assert person.values(SEARCH, q="k")["groups"] == []
    assert client.get(SEARCH, {"q": "kowal"}).status_code == 302


@pytest.mark.parametrize(
    ("text", "queries"),
    [("kowal", 9), ("+48225550107", 9), ("jan@client.example", 7), ("ERP-77", 9), ("0107", 9)],
)
def test_the_query_count_is_constant(text, queries):
    for number in range(15):
        CustomerFactory(surname="Kowal", email="jan@client.example", phone_numbers=["+48225550107"])
        TicketFactory(sender="jan@client.example", subject="Kowal")
        RecordFactory(identifier="ERP-77", number="+48225550107")
        ConnectionFactory(dst="+48225550107")
        AgentFactory(surname="Kowal")
        CustomFieldFactory(name=f"field {number}")
    client = superuser()

    with few_statements(queries):
        client.page(SEARCH, q=text, box="1")


@pytest.mark.parametrize(
    ("text", "endings"),
    [
        ("0107", ("7010%",)),
        ("01 07", ("7010%",)),
        ("107", ()),
        ("+48 22 555 01 07", ("70105552284%",)),
        ("0048 22 555 01 07", ("7010555228400%", "70105552284%")),
        ("Kowal 0107", ()),
        ("", ()),
    ],
)
def test_the_digits_of_a_number_are_searched_as_its_end(text, endings):
    assert SearchText.read(text).endings == endings
