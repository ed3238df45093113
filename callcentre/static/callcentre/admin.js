// What the theme leaves out for those who do not see.
addEventListener("load", () => {
    const content = document.getElementById("content");
    if (content && !document.querySelector("main")) content.setAttribute("role", "main");
    // Fields that are found by typing have no name of their own: they get that of their label.
    for (const select of document.querySelectorAll("select.select2-hidden-accessible")) {
        const [label] = select.labels;
        const box = select.nextElementSibling && select.nextElementSibling.querySelector(".select2-selection");
        if (!box || !label) continue;
        label.id = label.id || `label-of-${select.id}`;
        const chosen = box.querySelector("[role=textbox]");
        if (chosen) chosen.setAttribute("aria-label", label.textContent.trim());
        box.setAttribute("aria-labelledby", `${label.id} ${box.getAttribute("aria-labelledby") || ""}`.trim());
    }
});
