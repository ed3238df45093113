// Mentions: @ in a comment offers the logins of agents. The arrow keys choose, Enter, Tab or a click inserts.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const body = document.querySelector("[data-mentions]");
    if (!body) return;
    const [field, list] = [body.querySelector("textarea[name]"), document.getElementById("mentions")];
    const editor = Object.values(window.Jodit?.instances ?? {}).find((one) => one.element === field);
    const place = editor?.editor ?? field;
    const [SHOWN, WORD] = [8, /(?:^|[^\p{L}\p{N}_.@/+-])@([\p{L}\p{N}_.@+-]*)$/u];
    // The agents are asked for once.
    let asked = null;
    const ask = () => (asked ??= fetch(body.dataset.mentions, { redirect: "error" }).then(async (answer) => (await answer.json()).agents).catch(() => { asked = null; return []; }));
    const isComment = () => body.closest("form").querySelector("input[name=m-kind]:checked")?.value !== "reply";
    // The text node of the editor, or the plain field, and the place of the cursor in it.
    const cursor = () => {
        if (!editor) return { text: field.value, at: field.selectionStart };
        const { anchorNode: node, anchorOffset: at, isCollapsed } = getSelection();
        return isCollapsed && node?.nodeType === Node.TEXT_NODE && place.contains(node) ? { node, text: node.data, at } : { text: "", at: 0 };
    };
    const typed = () => { const { text, at } = cursor(); return isComment() ? WORD.exec(text.slice(0, at))?.[1] : undefined; };
    const hide = () => { list.hidden = true; place.removeAttribute("aria-activedescendant"); };
    const choose = (option) => {
        for (const one of list.children) one.setAttribute("aria-selected", String(one === option));
        option.scrollIntoView({ block: "nearest" });
        place.setAttribute("aria-activedescendant", option.id);
    };
    const offer = async () => {
        if (typed() === undefined) return hide();
        const agents = await ask();
        const word = typed()?.toLowerCase();
        const found = word === undefined ? [] : agents.filter(([login, name]) => login.toLowerCase().startsWith(word) || ` ${name.toLowerCase()}`.includes(` ${word}`)).slice(0, SHOWN);
        if (!found.length) return hide();
        list.replaceChildren(...found.map(([login, name], number) => {
            const [option, said] = [document.createElement("li"), document.createElement("span")];
            Object.assign(option, { id: `mention-${number}`, textContent: `@${login} ` });
            option.setAttribute("role", "option");
            Object.assign(said, { className: "cc-subtle", textContent: name });
            option.dataset.login = login;
            option.append(said);
            return option;
        }));
        list.hidden = false;
        choose(list.firstChild);
    };
    const insert = ({ dataset: { login } }) => {
        const { node, at } = cursor();
        const start = at - (typed()?.length ?? 0);
        if (node) {
            node.replaceData(start, at - start, `${login}\u00a0`);
            getSelection().collapse(node, start + login.length + 1);
            editor.synchronizeValues();
        } else field.setRangeText(`${login} `, start, at, "end");
        field.dispatchEvent(new Event("input", { bubbles: true }));
        hide();
    };
    // Before the editor takes the keys.
    body.addEventListener("keydown", (event) => {
        if (list.hidden || event.isComposing || event.ctrlKey || event.metaKey) return;
        const chosen = list.querySelector("[aria-selected=true]");
        const moves = { ArrowDown: chosen.nextSibling ?? list.firstChild, ArrowUp: chosen.previousSibling ?? list.lastChild };
        if (moves[event.key]) choose(moves[event.key]);
        else if (event.key === "Enter" || event.key === "Tab") insert(chosen);
        else if (event.key === "Escape") hide();
        else return;
        event.preventDefault();
        event.stopImmediatePropagation();
    }, true);
    body.addEventListener("input", offer);
    // The field keeps the focus.
    list.addEventListener("mousedown", (event) => {
        event.preventDefault();
        const option = event.target.closest("li");
        if (option) insert(option);
    });
    place.addEventListener("blur", hide);
});
