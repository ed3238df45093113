// The overview and the wallboard: draws the parts that the server describes, asks again every two seconds, and updates
// the page in place. What it cannot ask it does not pretend to know: it says since when.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const root = document.getElementById("overview");
    if (!root) return;
    const EVERY = 2000;
    // Seconds after which figures are no longer called present.
    const OLD = 10;
    const now = root.querySelector(".ov-now");
    const timeShown = root.querySelector(".ov-time");
    const away = root.querySelector(".ov-away");
    const soundButton = root.querySelector(".ov-sound");
    const SVG = "http://www.w3.org/2000/svg";
    // The server's clock, by which waits and states began.
    let readAt = 0;
    let readTime = "";
    let shownAt = performance.now();
    let isStale = false;

    const append = (parent, children) => { for (const child of children) if (child !== null && child !== "") parent.append(child); return parent; };
    const withAttributes = (element, attributes) => {
        for (const [name, value] of Object.entries(attributes)) if (value !== undefined && value !== "" && value !== null) element.setAttribute(name, value);
        return element;
    };
    const el = (name, attributes, ...children) => append(withAttributes(document.createElement(name), attributes), children);
    const svg = (name, attributes, ...children) => append(withAttributes(document.createElementNS(SVG, name), attributes), children);

    const serverSeconds = () => readAt + (isStale ? 0 : (performance.now() - shownAt) / 1000);
    const lengthSince = (since) => window.spellLength(serverSeconds() - since);
    const clockOf = (piece) => (piece.since === undefined ? piece.text : el("time", { "data-since": piece.since }, lengthSince(piece.since)));

    const note = (piece) => {
        if (!piece.note) return null;
        if (piece.note_url) return el("a", { class: "cc-link cc-cut", href: piece.note_url, title: piece.note }, piece.note);
        return el("span", { class: "cc-subtle ov-note" }, piece.note);
    };
    const bar = (percent) => el("div", { class: "cc-bar" }, svg("svg", { class: "ov-bar", viewBox: "0 0 100 1", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { width: percent, height: 1 })));

    const content = (piece) => {
        const text = clockOf(piece);
        if (piece.state) {
            const label = el("span", { class: `cc-state cc-${piece.state}` }, text);
            return piece.url ? el("a", { href: piece.url }, label) : label;
        }
        if (piece.url) return el("a", { class: "cc-link", href: piece.url }, text);
        return piece.tone ? el("span", {}, text) : text;
    };
    const drawCell = (piece, [label, isNumber], place) => {
        const classes = [piece.is_number || isNumber ? "cc-right" : "", piece.tone ? `ov-${piece.tone}` : ""].filter(Boolean).join(" ");
        const cell = el("td", { class: classes, "data-label": place ? label : "" });
        if (piece.percent !== undefined) return append(cell, [el("div", { class: "cc-progress" }, bar(piece.percent), el("span", {}, content(piece)))]);
        const more = note(piece);
        if (piece.text === "" && piece.since === undefined && !more) return cell;
        return append(cell, [el("span", { class: "ov-value" }, content(piece), more ? " " : null, more)]);
    };
    const drawRow = (row, columns) => el("tr", { "data-key": row.key }, ...row.cells.map((piece, place) => drawCell(piece, columns[place], place)));
    const drawTable = (part) => el("div", { class: "cc-scroll", "data-key": "table" }, el("table", { class: "cc-table" },
        el("thead", {}, el("tr", {}, ...part.columns.map(([label, isNumber]) => el("th", { class: isNumber ? "cc-right" : "" }, label)))),
        el("tbody", {}, ...part.rows.map((row) => drawRow(row, part.columns)))));

    const drawTile = (tile) => el(tile.url ? "a" : "div", { class: `cc-tile ${tile.tone ? `ov-${tile.tone}` : ""}`.trim(), href: tile.url, "data-key": tile.key },
        el("span", { class: "cc-number" }, clockOf(tile), tile.note ? " " : null, tile.note ? el("small", { class: "cc-subtle" }, tile.note) : null),
        el("span", {}, tile.label));

    const drawNote = (piece) => {
        const since = piece.since === undefined ? null : el("time", { "data-since": piece.since, class: "cc-subtle" }, lengthSince(piece.since));
        const text = piece.url ? el("a", { class: "cc-link", href: piece.url }, piece.text) : el("span", {}, piece.text);
        return el("li", { class: `cc-health cc-${piece.tone}`, "data-key": piece.key }, text, piece.note ? el("span", { class: "cc-subtle" }, piece.note) : null, since);
    };

    const WIDTH = 720;
    const HEIGHT = 140;
    const drawChart = (part) => {
        const hours = part.series[0].counts.length;
        const step = WIDTH / hours;
        const width = (step - 4) / part.series.length;
        const bars = part.series.flatMap((series, place) => series.counts.map((count, hour) => {
            if (!count) return null;
            const height = (HEIGHT * count) / part.most;
            const title = `${hour}:00: ${count} ${series.label}`;
            const rect = svg("rect", { class: `ov-${series.key}`, x: (hour * step + 2 + place * width).toFixed(1), y: (HEIGHT - height).toFixed(1), width: (width - 0.5).toFixed(1), height: height.toFixed(1) }, svg("title", {}, title));
            return svg("a", { href: series.urls[hour], "aria-label": title, "data-key": `${series.key}-${hour}` }, rect);
        }).filter(Boolean));
        const keys = part.series.map((series) => el("span", {}, el("span", { class: `ov-key ov-${series.key}` }), `${series.label}: ${series.sum.toLocaleString(document.documentElement.lang)}`));
        const scale = [0, 6, 12, 18, 24].map((hour) => el("span", {}, `${hour}:00`));
        const table = el("table", { class: "cc-table" },
            el("thead", {}, el("tr", {}, el("th", {}, part.hour), ...part.series.map((series) => el("th", { class: "cc-right" }, series.label)))),
            el("tbody", {}, ...Array.from({ length: hours }, (_unused, hour) => hour).filter((hour) => part.series.some((series) => series.counts[hour])).map((hour) => el("tr", { "data-key": `hour-${hour}` },
                el("td", {}, `${hour}:00`),
                ...part.series.map((series) => el("td", { class: "cc-right", "data-label": series.label }, series.urls[hour] ? el("a", { class: "cc-link", href: series.urls[hour] }, String(series.counts[hour])) : String(series.counts[hour])))))));
        const fold = el("details", { class: "cc-fold", "data-key": `${part.key}-table` }, el("summary", {}, part.as_table), el("div", { class: "cc-scroll" }, table));
        // A table that is open stays open.
        if (now.querySelector(`details[data-key="${part.key}-table"]`)?.open) fold.setAttribute("open", "");
        return [
            el("figure", { class: "ov-chart", "data-key": "chart" },
                svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "group", "aria-label": part.title }, ...bars),
                el("div", { class: "ov-scale cc-subtle", "aria-hidden": "true" }, ...scale),
                el("figcaption", { class: "cc-subtle" }, ...keys, el("span", {}, part.highest))),
            fold,
        ];
    };

    const drawPart = (part) => {
        const heading = part.title ? el("h2", { class: "cc-heading" }, part.url ? el("a", { href: part.url }, part.title) : part.title) : null;
        const section = el("section", { class: `cc-section ov-${part.half ? "half" : "whole"}`, "data-key": part.key, "aria-label": part.title }, heading);
        if (part.note) append(section, [el("p", { class: "cc-as-of", "data-key": "note" }, part.note)]);
        if (part.notes?.length) append(section, [el("ul", { class: "ov-notes" }, ...part.notes.map(drawNote))]);
        if (part.tiles?.length) append(section, [el("div", { class: "cc-tiles", "data-key": "tiles" }, ...part.tiles.map(drawTile))]);
        if (part.rows?.length) append(section, [drawTable(part)]);
        else if (part.none) append(section, [el("p", { class: "cc-text", "data-key": "none" }, part.none)]);
        if (part.more) append(section, [el("p", { class: "cc-subtle", "data-key": "more" }, part.more.url ? el("a", { class: "cc-link", href: part.more.url }, part.more.text) : part.more.text)]);
        if (part.series) append(section, drawChart(part));
        return section;
    };

    // Sound: browsers allow it only after a click on the page, so the button appears if it is needed.
    let audio = null;
    let sounded = null;
    const beep = () => {
        for (const [place, pitch] of [880, 660, 880].entries()) {
            const tone = audio.createOscillator();
            const volume = audio.createGain();
            tone.frequency.value = pitch;
            volume.gain.value = 0.15;
            tone.connect(volume).connect(audio.destination);
            tone.start(audio.currentTime + 0.25 * place);
            tone.stop(audio.currentTime + 0.25 * place + 0.2);
        }
        root.dataset.sounded = String(Number(root.dataset.sounded ?? 0) + 1);
    };
    const sound = (ids) => {
        const isNew = ids.some((id) => !sounded?.has(id));
        sounded = new Set(ids);
        if (!ids.length) { soundButton.hidden = true; return; }
        audio ??= new AudioContext();
        soundButton.hidden = audio.state === "running";
        if (isNew && audio.state === "running") beep();
    };
    soundButton.addEventListener("click", async () => {
        audio ??= new AudioContext();
        await audio.resume();
        soundButton.hidden = true;
        beep();
    });

    const show = (answer) => {
        readAt = answer.at;
        readTime = answer.time;
        // The figures may be some seconds old if the server is slow to read them.
        shownAt = performance.now() - 1000 * answer.age;
        isStale = false;
        root.classList.remove("ov-stale");
        away.textContent = "";
        timeShown.textContent = root.dataset.read.replace("{time}", readTime);
        timeShown.hidden = false;
        const fresh = el("div", { class: now.className }, ...answer.parts.map(drawPart));
        window.updateInPlace(now, fresh);
        sound(answer.sounding);
        if (answer.age > OLD) doubt(root.dataset.away);
    };
    const doubt = (text) => {
        isStale = true;
        root.classList.add("ov-stale");
        timeShown.hidden = true;
        away.textContent = text.replace("{time}", readTime);
    };
    const ask = async () => {
        try {
            // Only the wallboard of a user who may change nothing keeps its session.
            const response = await window.poll.fetch(root.dataset.url, { isMarked: !root.dataset.keeps, redirect: "manual" });
            if (response.type === "opaqueredirect") return doubt(root.dataset.out);
            if (!response.ok) throw new Error(response.status);
            show(await response.json());
        } catch {
            doubt(root.dataset.away);
        }
    };
    // Between two answers clocks go on; where there is no answer they stand still.
    const tick = () => {
        if (isStale) return;
        for (const time of root.querySelectorAll("time[data-since]")) {
            const length = lengthSince(Number(time.dataset.since));
            if (time.textContent !== length) time.textContent = length;
        }
    };

    show(JSON.parse(root.dataset.first));
    window.setInterval(tick, 1000);
    window.poll(EVERY, ask);
});
