// Shows the progress of a task, such as an import or an export, and loads the page again when the task has ended.
// A page may leave out the bar.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    // The file of an export that was just asked for is fetched once it is ready.
    const file = window.location.hash === "#fetch" && !document.querySelector("[data-follow]") && document.querySelector('a[href$="/download/"]');
    if (file) {
        window.history.replaceState(null, "", window.location.pathname + window.location.search);
        file.click();
    }
    document.querySelectorAll("[data-follow]").forEach((element) => {
        const bar = element.querySelector(".cc-bar > div");
        const progress = element.querySelector(".cc-progress");
        const show = (name, text) => { element.querySelector(`[data-show=${name}]`).textContent = text; };
        const ask = async () => {
            try {
                const response = await window.poll.fetch(element.dataset.follow, { headers: { Accept: "application/json" }, redirect: "follow" });
                const now = response.redirected ? null : await response.json();
                if (now === null || now.has_ended) {
                    window.location.reload();
                    return;
                }
                if (bar) {
                    bar.style.width = `${now.percent}%`;
                    progress.setAttribute("aria-valuenow", now.percent);
                    progress.lastElementChild.textContent = `${now.percent} %`;
                    show("label", now.label);
                    show("rows", now.rows.toLocaleString(document.documentElement.lang));
                }
            } catch {
                // The server does not answer: ask again.
            }
        };
        window.poll(1000, ask);
    });
});
