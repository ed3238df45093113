// The areas of the menu stay open or folded as this browser last had them.
"use strict";

addEventListener("DOMContentLoaded", () => {
    const KEY = "callcentre.menu";
    const areas = document.querySelectorAll(".cc-area");
    let remembered = {};
    try { remembered = JSON.parse(localStorage.getItem(KEY)) || {}; } catch { /* this browser stores nothing */ }
    for (const area of areas) {
        const name = area.dataset.area;
        // The area of the page that is shown is always open.
        if (name in remembered && !area.querySelector("[aria-current]")) area.open = remembered[name];
        area.querySelector("summary").addEventListener("click", () => {
            remembered[name] = !area.open;
            try { localStorage.setItem(KEY, JSON.stringify(remembered)); } catch { /* this browser stores nothing */ }
        });
    }
});
