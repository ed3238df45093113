// The areas of the menu stay open or folded as this browser last had them.
"use strict";

addEventListener("DOMContentLoaded", () => {
    const choice = window.kept("callcentre.menu");
    const areas = document.querySelectorAll(".cc-area");
    const remembered = choice.read() ?? {};
    for (const area of areas) {
        const name = area.dataset.area;
        // The area of the page that is shown is always open.
        if (name in remembered && !area.querySelector("[aria-current]")) area.open = remembered[name];
        area.querySelector("summary").addEventListener("click", () => {
            remembered[name] = !area.open;
            choice.write(remembered);
        });
    }
});
