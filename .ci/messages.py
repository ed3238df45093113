"""Update the catalogues of the languages: run by `make messages`.

Every translatable string of the apps gets an entry, and unused entries are removed. The theme of the admin brings no
translations: its strings are ours too, except those that Django translates. An entry added by hand for a string of
Django's stays and replaces Django's translation. Babel reads Python and templates itself, so that no gettext is needed
on the machine.
"""

import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import django
import unfold
from babel.messages import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import read_mo, write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent
APPS = ("callcentre", "campaigns", "knowledgebase", "reports", "telephony", "tickets", "webhooks")
FILES = [path / "LC_MESSAGES" / "django.po" for path in sorted((ROOT / "callcentre" / "locale").iterdir())]
KEYWORDS: dict[str, tuple[int | tuple[int, str], ...] | None] = {
    **dict.fromkeys(("_", "_now", "gettext", "gettext_lazy", "gettext_noop")),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), (1, 2)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), ((1, "c"), 2)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), ((1, "c"), 2, 3)),
}

Found = tuple[str, str | tuple[str, ...], str | None, list[str]]  # file, msgid, context, comments


def strings_of(package: Path) -> Iterator[Found]:
    for path in sorted(package.rglob("*")):
        if path.suffix == ".py":
            source = path.read_bytes()
        elif path.suffix == ".html":
            # Django translates the template into Python; its indentation has no meaning.
            lines = templatize(path.read_text(encoding="utf-8")).splitlines()
            source = "\n".join(line.strip() for line in lines).encode()
        else:
            continue
        name = path.relative_to(package.parent).as_posix()
        for _line, msgid, comments, context in extract("python", BytesIO(source), KEYWORDS, ["Translators:"]):
            yield name, msgid, context, comments


def strings_of_theme(translated: set[str]) -> Iterator[Found]:
    """Yield the theme's strings that Django does not translate."""
    unused = ("unfold/contrib/", "unfold_crispy")
    for name, msgid, context, comments in strings_of(Path(unfold.__file__).parent):
        is_used = name.startswith("unfold/contrib/filters/") or not any(part in name for part in unused)
        if is_used and first_of(msgid) not in translated:
            yield name, msgid, context, comments


def strings_of_django(language: str) -> set[str]:
    """Return the strings that Django itself translates."""
    framework = Path(django.__file__).parent
    found: set[str] = set()
    for path in (framework / "conf", framework / "contrib" / "admin", framework / "contrib" / "auth"):
        with (path / "locale" / language / "LC_MESSAGES" / "django.mo").open("rb") as file:
            found |= {first_of(message.id) for message in read_mo(file)}
    return found


def first_of(msgid: str | tuple[str, ...] | list[str]) -> str:
    return msgid if isinstance(msgid, str) else msgid[0]


def updated(catalogue: Catalog) -> Catalog:
    """Give the catalogue the strings of the code, and no others."""
    template = Catalog(creation_date=catalogue.creation_date)
    of_django = strings_of_django(str(catalogue.locale))
    ours = [found for app in APPS for found in strings_of(ROOT / app)]
    for name, msgid, context, comments in (*ours, *strings_of_theme(of_django)):
        template.add(msgid, locations=[(name, 0)], auto_comments=comments, context=context)
    for message in catalogue:
        if message.id and first_of(message.id) in of_django and not template.get(message.id, message.context):
            template.add(message.id, locations=[("django", 0)], context=message.context)
    catalogue.update(template, no_fuzzy_matching=True)
    return catalogue


def read(path: Path) -> Catalog:
    """Read the catalogue of a language; that of a new language is empty."""
    path.parent.mkdir(exist_ok=True)
    path.touch()
    with path.open("rb") as file:
        return read_po(file, locale=path.parts[-3])


def update(path: Path) -> list[str]:
    """Update a catalogue, and return the strings that have no translation."""
    catalogue = updated(read(path))
    with path.open("wb") as file:
        # Without line numbers, the catalogue changes only when a string does.
        write_po(file, catalogue, width=120, ignore_obsolete=True, include_lineno=False)
    with path.with_suffix(".mo").open("wb") as file:
        write_mo(file, catalogue)
    missing = [first_of(message.id) for message in catalogue if message.id and not all(texts_of(message.string))]
    return [f"{catalogue.locale}: {string}" for string in missing]


def main() -> None:
    if missing := [string for path in FILES for string in update(path)]:
        sys.exit("\n".join(["These have no translation yet:", *missing]))


def texts_of(string: str | tuple[str, ...] | list[str] | None) -> list[str]:
    return list(string) if isinstance(string, (tuple, list)) else [string or ""]


if __name__ == "__main__":
    main()
