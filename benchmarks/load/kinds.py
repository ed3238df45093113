"""The rate of each kind of request alone, with 1, 2 and 4 web workers.

python -m benchmarks.load.kinds [SECONDS] [WORKERS …]

Sixteen clients ask one after another, for SECONDS (10) each. Nothing else goes on, but agents are logged in. The
processor time of a request says more than its rate where other work goes on: a core has 1,000 ms a second.
"""

import sys
import threading
import time
from collections.abc import Callable

from benchmarks.load.machine import machine
from benchmarks.load.people import prepare
from benchmarks.load.work import Browser, Work, percentile

CLIENTS = 16
Act = Callable[[Browser], object]


def rate(work: Work, act: Act, browsers: list[Browser], seconds: float) -> list[float]:
    """Return requests a second, their p99, their processor time in web server and PostgreSQL in ms, and errors."""
    started, used = time.monotonic(), [work.machine.processor_seconds(unit) for unit in ("web", "postgres")]

    def repeat(browser: Browser) -> None:
        while time.monotonic() < started + seconds:
            act(browser)

    threads = [threading.Thread(target=repeat, args=(browser,)) for browser in browsers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = work.ledger.since(started)
    times = [each for _at, _name, each, _error in done]
    spent = [
        work.machine.processor_seconds(unit) - before for unit, before in zip(("web", "postgres"), used, strict=True)
    ]
    each = [1000 * seconds / len(done) for seconds in spent]
    return [
        len(done) / (time.monotonic() - started), 1000 * percentile(times, 0.99), *each,
        sum(bool(error) for *_, error in done),
    ]  # fmt: skip


def kinds(work: Work) -> dict[str, tuple[Act, dict[str, str]]]:
    """Return what each kind asks, and its headers."""

    def page(path: str) -> Act:
        return lambda browser: work.timed(path, lambda: browser.ask("GET", path), 200)

    known: dict[str, str] = {}
    desk = {"Cookie": f"sessionid={work.cookies['desks'][0]}", "X-Poll": "1"}
    boss = {"Cookie": f"sessionid={work.cookies['supervisors'][0]}", "X-Poll": "1"}
    return {
        "reads of the API, in turns": (work.read, work.basic),
        "writes of the API, in turns": (work.write, work.basic),
        "polls of a desk in which nothing changes": (lambda browser: work.poll(browser, known), desk),
        "polls of the overview": (page("/admin/overview/now"), boss),
        "live page of the queues": (page("/admin/telephony/queue/"), boss),
        "live page of a campaign's dialling": (page("/admin/campaigns/campaign/1/dialling/"), boss),
    }


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    print("| kind | web workers | a second | p99, ms | processor, ms: web | PostgreSQL | errors |", flush=True)
    print("|---|---|---|---|---|---|---|", flush=True)
    for web in map(int, sys.argv[2:] or ["1", "2", "4"]):
        with machine(web=web) as made:
            work = Work(made, prepare(made), 1.0, 0)
            for name, (act, headers) in kinds(work).items():
                browsers = [Browser(made.running.port, headers) for _ in range(CLIENTS)]
                rate(work, act, browsers, 3)
                found, p99, of_web, of_postgres, errors = rate(work, act, browsers, seconds)
                amounts = f"{found:.0f} | {p99:.0f} | {of_web:.1f} | {of_postgres:.1f} | {errors:.0f}"
                print(f"| {name} | {web} | {amounts} |", flush=True)


if __name__ == "__main__":
    main()
