"""The cleaning of HTML: harmless text in this process, all other text in a process with limits."""

import re
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from callcentre.core import html_cleaning, limited_process
from callcentre.core.html_cleaning import Policy, Uncleanable, clean, clean_and_count, is_harmless, unescape
from tests.pattern_attacks import APPS
from tests.processes import ROOT
from tests.tiers import examples

POLICY = Policy(
    tags=["a", "b", "div", "font", "p", "span", "table", "tbody", "td", "tr"],
    attributes={"*": ["title"], "a": ["href"], "font": ["color"], "p": ["style"], "div": ["class"]},
    hidden=["script", "style", "title"],
    schemes=["https"],
    rel="nofollow",
    values={"href": r"https://\S+", "a title": r"keep (\w+)"},
    marks={"div class": r"\bquote\b"},
    styles=["color"],
)
ROW = '<tr><td style="x"><p class="y">Hello <b>world</b>, <a href="https://x.example/">look</a>.</p></td></tr>\n'


@pytest.mark.parametrize(
    "text",
    [
        f"<html><head><title>x</title><style><!-- p --></style></head><body><table>{ROW * 200}</table></body></html>",
        "<!DOCTYPE html><!-- note --><?xml:namespace prefix = o /><o:p>&nbsp;</o:p>" + "<p>a < b and c<br>" * 500,
        "<ul>" + "<li>one<li>two" * 500 + "</ul>",
        "<p>no tags " * 100 + "x" * 100_000,
        "<div title='a > b' lang=pl>" * 100 + "</div>" * 100 + "x" * 1000,
        "<P>CAPITALS</P>" * 100,
    ],
)
def test_usual_html_is_harmless(text):
    assert is_harmless(text)


FONTS = "".join(f"<font color=c{number}>" for number in range(200))


@pytest.mark.parametrize(
    "text",
    [
        "<p " + " ".join(f"a{number}" for number in range(5_000)) + ">x</p>",
        '<p><font color="' + "A" * 3_000 + '"></p>' + "<p>x</p>" * 500,
        f"<p>{FONTS}</p>" + "<p>x</p>" * 200,
        f"<p>{FONTS}" + "<p>x" * 200,
        f"<p>{FONTS}{'</font>' * 200}</p>".replace("</font>", "<!--</font>-->") + "<p>x</p>" * 200,
        f"<p>{FONTS}<style>{'</font>' * 200}</style></p>" + "<p>x</p>" * 200,
        f"<p>{FONTS}<title>{'</font>' * 200}</title><p title='{'</font>' * 200}'>" + "<p>x</p>" * 200,
        f"<p>{FONTS}<textarea>{'</font>' * 200}</textarea></p>" + "<p>x</p>" * 200,
        f"<p>{FONTS}<svg><style>{'</font>' * 200}</style></svg></p>" + "<p>x</p>" * 200,
        "<div>" * 1_000 + "</div>" * 1_000,
        "".join(f"<body a{number}=1>" for number in range(1_000)),
        "<b><p>x</b>" * 500,
        "<p><b title='" + "x" * 1_000,
        "<style>" * 1_000,
        "<!--" * 1_000,
        "<!-- a -- b -->" * 1_000,
        "<select><option>" * 1_000,
        "<math><mi>" * 1_000,
        "<p>x</p>" * 30_000,
    ],
)
def test_costly_html_is_not_harmless(text):
    assert not is_harmless(text)


TAGS = ("b", "font", "p", "div", "td", "tr", "table", "a", "span", "li", "ul", "br", "style", "title")


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Draw tags that are mostly closed in order, with some mistakes."""
    opened: list[str] = []
    parts: list[str] = []
    for number in range(draw(st.integers(1, 60))):
        match draw(st.integers(0, 9)):
            case 0 | 1 | 2 | 3:
                tag = draw(st.sampled_from(TAGS))
                parts.append(f'<{tag} title="{number}">')
                opened += [tag] if tag != "br" else []
            case 4 | 5 | 6 | 7 if opened:
                parts.append(f"</{opened.pop()}>")
            case 8:
                parts.append(f"</{draw(st.sampled_from(TAGS))}>")
            case _:
                parts.append("x")
    return "".join([*parts, *(f"</{tag}>" for tag in reversed(opened))])


@pytest.mark.trial
@pytest.mark.slow("runs many examples")
@settings(max_examples=examples(300), deadline=None)
@given(text=documents())
def test_a_harmless_text_hardly_grows(text):
    html_cleaning._SHORT, short = 0, html_cleaning._SHORT
    try:
        assume(is_harmless(text))
    finally:
        html_cleaning._SHORT = short

    assert len(POLICY.apply(text)) <= 5 * len(text) + 200


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("<p onclick='x'>a <b>b</b></p>", "<p>a <b>b</b></p>"),
        # Characters that PostgreSQL cannot store.
        ("<p>a\0b\ud800c</p>", "<p>abc</p>"),
        *((f"<p>a&#{number};b</p>", "<p>a\ufffdb</p>") for number in ("9" * 5_000, "x" + "f" * 5_000, "12345678")),
    ],
)
def test_a_harmless_text_is_cleaned_in_this_process(text, cleaned, monkeypatch):
    monkeypatch.setattr(html_cleaning, "run_limited", None)

    assert clean(text, POLICY) == cleaned
    assert "&#" not in unescape(text)


def test_both_processes_clean_alike():
    text = '<div class="a quote">x</div><a title="keep this" href="https://x.example">y</a><p style="color: red">' * 20
    broken = text + "</b>" + "z" * 1000

    assert not is_harmless(broken)
    found = clean_and_count(broken, POLICY)
    assert found.html == POLICY.apply(broken)
    assert f'<div class="{html_cleaning.MARK}">' in found.html
    assert '<a title="this" href="https://x.example" rel="nofollow">' in found.html
    assert (found.tags["div"], found.attributes["p", "style"]) == (20, 20)


def test_the_limited_process_knows_none_of_our_secrets(monkeypatch):
    given: dict[str, Any] = {}
    original = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *args, **values: given.update(values) or original(*args, **values))

    clean("</b>" * 1000, POLICY)

    assert given["env"] == {}


def test_the_limited_process_cleans_one_text_at_a_time(monkeypatch):
    running, most = 0, []
    lock = threading.Lock()

    def run(*args, **values):
        nonlocal running
        with lock:
            running += 1
            most.append(running)
        threading.Event().wait(0.01)
        with lock:
            running -= 1
        return type("Done", (), {"stdout": b'["", {}, []]'})

    monkeypatch.setattr(subprocess, "run", run)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _each: clean("</b>" * 1000, POLICY), range(16)))

    assert most == [1] * 16


def test_of_many_suspicious_texts_at_once_some_are_refused_at_once(monkeypatch):
    go_on = threading.Event()

    def run_apart(*args):
        go_on.wait(60)
        return b'["", {}, []]'

    def outcome(_number):
        try:
            return clean("</b>" * 1000, POLICY)
        except Uncleanable:
            go_on.set()
            return "refused"

    monkeypatch.setattr(limited_process, "_run_apart", run_apart)
    with ThreadPoolExecutor(7) as pool:
        outcomes = list(pool.map(outcome, range(7)))

    # The seventh text did not wait, so the others could continue.
    assert sorted(outcomes) == [""] * 6 + ["refused"]


@pytest.mark.slow("cleans costly HTML")
@pytest.mark.parametrize("text", ["<div>" * 200_000, "x" * 2_000_001, f"<p>{FONTS * 40}</p>" + "<p>x</p>" * 8_000])
def test_html_beyond_the_limits_is_uncleanable(text):
    with pytest.raises(Uncleanable):
        clean(text, POLICY)


def test_an_undecidable_value_is_removed(monkeypatch):
    class Failing:
        groups = 0

        def fullmatch(self, _value):
            raise MemoryError

    monkeypatch.setitem(POLICY._values, "href", Failing())

    assert clean('<a href="https://x.example">x</a>', POLICY) == '<a rel="nofollow">x</a>'


def test_no_other_module_cleans_or_parses_html():
    found = {
        path.relative_to(ROOT).as_posix()
        for app in APPS
        for path in (ROOT / app).rglob("*.py")
        if {"nh3", "html.parser", "unescape"} & set(re.findall(r"[\w.]+", _imports(path)))
    }

    # These use the bounded `unescape` from the start.
    others = {"knowledgebase/exchange.py", "knowledgebase/html.py", "tickets/html.py"}
    others.add("tickets/mail/mail_lines.py")
    # It reads HTML of our own lists only, in which the texts of people are escaped.
    of_ours = "callcentre/lists/cells.py"
    assert found == {"callcentre/core/html_cleaning.py", of_ours, *others}
    for name in others:
        assert "from callcentre.core.html_cleaning import" in (ROOT / name).read_text()
        assert not re.search(r"nh3|html\.parser|from html import .*unescape|html\.unescape", (ROOT / name).read_text())


def _imports(path: Path) -> str:
    return "\n".join(line for line in path.read_text().splitlines() if line.startswith(("import ", "from ")))


def test_tags_are_counted_in_every_spelling():
    text = "<IMG/SRC=x/onerror=1><p a='>' b>x<script>if (a<b) c</script><!-- <i> --><o:p></o:p><b"

    found = clean_and_count(text, POLICY)

    assert found.tags == {"img": 1, "p": 1, "script": 1, "o:p": 1, "b": 1}
    assert found.attributes == {("img", "src"): 1, ("p", "a"): 1, ("p", "b"): 1}
