"""Unicode normal forms: usual text is unchanged, and the marks on a character are bounded."""

import unicodedata

from callcentre.core.normal_forms import normalised


def test_normal_text_is_normalised():
    for text in ["plain", "Zażółć", "Zaz\u0307o\u0301l", "e\u0301", "ｆｕｌｌ", "نَصٌّ", "한글", "中文字符" * 20]:
        assert normalised("NFC", text) == unicodedata.normalize("NFC", text)
        assert normalised("NFKD", text) == unicodedata.normalize("NFKD", text)


def test_excessive_marks_are_dropped():
    text = "a" + "\u0315\u0300" * 1_000_000 + "b"

    assert len(normalised("NFD", text)) == 32
