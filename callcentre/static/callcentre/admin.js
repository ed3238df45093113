// Accessibility that the theme lacks.
"use strict";

addEventListener("DOMContentLoaded", () => {
    const content = document.getElementById("content");
    if (content && !document.querySelector("main")) content.setAttribute("role", "main");
});

// The theme builds a search field beside its select, which has the label: name the field by that label.
new MutationObserver((changes) => {
    // A label on an element without a role is not read. The list of chosen options holds a button beside its items.
    for (const tip of document.querySelectorAll(".help-tooltip[aria-label]:not([role])")) tip.setAttribute("role", "img");
    for (const chosen of document.querySelectorAll("ul.select2-selection__rendered:not([role])")) chosen.setAttribute("role", "group");
    for (const item of document.querySelectorAll(".select2-selection__rendered > li:not([role])")) item.setAttribute("role", "none");
    for (const box of changes.flatMap((change) => [...change.addedNodes])) {
        if (!(box instanceof Element && box.matches(".select2-container"))) continue;
        const select = box.previousElementSibling;
        const [label] = (select && select.labels) || [];
        for (const search of box.querySelectorAll(".select2-search__field")) search.setAttribute("aria-label", label ? label.textContent.trim() : "");
        const field = box.querySelector(".select2-selection");
        if (!label || !field) continue;
        label.id = label.id || `label-of-${select.id}`;
        field.setAttribute("aria-labelledby", `${label.id} ${field.getAttribute("aria-labelledby") || ""}`.trim());
        const chosen = field.querySelector("[role=textbox]");
        if (chosen) chosen.setAttribute("aria-labelledby", label.id);
    }
}).observe(document, {childList: true, subtree: true});
