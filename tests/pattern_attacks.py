"""Texts made from a regular expression that may take more than linear time to match.

Each repetition of the expression gets its prefix and then as many rounds as fit. Each beginning is repeated as well, so
that the expression begins at many places and fails at the end of each.
"""

import importlib
import pkgutil
import re
from ast import AsyncFunctionDef, Attribute, Call, Constant, FunctionDef, Name, parse, walk
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from callcentre.core.html_cleaning import Policy
from tests.processes import ROOT

# The standard library has no other parser of patterns.
codes: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

APPS = ("callcentre", "campaigns", "knowledgebase", "reports", "telephony", "tickets", "webhooks")
# A case with quadratic time takes minutes with so many characters.
LENGTH = 50_000


def patterns() -> dict[str, re.Pattern[Any]]:
    """Return every pattern of the product by the place where it was found first: a module, a container in one, or a
    call.
    """
    found: dict[tuple[Any, int], tuple[str, re.Pattern[Any]]] = {}
    for name, pattern in [*_compiled(), *_in_calls()]:
        found.setdefault((pattern.pattern, pattern.flags), (name, pattern))
    return dict(found.values())


def _compiled() -> Iterator[tuple[str, re.Pattern[Any]]]:
    for app in APPS:
        package = importlib.import_module(app)
        for module in [app, *(each.name for each in pkgutil.walk_packages(package.__path__, f"{app}."))]:
            if ".migrations." in module or module == "callcentre.asgi":
                continue
            for name, value in vars(importlib.import_module(module)).items():
                for place, pattern in enumerate(_patterns_in(value)):
                    yield f"{module}.{name}[{place}]", pattern


def _patterns_in(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _patterns_in(each)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _patterns_in(each)
    elif isinstance(value, Policy):
        yield from _patterns_in(vars(value))


def _calls() -> Iterator[tuple[Path, Call]]:
    """Yield the calls of functions of `re`, with their files."""
    for app in APPS:
        for path in sorted((ROOT / app).rglob("*.py")):
            for node in walk(parse(path.read_text(encoding="utf-8"))):
                match node:
                    case Call(func=Attribute(value=Name(id="re"), attr=function), args=[_, *_]) if function != "escape":
                        yield path.relative_to(ROOT), node


def _in_calls() -> Iterator[tuple[str, re.Pattern[Any]]]:
    for path, call in _calls():
        # Compiled patterns are found in their modules.
        if isinstance(call.args[0], Constant) and call.func.attr != "compile":  # type: ignore[attr-defined]
            # These match as a whole or from the start, so they are tried at no other place.
            is_whole = call.func.attr in ("match", "fullmatch")  # type: ignore[attr-defined]
            pattern: Any = call.args[0].value
            yield f"{path}:{call.lineno}", re.compile(rf"\A{pattern}" if is_whole else pattern)


def made_in_functions() -> set[str]:
    """Return the files that build a pattern from arguments, which no module shows."""
    found = set()
    for path, call in _calls():
        if not isinstance(call.args[0], Constant) and call.col_offset > 0 and _is_in_function(path, call.lineno):
            found.add(path.as_posix())
    return found


def _is_in_function(path: Path, line: int) -> bool:
    functions = (node for node in walk(parse((ROOT / path).read_text(encoding="utf-8"))))
    return any(
        node.lineno <= line <= (node.end_lineno or 0)
        for node in functions
        if isinstance(node, FunctionDef | AsyncFunctionDef)
    )


# A text that matches each code of a pattern


def _sample(code: Any, argument: Any) -> str:  # noqa: C901  (one case for each code)
    match code:
        case codes.LITERAL:
            return chr(argument)
        case codes.NOT_LITERAL:
            return "x" if argument != ord("x") else "y"
        case codes.ANY:
            return "x"
        case codes.IN:
            return _characters(argument)[0]
        case codes.BRANCH:
            return _joined(argument[1][0])
        case codes.SUBPATTERN:
            return _joined(argument[3])
        case codes.ATOMIC_GROUP:
            return _joined(argument)
        case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
            rounds: int = max(argument[0], 1)
            return _joined(argument[2]) * rounds
        case codes.ASSERT:
            return _joined(argument[1]) if argument[0] < 0 else ""
        case codes.GROUPREF:
            return "x"
    return ""


def _joined(parsed: Any) -> str:
    return "".join(_sample(code, argument) for code, argument in parsed)


def _characters(items: Any) -> list[str]:
    """Return some characters of a set: the first ones, and characters that repetitions often share."""
    pattern = re.compile(_source(items), re.DOTALL)
    wanted = [chr(value) for code, value in items if code is codes.LITERAL][:3]
    wanted += [chr(value[0]) for code, value in items if code is codes.RANGE][:2]
    common = [each for each in "a0 \t\n-._/<>='\",;:&%@()[]{}x" if pattern.fullmatch(each)]
    return [each for each in dict.fromkeys([*wanted, *common]) if pattern.fullmatch(each)] or ["\ufffd"]


def _source(items: Any) -> str:
    """Return the set as a pattern again."""
    parts: list[str] = []
    for code, value in items:
        match code:
            case codes.NEGATE:
                parts.insert(0, "^")
            case codes.LITERAL:
                parts.append(re.escape(chr(value)))
            case codes.RANGE:
                parts.append(f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}")
            case codes.CATEGORY:
                parts.append(_CATEGORIES[value])
    return f"[{''.join(parts)}]"


_CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}


def _pumps(parsed: Any) -> Iterator[str]:
    """Yield texts of one round of a repetition."""
    if len(parsed) == 1 and parsed[0][0] is codes.IN:
        yield from _characters(parsed[0][1])[:6]
        return
    yield _joined(parsed)
    for code, argument in parsed:
        if code is codes.BRANCH:
            yield from (_joined(branch) for branch in argument[1])
        if code is codes.SUBPATTERN:
            yield from _pumps(argument[3])


def _repetitions(parsed: Any, before: str) -> Iterator[tuple[str, str]]:
    """Yield each repetition as its prefix and one round."""
    for place, (code, argument) in enumerate(parsed):
        inner = {
            codes.SUBPATTERN: lambda given: [given[3]],
            codes.ATOMIC_GROUP: lambda given: [given],
            codes.BRANCH: lambda given: given[1],
            codes.ASSERT: lambda given: [given[1]],
            codes.ASSERT_NOT: lambda given: [given[1]],
        }.get(code, lambda _given: [])(argument)
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            if argument[1] > 50:
                yield from ((before, pump) for pump in _pumps(argument[2]) if pump)
                # A repetition may also match the text after it, with the repetitions there.
                ends = [*_structures(parsed, place + 2), len(parsed)]
                yield from ((before, _joined(parsed[place + 1 : end])) for end in ends)
            inner = [argument[2]]
        for each in inner:
            yield from _repetitions(each, before)
        before += _sample(code, argument)


def _structures(parsed: Any, start: int) -> Iterator[int]:
    """Yield the places of everything that is no plain character."""
    yield from (place for place in range(start, len(parsed)) if parsed[place][0] is not codes.LITERAL)


def attacks(pattern: re.Pattern[Any]) -> Iterator[str]:
    """Yield texts for which the pattern may take more than linear time."""
    parsed = parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else 0)
    whole = _joined(parsed)
    units = {(whole, "")}
    for before, pump in _repetitions(parsed, ""):
        units |= {(before, pump), ("", before + pump), ("", before), (before, " "), ("", pump)}
        units |= {(before, f"{pump} "), (f"{before} ", pump), (f"{before} ", f"{pump} ")}
    yield from (before + pump * (LENGTH // max(len(pump), 1)) for before, pump in sorted(units) if pump)
    if whole:
        yield whole * (LENGTH // len(whole))
