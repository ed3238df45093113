"""A corpus of mails of many programs and languages: quotations are folded, and no word of an author is hidden."""

import re
from functools import cache
from hashlib import sha256
from pathlib import Path

from tickets import html
from tickets.mail.parsing import parse
from tickets.mail.quotations import split_quotation

FOLDER = Path(__file__).parent / "quotations"
MAILS = sorted(FOLDER.glob("*.eml"))
PROGRAMS = ("gmail", "outlook-web", "outlook-desktop", "apple-mail", "thunderbird", "phone")
# The least number of mails that are split correctly.
LEAST_RIGHT = 121
# The mails with their expected splits. They were written before the code and never change: new cases are new files.
DIGEST = "45e1584c91a27c5759e4de93e5987134073da03a2888a1d5801e1d91966ed888"


def squeezed(text: str) -> str:
    return re.sub(r"[\s>\ufeff]+", "", text)


@cache
def shown(path: Path) -> tuple[str, str]:
    """Return the visible and the folded text of a mail, without blanks and quotation marks."""
    body, kind = parse(path.read_bytes()).body
    parts = split_quotation(body, kind)
    visible, folded = (html.as_text(part) for part in parts) if kind == "HTML" else parts
    return squeezed(visible), squeezed(folded)


def lines_of(path: Path) -> list[tuple[str, str]]:
    return [(line[0], squeezed(line[2:])) for line in path.with_suffix(".txt").read_text().splitlines()]


def is_right(path: Path) -> bool:
    """Return whether the mail is split at a place that its lines allow."""
    visible, _folded = shown(path)
    lines = lines_of(path)
    places = [
        number
        for number in range(len(lines) + 1)
        if all(mark != "-" for mark, _line in lines[:number]) and all(mark != "+" for mark, _line in lines[number:])
    ]
    return visible in {"".join(line for _mark, line in lines[:place]) for place in places}


def test_the_corpus_covers_programs_languages_and_places_of_answers() -> None:
    names = {path.stem for path in MAILS}

    assert {
        f"{program}-{language}-{place}"
        for program in PROGRAMS
        for language in ("en", "pl", "de", "fr")
        for place in ("above", "below", "between")
    } <= names
    assert len([name for name in names if name.startswith("odd-")]) >= 40


def test_the_corpus_is_unchanged() -> None:
    digest = sha256()
    for path in MAILS:
        digest.update(path.read_bytes())
        digest.update(path.with_suffix(".txt").read_bytes())

    assert digest.hexdigest() == DIGEST


def test_no_text_of_a_mail_is_lost() -> None:
    for path in MAILS:
        assert "".join(shown(path)) == "".join(line for _mark, line in lines_of(path)), path.stem


def test_no_word_of_an_author_is_hidden() -> None:
    hidden = {}
    for path in MAILS:
        visible, _folded = shown(path)
        own = "".join(line for _mark, line in lines_of(path)[: _end_of_own(path)])
        if not visible.startswith(own):
            hidden[path.stem] = own[len(visible) :]

    assert hidden == {}


def _end_of_own(path: Path) -> int:
    return max(number for number, (mark, _line) in enumerate(lines_of(path), 1) if mark == "+")


def test_mails_are_split_at_the_right_place() -> None:
    wrong = [path.stem for path in MAILS if not is_right(path)]

    assert len(MAILS) - len(wrong) >= LEAST_RIGHT, wrong
