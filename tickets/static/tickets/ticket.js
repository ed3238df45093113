// The page of a ticket: frames as high as their content, drafts that are kept, and the other people there.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const page = document.getElementById("ticket");
    if (!page) return;
    const facts = page.dataset;
    const composer = document.getElementById("composer");
    const field = document.getElementById("id_m-body");
    const form = (values) => { const data = new FormData(); for (const [name, value] of Object.entries(values)) data.set(name, value); return data; };
    const editor = () => (field && window.Jodit && Object.values(Jodit.instances).find((one) => one.element === field)) || null;
    const plain = (markup) => new DOMParser().parseFromString(markup.replace(/<(br|\/p|\/div|\/li)[^>]*>/gi, "$&\n"), "text/html").body.textContent;

    // The content of a frame runs no scripts, so its height is read from here.
    const isDark = () => document.documentElement.classList.contains("dark");
    const fit = (frame) => {
        const inside = frame.contentDocument;
        if (!inside || !inside.body || frame.dataset.fits) return;
        frame.dataset.fits = "1";
        frame.classList.add("tk-fits");
        const measure = () => {
            inside.documentElement.classList.toggle("dark", isDark());
            frame.style.height = `${Math.ceil(inside.body.getBoundingClientRect().height) + 2}px`;
        };
        measure();
        new ResizeObserver(measure).observe(inside.body);
        new MutationObserver(measure).observe(document.documentElement, {attributeFilter: ["class"]});
    };
    const fitAll = () => {
        for (const frame of page.querySelectorAll("iframe.tk-frame")) {
            frame.addEventListener("load", () => { delete frame.dataset.fits; fit(frame); });
            if (frame.contentDocument && frame.contentDocument.readyState === "complete" && frame.contentDocument.body.childElementCount) fit(frame);
        }
    };
    fitAll();

    // Earlier messages are appended to the page.
    page.addEventListener("click", async (event) => {
        const link = event.target.closest(".tk-earlier a");
        if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        try {
            const answer = await fetch(link.href.split("#")[0], {redirect: "error"});
            if (!answer.ok) throw new Error(answer.status);
            const more = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("conversation");
            const line = link.closest(".tk-earlier");
            const isNewer = (node) => node.querySelector && node.querySelector('a[href="?#conversation"]');
            for (const node of [...more.children]) if (!isNewer(node)) line.before(document.adoptNode(node));
            line.remove();
            fitAll();
        } catch {
            location.href = link.href;
        }
    });

    // The next ticket of the list from which this one was opened: ticket_links.js has kept its addresses.
    try {
        const listed = JSON.parse(sessionStorage.getItem("callcentre.tickets")) || [];
        const place = listed.findIndex((address) => new URL(address, location).pathname === location.pathname);
        const next = document.getElementById("next-ticket");
        if (place >= 0 && place + 1 < listed.length) {
            next.href = listed[place + 1];
            next.hidden = false;
        }
    } catch { /* this browser stores nothing */ }

    if (composer) {
        // The service keeps the draft; until it has answered, and while it does not, this browser does, together with
        // the version at the service. If that is another one by now, the text was sent, or goes on, elsewhere.
        const mine = window.kept(`callcentre.ticket.${facts.user}.${facts.ticket}`);
        const stored = JSON.parse(document.getElementById("draft").textContent);
        let version = stored ? stored.at : "";
        const draftOf = () => {
            const text = field.value.replace(/<[^>]*>|&nbsp;|\s/g, "") ? field.value : "";
            return {text, html: editor() ? "1" : "", kind: kindOf()};
        };
        let waits = 0;
        const send = async () => {
            waits = 0;
            const draft = draftOf();
            try {
                const answer = await window.poll.fetch(facts.draft, {method: "POST", body: form(draft), headers: {"X-CSRFToken": facts.token}, isMarked: false});
                if (!answer.ok) return;
                version = await answer.text();
                if (draftOf().text === draft.text) mine.forget();
                else mine.write({...draftOf(), version});
            } catch { /* this browser keeps it */ }
        };
        const remember = () => {
            mine.write({...draftOf(), version});
            clearTimeout(waits);
            waits = setTimeout(send, 1500);
        };
        addEventListener("pagehide", () => {
            if (!waits || composer.dataset.sent) return;
            // The next page may be made before the service has the text: for some seconds this browser's counts, too.
            if (navigator.sendBeacon(facts.draft, form({...draftOf(), csrfmiddlewaretoken: facts.token}))) mine.write({...draftOf(), version, leftAt: Date.now()});
        });
        const kindOf = () => (composer.querySelector("input[name=m-kind]:checked") || {}).value;
        const put = (text, isHTML) => {
            const open = editor();
            const marked = (words) => { const box = document.createElement("div"); box.textContent = words; return box.innerHTML.replace(/\n/g, "<br>"); };
            if (open) open.value = isHTML ? text : marked(text);
            else field.value = isHTML ? plain(text) : text;
        };

        // The editor, if there is one, writes HTML.
        const open = editor();
        if (open) {
            const type = document.getElementById("id_m-body_type");
            if (type.value !== "HTML" && field.value) put(field.value, false);
            type.value = "HTML";
        }

        // A draft is kept until the text was sent.
        const address = new URL(location.href);
        if (address.searchParams.get("done") === "write") {
            mine.forget();
            address.searchParams.delete("done");
            history.replaceState(null, "", address);
        }
        if (!field.value.replace(/<[^>]*>|\s/g, "")) {
            try {
                const own = mine.read();
                const isCurrent = own && own.version === version && !(Date.now() - own.leftAt > 10_000);
                if (!isCurrent) mine.forget();
                const draft = isCurrent ? own : stored;
                if (draft && draft.text) {
                    put(draft.text, draft.html);
                    const kind = composer.querySelector(`input[name=m-kind][value="${draft.kind}"]`);
                    if (kind) kind.checked = true;
                    const notice = document.createElement("p");
                    const discard = document.createElement("button");
                    notice.className = "tk-hint";
                    notice.textContent = `${facts.restored} `;
                    discard.type = "button";
                    discard.className = "tk-button";
                    discard.textContent = facts.discard;
                    discard.addEventListener("click", () => { put("", true); mine.forget(); send(); notice.remove(); });
                    notice.append(discard);
                    composer.prepend(notice);
                }
            } catch { /* the draft cannot be read */ }
        }
        // The labels of the buttons show that a comment is not sent.
        const name = () => {
            for (const button of composer.querySelectorAll("button[data-comment]")) button.textContent = kindOf() !== "reply" ? button.dataset.comment : button.dataset.reply;
        };
        composer.addEventListener("change", name);
        name();
        let writtenAt = 0;
        field.addEventListener("input", () => { writtenAt = Date.now(); remember(); });
        page.isWriting = () => Date.now() - writtenAt < 2 * Number(facts.every) * 1000;

        // A second press of the button sends nothing.
        composer.addEventListener("submit", (event) => {
            if (composer.dataset.sent) { event.preventDefault(); return; }
            composer.dataset.sent = "1";
            clearTimeout(waits);
            setTimeout(() => { for (const button of composer.querySelectorAll("button")) button.disabled = true; });
        });
        addEventListener("pageshow", () => {
            delete composer.dataset.sent;
            for (const button of composer.querySelectorAll("button")) button.disabled = false;
        });

        const all = document.getElementById("reply-all");
        if (all) all.addEventListener("click", (event) => {
            event.preventDefault();
            document.getElementById("id_m-cc").value = all.dataset.others;
        });
    }

    // While the page is visible, it asks for the other people there and for news.
    const [visitors, news, away] = [".tk-presence", ".tk-news", ".tk-offline"].map((name) => page.querySelector(name));
    const say = (line, text) => { if (line.textContent !== text) line.textContent = text; line.hidden = !text; };
    const ask = async () => {
        try {
            const isWriting = Boolean(page.isWriting && page.isWriting());
            const body = form({version: facts.version, seen: facts.seen, writing: isWriting ? "1" : "0"});
            // A request extends the session only if the person writes.
            const answer = await window.poll.fetch(facts.presence, {method: "POST", body, headers: {"X-CSRFToken": facts.token}, isMarked: !isWriting});
            if (!answer.ok) throw new Error(answer.status);
            const now = await answer.json();
            say(visitors, now.visitors.join(" "));
            if (now.news && news.dataset.said !== now.news) {
                const link = document.createElement("a");
                link.href = "#conversation";
                link.textContent = facts.reload;
                link.addEventListener("click", (event) => { event.preventDefault(); location.reload(); });
                news.replaceChildren(`${now.news} `, link);
                news.dataset.said = now.news;
                news.hidden = false;
            }
            say(away, "");
        } catch {
            say(away, facts.away);
        }
    };
    window.poll(Number(facts.every) * 1000, ask);
    addEventListener("pagehide", () => {
        const body = form({leaving: "1", csrfmiddlewaretoken: facts.token});
        navigator.sendBeacon(facts.presence, body);
    });
});
