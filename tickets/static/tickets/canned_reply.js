// The page of a canned reply: the text is shown as a ticket fills it, half a second after the last letter.
"use strict";

addEventListener("DOMContentLoaded", () => {
    const AFTER_MS = 500;
    const preview = document.getElementById("canned-preview");
    const body = document.getElementById("id_body");
    const queue = document.getElementById("id_queue");
    if (!preview || !body) return;
    const [frame, trouble, source] = ["iframe", "[data-trouble]", "[data-source]"].map((one) => preview.querySelector(one));
    let timer = 0;
    let asked = null;

    const warn = (words) => { trouble.textContent = words; trouble.hidden = !words; };
    const isDark = () => document.documentElement.classList.contains("dark");
    frame.addEventListener("load", () => frame.contentDocument.documentElement.classList.toggle("dark", isDark()));
    const show = async () => {
        asked?.abort();
        asked = new AbortController();
        const data = new FormData();
        data.set("body", body.value);
        data.set("queue", queue ? queue.value : "");
        try {
            const answer = await fetch(preview.dataset.preview, { method: "POST", body: data, headers: { "X-CSRFToken": preview.dataset.token }, redirect: "error", signal: asked.signal });
            if (!answer.ok) throw new Error(answer.status);
            const facts = await answer.json();
            warn(facts.trouble);
            if (facts.trouble) return;
            source.textContent = facts.source;
            frame.srcdoc = facts.document;
            // The values are HTML: show them as the text that they stand for.
            for (const place of preview.querySelectorAll("[data-value]")) {
                place.textContent = new DOMParser().parseFromString(facts.values[place.dataset.value], "text/html").body.textContent || "–";
            }
        } catch (error) {
            if (error.name !== "AbortError") warn(preview.dataset.away);
        }
    };
    const later = () => { clearTimeout(timer); timer = setTimeout(show, AFTER_MS); };
    body.addEventListener("input", later);
    queue?.addEventListener("change", later);
    show();
});
