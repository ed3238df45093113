// The page of the agents work report: it works without this, but for the chart.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const form = document.getElementById("report-form");
    if (form) watchRanges(form);
    const charts = document.getElementById("report-charts");
    if (charts) draw(charts);
});

// A range that is often asked for keeps what else was typed.
function watchRanges(form) {
    form.querySelectorAll("[data-from]").forEach((link) => link.addEventListener("click", (event) => {
        event.preventDefault();
        form.elements.date_from.value = link.dataset.from;
        form.elements.date_to.value = link.dataset.to;
        form.requestSubmit();
    }));
}

// The total of all rows, those of other pages too.
function showTotal(foot, total) {
    if (!foot || !total?.length) return;
    for (const text of total) foot.rows[0].append(Object.assign(document.createElement("td"), { className: "cc-right", textContent: text }));
    foot.hidden = false;
}

async function draw(section) {
    const [calls, occupancy] = ["report-calls", "report-occupancy"].map((id) => document.getElementById(id));
    const note = section.querySelector("p");
    let data;
    try {
        const answer = await fetch(section.dataset.url, { headers: { Accept: "application/json" } });
        data = await answer.json();
    } catch {
        section.hidden = true;
        return;
    }
    showTotal(document.getElementById("report-total"), data.total);
    if (data.reason || !data.labels.length) {
        section.querySelectorAll(".cc-chart").forEach((chart) => { chart.hidden = true; });
        note.textContent = data.reason || "";
        note.hidden = !data.reason;
        return;
    }
    // Asked for at each update, as people switch between light and dark.
    const either = (light, dark) => () => (document.documentElement.classList.contains("dark") ? dark : light);
    const grid = either("#e5e7eb", "#374151");
    const text = either("#6b7280", "#9ca3af");
    const axis = (more) => ({ beginAtZero: true, border: { width: 0 }, grid: { color: grid }, ticks: { color: text, precision: 0 }, ...more });
    const options = (scales) => ({
        animation: false,
        responsive: true,
        maintainAspectRatio: false,
        interaction: { mode: "index", intersect: false },
        plugins: { legend: { align: "end", labels: { boxWidth: 10, color: text } } },
        scales: { x: { border: { width: 0 }, grid: { display: false }, ticks: { color: text, maxRotation: 0, autoSkipPadding: 12 } }, ...scales },
    });
    const line = (set, colour, more) => ({ type: "line", label: set.label, data: set.data, borderColor: colour, backgroundColor: colour, borderWidth: 2, pointRadius: data.labels.length > 40 ? 0 : 2, cubicInterpolationMode: "monotone", spanGaps: true, ...more });
    const drawn = [
        new Chart(calls, {
            data: {
                labels: data.labels,
                datasets: [
                    line(data.talk, either("#d97706", "#f59e0b"), { yAxisID: "hours" }),
                    { type: "bar", label: data.calls.label, data: data.calls.data, backgroundColor: "#3b82f6", maxBarThickness: 28, yAxisID: "y" },
                ],
            },
            options: options({ y: axis(), hours: axis({ position: "right", grid: { drawOnChartArea: false }, ticks: { color: text } }) }),
        }),
    ];
    if (data.occupancy.data.some((value) => value !== null)) {
        drawn.push(new Chart(occupancy, { data: { labels: data.labels, datasets: [line(data.occupancy, either("#16a34a", "#22c55e"))] }, options: options({ y: axis({ max: 100 }) }) }));
    } else {
        occupancy.closest(".cc-chart").hidden = true;
    }
    new MutationObserver(() => drawn.forEach((chart) => chart.update())).observe(document.documentElement, { attributes: true, attributeFilter: ["class"] });
}
