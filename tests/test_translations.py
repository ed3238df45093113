"""The languages of the service. `.ci/documents.py` checks the catalogue."""

import pytest
from django.utils.translation import gettext, ngettext, override

from tests.campaigns.factories import RecordFactory


def test_polish_counts_in_three_forms():
    forms = {
        "Zmieniono %s rekord.": (1,),
        "Zmieniono %s rekordy.": (2, 4, 22, 102),
        "Zmieniono %s rekordów.": (0, 5, 12, 14, 21, 112, 1000),
    }
    with override("pl"):
        for form, counts in forms.items():
            for count in counts:
                text = ngettext("%(count)s record changed.", "%(count)s records changed.", count)
                assert text % {"count": count} == form % count


def test_strings_of_the_theme_and_of_django_are_polish_too():
    """The theme has no Polish of its own, Django has: ours adds to Django's and hides none of it."""
    with override("pl"):
        assert gettext("Select all rows") == "Zaznacz wszystkie wiersze"
        assert gettext("Save and continue editing") == "Zapisz i kontynuuj edycję"


POLISH = "Pole „name” nie może być puste."
ENGLISH = 'Field "name" cannot be empty.'


@pytest.mark.parametrize(
    ("language", "message"),
    [
        ("pl-PL,pl;q=0.9", POLISH),
        ("eo,pl;q=0.5", POLISH),
        ("en-GB,en;q=0.9,pl;q=0.8", ENGLISH),
        ("eo", ENGLISH),
        ("*", ENGLISH),
        ("", ENGLISH),
    ],
)
def test_api_errors_use_the_requested_language(language, message, api):
    response = api.post("/api/outbound_groups", {}, headers={"accept-language": language})

    assert response.status_code == 400
    assert response.json()["errors"][0]["message"] == message


def test_errors_of_batch_items_are_translated(api):
    record = RecordFactory()
    path = f"/api/batch/outbounds/{record.campaign.code}/records"
    body = {"records": [{"phone_number": record.phone_number, "agent_login": "nobody"}]}

    answer = api.put(path, body, headers={"accept-language": "pl"})

    assert answer.json()[record.phone_number] == {"http_status": 400, "message": "Nie znaleziono agenta."}
