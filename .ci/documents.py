"""Check the documents and the Polish texts against the code: run by `make check`, with the settings of the service."""

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import django
from babel.messages import Catalog
from babel.messages.mofile import read_mo
from django.apps import apps
from messages import APPS, ROOT, read, texts_of, updated

POLISH = ROOT / "callcentre" / "locale" / "pl" / "LC_MESSAGES" / "django.po"
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
# A folder ends with a slash, a file with an ending of ours. `<app>` and `*` stand for several.
PATH = re.compile(r"`((?:[\w.<>*{},-]+/)+(?:[\w.<>*{},-]+\.(?:py|md|html|js|css|sql|conf|yaml|toml|sh|service))?)`")
TEST = re.compile(r"(tests/[\w/]+\.py)::(test_\w+)")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|(?<!%)%[a-z]|{\w*}")
# English -> the word of the trade that people see in Polish.
TRADE: dict[str | tuple[str, str], str] = {
    "authentication": "uwierzytelnianie",
    "Unlock": "Odblokuj",
    "Calls": "Połączenia",
    "call": "połączenie",
    "calls": "połączenia",
    "topic of a call": "temat połączenia",
    "Id of the call": "Identyfikator połączenia",
    "offers": "połączenia kierowane do agentów",
    "offered": "skierowano",
    "transferred": "przekazano",
    "Set ready": "Ustaw jako gotowego",
    "Set an agent ready": "Ustawienie agenta jako gotowego",
    ("agent", "ready"): "gotowy",
    ("agent", "paused"): "na przerwie",
    "paused": "wstrzymany",
    "agents ready / at work": "agenci gotowi / w pracy",
    "estimated wait": "szacowany czas oczekiwania",
    "Cc": "DW",
    "Link": "Powiąż",
    "Link to another ticket": "Powiąż z innym zgłoszeniem",
    "linked to": "powiązano ze zgłoszeniem",
    "linked": "powiązano",
    "Linked tickets": "Powiązane zgłoszenia",
    "overdue by %(time)s": "%(time)s po terminie",
    "Overdue": "Po terminie",
    "Assign to me": "Przypisz do mnie",
    "No subscribers.": "Brak subskrybentów.",
    "Do not call": "Nie dzwonić",
    "Call no sooner than": "Oddzwonić nie wcześniej niż",
    "name": "nazwa",
    ("of a person", "name"): "imię",
    "active": "aktywny",
    ("campaign", "active"): "aktywna",
}
# Phrases that the trade's words have replaced.
RETIRED: set[str | tuple[str, str]] = {
    *("gets in with", "Listen again", "Connection", "Connections", "connection", "connections"),
    *("topic of a connection", "topics of connections", "Id of the connection", "handed on", "Make free"),
    *("Make an agent free", "free", "%(count)s agent is free.", "agents free / at work", "a new caller waits"),
    *("copies to", "copy", ("of a mail", "Copy"), "Connect", "Connect with another ticket", "connected with"),
    *("connected", "Connected tickets", "%(time)s late", "Late", "Take it", "No webhook wanted it."),
}


def faults_of_documents() -> Iterator[str]:
    """Yield the files and tests that documents name or link to, and that are missing."""
    top = {path.name for path in ROOT.iterdir()} - {"var"}
    for document in DOCUMENTS:
        text = document.read_text()
        named = {path for path in PATH.findall(text) if path.split("/")[0] in top and not set("<>*{}") & set(path)}
        linked = {target for target in LINK.findall(text) if "://" not in target}
        missing = [path for path in named if not (ROOT / path).exists()]
        missing += [target for target in linked if not (document.parent / target).exists()]
        missing += [f"{path}::{name}" for path, name in TEST.findall(text) if not _has_test(ROOT / path, name)]
        yield from (f"{document.relative_to(ROOT)}: {path} is missing" for path in sorted(missing))


def _has_test(module: Path, name: str) -> bool:
    return module.exists() and f"def {name}(" in module.read_text()


def faults_of_glossary() -> Iterator[str]:
    """Yield terms with two rows, and classes that are missing."""
    rows = [line.split("|") for line in (ROOT / "docs" / "glossary.md").read_text().splitlines() if line[:2] == "| "]
    terms = [row[1] for row in rows if row[1] != " term "]
    yield from (f"glossary: {term} has several rows" for term in sorted(set(terms)) if terms.count(term) > 1)
    models = {f"{model._meta.app_label}.{model.__name__}" for model in apps.get_models()}
    for name in sorted({name for row in rows for name in re.findall(r"`([a-z]\w+(?:\.\w+)+)`", row[3])} - models):
        module, _, attribute = name.rpartition(".")
        if module in APPS or not hasattr(import_module(module), attribute):
            yield f"glossary: {name} is missing"


def faults_of_catalogue() -> Iterator[str]:
    """Yield the Polish texts that are missing, old, or differ from the English in what people notice."""
    catalogue, wanted = read(POLISH), updated(read(POLISH))
    ours = _texts(catalogue)
    with POLISH.with_suffix(".mo").open("rb") as file:
        if _texts(read_mo(file)) != ours or _texts(wanted).keys() != ours.keys() or catalogue.obsolete:
            yield "Polish: the catalogue is older than the code: run `make messages`"
    for message in catalogue:
        english, polish = message.id if isinstance(message.id, tuple) else (message.id,), texts_of(message.string)
        if not message.id:
            continue
        if message.fuzzy or not all(polish):
            yield f"Polish: {message.id} is not translated"
        placeholders = sorted(PLACEHOLDER.findall(english[-1]))
        if any(sorted(PLACEHOLDER.findall(form)) != placeholders for form in polish):
            yield f"Polish: {message.id} has other placeholders"
        is_text = len(english) == 1 and not english[0].endswith("...")
        if is_text and any(english[0].endswith(end) != polish[0].endswith(end) for end in (".", "?", ":", "\n")):
            yield f"Polish: {message.id} ends with another mark"


def faults_of_words() -> Iterator[str]:
    """Yield retired phrases, and words of the trade that people do not see."""
    texts = _texts(read(POLISH))
    found = {(context, english[0]): polish for (context, english), polish in texts.items()}
    for phrase in RETIRED:
        if _key(phrase) in found:
            yield f"words: {phrase} is retired"
    for phrase, polish in TRADE.items():
        if found.get(_key(phrase)) != [polish]:
            yield f"words: {phrase} is not shown as {polish}"


def faults_of_scripts() -> Iterator[str]:
    """Yield scripts with translatable texts. They have no catalogue: pages give them their texts in attributes."""
    for path in (path for app in APPS for path in sorted((ROOT / app).rglob("*.js"))):
        if "gettext(" in path.read_text(encoding="utf-8"):
            yield f"{path.relative_to(ROOT)}: a script has a translatable text"


def _texts(catalogue: Catalog) -> dict[tuple[str | None, tuple[str, ...]], list[str]]:
    """Return context and English -> Polish. Babel leaves the context of a compiled message in bytes."""
    texts = {}
    for message in catalogue:
        context = message.context.decode() if isinstance(message.context, bytes) else message.context
        english = tuple(message.id) if isinstance(message.id, list | tuple) else (message.id,)
        if message.id:
            texts[context, english] = texts_of(message.string)
    return texts


def _key(phrase: str | tuple[str, str]) -> tuple[str | None, str]:
    return (None, phrase) if isinstance(phrase, str) else phrase


def main() -> None:
    django.setup()
    checks = (faults_of_documents, faults_of_glossary, faults_of_catalogue, faults_of_words, faults_of_scripts)
    if faults := [fault for check in checks for fault in check()]:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
