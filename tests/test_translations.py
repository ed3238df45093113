"""The Polish texts of the service: complete, current, and with all placeholders."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from babel.messages import Catalog
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po
from django.template import engines
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.utils.translation import gettext, ngettext, override, pgettext
from django.utils.translation.template import constant_re

from campaigns.models.status import SystemStatus
from tests.campaigns.factories import RecordFactory
from tests.conftest import ApiClient
from tests.processes import ROOT

FILE = ROOT / "callcentre" / "locale" / "pl" / "LC_MESSAGES" / "django.po"
APPS = ("callcentre", "campaigns", "knowledgebase", "reports", "telephony", "tickets", "webhooks")
# Function, by Django's name or by ours -> the positions of context, singular and plural among its arguments.
FUNCTIONS: dict[str, tuple[int | None, int, int | None]] = {
    **dict.fromkeys(("_", "_now", "gettext", "gettext_lazy", "gettext_noop"), (None, 0, None)),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), (None, 0, 1)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), (0, 1, None)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), (0, 1, 2)),
}
PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|(?<!%)%[a-z]|{\w*}")

Key = tuple[str | None, str, str | None]  # context, singular, plural


def strings_in_python(source: str) -> Iterator[Key]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in FUNCTIONS:
            context, singular, plural = (
                None if place is None else ast.literal_eval(node.args[place]) for place in FUNCTIONS[name]
            )
            yield context, str(singular), plural


def strings_in_template(source: str) -> Iterator[Key]:
    """Return the strings of a template, as Django's own compiler finds them."""
    template: Any = engines["django"].from_string(source)
    nodes = template.template.nodelist
    translated, blocks = nodes.get_nodes_by_type(TranslateNode), nodes.get_nodes_by_type(BlockTranslateNode)
    written = re.findall(r"{%\s*(?:block)?trans(?:late)?\s", source)
    assert len(translated) + len(blocks) == len(written), "a tag that hides its children from this test"
    for node in translated:
        yield _text(node.message_context), node.filter_expression.var.literal, None
    for node in blocks:
        plural = node.render_token_list(node.plural)[0] if node.plural else None
        yield _text(node.message_context), node.render_token_list(node.singular)[0], plural
    for constant in constant_re.findall(source):
        yield None, constant[1:-1], None


def _text(expression: Any) -> str | None:
    return None if expression is None else str(expression.resolve({}))


@cache
def used() -> dict[Key, str]:
    """Return every translatable string of the code, with a file that has it."""
    found: dict[Key, str] = {}
    for app in APPS:
        for path in sorted((ROOT / app).rglob("*")):
            if path.suffix in (".py", ".html"):
                strings = strings_in_python if path.suffix == ".py" else strings_in_template
                found |= dict.fromkeys(strings(path.read_text(encoding="utf-8")), path.name)
    return found


@cache
def catalogue() -> Catalog:
    with FILE.open("rb") as file:
        return read_po(file, locale="pl")


def forms_of(message: Any) -> list[str]:
    """Return the translations of a message: one text, or one per plural form."""
    return list(message.string) if isinstance(message.string, tuple | list) else [message.string or ""]


# The catalogue


def test_every_translatable_string_has_polish() -> None:
    lacking = []
    for (context, singular, plural), file in used().items():
        message = catalogue().get(singular, context)
        expected = (singular, plural) if plural else singular
        if message is None or message.id != expected or not all(forms_of(message)):
            lacking.append((file, context, singular))

    assert len(used()) > 300
    assert lacking == [], "run `make messages` and translate what it names"


def test_no_translation_is_fuzzy() -> None:
    assert [message.id for message in catalogue() if message.id and message.fuzzy] == []
    assert list(catalogue().obsolete) == []


def test_translations_keep_every_placeholder() -> None:
    changed = []
    for message in catalogue():
        texts = message.id if isinstance(message.id, tuple | list) else [message.id]
        wanted = sorted(PLACEHOLDER.findall(texts[-1])) if message.id else []
        if message.id and any(sorted(PLACEHOLDER.findall(form)) != wanted for form in forms_of(message)):
            changed.append(message.id)

    assert changed == []


def test_translations_have_the_final_punctuation_of_their_originals() -> None:
    """A lost full stop or an added line break is visible beside untranslated text."""
    endings = (".", "?", ":", "\n")
    different = [
        message.id
        for message in catalogue()
        if isinstance(message.id, str)
        and message.id
        and any(message.id.endswith(end) != str(message.string).endswith(end) for end in endings)
        and not message.id.endswith("...")
    ]

    assert different == []


def test_the_compiled_catalogue_equals_the_readable_one() -> None:
    with FILE.with_suffix(".mo").open("rb") as file:
        assert _texts(read_mo(file)) == _texts(catalogue()), "run `make messages`"


def _texts(messages: Catalog) -> dict[Any, list[str]]:
    """Return context and singular -> their Polish."""
    texts = {}
    for message in messages:
        singular = message.id[0] if isinstance(message.id, tuple | list) else message.id
        # Babel leaves the context of a compiled message in bytes.
        context = message.context.decode() if isinstance(message.context, bytes) else message.context
        if singular:
            texts[context, singular] = forms_of(message)
    return texts


def test_scripts_contain_no_translatable_strings() -> None:
    """Scripts have no catalogue: pages give them their texts in attributes."""
    scripts = [path for app in APPS for path in (ROOT / app).rglob("*.js")]

    assert [path.name for path in scripts if "gettext(" in path.read_text(encoding="utf-8")] == []


# Texts that people read


@pytest.mark.parametrize(
    ("count", "sentence"),
    [
        (0, "Zmieniono 0 rekordów."),
        (1, "Zmieniono 1 rekord."),
        (2, "Zmieniono 2 rekordy."),
        (4, "Zmieniono 4 rekordy."),
        (5, "Zmieniono 5 rekordów."),
        (12, "Zmieniono 12 rekordów."),
        (14, "Zmieniono 14 rekordów."),
        (21, "Zmieniono 21 rekordów."),
        (22, "Zmieniono 22 rekordy."),
        (102, "Zmieniono 102 rekordy."),
        (112, "Zmieniono 112 rekordów."),
        (1000, "Zmieniono 1000 rekordów."),
    ],
)
def test_polish_counts_in_three_forms(count: int, sentence: str) -> None:
    with override("pl"):
        assert ngettext("%(count)s record changed.", "%(count)s records changed.", count) % {"count": count} == sentence


def test_an_english_word_with_two_meanings_has_two_polish_words() -> None:
    with override("pl"):
        assert (gettext("name"), pgettext("of a person", "name")) == ("nazwa", "imię")
        assert (gettext("active"), pgettext("campaign", "active")) == ("aktywny", "aktywna")


# Context and phrase: retired phrases, replaced by the trade's words.
RETIRED = {
    (None, "gets in with"),
    (None, "Listen again"),
    (None, "Connection"),
    (None, "Connections"),
    (None, "connection"),
    (None, "connections"),
    (None, "topic of a connection"),
    (None, "topics of connections"),
    (None, "Id of the connection"),
    (None, "handed on"),
    (None, "Make free"),
    (None, "Make an agent free"),
    (None, "free"),
    (None, "%(count)s agent is free."),
    (None, "agents free / at work"),
    (None, "a new caller waits"),
    (None, "copies to"),
    (None, "copy"),
    ("of a mail", "Copy"),
    (None, "Connect"),
    (None, "Connect with another ticket"),
    (None, "connected with"),
    (None, "connected"),
    (None, "Connected tickets"),
    (None, "%(time)s late"),
    (None, "Late"),
    (None, "Take it"),
    (None, "No webhook wanted it."),
}


def test_no_retired_phrase_is_shown() -> None:
    assert RETIRED & {(context, singular) for context, singular, _plural in used()} == set()


@pytest.mark.parametrize(
    ("context", "english", "polish"),
    [
        (None, "authentication", "uwierzytelnianie"),
        (None, "Unlock", "Odblokuj"),
        (None, "Calls", "Połączenia"),
        (None, "call", "połączenie"),
        (None, "calls", "połączenia"),
        (None, "topic of a call", "temat połączenia"),
        (None, "Id of the call", "Identyfikator połączenia"),
        (None, "offers", "połączenia kierowane do agentów"),
        (None, "offered", "skierowano"),
        (None, "transferred", "przekazano"),
        (None, "Set ready", "Ustaw jako gotowego"),
        (None, "Set an agent ready", "Ustawienie agenta jako gotowego"),
        ("agent", "ready", "gotowy"),
        ("agent", "paused", "na przerwie"),
        (None, "paused", "wstrzymany"),
        (None, "agents ready / at work", "agenci gotowi / w pracy"),
        (None, "estimated wait", "szacowany czas oczekiwania"),
        (None, "Cc", "DW"),
        (None, "Link", "Powiąż"),
        (None, "Link to another ticket", "Powiąż z innym zgłoszeniem"),
        (None, "linked to", "powiązano ze zgłoszeniem"),
        (None, "linked", "powiązano"),
        (None, "Linked tickets", "Powiązane zgłoszenia"),
        (None, "overdue by %(time)s", "%(time)s po terminie"),
        (None, "Overdue", "Po terminie"),
        (None, "Assign to me", "Przypisz do mnie"),
        (None, "No subscribers.", "Brak subskrybentów."),
    ],
)
def test_the_trades_words_are_shown_in_english_and_in_polish(context: str | None, english: str, polish: str) -> None:
    assert (context, english, None) in used()
    with override("pl"):
        assert (pgettext(context, english) if context else gettext(english)) == polish


def test_statuses_have_the_usual_polish_names() -> None:
    with override("pl"):
        assert str(SystemStatus.NO_CALL.label) == "Nie dzwonić"
        assert str(SystemStatus.CALL_NO_SOONER_THAN.label) == "Oddzwonić nie wcześniej niż"


def test_strings_of_the_theme_and_of_django_are_polish_too() -> None:
    """The theme has no Polish of its own, Django has: ours adds to Django's and hides none of it."""
    with override("pl"):
        assert gettext("Select all rows") == "Zaznacz wszystkie wiersze"
        assert gettext("Save and continue editing") == "Zapisz i kontynuuj edycję"


POLISH = "Pole „name” nie może być puste."
ENGLISH = 'Field "name" cannot be empty.'


@pytest.mark.parametrize(
    ("language", "message"),
    [
        ("pl", POLISH),
        ("pl-PL,pl;q=0.9", POLISH),
        ("de,pl;q=0.5", POLISH),
        ("en-GB,en;q=0.9,pl;q=0.8", ENGLISH),
        ("de", ENGLISH),
        ("*", ENGLISH),
        ("", ENGLISH),
    ],
)
def test_api_errors_use_the_requested_language(language: str, message: str, api: ApiClient) -> None:
    response = api.post("/api/outbound_groups", {}, headers={"accept-language": language})

    assert response.status_code == 400
    assert response.json()["errors"][0]["message"] == message


def test_errors_of_batch_items_are_translated(api: ApiClient) -> None:
    record = RecordFactory()
    path = f"/api/batch/outbounds/{record.campaign.code}/records"
    body = {"records": [{"phone_number": record.phone_number, "agent_login": "nobody"}]}

    answer = api.put(path, body, headers={"accept-language": "pl"})

    assert answer.json()[record.phone_number] == {"http_status": 400, "message": "Nie znaleziono agenta."}
