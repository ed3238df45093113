// A worker that keeps time for a page. Browsers slow the timers of hidden pages down to one a minute, but not a worker's.
"use strict";

let timer;
addEventListener("message", ({ data: everyMs }) => {
    clearInterval(timer);
    timer = setInterval(() => postMessage(null), everyMs);
});
