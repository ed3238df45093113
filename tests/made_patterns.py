"""Patterns that functions of the product build from their arguments: one of each."""

import re
from typing import Any

from callcentre.core.audit import _writes_audited
from callcentre.core.parsing import list_key, map_key
from callcentre.core.personal_data import Person
from callcentre.core.phone import _exit_code
from knowledgebase.search.highlight import Highlighter
from knowledgebase.search.query import parse
from telephony.channels import _pattern

# The files of these functions. HTML policies build patterns there too; these are tried as they are.
FILES = {
    "callcentre/core/audit.py",
    "callcentre/core/parsing.py",
    "callcentre/core/html_cleaning.py",
    "callcentre/core/phone.py",
    "callcentre/core/personal_data.py",
    "knowledgebase/search/highlight.py",
    "telephony/channels.py",
}
_HIGHLIGHTER = Highlighter(parse('pay "late fees" refund').wanted)

MADE: dict[str, re.Pattern[Any]] = {
    "writes_audited": _writes_audited(),
    "list_key": list_key("ids"),
    "map_key": map_key("fields"),
    "channel": _pattern("callcentre", r"-\d+"),
    "bridge": _pattern("callcentre", ""),
    "person": re.compile(Person(numbers=("+48225550107",), emails=("jan@client.example",)).pattern),
    "exit code": re.compile(_exit_code("PL")),
    **{f"highlight {number}": pattern for number, (pattern, _word) in enumerate(_HIGHLIGHTER._patterns)},
    **{f"plain {number}": pattern for number, (pattern, _word) in enumerate(_HIGHLIGHTER._plain_patterns)},
}
