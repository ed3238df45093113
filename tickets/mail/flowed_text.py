"""Text that its mail program has broken into lines to be joined again (RFC 3676, format=flowed)."""

SIGNATURE = "-- "


def reflowed(text: str, *, deletes_space: bool) -> str:
    """Join the lines that end in a space to those below them of the same quotation, and undo space-stuffing.

    `deletes_space` (DelSp=yes): the space at such an end is not of the text, as in languages that have none.
    """
    found: list[str] = []
    paragraph: list[str] = []
    depth_above = 0
    for line in text.split("\n"):
        unquoted = line.lstrip(">")
        depth = len(line) - len(unquoted)
        unquoted = unquoted.removeprefix(" ")
        if paragraph and (depth != depth_above or unquoted == SIGNATURE):
            found.append("".join(paragraph))
            paragraph = []
        if not paragraph and depth:
            paragraph.append(">" * depth + " ")
        depth_above = depth
        is_flowed = unquoted.endswith(" ") and unquoted != SIGNATURE
        paragraph.append(unquoted[:-1] if is_flowed and deletes_space else unquoted)
        if not is_flowed:
            found.append("".join(paragraph))
            paragraph = []
    if paragraph:
        found.append("".join(paragraph))
    return "\n".join(found)
