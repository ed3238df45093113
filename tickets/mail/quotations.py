"""The split of a mail's text into the author's own words and the quotation at its end. Nothing is cut off.

The quotation is shown folded, so it is split off only if nothing of the author follows it. In doubt the text stays
whole: a quotation that is shown costs a look, but an answer that is hidden may never be read. Forwarded mail stays
whole too: it is new to the reader.
"""

from itertools import dropwhile

from callcentre.core.html_cleaning import MARK
from tickets import html
from tickets.mail import quotation_words as words
from tickets.mail.mail_lines import MailLine, lines_of_html, lines_of_text, without_tags

# The most lines, and characters, of the attribution: the sentence above a quotation that names its author and time.
_MOST_LINES_OF_ATTRIBUTION = 3
_LONGEST_ATTRIBUTION = 600
# A line that a mail program has broken has at least as many characters.
_SHORTEST_BROKEN = 30
# The most lines of the headers of a quoted mail, and the most continuation lines of one header.
_MOST_HEADERS = 12
_MOST_BROKEN = 3
# The most lines, and characters of a line, of a signature.
_LONGEST_SIGNATURE = 10
_LONGEST_LINE_OF_SIGNATURE = 100


def split_quotation(body: str, body_type: str, subject: str = "") -> tuple[str, str]:
    """Return the author's text and the quotation below it. HTML is cleaned first.

    If the quotation is the whole text, it counts as the author's; so does a mail that the subject calls forwarded.
    """
    is_forwarded = bool(words.FORWARDING.match(subject))
    if body_type == "HTML":
        return (html.clean(body), "") if is_forwarded else _fold_html(body)
    place = None if is_forwarded else _place_in(lines_of_text(body))
    return (body, "") if place is None else (body[:place], body[place:])


def _fold_html(body: str) -> tuple[str, str]:
    whole, marked = html.clean_marked(body)
    place = _place_in(lines_of_html(marked)) if _may_quote(marked) else None
    if place is None:
        return whole, ""
    return html.clean(marked[:place]), html.clean(marked[place:])


def _may_quote(marked: str) -> bool:
    """Return False for most HTML without a quotation, at a fifth of the cost of splitting it into lines."""
    is_marked = MARK in marked or "<blockquote" in marked
    return is_marked or bool(words.NEEDED.search(without_tags(marked).lower()))


def _place_in(lines: list[MailLine]) -> int | None:
    """Return the place where the quotation at the end of the mail begins, if it has one."""
    for number, line in enumerate(lines):
        if words.FORWARDED.match(line.text):
            return None
        end = _end_of_header(lines, number)
        if end is None:
            continue
        written, quoted = lines[:number], lines[end:]
        if not _says_something(written) or _has_answers(line, quoted):
            return None
        while number and words.RULE.match(lines[number - 1].text):
            number -= 1
        return lines[number].start if number else None
    return None


def _end_of_header(lines: list[MailLine], number: int) -> int | None:
    """Return the number of the first quoted line if a quotation, or its headers, begin at this line."""
    line = lines[number]
    if line.depth and line.is_marked:
        return number
    if words.ORIGINAL.match(line.text):
        return _end_of_labels(lines, number + 1)
    is_labelled = _is_labelled(lines, number)
    if is_labelled or (line.is_ruled and words.FROM.match(line.text)):
        return _end_of_labels(lines, number)
    if end := _end_of_attribution(lines, number) or _end_above_quotation(lines, number):
        is_quoted = end < len(lines) and lines[end].depth > line.depth
        has_address = words.ADDRESS.search(" ".join(each.text for each in lines[number:end]))
        return end if is_quoted or has_address or line.is_marked else None
    if line.is_marked:
        return number + line.text.endswith(":") if not words.FROM.match(line.text) else _end_of_labels(lines, number)
    return None


def _is_labelled(lines: list[MailLine], number: int) -> bool:
    """Return whether the headers of a quoted mail begin here: sender, date, recipients and subject."""
    if not words.FROM.match(lines[number].text):
        return False
    headers = lines[number : _end_of_labels(lines, number)]
    return all(any(label.match(line.text) for line in headers) for label in (words.SENT, words.TO, words.SUBJECT))


def _end_of_labels(lines: list[MailLine], number: int) -> int:
    """Return the number of the line after the headers that begin here."""
    end, broken = number, 0
    for place, line in enumerate(lines[number : number + _MOST_HEADERS], number):
        if words.HEADER.match(line.text):
            end, broken = place + 1, 0
            if words.SUBJECT.match(line.text):
                break
        elif broken < _MOST_BROKEN and ("@" in line.text or ";" in line.text) and end > number:
            broken += 1
        else:
            break
    return end


def _end_of_attribution(lines: list[MailLine], number: int) -> int | None:
    """Return the number of the line after the attribution that begins here, or None."""
    begins = bool(words.BEGINNING.match(lines[number].text))
    if not begins and not lines[number].text.endswith(":"):
        return None
    text = ""
    for end, line in enumerate(lines[number : number + _MOST_LINES_OF_ATTRIBUTION], number + 1):
        text = f"{text} {line.text}".lstrip()
        if len(text) > _LONGEST_ATTRIBUTION:
            return None
        if _is_attribution(text, begins=begins) or (end == number + 1 and _is_above_quotation(lines, number)):
            return end
        following = lines[end].text if end < len(lines) else ""
        is_broken = len(line.text) >= _SHORTEST_BROKEN and line.text[-1] not in ".!?:;"
        if not begins or not (is_broken or words.BROKEN_OFF.match(following)):
            return None
    return None


def _is_attribution(text: str, *, begins: bool) -> bool:
    has_address = bool(words.ADDRESS.search(text))
    if not has_address and not any(character.isdigit() for character in text):
        return False
    return bool(words.WROTE_WHEN.match(text) or ((begins or has_address) and words.WROTE_AT_END.search(text)))


def _end_above_quotation(lines: list[MailLine], number: int) -> int | None:
    """Return the number of the quoted line below an attribution in any language that begins here, or None.

    It stands apart from the author's text and ends with a colon. It has an address, or a date with a verb that we know
    or a time.
    """
    if not lines[number].is_apart:
        return None
    for end in range(number + 1, number + 1 + _MOST_LINES_OF_ATTRIBUTION):
        if end >= len(lines):
            return None
        if lines[end].depth > lines[number].depth:
            text = " ".join(line.text for line in lines[number:end])
            dates = len(words.DATED.findall(text))
            is_named = words.ADDRESS.search(text) or dates > 1 or (dates and words.WROTE_AT_END.search(text))
            return end if text.endswith(":") and len(text) <= _LONGEST_ATTRIBUTION and is_named else None
        if lines[end].is_apart:
            return None
    return None


def _is_above_quotation(lines: list[MailLine], number: int) -> bool:
    """Return whether the line has an address and a digit, and a quotation follows: an attribution in any language."""
    line, following = lines[number], lines[number + 1 : number + 2]
    is_above = bool(following) and following[0].depth > line.depth
    return is_above and "@" in line.text and any(character.isdigit() for character in line.text)


def _says_something(written: list[MailLine]) -> bool:
    """Return whether the author writes more than a greeting, and announces no answers inside the quotation."""
    said = [line for line in _without_signature(written) if not words.RULE.match(line.text)]
    if len(said) <= 1 and all(words.GREETING.match(line.text) for line in said):
        return False
    if said[-1].text.endswith(":"):
        return False
    return not any(words.ANNOUNCEMENT.search(line.text) for line in said)


def _without_signature(lines: list[MailLine]) -> list[MailLine]:
    end = next((number for number, line in enumerate(lines) if line.text == "--"), len(lines))
    if not _is_signature(lines[end + 1 :]):
        end = len(lines)
    return [line for line in lines[:end] if not line.is_signature and not words.OF_PHONE.match(line.text)]


def _is_signature(lines: list[MailLine]) -> bool:
    is_short = len(lines) <= _LONGEST_SIGNATURE
    return is_short and all(len(line.text) <= _LONGEST_LINE_OF_SIGNATURE for line in lines)


def _has_answers(first: MailLine, quoted: list[MailLine]) -> bool:
    """Return whether words inside the quotation, or below it, may be the author's."""
    is_set_off = bool(quoted) and quoted[0].depth > 0
    number = 0
    while number < len(quoted):
        line = quoted[number]
        if not is_set_off and words.NAMED.match(line.text):
            return True
        is_inside = line.depth > 0 if is_set_off else line.is_contained or not first.is_contained
        if not is_inside:
            end = _end_of_attribution(quoted, number)
            if end is None or end == len(quoted):
                return bool(_without_signature(quoted[number:]))
            number = end
        else:
            number += 1
    if any(line.is_own and not line.is_signature for line in quoted):
        return True
    message = _first_message(quoted)
    return any(line.is_typed for line in message) or _has_coloured_answers(message)


def _has_coloured_answers(message: list[MailLine]) -> bool:
    """Return whether coloured lines stand between the others, or end the message and are no signature."""
    asked = list(dropwhile(lambda line: line.is_coloured, message))
    start = next((number for number, line in enumerate(asked) if line.is_coloured), None)
    if start is None:
        return False
    ends_letter = any(words.CLOSING.match(line.text) for line in asked[start - 1 : start + 1])
    return not ends_letter or not all(line.is_coloured for line in asked[start:])


def _first_message(quoted: list[MailLine]) -> list[MailLine]:
    """Return the lines of the newest of the quoted mails."""
    depth = quoted[0].depth if quoted else 0
    for number, line in enumerate(quoted):
        if line.depth != depth or (number and _is_labelled(quoted, number)):
            return quoted[:number]
    return quoted
