// Asks the server again and again for what a page shows, while the page is visible. The bar of agents polls by itself.
"use strict";

window.poll = (everyMs, ask) => {
    let isAsking = false;
    const beat = async () => {
        if (document.hidden || isAsking) return;
        isAsking = true;
        try {
            await ask();
        } finally {
            isAsking = false;
        }
    };
    document.addEventListener("visibilitychange", beat);
    setInterval(beat, everyMs);
    return beat;
};

// X-Poll marks requests that no person made: they do not extend the session (callcentre/web/sessions.py).
window.poll.fetch = (url, { isMarked = true, headers, ...rest } = {}) => fetch(url, {
    redirect: "error",
    signal: AbortSignal.timeout(8000),
    headers: { ...headers, ...(isMarked ? { "X-Poll": "1" } : {}) },
    ...rest,
});
