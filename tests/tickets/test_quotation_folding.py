"""Quotations are split off as mail programs write them; no text is cut off or hidden."""

import re
from collections import Counter
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

from callcentre.core import html_cleaning
from callcentre.core.html_cleaning import MARK
from tickets import html
from tickets.mail.parsing import parse
from tickets.mail.quotations import split_quotation

TEXTS = [
    "On Mon, 2 Nov 2026 at 10:11, A very long name of a desk\n<help@us.example> wrote:\n\n> Try again\n",
    "pon., 2 lis 2026 o 10:11 Pomoc <help@us.example> napisał(a):\n\n> Proszę\n",
    "Dnia 2 listopada 2026 10:11 Pomoc <help@us.example> napisał(a):\n\nProszę spróbować\n",
    "2026-11-02 10:11 GMT+01:00 Pomoc <help@us.example> napisał:\n> Proszę\n",
    "-----Original Message-----\nFrom: Help\nTo: Jan\n",
    "---- Wiadomość oryginalna ----\nOd: Pomoc\n",
    "Od: Pomoc <help@us.example>\nWysłano: poniedziałek, 2 listopada 2026 10:11\nDo: Jan\nTemat: x\n\nProszę\n",
    "Od: Pomoc <help@us.example>\nDo: Jan <j@c.example>\nWysłane: 10:11 Poniedziałek 2026-11-02\nTemat: x\n",
    # Attributions in other languages, and broken over lines.
    "Op 2 nov. 2026 10:11 schreef Hulp <help@us.example> het\nvolgende geschreven:\n\n> Probeer\n",
    "Den 2. nov. 2026 kl. 10.11 skrev Hjelp <help@us.example<mailto:help@us.example>>:\n\nPrøv igjen\n",
    "Em 2 de novembro de 2026 10:11, Ajuda <\nhelp@us.example> escreveu:\n\n> Tente\n",
    "понедельник, 2 ноября 2026 г. пользователь Помощь написал:\n\n> Привет\n",
    "2 нояб. 2026 г. 10:11 пользователь Помощь <\nhelp@us.example> написал:\n\n> Привет\n",
    "Hilfe <help@us.example> schrieb am Mo., 2.\nNov. 2026 um 10:11 Uhr:\n\n> Bitte\n",
    "2026-11-02 10:11 GMT+02:00 Help desk <\nhelp@us.example>:\n\n> Try again\n",
    "Help <help@us.example> wrote:\n\nTry again\n",
    "At 11/2/2026 10:11 AM, you wrote:\n>Try again\n",
    "---- On Mon, 02 Nov 2026 10:11:12 +0100 Help <help@us.example> wrote ----\n\n   Try again\n",
    "*-------- Original Message --------*\n\nTry again\n",
    "2026/11/2 Help <help@us.example>\n\n| Try again\n|\n| And again\n",
    "Van: Hulp\nVerzonden: maandag 2 november 2026 10:11\nAan: Jan\nOnderwerp: x\n\nProbeer\n",
    "Från: Hjälp\nSkickat: den 2 november 2026 10:11\nTill: Jan\nÄmne: x\n\nFörsök\n",
    "Da: Aiuto\nInviato: lunedì 2 novembre 2026 10:11\nA: Jan\nOggetto: x\n\nProva\n",
    "On 3 May 2026, at 10:11, Help\n<h@us.example>\nwrote:\n> a\n",
    "ons 4 nov. 2026 kl. 20:42 skrev Help <h@us.example>:\n> a\n",
    "2026年11月2日(月) 9:00 Help <h@us.example>:\n> a\n",
]


def test_text_is_split_above_its_quotation():
    for quoted in TEXTS:
        written = "Dziękuję, działa.\n\nOn the other hand it is slow.\n\n"

        assert split_quotation(written + quoted, "PLAIN") == (written, quoted)


HTML = [
    '<div class="gmail_quote gmail_quote_container"><div class="gmail_attr">On Mon wrote:</div><p>x</p></div>',
    '<div class="moz-cite-prefix">W dniu 2.11.2026, Pomoc pisze:<br></div><blockquote type="cite">x</blockquote>',
    '<blockquote type="cite"><div>On 2 Nov 2026, at 10:11, Help wrote:</div>x</blockquote></div>',
    '<div>On 2 Nov 2026, at 10:11, <b>Help</b> &lt;h@us.example&gt; wrote:</div><br><blockquote type="cite">x',
    "<div style='border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0cm 0cm 0cm'><p><b>Od:</b> Pomoc</p></div>",
    '<div id="appendonsend"></div><hr><div id="divRplyFwdMsg" dir="ltr"><b>Od:</b> Pomoc</div>',
    '<div id="mail-editor-reference-message-container"><div>x</div></div>',
    '<div class="yahoo_quoted" style="margin:10px">On Monday, Help wrote: x</div>',
    '<div class="protonmail_quote">On Monday, Help wrote: x</div>',
]


def test_html_is_split_above_its_quotation():
    for quoted in HTML:
        head = "<html><head><style>p{margin:0}</style></head><body>"
        written = "<div>Dziękuję.</div><p>On the other hand: slow.</p>"

        assert split_quotation(head + written + quoted, "HTML") == (written, html.clean(quoted))


def test_a_mail_that_is_only_a_quotation_counts_as_the_authors():
    assert split_quotation("> Try again\n", "PLAIN") == ("> Try again\n", "")
    assert split_quotation('<html><div> </div><div class="gmail_quote">x</div>', "HTML")[1] == ""


DOUBTFUL = [
    "I got this mail:\n\nFrom: Bank <b@x.example>\nSent: Monday\nTo: Jan\nSubject: x\n\nPay.\n\nIs it yours?\n",
    "From: Łódź\nDate: 3 May\nSubject: a refund\n\nThat is my trip.\n",
    "Hello.\n\nOn 3 May your colleague anna@us.example wrote:\nNo.\n\nThat is wrong.\n",
    "On 3 May I paid.\n\nHelp wrote:\n> Did you pay?\nYes.\n",
    "The log says:\n> a\n> b\n",
    "Thanks.\n\nThis is the log of 2026-11-02:\n> a\n",
    "Thanks.\n\nMy line\nHelp <help@us.example> said:\n> a\n> b\n\nNo.\n",
    "Prices:\n\n| a | b |\n| 1 | 2 |\n",
    "Prices:\n\n| a\n| b\n",
    "My answers are in red below.\n\nOn 3 May, Help <h@us.example> wrote:\n> a\n> b\n",
    "Poniżej moje odpowiedzi.\n\nW dniu 2.11.2026 o 10:11, Pomoc pisze:\n> a\n",
    "Sent from my iPad\n\nOn 3 May, Help <h@us.example> wrote:\n\na\n\nNo.\n",
    "Yes.\n\n-----Original Message-----\nFrom: Help\n\nWhen?\n[Jan] On Monday.\n",
    "> Have you tried again?\nYes.\n> And?\nIt is broken.\n",
    "Please read.\n\n---------- Forwarded message ---------\nFrom: A <a@x.example>\nDate: x\nSubject: y\n\nb\n",
]
DOUBTFUL_HTML = {
    "an empty quotation": '<p>Yes.</p><div class="gmail_quote"><br></div><p>No.</p>',
    "the name in a title": "<p title='<div class=\"gmail_quote\">'>x</p><p>y</p>",
    "the name in the text": '<p>class="gmail_quote"</p>',
    "typed in Outlook": (
        "<p>Thanks.</p><div style='border-top:solid #E1E1E1 1.0pt'><p><b>From:</b> Help</p></div>"
        "<p>When?</p><p><span style='mso-fareast-language:EN-US'>On Monday.</span></p>"
    ),
    "typed in Outlook on the web": (
        '<div>Thanks.</div><div id="divRplyFwdMsg"><b>From:</b> Help</div>'
        '<div class="x_elementToProof">When?</div><div class="elementToProof">On Monday.</div>'
    ),
    "indented": (
        '<p>Yes.</p><div class="gmail_quote"><blockquote class="gmail_quote">When?</blockquote>'
        '<blockquote style="margin: 0 0 0 40px; border: none; padding: 0px">On Monday.</blockquote></div>'
    ),
    "a picture": (
        '<p>Yes.</p><div class="gmail_quote"><blockquote class="gmail_quote">When?</blockquote><img src="cid:x"></div>'
    ),
}


FORWARDED = "Od: Hurtownia <h@c.example>\nWysłano: 2 listopada 2026 10:11\nDo: Jan\nTemat: Faktura\n\nW załączniku.\n"


@pytest.mark.parametrize("written", ["", "Proszę o zapłatę.\n\n", "--\nJan\n\n"])
@pytest.mark.parametrize("prefix", ["PD:", "FW:", "Fwd:", "WG:", "fw :", "TR:"])
def test_a_forwarded_mail_is_shown_whole(prefix, written):
    text = written + FORWARDED

    assert split_quotation(text, "PLAIN", f"{prefix} Faktura") == (text, "")
    marked = f"<p>{written}</p><div id='divRplyFwdMsg'><b>Od:</b> Hurtownia</div><p>W załączniku.</p>"
    assert split_quotation(marked, "HTML", f"{prefix} Faktura") == (html.clean(marked), "")
    assert split_quotation("Dziękuję.\n\n" + FORWARDED, "PLAIN", f"RE: {prefix} x") == ("Dziękuję.\n\n", FORWARDED)


def test_a_quotation_that_may_hold_an_answer_is_not_folded():
    for text in DOUBTFUL:
        assert split_quotation(text, "PLAIN") == (text, "")


def test_quoted_html_that_may_hold_an_answer_is_not_folded():
    for text in DOUBTFUL_HTML.values():
        assert split_quotation(text, "HTML") == (html.clean(text), "")


COLOURED = (
    '<div>Yes.</div><div class="gmail_quote"><div>On 3 May, Help wrote:</div><blockquote type="cite">{}</blockquote>'
)


def test_coloured_lines_are_answers_unless_they_are_a_signature():
    for quoted, is_folded in [
        ('<p>When?</p><p style="color:#0000ff">On Monday.</p><p>Where?</p>', False),
        ('<p>When?</p><font color="red">On Monday.</font>', False),
        ('<p>When?</p><div><span style="color:rgb(200, 0, 0)">On Monday.</span></div>', False),
        ('<p>When?</p><p>Regards</p><p style="color:#0000ff">Help</p><p style="color:#0000ff">Example Ltd</p>', True),
        ('<p style="color:#0000ff">Ticket 1</p><p>When?</p>', True),
        ('<p>When?</p><p style="color:#333333">It is urgent.</p><p>Where?</p>', True),
        ('<p>When?</p><p><a href="https://x.example"><span style="color:blue">Here</span></a></p><p>Where?</p>', True),
        ('<p>When?</p><blockquote type="cite"><p>a</p><p style="color:blue">b</p><p>c</p></blockquote>', True),
    ]:
        _written, folded = split_quotation(COLOURED.format(quoted), "HTML")

        assert bool(folded) == is_folded


@pytest.mark.walk("text2-PLAIN")
@pytest.mark.slow("writes many rows")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("On " * 500_000, "PLAIN"),
        ("W dniu " + "x " * 700_000, "PLAIN"),
        ("\n" * 1_500_000, "PLAIN"),
        ("From: x\n" * 150_000, "PLAIN"),
        (">\n" * 700_000 + "x", "PLAIN"),
    ],
)
def test_folding_a_long_text_loses_nothing(text, kind):
    written, quoted = split_quotation(text, kind)

    assert written + quoted == text


def test_both_parts_of_html_are_cleaned_and_closed():
    body = '<table><tr><td><b onclick="x()">Yes.<div class="x gmail_quote">a<script>alert(1)</script> b</table>'

    written, quoted = split_quotation(body, "HTML")

    assert written == "<table><tbody><tr><td><b>Yes.</b></td></tr></tbody></table>"
    assert "alert" not in written + quoted
    assert MARK not in written + quoted
    assert html.clean(str(written)) == written
    assert html.clean(str(quoted)) == quoted


def test_one_mail_is_cleaned_once(monkeypatch):
    cleaned: list[str] = []

    def clean(text, _policy, *, is_counting):
        cleaned.append(text)
        return html_cleaning.Cleaned(text, Counter(), Counter())

    monkeypatch.setattr(html_cleaning, "_cleaned", clean)

    written, _quoted = split_quotation("<p>Yes.</p>", "HTML")

    assert html.clean(written) is written
    assert cleaned == ["<p>Yes.</p>"]


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


def test_the_corpus_covers_programs_languages_and_places_of_answers():
    names = {path.stem for path in MAILS}

    assert {
        f"{program}-{language}-{place}"
        for program in PROGRAMS
        for language in ("en", "pl", "de", "fr")
        for place in ("above", "below", "between")
    } <= names
    assert len([name for name in names if name.startswith("odd-")]) >= 40


def test_the_corpus_is_unchanged():
    digest = sha256()
    for path in MAILS:
        digest.update(path.read_bytes())
        digest.update(path.with_suffix(".txt").read_bytes())

    assert digest.hexdigest() == DIGEST


def test_no_text_of_a_mail_is_lost():
    for path in MAILS:
        assert "".join(shown(path)) == "".join(line for _mark, line in lines_of(path)), path.stem


def test_no_word_of_an_author_is_hidden():
    hidden = {}
    for path in MAILS:
        visible, _folded = shown(path)
        own = "".join(line for _mark, line in lines_of(path)[: _end_of_own(path)])
        if not visible.startswith(own):
            hidden[path.stem] = own[len(visible) :]

    assert hidden == {}


def _end_of_own(path: Path) -> int:
    return max(number for number, (mark, _line) in enumerate(lines_of(path), 1) if mark == "+")


def test_mails_are_split_at_the_right_place():
    wrong = [path.stem for path in MAILS if not is_right(path)]

    assert len(MAILS) - len(wrong) >= LEAST_RIGHT, wrong
