// Accessibility that the theme lacks.
"use strict";

addEventListener("DOMContentLoaded", () => {
    const content = document.getElementById("content");
    if (content && !document.querySelector("main")) content.setAttribute("role", "main");
});

// A refused form shows its first fault: in its tab, with the focus, above the bar of buttons.
document.addEventListener("alpine:initialized", () => {
    const fault = document.querySelector("#content-main [aria-invalid=true]");
    if (!fault) return;
    const group = fault.closest("[id$='-group']")?.id.slice(0, -"-group".length);
    const tab = [...document.querySelectorAll("#tabs-items a")].find((link) => link.hash === `#${group}`);
    (tab ?? document.querySelector("#tabs-items a[href='#general']"))?.click();
    setTimeout(() => { fault.focus(); fault.scrollIntoView({ block: "center" }); });
});

// The bar that saves a form is shown while the form is in sight, not under what stands before it.
addEventListener("DOMContentLoaded", () => {
    const [bar, fields] = [document.getElementById("submit-row"), document.querySelector("#content-main > form > div:has(fieldset)")];
    if (bar && fields) new IntersectionObserver(([seen]) => { bar.classList.toggle("cc-away", !seen.isIntersecting); }).observe(fields);
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
