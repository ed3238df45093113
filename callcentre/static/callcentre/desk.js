// The desk of an agent. The poll of the bar (incoming.js) brings the parts that have changed, and they are updated in place,
// so that focus, selection, scrolling and half-written texts stay. Buttons and forms are sent without leaving the page.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const desk = document.getElementById("desk");
    if (!desk) return;
    const JSON_ONLY = { Accept: "application/json" };
    const parts = new Map([...desk.querySelectorAll("[data-part]")].map((part) => [part.dataset.part, part]));
    const kept = document.getElementById("desk-kept");
    const away = desk.querySelector(".desk-away");
    let chatId = desk.dataset.chat;
    let isStale = false;
    let hasTyped = false;
    // The chosen chat gets the focus when it is shown.
    let isChoosing = false;

    const isWritten = (form) => [...form.querySelectorAll("textarea, input:not([type=hidden]):not([type=checkbox])")].some((field) => field.value !== field.defaultValue);

    // A text that was not sent stays above the columns when its call makes room for another one.
    const keepDrafts = (part, fresh) => {
        for (const form of part.querySelectorAll("form[data-draft]")) {
            const section = form.closest("section[data-key]");
            if (!isWritten(form) || fresh.querySelector(`[data-key="${section.dataset.key}"]`)) continue;
            // Its keys are those of the present call from now on.
            for (const one of section.querySelectorAll("[data-hotkey]")) one.removeAttribute("data-hotkey");
            for (const key of section.querySelectorAll("kbd")) key.remove();
            kept.append(section);
            kept.hidden = false;
        }
    };
    // Half-written answers, by chat.
    const answers = new Map();
    const answerOf = (part) => {
        const answer = part.querySelector("[data-answer]");
        return answer ? [answer, answer.closest("section").dataset.key] : [null, ""];
    };
    const storeAnswer = (part) => {
        const [answer, key] = answerOf(part);
        if (answer) answers.set(key, answer.value);
    };
    const restoreAnswer = (part) => {
        const [answer, key] = answerOf(part);
        if (answer && !answer.value) answer.value = answers.get(key) ?? "";
    };
    const dropEmptyKept = () => { kept.hidden = !kept.querySelector("section"); };

    const show = (name, { digest, html }) => {
        const part = parts.get(name);
        const log = part.querySelector(".desk-log");
        const follows = !log || log.scrollHeight - log.scrollTop - log.clientHeight < 40;
        const fresh = part.cloneNode(false);
        fresh.innerHTML = html;
        fresh.dataset.digest = digest;
        keepDrafts(part, fresh);
        storeAnswer(part);
        window.updateInPlace(part, fresh);
        const shown = part.querySelector(".desk-log");
        if (shown && follows) shown.scrollTop = shown.scrollHeight;
        if (name === "topic") showTopicFields();
        restoreAnswer(part);
        if (name === "conversation") focusChosen();
    };
    const focusChosen = () => {
        const answer = parts.get("conversation").querySelector(`section[data-key="chat-${chatId}"] [data-answer]`);
        if (!isChoosing || !answer) return;
        isChoosing = false;
        answer.focus();
    };
    const showTopicFields = () => {
        for (const fields of desk.querySelectorAll("[data-of-topic]")) {
            const choice = fields.closest("form").querySelector("select[name=topic_id]");
            fields.hidden = !choice.selectedOptions[0]?.hasAttribute("data-fields");
        }
    };

    const query = () => {
        const known = new URLSearchParams();
        for (const [name, part] of parts) known.set(name, part.dataset.digest);
        if (chatId) known.set("chat_id", chatId);
        if (desk.querySelector(".desk-transfer[open]")) known.set("targets", "1");
        return known;
    };
    const setStale = (isNow) => {
        if (isNow === isStale) return;
        isStale = isNow;
        desk.classList.toggle("desk-stale", isNow);
        away.textContent = isNow ? desk.dataset.away : "";
        away.hidden = !isNow;
    };

    const say = (form, sentences) => {
        const trouble = form.querySelector(".desk-trouble");
        trouble.textContent = sentences.join(" ");
        trouble.hidden = !sentences.length;
    };
    const send = async (form, submitter) => {
        if (form.dataset.isSending) return;
        form.dataset.isSending = "1";
        const data = new FormData(form, submitter);
        const written = form.querySelector("textarea")?.value;
        try {
            const answer = await fetch(form.action, { method: "POST", body: data, headers: JSON_ONLY, redirect: "error" });
            if (!answer.ok && answer.status !== 400 && answer.status !== 404) throw new Error(String(answer.status));
            const { errors } = await answer.json();
            say(form, errors);
            if (errors.length) return;
            const text = form.querySelector("textarea");
            // Keep what was typed while the text was sent.
            if (form.hasAttribute("data-reset")) {
                if (text) text.value = text.value.startsWith(written) ? text.value.slice(written.length) : text.value;
                else form.reset();
            }
            if (text?.matches("[data-answer]")) text.focus();
            if (kept.contains(form)) form.closest("section").remove();
            dropEmptyKept();
            await window.incoming.ask();
        } catch {
            say(form, [desk.dataset.away]);
        } finally {
            delete form.dataset.isSending;
        }
    };

    const choose = (id) => {
        chatId = id;
        isChoosing = Boolean(id);
        history.replaceState(null, "", id ? `?chat_id=${id}` : location.pathname);
        focusChosen();
        window.incoming.ask();
    };

    desk.addEventListener("submit", (event) => {
        const form = event.target.closest("form[data-act]");
        if (!form) return;
        event.preventDefault();
        send(form, event.submitter);
    });
    // The bar has links to chats, too.
    document.addEventListener("click", (event) => {
        const link = event.target.closest("[data-chat]");
        if (link && link !== desk && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
            event.preventDefault();
            choose(link.dataset.chat);
        }
        if (event.target.closest("[data-discard]")) {
            for (const section of kept.querySelectorAll("section")) section.remove();
            dropEmptyKept();
        }
    });
    // In a chat, Enter sends. Ctrl+Enter sends elsewhere (shortcuts.js).
    desk.addEventListener("keydown", (event) => {
        if (event.isComposing) return;
        if (event.key === "Escape" && event.target.matches("input, textarea, select")) event.target.blur();
        if (event.key !== "Enter" || event.shiftKey || !event.target.matches("[data-answer]")) return;
        event.preventDefault();
        const button = event.target.form.querySelector("button");
        if (!button.disabled) event.target.form.requestSubmit(button);
    });
    desk.addEventListener("input", (event) => {
        hasTyped = true;
        if (event.target.name === "topic_id") showTopicFields();
    });
    // The event does not bubble.
    desk.addEventListener("toggle", (event) => { if (event.target.matches(".desk-transfer")) window.incoming.ask(); }, true);

    showTopicFields();
    window.incoming.join({
        url: desk.dataset.url,
        query,
        show: (changed) => { for (const [name, part] of Object.entries(changed)) show(name, part); },
        setStale,
        // The tab shows the state, as the agent may look at another one.
        state: () => parts.get("state").querySelector(".cc-state").textContent,
        // Say whether the agent has typed since the last poll.
        takeTyping: () => {
            const said = hasTyped;
            hasTyped = false;
            return said;
        },
    });
});
