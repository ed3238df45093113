// The bar of an agent's pages: calls, offered records, chats and notices of tickets that want the agent. It is the only poll of these
// pages, the desk's included. Of several tabs one asks and tells the others; sounds and notifications come once.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const bar = document.getElementById("incoming");
    if (!bar) return;
    const [EVERY_MS, DESK_MS, AWAY_MS, LIMIT_MS] = [1500, 1000, 5000, 8000];
    // The most lines of the bar.
    const SHOWN = matchMedia("(max-width: 767px)").matches ? 2 : 3;
    // The service is called away after this time without an answer.
    const PATIENCE_MS = 10_000;
    const LOOKED_AT = "callcentre.looked-at";
    const facts = bar.dataset;
    const list = bar.querySelector(".in-list");
    const [aloud, away, silent] = ["#incoming-aloud", ".in-away", ".in-silent"].map((name) => document.querySelector(name));
    const title = document.title;
    const channel = new BroadcastChannel(`callcentre.incoming.${facts.user}`);
    // The desk, whose parts are asked for together with the bar.
    let desk = null;
    let [html, digest] = ["", ""];
    // The server's clock, and when it was read.
    let [readAt, shownAt] = [0, 0];
    // When a tab last asked, when this one did, and when the service last answered.
    let [askedAt, ownAt, answeredAt] = [-EVERY_MS, -EVERY_MS, performance.now()];
    // How long the desk may rest before it asks again.
    let restMs = 0;
    let [isAsking, isAskedAgain, isStale] = [false, false, false];

    // Texts that all tabs of this browser keep.
    const keptTexts = (key) => {
        const { read: readKept, write } = window.kept(key);
        const read = () => readKept() ?? [];
        return {
            key,
            has: (text) => read().includes(text),
            add: (text) => write([...new Set([...read(), text])]),
            remove: (isGone) => { const texts = read(); if (texts.some(isGone)) write(texts.filter((text) => !isGone(text))); },
        };
    };
    const hidden = keptTexts("callcentre.incoming.hidden");
    const done = keptTexts("callcentre.incoming.done");

    // Do something for a piece of news in one tab only. Its lock holds the other tabs off until they can read that it is done.
    const releases = new Map();
    const once = (name, act) => {
        const claim = () => {
            if (done.has(name)) return null;
            done.add(name);
            act();
            return new Promise((release) => { releases.set(name, release); });
        };
        if (navigator.locks) navigator.locks.request(`callcentre.${name}`, { ifAvailable: true }, (lock) => lock && claim());
        else claim();
    };

    // The tab that has the focus says so by a lock, which also ends with its tab.
    let lookAway = () => {};
    const look = () => {
        lookAway();
        navigator.locks?.request(LOOKED_AT, { mode: "shared" }, () => document.hasFocus() && new Promise((release) => { lookAway = release; }));
    };
    const isLookedAt = async () => document.hasFocus() || Boolean((await navigator.locks?.query())?.held.some(({ name }) => name === LOOKED_AT));

    // News that this tab knows by the keys of lines, and what it has tried to sound. A call that rings again is news again.
    let known = new Set();
    const tried = new Set();
    const stops = new Map();
    const notes = new Map();
    let chimedAt = -Infinity;
    const sound = async (name, kind) => {
        await window.sounds.ready();
        silent.hidden = true;
        // The window of the phone rings by itself.
        if (kind === "ring" && document.body.classList.contains("has-phone")) return;
        if (!known.has(name) || (kind === "chime" && performance.now() - chimedAt < 1000)) return;
        once(`sound:${name}`, () => {
            chimedAt = performance.now();
            stops.set(name, window.sounds.play(kind));
            bar.dataset.sounded = String(Number(bar.dataset.sounded ?? 0) + 1);
        });
    };
    const notify = async (name, text, link) => {
        if (!window.sounds.chosen.notifies || window.Notification?.permission !== "granted" || (await isLookedAt())) return;
        once(`note:${name}`, () => {
            try {
                const note = new Notification(text, { tag: name, icon: facts.icon, silent: true });
                note.addEventListener("click", () => { window.focus(); note.close(); if (link) go(link); });
                notes.set(name, note);
            } catch { /* phones notify from service workers only */ }
        });
    };
    const hear = () => {
        const news = new Map([...list.querySelectorAll("[data-news]")].map((line) => [line.dataset.key + (line.dataset.sound === "ring" ? ":ring" : ""), line]));
        const fresh = [...news].filter(([name]) => !known.has(name));
        for (const name of known) {
            if (news.has(name)) continue;
            tried.delete(name);
            stops.get(name)?.();
            notes.get(name)?.close();
            for (const act of ["sound", "note"]) releases.get(`${act}:${name}`)?.();
        }
        known = new Set(news.keys());
        done.remove((text) => !known.has(text.slice(text.indexOf(":") + 1)));
        // A chat that came during a call is heard after it.
        for (const [name, line] of news) {
            if (!line.dataset.sound || tried.has(name)) continue;
            tried.add(name);
            sound(name, line.dataset.sound);
        }
        const said = [];
        for (const [name, line] of fresh) {
            const { news: text } = line.dataset;
            notify(name, text, line.querySelector("a")?.href);
            if (document.hidden || done.has(`aloud:${name}`)) continue;
            done.add(`aloud:${name}`);
            said.push(text);
        }
        if (said.length || !known.size) aloud.textContent = said.join(". ");
        setTimeout(() => { silent.hidden = !known.size || window.sounds.chosen.isMuted || !window.sounds.isBlocked(); }, 500);
    };
    // Pages of other programs open once, in one tab. Where the browser blocks the window, the line says so; its link works.
    const opened = keptTexts("callcentre.incoming.opened");
    const blocked = new Set();
    const open = (fresh) => {
        const lines = [...fresh.querySelectorAll("li[data-opens]")];
        opened.remove((key) => !lines.some((line) => line.dataset.key === key));
        for (const line of lines) {
            const { key } = line.dataset;
            if (!opened.has(key)) {
                opened.add(key);
                const page = window.open(line.querySelector("a").href, `callcentre.${key}`);
                if (page) page.opener = null;
                else blocked.add(key);
            }
            line.querySelector(".in-blocked").hidden = !blocked.has(key);
        }
    };
    const showTitle = () => {
        const words = [list.querySelector("[data-news]")?.dataset.news, desk?.state(), title].filter(Boolean).join(" | ");
        if (document.title !== words) document.title = words;
    };
    const show = () => {
        const fresh = list.cloneNode(false);
        fresh.innerHTML = html;
        const lines = [...fresh.querySelectorAll("li[data-sound]")];
        open(fresh);
        hidden.remove((key) => !lines.some((line) => line.dataset.key === key));
        for (const line of lines) {
            const { key } = line.dataset;
            // The page of the ticket itself, while it is seen, needs no word of what happens in it.
            const isHere = key.startsWith("ticket-") && line.querySelector("a")?.pathname === location.pathname;
            if (hidden.has(key) || (isHere && !document.hidden)) line.remove();
        }
        if (fresh.querySelectorAll("li[data-key^=ticket-]").length < 2) fresh.querySelector(".in-all")?.remove();
        const rest = [...fresh.querySelectorAll("li[data-sound]")].slice(SHOWN);
        for (const line of rest) line.remove();
        if (!rest.length) fresh.querySelector(".in-more")?.remove();
        fresh.querySelector("[data-key=more]:not(:has(a))")?.remove();
        window.updateInPlace(list, fresh);
        bar.hidden = !list.querySelector("li") && away.hidden;
        hear();
        tick();
    };
    const take = (answer) => {
        [readAt, shownAt, answeredAt] = [answer.at, performance.now(), performance.now()];
        const isNew = answer.digest !== digest;
        ({ html, digest } = answer);
        if (isNew) show();
        setStale(false);
    };
    const setStale = (isNow) => {
        isStale = isNow;
        desk?.setStale(isNow);
        away.hidden = !isNow || Boolean(desk) || performance.now() - answeredAt < PATIENCE_MS;
        bar.hidden = !list.querySelector("li") && away.hidden;
    };

    const ask = async () => {
        if (isAsking) {
            isAskedAgain = true;
            return;
        }
        isAsking = true;
        askedAt = ownAt = performance.now();
        channel.postMessage(null);
        const query = new URLSearchParams(desk?.query());
        query.set("incoming", digest);
        // A request extends the session only if the person has typed on the desk.
        const headers = { Accept: "application/json", ...(desk?.takeTyping() ? {} : { "X-Poll": "1" }) };
        try {
            const answer = await fetch(`${desk?.url ?? facts.url}?${query}`, { headers, redirect: "error", signal: AbortSignal.timeout(LIMIT_MS) });
            if (!answer.ok) throw new Error(String(answer.status));
            const { at, rest, parts: { incoming, ...parts } } = await answer.json();
            restMs = 1000 * rest;
            const bare = { at, html, digest, ...incoming };
            channel.postMessage(bare);
            take(bare);
            desk?.show(parts);
            showTitle();
            tick();
        } catch {
            restMs = 0;
            setStale(true);
        } finally {
            isAsking = false;
        }
        if (isAskedAgain) {
            isAskedAgain = false;
            await ask();
        }
    };
    // Another tab may have asked a moment ago.
    const isDue = () => desk ? performance.now() - ownAt >= restMs - 200 : performance.now() - askedAt >= (isStale ? AWAY_MS : EVERY_MS) - 200;
    const beat = () => { if (isDue()) ask(); };
    channel.addEventListener("message", ({ data }) => {
        askedAt = performance.now();
        if (!data) return;
        take(data);
        showTitle();
    });

    // Between two answers the time goes on; without answers it stands still.
    const tick = () => {
        if (isStale) return;
        const now = readAt + (performance.now() - shownAt) / 1000;
        for (const time of document.querySelectorAll(":is(#incoming, #desk) time[data-since]")) time.textContent = window.spellLength(now - Number(time.dataset.since));
        for (const time of document.querySelectorAll(":is(#incoming, #desk) time[data-until]")) time.textContent = window.spellLength(Number(time.dataset.until) - now);
    };

    // A page on which something is written stays open beside the desk.
    const isWritten = () => [...document.querySelectorAll("#content :is(textarea, input:not([type=hidden], [type=checkbox], [type=radio]))")].some((field) => field.value !== field.defaultValue);
    const go = (address) => { if (!desk && isWritten()) window.open(address, "callcentre.desk"); else location.assign(address); };
    bar.addEventListener("submit", async (event) => {
        event.preventDefault();
        const form = event.target;
        const trouble = form.querySelector(".desk-trouble");
        let said = [facts.away];
        try {
            const answer = await fetch(form.action, { method: "POST", body: new FormData(form), headers: { Accept: "application/json" }, redirect: "error" });
            if (answer.ok || answer.status === 400 || answer.status === 404) ({ errors: said } = await answer.json());
        } catch { /* the service is away */ }
        trouble.textContent = said.join(" ");
        trouble.hidden = !said.length;
        const link = form.closest("li[data-sound]:not([data-stays])")?.querySelector("a");
        if (said.length || !link) ask();
        else go(link.href);
    });
    bar.addEventListener("click", (event) => {
        const button = event.target.closest("[data-hide]");
        const link = event.target.closest("a[href]");
        if (button) {
            hidden.add(button.dataset.hide);
            show();
            showTitle();
        } else if (link && !link.target && !desk && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
            event.preventDefault();
            go(link.href);
        }
    });
    addEventListener("storage", ({ key }) => {
        if (key !== hidden.key) return;
        show();
        showTitle();
    });
    // The next page of this tab, or another tab, goes on ringing.
    addEventListener("pagehide", () => done.remove((text) => text.endsWith(":ring") && releases.has(text)));
    addEventListener("focus", look);
    addEventListener("blur", () => lookAway());
    look();

    const clock = new Worker(facts.clock);
    clock.addEventListener("message", beat);
    window.incoming = {
        ask,
        join: (page) => {
            desk = page;
            showTitle();
            clock.postMessage(DESK_MS);
        },
    };
    clock.postMessage(EVERY_MS);
    setInterval(tick, 500);
    setTimeout(ask);
});
