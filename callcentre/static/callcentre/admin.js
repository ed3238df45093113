// Accessibility that the theme lacks.
"use strict";

addEventListener("DOMContentLoaded", () => {
    const content = document.getElementById("content");
    if (content && !document.querySelector("main")) content.setAttribute("role", "main");
});

// The theme builds a search field beside its select, which has the label: name the field by that label.
new MutationObserver((changes) => {
    for (const box of changes.flatMap((change) => [...change.addedNodes])) {
        if (!(box instanceof Element && box.matches(".select2-container"))) continue;
        const select = box.previousElementSibling;
        const [label] = (select && select.labels) || [];
        const field = box.querySelector(".select2-selection");
        if (!label || !field) continue;
        label.id = label.id || `label-of-${select.id}`;
        field.setAttribute("aria-labelledby", `${label.id} ${field.getAttribute("aria-labelledby") || ""}`.trim());
        const chosen = field.querySelector("[role=textbox]");
        if (chosen) chosen.setAttribute("aria-labelledby", label.id);
    }
}).observe(document, {childList: true, subtree: true});
