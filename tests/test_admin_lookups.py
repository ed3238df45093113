"""The look-ups that the address of a list may use: those of its filters only."""

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group
from django.db import connection, models
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from callcentre.admin import ChangeList
from campaigns.models import CampaignGroup
from tests.admin_pages import list_of
from tests.backoffice import messages_of, page_of, shown, staff, superuser
from tests.callcentre.factories import ApiUserFactory, UserFactory
from tests.telephony.factories import OfferFactory
from tests.webhooks.factories import WebhookFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)
USERS = reverse("admin:callcentre_user_changelist")


def unlisted(model: type[models.Model]) -> list[str]:
    """Return look-ups of all kinds that no list has a filter for."""
    texts = [field.name for field in model._meta.fields if isinstance(field, models.CharField | models.TextField)]
    related = [field.name for field in model._meta.get_fields() if field.is_relation and field.related_model]
    return [
        "pk__in",
        "id__gt",
        *(f"{name}__regex" for name in texts),
        *(f"{name}__pk__gt" for name in related),
    ]


def test_every_list_is_one_of_ours():
    request = RequestFactory().get("/")
    request.user = UserFactory(admin=True)

    assert all(issubclass(shown.get_changelist(request), ChangeList) for shown in admin.site._registry.values())


@pytest.mark.walk(
    *("callcentre.ApiUser", "callcentre.AuditLog", "callcentre.User", "campaigns.Campaign", "campaigns.Record"),
    *("telephony.Agent", "telephony.Connection", "tickets.Customer", "tickets.ReceivedMail", "tickets.Ticket"),
    *("tickets.TicketQueue", "webhooks.Webhook"),
)
@pytest.mark.usefixtures("unrendered", "bare_refusals")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_a_list_refuses_look_ups_without_a_filter(model):
    """A list also searches for the first words only."""
    client, text = superuser(), " ".join(f"word{place}x" for place in range(2000))

    answers = {name: client.get(list_of(model), {name: "1"}) for name in unlisted(model)}

    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(answers, 400)
    if admin.site._registry[model].search_fields:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(list_of(model), {"q": text}).status_code == 200
        assert [query["sql"][:200] for query in queries if "word10x" in query["sql"]] == []


@pytest.mark.parametrize(
    ("right", "query"),
    [
        ("view_user", "password__startswith=pbkdf2"),
        ("view_user", "password__regex=^pbkdf2"),
        ("view_user", "password=pbkdf2"),
        ("view_user", "groups__user__password__startswith=pbkdf2"),
        ("view_user", "_to_field=password"),
        ("view_user", "_popup=1&_to_field=password"),
        ("view_group", "user__password__startswith=pbkdf2"),
        ("view_apiuser", "secret_hash__startswith=pbkdf2"),
        ("view_apiuser", "previous_secret_hash__regex=."),
        ("view_apiuserchange", "api_user__secret_hash__startswith=pbkdf2"),
        ("view_delivery", "webhook__secret__regex=."),
    ],
)
def test_staff_who_may_only_look_read_no_secret_by_filtering(right, query):
    ApiUserFactory()
    WebhookFactory()
    model = next(model for model in MODELS if model._meta.model_name == right.removeprefix("view_"))

    assert staff(right).get(f"{list_of(model)}?{query}").status_code == 400


def test_a_list_is_ordered_by_shown_columns_only():
    UserFactory(username="anna", password="b")
    UserFactory(username="zoe", password="a")
    client = superuser()

    pages = [client.page(USERS, o=order) for order in ("password", "-password", "99", "1.password")]

    assert all(page.index("anna") < page.index("zoe") for page in pages)


def test_an_invalid_filter_value_shows_the_whole_list_with_a_warning():
    Group.objects.create(name="Supervisors")
    client = superuser()

    answer = client.get(USERS, {"groups__id__exact": "x"}, follow=True)

    assert answer.redirect_chain == [(f"{USERS}?e=1", 302)]
    assert messages_of(answer) == ["The list has no such filter or page. It is shown from its beginning, unfiltered."]
    assert client.get(USERS, {"groups__id__exact": "x", "e": "1"}).status_code == 400


def test_a_list_shows_the_rows_of_several_chosen_queues():
    first, second, other = OfferFactory.create_batch(3)
    chosen = [first.queue_id, second.queue_id]

    page = superuser().page(list_of(type(first)), queue__id__exact=chosen)

    assert set(shown(page, first, second, other)) == {first, second}
    assert page_of(other) not in page


def test_choices_are_offered_in_the_order_of_their_model():
    """Django drops this order where the query counts related rows; pages of choices could then repeat rows."""
    CampaignGroup.objects.bulk_create(CampaignGroup(name=name) for name in ("Winter", "Autumn", "Spring"))
    asked = {"app_label": "campaigns", "model_name": "campaign", "field_name": "group"}

    offered = superuser().get(reverse("admin:autocomplete"), asked).json()["results"]

    assert [choice["text"] for choice in offered] == ["Autumn", "Spring", "Winter"]


def test_the_choices_of_a_field_are_found_by_the_first_words_only():
    text = " ".join(f"word{place}x" for place in range(2000))
    field = {"app_label": "telephony", "model_name": "agent", "field_name": "user"}

    with CaptureQueriesContext(connection) as queries:
        assert superuser().get(reverse("admin:autocomplete"), {**field, "term": text}).status_code == 200

    assert [query["sql"][:200] for query in queries if "word10x" in query["sql"]] == []
