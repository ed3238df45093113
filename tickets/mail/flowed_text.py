"""Plain text with soft line breaks, which the reader removes (RFC 3676, format=flowed)."""

SIGNATURE = "-- "


def reflowed(text: str, *, deletes_space: bool) -> str:
    """Join each line that ends in a space with the next line of the same quotation, and undo space-stuffing.

    `deletes_space` (DelSp=yes): the last space is removed too, for languages without spaces.
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
