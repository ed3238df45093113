// The box that searches everything. "/" opens it, the arrow keys choose a hit, Enter follows the hit or shows all hits.
"use strict";

addEventListener("DOMContentLoaded", () => {
    const AFTER_MS = 150;
    const box = document.getElementById("search-box");
    if (!box) return;
    const form = box.querySelector("form");
    const input = form.querySelector("input");
    const hits = box.querySelector("#search-hits");
    let timer = 0;
    let asked = null;

    const load = async () => {
        asked?.abort();
        asked = new AbortController();
        const query = new URLSearchParams({ q: input.value.trim(), box: "1" });
        try {
            const answer = await fetch(`${form.action}?${query}`, { credentials: "same-origin", redirect: "error", signal: asked.signal });
            if (!answer.ok) throw new Error(String(answer.status));
            hits.innerHTML = await answer.text();
        } catch (error) {
            if (error.name !== "AbortError") hits.textContent = hits.dataset.trouble;
        }
    };
    const open = () => {
        if (box.open) return;
        box.showModal();
        input.select();
        load();
    };
    const isTyping = (target) => target.isContentEditable || target.closest("input, textarea, select, [contenteditable]");

    for (const opener of document.querySelectorAll("[data-search]")) {
        opener.addEventListener("click", (event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            open();
        });
    }
    addEventListener("keydown", (event) => {
        if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
        if (document.querySelector("dialog[open]")) return;
        event.preventDefault();
        open();
    });
    input.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(load, AFTER_MS);
    });
    box.addEventListener("keydown", (event) => {
        if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
        const links = [...hits.querySelectorAll("a")];
        if (!links.length) return;
        event.preventDefault();
        const place = links.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
        (place < 0 ? input : links[Math.min(place, links.length - 1)]).focus();
    });
    box.querySelector("[data-close]").addEventListener("click", () => box.close());
    // A click beside the box closes it.
    box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
});
