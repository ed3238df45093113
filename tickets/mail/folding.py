"""The text of a mail, parted into what its author wrote and the quotation at its end. Nothing is cut off.

A quotation is folded if nothing of the author follows it. Where that is in doubt, nothing is folded: to show a quotation
costs a look, to hide an answer costs the answer. Mail that is forwarded is not folded: it is new to its reader.
"""

from itertools import pairwise

from tickets import html
from tickets.mail import quotation_words as words
from tickets.mail.lines import Line, lines_of_html, lines_of_text

# Lines over which the mail program breaks the line above a quotation, and characters that it has at most.
_MOST_LINES_OF_NAME = 3
_LONGEST_NAME = 600
# Characters of a line that may have been broken.
_SHORTEST_BROKEN = 30
# Lines of the headers of a quoted mail, with those over which long ones are broken.
_MOST_HEADERS = 12
_MOST_BROKEN = 3
# Longer ones are no signatures.
_LONGEST_SIGNATURE = 10
_LONGEST_LINE_OF_SIGNATURE = 100


def fold(body: str, body_type: str) -> tuple[str, str]:
    """Return what was written, and what was quoted below it: HTML cleaned, then parted.

    All of it was written where nothing else would be left.
    """
    if body_type == "HTML":
        return _fold_html(body)
    place = _place_in(lines_of_text(body))
    return (body, "") if place is None else (body[:place], body[place:])


def _fold_html(body: str) -> tuple[str, str]:
    whole, marked = html.clean_marked(body)
    place = _place_in(lines_of_html(marked))
    if place is None:
        return whole, ""
    return html.clean(marked[:place]), html.clean(marked[place:])


def _place_in(lines: list[Line]) -> int | None:
    """Return where the quotation begins that ends the mail, if it has one."""
    for number, line in enumerate(lines):
        if words.FORWARDED.match(line.text):
            return None
        end = _end_of_header(lines, number)
        if end is None:
            continue
        written, quoted = lines[:number], lines[end:]
        if not _says_something(written) or _has_answers(line, quoted):
            return None
        while words.RULE.match(lines[number - 1].text):
            number -= 1
        return lines[number].start if number else None
    return None


def _end_of_header(lines: list[Line], number: int) -> int | None:
    """Return where the quotation itself begins if this line, or its headers, begin one."""
    line = lines[number]
    if line.depth and line.is_marked:
        return number
    if words.ORIGINAL.match(line.text):
        return _end_of_labels(lines, number + 1)
    is_labelled = _is_labelled(lines, number)
    if is_labelled or (line.is_ruled and words.FROM.match(line.text)):
        return _end_of_labels(lines, number)
    if end := _end_of_name(lines, number):
        is_quoted = end < len(lines) and lines[end].depth > line.depth
        has_address = any("@" in each.text for each in lines[number:end])
        return end if is_quoted or has_address or line.is_marked else None
    if line.is_marked:
        return number + line.text.endswith(":") if not words.FROM.match(line.text) else _end_of_labels(lines, number)
    return None


def _is_labelled(lines: list[Line], number: int) -> bool:
    """Return whether the headers of a mail begin here: its sender, its date and its subject."""
    if not words.FROM.match(lines[number].text):
        return False
    headers = lines[number : _end_of_labels(lines, number)]
    return all(any(label.match(line.text) for line in headers) for label in (words.SENT, words.SUBJECT))


def _end_of_labels(lines: list[Line], number: int) -> int:
    """Return where the headers end that begin here."""
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


def _end_of_name(lines: list[Line], number: int) -> int | None:
    """Return where the line ends that says who wrote the quotation, and when, if it begins here."""
    begins = bool(words.BEGINNING.match(lines[number].text))
    if not begins and not lines[number].text.endswith(":"):
        return None
    text = ""
    for end, line in enumerate(lines[number : number + _MOST_LINES_OF_NAME], number + 1):
        text = f"{text} {line.text}".lstrip()
        if len(text) > _LONGEST_NAME:
            return None
        has_date = any(character.isdigit() for character in text)
        if has_date and (words.WROTE_WHEN.match(text) or (begins and words.WROTE_AT_END.search(text))):
            return end
        if not begins:
            return None
        if len(line.text) < _SHORTEST_BROKEN or line.text[-1] in ".!?:;":
            return None
    return None


def _says_something(written: list[Line]) -> bool:
    """Return whether the author says more above the quotation than a greeting, and not that the answers are in it."""
    said = [line for line in _without_signature(written) if not words.RULE.match(line.text)]
    if len(said) <= 1 and all(words.GREETING.match(line.text) for line in said):
        return False
    return not any(words.ANNOUNCEMENT.search(line.text) for line in said)


def _without_signature(lines: list[Line]) -> list[Line]:
    end = next((number for number, line in enumerate(lines) if line.text == "--"), len(lines))
    if not _is_signature(lines[end + 1 :]):
        end = len(lines)
    return [line for line in lines[:end] if not line.is_signature and not words.OF_PHONE.match(line.text)]


def _is_signature(lines: list[Line]) -> bool:
    is_short = len(lines) <= _LONGEST_SIGNATURE
    return is_short and all(len(line.text) <= _LONGEST_LINE_OF_SIGNATURE for line in lines)


def _has_answers(first: Line, quoted: list[Line]) -> bool:
    """Return whether something may be the author's own in a quotation, or below it."""
    is_set_off = bool(quoted) and quoted[0].depth > 0
    number = 0
    while number < len(quoted):
        line = quoted[number]
        if line.is_own and not line.is_signature:
            return True
        if is_set_off or first.is_contained:
            is_inside = line.depth > 0 if is_set_off else line.is_contained
            if not is_inside and (end := _end_of_name(quoted, number)) and quoted[end : end + 1]:
                number = end
                continue
            if not is_inside:
                return bool(_without_signature(quoted[number:]))
        elif words.NAMED.match(line.text):
            return True
        number += 1
    return _has_coloured_answers(quoted)


def _has_coloured_answers(quoted: list[Line]) -> bool:
    """Return whether lines of another colour stand between the lines of the quotation, or end it without a greeting."""
    message = _first_message(quoted)
    if all(line.is_coloured for line in message):
        return False
    for before, line in pairwise(message):
        if before.is_coloured and not line.is_coloured:
            return True
        if line.is_coloured and not before.is_coloured:
            ends_letter = words.CLOSING.match(before.text) or words.CLOSING.match(line.text)
            rest_is_coloured = all(each.is_coloured for each in message[message.index(line) :])
            if rest_is_coloured:
                return not ends_letter
    return False


def _first_message(quoted: list[Line]) -> list[Line]:
    """Return the lines of the newest of the mails that are quoted."""
    depth = quoted[0].depth if quoted else 0
    for number, line in enumerate(quoted):
        if line.depth != depth or (number and _is_labelled(quoted, number)):
            return quoted[:number]
    return quoted
