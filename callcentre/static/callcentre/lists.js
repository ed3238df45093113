// The number of rows that match, on lists that are shown before they are counted.
"use strict";

addEventListener("DOMContentLoaded", async () => {
    const place = document.querySelector("[data-count-rows]");
    if (!place) return;
    try {
        const response = await fetch(place.dataset.countRows, { headers: { Accept: "application/json", "X-Poll": "1" } });
        if (!response.ok || response.redirected) return;
        const { text } = await response.json();
        if (!text) return;
        place.textContent = ` ${place.dataset.before} ${text}`;
        for (const element of document.querySelectorAll("[data-matching]")) element.textContent = text;
    } catch {
        // Without an answer the list has no total.
    }
});
