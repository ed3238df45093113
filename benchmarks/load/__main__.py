"""Everything at once, at a part of what this machine holds: the times of each operation, and what grows.

python -m benchmarks.load [--minutes 10] [--share 0.8] [--rate REQUESTS] [--web 2]

The service runs as deploy/systemd starts it, with two web workers, on durable stores of its own. Beside requests of the
API (three reads, one write) there are 50 desks and 20 pages of supervisors that poll, two campaigns with their agents
(a call a minute for each), calls of other agents, callers of a queue, mails, exports, and webhooks with a good, a
slow and a dead receiver. First the rate of API requests is raised until their p99 passes a second or they come late;
`--rate` gives it instead. Then the work goes on at its share for MINUTES, and for a fifth of them at half of it, in
which joins are measured. It ends with 1 for a mistake, for growth, for a p99 of more than ten medians, for joins of
more than 300 ms (p99), and if `manage.py verify` or the ledger finds something.
"""

import argparse
import sys
import time
from collections import Counter, defaultdict
from typing import Any

from benchmarks.joins import buckets, quantile
from benchmarks.load.check import lost, verify
from benchmarks.load.machine import Machine, machine
from benchmarks.load.people import AGENTS, WRAP_UP_SECONDS, dial, prepare
from benchmarks.load.watch import Watch
from benchmarks.load.work import Ledger, Work, percentile, working

# Requests a second, and for how long.
FIRST_RATE, STEP, STEP_SECONDS = 10.0, 1.4, 12.0
WARM_UP_SECONDS = 45.0
MOST_P99, MOST_LATE = 1.0, 0.05
# Of an operation with fewer, no percentile is judged.
FEWEST = 100


def come_to_rest(machine: Machine) -> None:
    """Stop dialling, and wait until all calls and wrap-ups are over, and nothing is due for the good receiver."""
    dial(machine, is_on=False)
    open_calls = "SELECT count(*) FROM telephony_connection WHERE state <> 'ended'"
    unsettled = "SELECT count(*) FROM campaigns_attempt WHERE settled_at IS NULL"
    deadline = time.monotonic() + 150
    with machine.running.connect() as connection:
        while time.monotonic() < deadline:
            counts = [connection.execute(statement).fetchone() for statement in (open_calls, unsettled)]
            if counts == [(0,), (0,)]:
                break
            time.sleep(1)
    time.sleep(5)


def find_rate(work: Work) -> float:
    """Return the highest rate of requests that the machine holds."""
    rate, held = FIRST_RATE, 0.0
    while True:
        work.clock.rate, late, started = rate, work.clock.late, time.monotonic()
        time.sleep(STEP_SECONDS)
        done = [each for each in work.ledger.since(started) if not each[1].startswith(("page", "poll"))]
        p99, left_out = percentile([each[2] for each in done], 0.99), (work.clock.late - late) / rate / STEP_SECONDS
        print(f"{rate:.0f} requests a second: p99 {p99:.2f} s, {left_out:.0%} too late", file=sys.stderr, flush=True)
        if p99 > MOST_P99 or left_out > MOST_LATE:
            return held
        rate, held = rate * STEP, rate


def joins(machine: Machine, seconds: float) -> tuple[float, float, float]:
    """Return the number of answers in this time, and their p50 and p99 until the join."""
    before = buckets(machine.running)
    time.sleep(seconds)
    after = buckets(machine.running)
    count = after.get(float("inf"), 0) - before.get(float("inf"), 0)
    if not count:
        return 0, 0, 0
    return count, quantile(before, after, 0.5), quantile(before, after, 0.99)


def report(ledger: Ledger, since: float) -> list[str]:
    """Print the table of operations. Return what is wrong."""
    times: dict[str, list[float]] = defaultdict(list)
    errors: Counter[tuple[str, str]] = Counter()
    for _at, name, seconds, error in ledger.since(since):
        times[name].append(seconds)
        errors[name, error] += bool(error)
    print("\n| operation | count | errors | median, ms | p99, ms | p99 / median |\n|---|---|---|---|---|---|")
    wrong = []
    for name, each in sorted(times.items()):
        failed = sum(count for (of, _error), count in errors.items() if of == name)
        median, p99 = percentile(each, 0.5), percentile(each, 0.99)
        print(f"| {name} | {len(each)} | {failed} | {median * 1000:.1f} | {p99 * 1000:.1f} | {p99 / median:.1f} |")
        if len(each) >= FEWEST and p99 > 10 * median:
            wrong.append(f"{name}: p99 is {p99 / median:.1f} medians")
    return wrong + [f"{name}: {count} times {error}" for (name, error), count in errors.items() if count]


def measure(options: Any) -> list[str]:
    with machine(web=options.web) as made:
        watch = Watch(made)
        # Their calls and wrap-ups end at different times, as those of people do.
        cookies = prepare(made, spread=WRAP_UP_SECONDS)
        with working(made, cookies, FIRST_RATE, AGENTS) as work:
            time.sleep(WARM_UP_SECONDS)
            held = options.rate or find_rate(work)
            if not options.rate:
                print(f"the machine holds {held:.0f} requests of the API a second beside all else", flush=True)
            if not held:
                return ["the machine does not hold the pages and calls alone"]
            work.clock.rate = held * options.share
            time.sleep(STEP_SECONDS)
            started, late = time.monotonic(), work.clock.late
            watch.cores()
            for minute in range(max(round(options.minutes), 1)):
                time.sleep(max(started + min((minute + 1) * 60, options.minutes * 60) - time.monotonic(), 0))
                watch.take()
            wrong = report(work.ledger, started)
            if (left_out := work.clock.late - late) > MOST_LATE * held * options.minutes * 60:
                wrong.append(f"{left_out} requests came too late to be sent")
            work.clock.rate, work.is_half = work.clock.rate / 2, True
            time.sleep(STEP_SECONDS)
            count, median, p99 = joins(made, max(options.minutes * 12, 30))
            print(f"\n{count:.0f} joins at half the load: median ≤ {median * 1000:.0f} ms, p99 ≤ {p99 * 1000:.0f} ms")
            if p99 > 0.3:
                wrong.append(f"joins: p99 {p99:g} s")
        come_to_rest(made)
        wrong += watch.growth()
        wrong += [
            f"lost: {len(marks)} {kind}, {marks[:3]}" for kind, marks in lost(made, work.ledger, is_over=True).items()
        ]
        wrong += [f"{unit} was started again {count} times" for unit, count in made.restarts.items()]
        return wrong + verify(made)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--share", type=float, default=0.8)
    parser.add_argument("--rate", type=float, help="requests a second that the machine holds")
    parser.add_argument("--web", type=int, default=2, help="web workers")
    wrong = measure(parser.parse_args())
    if wrong:
        sys.exit("\n".join(["", "WRONG:", *wrong]))
    print("\nNothing is wrong.")


if __name__ == "__main__":
    main()
