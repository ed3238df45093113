// On a phone the rows of a list come in parts of fifteen (admin.css). What selects all rows shows all of them.
"use strict";

addEventListener("DOMContentLoaded", () => {
    const [list, more] = [document.getElementById("changelist"), document.querySelector(".cc-more-rows")];
    const rows = document.querySelectorAll("#result_list > tbody").length;
    if (!list || !more || rows <= 15 || !matchMedia("(max-width: 1023px)").matches) return;
    const show = (parts) => {
        more.hidden = parts > 3 || 15 * parts >= rows;
        if (more.hidden) delete list.dataset.parts;
        else list.dataset.parts = parts;
    };
    show(1);
    more.addEventListener("click", () => {
        const shown = 15 * Number(list.dataset.parts);
        show(Number(list.dataset.parts) + 1);
        document.querySelectorAll("#result_list > tbody")[shown].querySelector("a, input")?.focus();
    });
    document.getElementById("action-toggle")?.addEventListener("change", () => show(Infinity));
});

// The number of rows that match, on lists that are shown before they are counted.
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
