// The page of a chat: new messages are appended, and an answer is sent without loading the page again.
// The form is never replaced, so the focus and the typed text stay.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const chat = document.getElementById("chat");
    if (!chat) return;
    const EVERY_MS = 3000;
    const log = document.getElementById("chat-log");
    const list = log.querySelector("ol");
    const status = log.querySelector("[role=status]");
    const trouble = document.getElementById("chat-trouble");
    const form = document.getElementById("chat-answer");
    const text = form && form.querySelector("textarea");
    let hasTyped = false;

    const warn = (words) => { if (trouble.textContent !== words) trouble.textContent = words; trouble.hidden = !words; };
    const last = () => (list.lastElementChild ? Number(list.lastElementChild.dataset.line) : 0);
    const isAtEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    const toEnd = () => { log.scrollTop = log.scrollHeight; };

    const show = (page) => {
        const fresh = page.querySelector("[data-state]");
        const follows = isAtEnd();
        for (const line of fresh.querySelectorAll("li")) if (Number(line.dataset.line) > last()) list.append(document.adoptNode(line));
        if (follows) toEnd();
        const words = fresh.querySelector("[role=status]").textContent;
        if (status.textContent !== words) status.textContent = words;
        if (form) form.querySelector("[type=submit]").disabled = fresh.dataset.state === "closed";
    };
    const ask = async () => {
        // A request extends the session only if the person has typed.
        const isMarked = !hasTyped;
        hasTyped = false;
        try {
            const answer = await window.poll.fetch(`${chat.dataset.lines}?after=${last()}`, { isMarked });
            if (!answer.ok) throw new Error(answer.status);
            show(new DOMParser().parseFromString(await answer.text(), "text/html"));
            if (trouble.textContent === chat.dataset.away) warn("");
        } catch {
            warn(chat.dataset.away);
        }
    };

    if (form) {
        text.addEventListener("input", () => { hasTyped = true; });
        form.addEventListener("submit", async (event) => {
            event.preventDefault();
            if (form.dataset.isSending || !text.value.trim()) return;
            form.dataset.isSending = "1";
            const sent = text.value;
            try {
                const answer = await fetch(form.action, { method: "POST", body: new FormData(form), headers: { Accept: "application/json" }, redirect: "error" });
                if (answer.status !== 400 && !answer.ok) throw new Error(answer.status);
                const { errors } = await answer.json();
                warn(errors.join(" "));
                // Keep the text that was typed while the answer was sent.
                if (!errors.length) text.value = text.value.startsWith(sent) ? text.value.slice(sent.length) : text.value;
                await ask();
            } catch {
                warn(chat.dataset.away);
            } finally {
                delete form.dataset.isSending;
            }
        });
    }
    toEnd();
    window.poll(EVERY_MS, ask);
});
