// Canned replies: an input with `data-canned` finds one by its name and puts it into the text of its form.
"use strict";

(() => {
    const named = (field) => [...field.list.options].find((one) => one.value === field.value);
    // The first reply whose name has the words.
    const found = (field) => {
        const wanted = field.value.trim().toLowerCase();
        return wanted && [...field.list.options].find((one) => one.value.toLowerCase().includes(wanted));
    };
    const insert = (field, reply) => {
        if (!reply) return;
        const text = field.form.querySelector("textarea[name]");
        const editor = Object.values(window.Jodit?.instances ?? {}).find((one) => one.element === text);
        field.value = "";
        if (editor) {
            editor.selection.focus();
            editor.selection.insertHTML(reply.dataset.text);
            editor.synchronizeValues();
        } else {
            text.focus();
            text.setRangeText(reply.dataset.text, text.selectionStart, text.selectionEnd, "end");
        }
        text.dispatchEvent(new Event("input", { bubbles: true }));
    };
    // A choice of the list replaces the text at once; typing does not.
    addEventListener("input", (event) => {
        if (event.target.matches("[data-canned]") && (event.inputType ?? "insertReplacementText") === "insertReplacementText") insert(event.target, named(event.target));
    });
    addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || event.isComposing || !event.target.matches("[data-canned]")) return;
        event.preventDefault();
        insert(event.target, named(event.target) ?? found(event.target));
    });
    addEventListener("click", (event) => {
        const button = event.target.closest?.("[data-inserts]");
        if (!button) return;
        event.preventDefault();
        const field = button.form.querySelector("[data-canned]");
        insert(field, named(field) ?? found(field));
    });
})();
