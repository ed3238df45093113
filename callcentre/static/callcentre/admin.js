// Accessibility that the theme lacks.
"use strict";

addEventListener("DOMContentLoaded", () => {
    const content = document.getElementById("content");
    if (content && !document.querySelector("main")) content.setAttribute("role", "main");
    // A label on an element without a role is not read.
    for (const tip of document.querySelectorAll(".help-tooltip[aria-label]")) tip.setAttribute("role", "img");
});

// The theme builds a search field beside its select, which has the label: name the field by that label.
new MutationObserver((changes) => {
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
