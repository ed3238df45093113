// The keys of the desk. An element with `data-hotkey` is focused if it is a field, else clicked.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const desk = document.getElementById("desk");
    const list = document.getElementById("desk-keys");
    if (!desk) return;
    const FIELDS = "input, textarea, select, [contenteditable]";
    const isTyping = (target) => target.matches(FIELDS) && target.type !== "checkbox";

    const use = (element) => {
        if (element.matches(FIELDS)) element.focus();
        else element.click();
    };
    // Digits by their place, because Shift changes the character.
    const nameOf = (event) => {
        const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code);
        if (digit) return event.shiftKey ? `shift+${digit[1]}` : digit[1];
        return event.key.toLowerCase();
    };
    const move = (step) => {
        const rows = [...desk.querySelectorAll("[data-row]")];
        if (!rows.length) return;
        const place = rows.indexOf(document.activeElement);
        rows[place < 0 ? (step > 0 ? 0 : rows.length - 1) : (place + step + rows.length) % rows.length].focus();
    };
    const openChat = () => {
        const chosen = desk.querySelector("[data-row][data-chat][aria-current]");
        const next = desk.querySelector("[data-row][data-unanswered]:not([aria-current])") ?? (chosen ? null : desk.querySelector("[data-row][data-chat]"));
        if (next) next.click();
        else desk.querySelector("[data-answer]")?.focus();
    };
    const ACTIONS = {
        "?": () => list.showModal(),
        c: openChat,
        g: () => desk.querySelector("[data-ticket]")?.focus(),
        j: () => move(1),
        k: () => move(-1),
    };

    document.addEventListener("keydown", (event) => {
        const target = event.target;
        if (event.isComposing || document.querySelector("dialog[open]")) return;
        if (isTyping(target)) {
            const form = target.closest("form[data-act]");
            const sends = event.key === "Enter" && (event.ctrlKey || event.metaKey || (target.matches("[data-answer]") && !event.shiftKey));
            if (form && sends) {
                event.preventDefault();
                // A result is chosen by its button, so a note alone is not sent.
                if (!form.querySelector("button[name=status_id]")) form.requestSubmit(form.querySelector("button:not([disabled])"));
            }
            if (event.key === "Escape") target.blur();
            return;
        }
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const name = nameOf(event);
        const element = desk.querySelector(`[data-hotkey="${CSS.escape(name)}"]`);
        const action = ACTIONS[name] ?? (element && (() => use(element)));
        if (!action) return;
        event.preventDefault();
        action();
    });
    desk.querySelector("[data-keys]").addEventListener("click", () => list.showModal());
    list.querySelector("[data-close]").addEventListener("click", () => list.close());
    list.addEventListener("click", (event) => { if (event.target === list) list.close(); });
});
