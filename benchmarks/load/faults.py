"""The work of benchmarks.load at a moderate rate, while one fault after another happens.

python -m benchmarks.load.faults [--seconds 60] [--list] [SCENARIO …]

After each fault the service must be normal again by itself (probes, no error, nothing late) and `manage.py verify` must
be clean, within minutes; all that was accepted must be there, all events delivered or waiting visibly, and no number
called twice. SCENARIO is a name as of `--list`, with `*`; without one, all are tried, which takes an hour. `--seconds`
is the length of those faults that last. The switch is the stand-in of the tests, reached by a link that can be cut, as
are the stores and the world outside. `--small` has ten agents and little work; so have faults of the clock. So has
`--once`, for CI, where each process and store is killed once, a second apart.
"""

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from http.client import HTTPException
from itertools import pairwise

import psycopg
import redis

from benchmarks.load.__main__ import come_to_rest
from benchmarks.load.check import lost, verify
from benchmarks.load.machine import UNITS, Machine, machine
from benchmarks.load.people import AGENTS, WRAP_UP_SECONDS, prepare
from benchmarks.load.places import LAG_SECONDS, Clock, Missing, clock_at, full_disk, pair
from benchmarks.load.watch import Watch
from benchmarks.load.work import PATIENCE, Browser, Work, working

RATE, WARM_UP_SECONDS = 15.0, 40.0
# What the service has to be normal again, and until the accounts are right: calls have a minute, workers ten.
NORMAL_SECONDS, RIGHT_SECONDS = 120.0, 240.0
# Due for longer than this is late.
LATE_SECONDS, MOST_QUEUED = 15.0, 100
PROBES = ("ready", "processes", "dialling")
SLOW_SECONDS, STORE_SECONDS = 2.0, 30.0


@dataclass
class Trial:
    machine: Machine
    work: Work
    watch: Watch
    seconds: float
    browser: Browser
    unusual: str = ""

    def is_normal(self) -> bool:
        self.unusual = self._look()
        return not self.unusual

    def _look(self) -> str:
        """Return what is not as before: of probes, requests, due work and queues."""
        try:
            for probe in PROBES:
                status, answer = self.browser.ask("GET", f"/health/{probe}")
                if status != 200:
                    return f"{probe}: {answer.decode()}"
            recent = self.work.ledger.since(time.monotonic() - 4)
            errors = [error for *_, error in recent if error]
            if errors or not recent:
                return f"{len(errors)} errors, such as {errors[:1]}"
            sample = self.watch.look()
        except (OSError, HTTPException, redis.RedisError, psycopg.Error) as error:
            return repr(error)
        late = {kind: row for kind, row in sample.due.items() if row[1] > LATE_SECONDS}
        full = {queue: length for queue, length in sample.queues.items() if length > MOST_QUEUED}
        return f"late: {late} {full}" if late or full else ""


Fault = Callable[[Trial], None]


def kill(unit: str, trial: Trial) -> None:
    trial.machine.signal(unit, signal.SIGKILL)


def freeze(unit: str, trial: Trial, seconds: float | None = None) -> None:
    trial.machine.signal(unit, signal.SIGSTOP)
    time.sleep(seconds or trial.seconds)
    trial.machine.signal(unit, signal.SIGCONT)


def keep_down(store: str, trial: Trial) -> None:
    trial.machine.kept_down.add(store)
    trial.machine.signal(store, signal.SIGKILL)
    time.sleep(STORE_SECONDS)
    trial.machine.kept_down.remove(store)


def change(links: tuple[str, ...], trial: Trial, *, seconds: float | None = None, **values: float | str) -> None:
    """Change links for some seconds."""
    for link in links:
        trial.machine.link(link, **values)
    time.sleep(seconds or trial.seconds)
    for link in links:
        trial.machine.link(link, mode="through", delay=0)


def empty_broker(trial: Trial) -> None:
    redis.from_url(trial.machine.stores.environment["REDIS_URL"]).flushall()


def kill_all(trial: Trial) -> None:
    for unit in (*UNITS, "switch", "postgres", "valkey"):
        kill(unit, trial)
        time.sleep(1)


def step_clock(seconds: int, trial: Trial) -> None:
    trial.machine.place.step(seconds)
    time.sleep(trial.seconds)


def fill_disk(free: float, trial: Trial) -> None:
    """Leave this part of the disk free for some seconds."""
    trial.machine.place.fill(free)
    time.sleep(STORE_SECONDS)
    trial.machine.place.clear()


def fail_over(trial: Trial) -> None:
    trial.machine.place.fail_over()


def fail_over_behind(trial: Trial) -> None:
    """Fail over to a standby that is behind, which loses no more than it was behind by."""
    started = time.monotonic()
    fail_over(trial)
    time.sleep(10)
    missing = lost(trial.machine, trial.work.ledger)
    accepted, count = trial.work.ledger.accepted, 0
    for kind, marks in missing.items():
        for mark in marks:
            if accepted.get(kind, {}).get(mark, 0) > started - LAG_SECONDS:
                del accepted[kind][mark]
                count += 1
    print(f"  {trial.machine.place.lag_bytes} bytes behind: {count} accepted rows lost, no older than {LAG_SECONDS} s")


OUTSIDE = ("good", "slow", "imap", "smtp")
PLAIN: dict[str, Fault] = {
    "PostgreSQL killed": partial(kill, "postgres"),
    "PostgreSQL stopped for 30 s": partial(freeze, "postgres", seconds=STORE_SECONDS),
    "PostgreSQL slow, 2 s a statement, for 30 s": partial(
        change, ("database",), seconds=STORE_SECONDS, delay=SLOW_SECONDS
    ),
    "Valkey killed": partial(kill, "valkey"),
    "Valkey emptied": empty_broker,
    "Valkey down for 30 s": partial(keep_down, "valkey"),
    **{f"{unit} killed": partial(kill, unit) for unit in UNITS},
    **{f"{unit} stopped": partial(freeze, unit) for unit in UNITS},
    "switch killed": partial(kill, "switch"),
    "switch away": partial(change, ("switch",), mode="cut"),
    "network to the switch still": partial(change, ("switch",), mode="still"),
    "receivers and mail servers cut": partial(change, OUTSIDE, mode="cut"),
    "network to receivers and mail servers still": partial(change, OUTSIDE, mode="still"),
}
CLOCKS = ("clock", "spring", "autumn")
Place = Callable[[], AbstractContextManager[Machine]]
asterisk = partial(machine, linked=True, asterisk=True)


# Name -> where it happens, and the faults there, one after another.
# libfaketime slows each process down, so the work at a faked clock is always small.
PLACES: dict[str, tuple[Place, dict[str, Fault]]] = {
    "plain": (asterisk, PLAIN),
    "disk": (
        full_disk,
        {"disk almost full for 30 s": partial(fill_disk, 0.05), "disk full for 30 s": partial(fill_disk, 0)},
    ),
    "synchronous replica": (partial(pair, is_synchronous=True), {"failover to a synchronous replica": fail_over}),
    "asynchronous replica": (
        partial(pair, is_synchronous=False),
        {"failover to an asynchronous replica": fail_over_behind},
    ),
    "clock": (
        partial(clock_at, ""),
        {"clock an hour ahead": partial(step_clock, 3600), "clock set back by that hour": partial(step_clock, 0)},
    ),
    "spring": (partial(clock_at, "2027-03-28 00:59:00"), {"clocks go forward": partial(step_clock, 0)}),
    "autumn": (partial(clock_at, "2027-10-31 00:59:00"), {"clocks go back": partial(step_clock, 0)}),
}


def stall(trial: Trial, since: float, until: float) -> float:
    """Return the longest time in which no request of a client was answered well."""
    ends = sorted(at + seconds for at, _name, seconds, error in trial.work.ledger.done if not error)
    ends = [since, *(end for end in ends if since < end < until), until]
    return max(later - earlier for earlier, later in pairwise(ends))


def wait_for(condition: Callable[[], bool], seconds: float, pause: float = 1.0) -> float | None:
    """Return the seconds until it is so, or None. `pause` lies between two looks."""
    started = time.monotonic()
    while not condition():
        if time.monotonic() - started > seconds:
            return None
        time.sleep(pause)
    return time.monotonic() - started


def happen(trial: Trial, name: str, fault: Fault) -> bool:
    """Let a fault happen, and print its line. Return whether all was well afterwards."""
    started = time.monotonic()
    fault(trial)
    ended = time.monotonic()
    normal = wait_for(trial.is_normal, NORMAL_SECONDS)
    now = time.monotonic()
    failed = [each for each in trial.work.ledger.since(started - PATIENCE) if each[3] and each[0] + each[2] > started]
    errors = Counter(error.partition(" ")[0] for *_, error in failed)
    wrong: list[str] = []
    # All that was wrong at first.
    passing: set[str] = set()

    def is_right() -> bool:
        wrong[:] = [
            f"{kind}: {len(marks)} lost, {marks[:3]}" for kind, marks in lost(trial.machine, trial.work.ledger).items()
        ]
        wrong.extend(verify(trial.machine))
        passing.update(line.partition(":")[0] for line in wrong)
        return not wrong

    # Each look is a process with dozens of queries.
    right = wait_for(is_right, RIGHT_SECONDS, pause=5.0)
    said = ", ".join(f"{count} × {error}" for error, count in errors.most_common(5)) or "none"
    spent = ["never" if each is None else f"{each:.0f} s" for each in (normal, right)]
    print(
        f"| {name} | {ended - started:.0f} s | {said} | {stall(trial, started, now):.1f} s | {' | '.join(spent)} |",
        flush=True,
    )
    if failed:
        print(f"  errors of: {dict(Counter(name for _at, name, *_ in failed).most_common(5))}", flush=True)
    if passing and right is not None:
        print(f"  wrong at first: {', '.join(sorted(passing))}", flush=True)
    if normal is None:
        wrong.append(f"not normal: {trial.unusual}")
    for line in wrong:
        print(f"  WRONG after {name}: {line}", flush=True)
    return normal is not None and not wrong


def happen_at(place: Place, faults: dict[str, Fault], seconds: float, *, is_small: bool = False) -> bool:
    agents = 10 if is_small else AGENTS
    with place() as made:
        wrap_up = 5 if is_small else WRAP_UP_SECONDS
        cookies, watch = prepare(made, agents, agents * 2 // 5, wrap_up), Watch(made)
        with working(made, cookies, RATE / 3 if is_small else RATE, agents) as work:
            trial = Trial(made, work, watch, seconds, Browser(made.running.port, {}))
            time.sleep(5 if is_small else WARM_UP_SECONDS)
            if wait_for(trial.is_normal, NORMAL_SECONDS) is None:
                print(f"  WRONG: not normal before any fault: {trial.unusual}", flush=True)
                return False
            well = [happen(trial, name, fault) for name, fault in faults.items()]
            if isinstance(made.place, Clock):
                # Wrap-ups that began while the clock was ahead end when it has come there again.
                made.place.step(3600)
        come_to_rest(made)
        left = [f"{what} {marks[:3]}" for what, marks in lost(made, work.ledger, is_over=True).items()] + verify(made)
        for line in left:
            print(f"  WRONG at the end: {line}", flush=True)
        return all(well) and not left


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", default=["*"])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    places = (
        {"once": (partial(asterisk, web=1), {"each process and store killed": kill_all})} if options.once else PLACES
    )
    if options.list:
        sys.exit("\n".join(name for _place, faults in places.values() for name in faults))
    print("| fault | lasts | errors of clients | longest stall | normal after | accounts right after |")
    print("|---|---|---|---|---|---|", flush=True)
    well = True
    for where, (place, faults) in places.items():
        chosen = {
            name: fault for name, fault in faults.items() if any(fnmatch(name, each) for each in options.scenarios)
        }
        if not chosen:
            continue
        try:
            well &= happen_at(place, chosen, options.seconds, is_small=options.once or options.small or where in CLOCKS)
        except Missing as missing:
            print(f"| {', '.join(chosen)} | skipped: {missing} is missing | | | | |", flush=True)
    sys.exit(None if well else "Something is wrong.")


if __name__ == "__main__":
    main()
