// The board of agents: asks again every few seconds. What it cannot ask it does not pretend to know.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const board = document.getElementById("board");
    const EVERY = 3000;
    const now = board.querySelector(".board-now");
    // The server's clock, by which the states began.
    let readAt = 0;
    let shownAt = performance.now();
    let isStale = false;

    const read = () => {
        readAt = Number(now.firstElementChild.dataset.at);
        shownAt = performance.now();
        isStale = false;
        board.classList.remove("board-stale");
    };
    const doubt = () => {
        const away = board.querySelector(".board-away");
        isStale = true;
        board.classList.add("board-stale");
        away.textContent = board.dataset.away;
        away.hidden = false;
    };
    const ask = async () => {
        if (document.hidden) return;
        try {
            const response = await fetch(board.dataset.url, { headers: { "X-Poll": "1" }, signal: AbortSignal.timeout(5000) });
            if (!response.ok || response.redirected) throw new Error(response.status);
            const fresh = document.createElement("div");
            fresh.className = now.className;
            fresh.innerHTML = await response.text();
            window.updateInPlace(now, fresh);
            read();
        } catch {
            doubt();
        }
    };
    // Between two answers the time goes on; where there is none it stands still.
    const tick = () => {
        if (isStale) return;
        const seconds = readAt + (performance.now() - shownAt) / 1000;
        for (const time of board.querySelectorAll("time[data-since]")) {
            const length = Math.max(Math.floor(seconds - Number(time.dataset.since)), 0);
            const parts = [Math.floor(length / 60) % 60, length % 60].map((part) => String(part).padStart(2, "0"));
            time.textContent = [Math.floor(length / 3600), ...parts].join(":");
        }
    };

    read();
    document.addEventListener("visibilitychange", ask);
    window.setInterval(tick, 1000);
    window.setInterval(ask, EVERY);
});
