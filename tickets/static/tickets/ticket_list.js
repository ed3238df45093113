// The list of tickets: the page of a ticket leads to the next one of the list as it was shown here.
"use strict";

addEventListener("DOMContentLoaded", () => {
    const list = document.getElementById("result_list");
    if (!list) return;
    const links = list.querySelectorAll("tbody th a");
    const addresses = [...links].map((link) => link.getAttribute("href"));
    runAtOnce(document.querySelector("select[data-run]"));
    try { sessionStorage.setItem("callcentre.tickets", JSON.stringify(addresses)); } catch { /* this browser stores nothing */ }
});

// A choice runs its action on the selected rows; with the arrow keys, which pass others, after Enter. All rows that match
// are confirmed on a page.
function runAtOnce(select) {
    if (!select) return;
    let isPassing = false;
    const run = () => {
        if (!select.value) return;
        const { form } = select;
        form.elements.action.value = select.dataset.run;
        if (form.elements.select_across.value !== "1") form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "apply", value: "1" }));
        form.submit();
    };
    select.addEventListener("pointerdown", () => { isPassing = false; });
    select.addEventListener("keydown", (event) => {
        isPassing = event.key !== "Enter";
        if (isPassing) return;
        event.preventDefault();
        run();
    });
    select.addEventListener("change", () => isPassing || run());
}
