// The buttons beside the script of a campaign put a field's place where the cursor is.
"use strict";

document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-insert]");
    const script = document.querySelector("textarea[name=script]");
    if (!button || !script) return;
    script.setRangeText(button.dataset.insert, script.selectionStart, script.selectionEnd, "end");
    script.dispatchEvent(new Event("input", { bubbles: true }));
    script.focus();
});
