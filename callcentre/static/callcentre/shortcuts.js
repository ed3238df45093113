// The keyboard of every page. "?" lists its keys, j and k move through rows, Ctrl+Enter sends what is being written.
// A link or button with `data-hotkey` is pressed by that key, a field gets the focus, and the list names them. Digits may
// have Shift: "shift+1". A form with several answers (`data-several`) is not sent by Ctrl+Enter.
"use strict";

addEventListener("DOMContentLoaded", () => {
    const dialog = document.getElementById("shortcuts");
    const isTyping = (target) => target.isContentEditable || target.closest("input:not([type=checkbox], [type=radio]), textarea, select");
    const isShown = (element) => element.checkVisibility() && !element.disabled;

    const move = (step) => {
        const rows = [...document.querySelectorAll("#result_list tbody tr, .tk-message, .cc-story > li, [data-row]")].filter(isShown);
        if (!rows.length) return;
        const place = rows.findIndex((row) => row.contains(document.activeElement));
        const row = rows[place < 0 ? 0 : Math.min(Math.max(place + step, 0), rows.length - 1)];
        const link = row.querySelector("th a, td a, .cc-title a") || row;
        if (link === row) row.tabIndex = -1;
        link.focus({ preventScroll: true });
        row.scrollIntoView({ block: "nearest" });
    };
    const spelled = (key) => (key.startsWith("shift+") ? `Shift + ${key.slice(6)}` : key.toUpperCase());
    const labelOf = (element) => {
        if (element.dataset.hotkeyLabel) return element.dataset.hotkeyLabel;
        const words = (element.labels?.[0]?.querySelector("span") ?? element).cloneNode(true);
        for (const extra of words.querySelectorAll("kbd, [aria-hidden=true]")) extra.remove();
        return words.textContent.trim();
    };
    // Digits by their place on the keyboard, because Shift changes the character.
    const keyOf = (event) => {
        const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code);
        if (!digit) return event.key.toLowerCase();
        return event.shiftKey ? `shift+${digit[1]}` : digit[1];
    };
    const list = () => {
        const keys = dialog.querySelector("dl");
        for (const old of keys.querySelectorAll("[data-of-page]")) old.remove();
        for (const element of document.querySelectorAll("[data-hotkey]")) {
            if (!isShown(element)) continue;
            const group = document.createElement("div");
            const key = document.createElement("kbd");
            const [term, words] = [document.createElement("dt"), document.createElement("dd")];
            group.dataset.ofPage = "";
            key.textContent = spelled(element.dataset.hotkey);
            words.textContent = labelOf(element);
            term.append(key);
            group.append(term, words);
            keys.append(group);
        }
        dialog.showModal();
    };

    // The editor of HTML stops this event, so the page hears it first.
    addEventListener("keydown", (event) => {
        if (!(event.ctrlKey || event.metaKey) || event.key !== "Enter" || !isTyping(event.target)) return;
        const form = event.target.closest("form:not([data-several])");
        const button = form && (form.querySelector("[data-sends]") || form.querySelector("[type=submit], button:not([type])"));
        if (!button || button.disabled) return;
        event.preventDefault();
        event.stopPropagation();
        button.click();
    }, true);
    addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
        if (document.querySelector("dialog[open]")) return;
        if (event.key === "j" || event.key === "k") {
            event.preventDefault();
            move(event.key === "j" ? 1 : -1);
        } else if (event.key === "?" && dialog) {
            event.preventDefault();
            list();
        } else {
            const key = keyOf(event);
            const pressed = [...document.querySelectorAll("[data-hotkey]")].find((one) => one.dataset.hotkey === key && isShown(one));
            if (!pressed) return;
            event.preventDefault();
            if (isTyping(pressed)) pressed.focus();
            else pressed.click();
        }
    });
    if (!dialog) return;
    dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    document.querySelector("[data-shortcuts]").addEventListener("click", list);
});
