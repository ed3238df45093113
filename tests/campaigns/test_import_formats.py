"""Formats of spreadsheets: encodings, delimiters, quotation marks, line ends."""

import io

import pytest

from callcentre.core.errors import Invalid
from campaigns.importing.formats import MOST_COLUMNS, Format, guess_format
from campaigns.importing.merge import Totals
from campaigns.importing.rows import Rows, _Lines
from tests.campaigns.import_files import field_values, import_text, numbers_of

pytestmark = pytest.mark.django_db


POLISH = "telefon;first_name;city\n+48 22 555 01 01;Żaneta;Łódź\n+48 22 555 01 02;Święta;Kraków\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1250", "marked"])
def test_every_encoding_of_a_spreadsheet_is_guessed(campaign, encoding):
    # Big-endian UTF-16 with and without a byte order mark.
    content = b"\xfe\xff" + POLISH.encode("utf-16-be") if encoding == "marked" else POLISH.encode(encoding)

    assert import_text(campaign, content).totals == Totals(read=2, added=2)
    assert field_values(campaign, "first_name") == ["Żaneta", "Święta"]


@pytest.mark.slow("reads a large file")
def test_a_polish_letter_at_the_end_of_the_file_decides_its_encoding(campaign):
    rows = "".join(f"+48 22 {number:07};Jan\n" for number in range(8000))

    import_text(campaign, f"telefon;first_name\n{rows}+48 600 000 000;Żaneta\n".encode("cp1250"))

    assert field_values(campaign, "first_name")[-1] == "Żaneta"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_every_delimiter_is_guessed(campaign, delimiter):
    outcome = import_text(campaign, POLISH.replace(";", delimiter))

    assert outcome.totals == Totals(read=2, added=2)


def test_the_delimiter_named_by_a_spreadsheet_is_used(campaign):
    outcome = import_text(campaign, "sep=|\r\nphone|first_name\r\n225550101|a;b\r\nx|c;d\r\n")

    assert field_values(campaign, "first_name") == ["a;b"]
    assert [row[0] for row in outcome.errors] == ["4"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_end_of_line_is_read(campaign, newline):
    import_text(campaign, f"phone{newline}225550101{newline}225550102")

    assert numbers_of(campaign) == ["+48225550101", "+48225550102"]


def test_quoted_cells_may_contain_lines_delimiters_and_quotation_marks(campaign):
    import_text(campaign, 'phone,first_name\n225550101,"a ""b"", c\nd"\n225550102,e\n')

    assert field_values(campaign, "first_name") == ['a "b", c\nd', "e"]


@pytest.mark.parametrize("last", ["Ola", '"Ola"'])
def test_a_quotation_mark_that_is_not_closed_or_by_a_later_row_refuses_only_its_row(campaign, last):
    content = f'phone,first_name,city\n225550101,"Jan,x\n225550102,Ewa,y\n225550103,{last},z\n'

    outcome = import_text(campaign, content)

    assert numbers_of(campaign) == ["+48225550102", "+48225550103"]
    assert outcome.errors == [["2", "A quotation mark is opened and not closed.", "225550101", '"Jan', "x"]]


def test_an_open_cell_over_the_limit_loses_no_row(campaign):
    rows = "".join(f"22{number:07},{'x' * 80}\n" for number in range(3000))

    outcome = import_text(campaign, f'phone,first_name\n225550101,"Jan\n{rows}')

    assert outcome.totals == Totals(read=3001, added=3000, faulty=1)


@pytest.mark.slow("reads a large file")
def test_open_quotation_marks_in_many_rows_refuse_only_these_rows(campaign):
    # The second cell opens a quotation mark, and so does each row after it.
    outcome = import_text(campaign, "phone,first_name\n" + 'a"b,"c\n' * 3000 + "225550101,Ewa\n")

    assert outcome.totals == Totals(read=3001, added=1, faulty=3000)
    assert set(outcome.messages) == {"A quotation mark is opened and not closed."}


def test_the_number_of_lines_read_again_is_limited(campaign, monkeypatch):
    monkeypatch.setattr("campaigns.importing.rows.MOST_LINES", 10)
    monkeypatch.setattr("campaigns.importing.rows.MOST_READ_AGAIN", 20)
    rows = Rows(io.BytesIO(b"phone,first_name\n" + b'a"b,"c\n' * 100), Format("utf-8", ","))
    read: list[int] = []
    original = _Lines.keep_first_only

    def keep_first_only(lines):
        read.append(len(lines.taken))
        return original(lines)

    monkeypatch.setattr(_Lines, "keep_first_only", keep_first_only)

    assert len([*rows]) == 100
    # Two rows of ten lines and one more use up the 20 lines to read again; then each row has one line.
    assert read == [10, 10, 10, *[1] * 97]


@pytest.mark.parametrize("has_header", [True, False])
def test_too_many_columns_are_refused_with_their_number(campaign, has_header):
    widest = ",".join(["phone", *["x"] * (MOST_COLUMNS - 1)])
    import_text(campaign, f"{widest}\n225550101\n", has_header=has_header, columns="phone_number")

    with pytest.raises(Invalid, match="The file has 203 columns; at most 200 can be read"):
        import_text(campaign, f"{widest},y,y,y\n225550102\n", has_header=has_header, columns="phone_number")


def test_the_error_file_of_a_file_with_the_most_columns_can_be_imported(campaign):
    header = ",".join(["line", "error", "phone", *["x"] * (MOST_COLUMNS - 1)])

    outcome = import_text(campaign, f"{header}\n2,mended,225550101\n")

    assert outcome.totals == Totals(read=1, added=1)


def test_a_line_over_the_limit_is_refused_with_its_number(campaign):
    with pytest.raises(Invalid, match="Line 2 of the file is longer than 4000000 characters"):
        import_text(campaign, "phone,city\n225550101," + "," * 4_000_000)


def test_blank_rows_are_ignored(campaign):
    outcome = import_text(campaign, "phone;city\n\n225550101;x\n;;\n   \n225550102;y\n;\n")

    assert outcome.totals == Totals(read=2, added=2)


@pytest.mark.parametrize(("content", "expected"), [("telefon,imie\n22,x\n", True), ("225550101,x\n", False)])
def test_a_first_row_without_a_phone_number_is_a_header(content, expected):
    assert guess_format(io.BytesIO(content.encode())) == Format("utf-8", ",", expected)


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_a_file_without_rows_is_refused(campaign, content):
    with pytest.raises(Invalid, match="no rows"):
        import_text(campaign, content)


def test_undecodable_bytes_refuse_only_their_row(campaign):
    content = "phone;city\n225550101;Łódź\n".encode() + b"225550102;\xb3\xf3d\xbf\n" + b"225550103;x\n"

    outcome = import_text(campaign, content, encoding="utf-8")

    assert numbers_of(campaign) == ["+48225550101", "+48225550103"]
    assert outcome.messages == ['Column "city" has bytes that are not UTF-8.']
