// On every page: a link to a ticket keeps the tickets of the list that it stands in, so that the page of the ticket leads to
// the next one.
"use strict";

addEventListener("click", (event) => {
    const isOfTicket = (link) => /\/tickets\/ticket\/\d+\/change\/$/.test(link.pathname);
    const link = event.target.closest?.("a[href]");
    if (!link || !isOfTicket(link) || link.id === "next-ticket") return;
    const links = link.closest("table, ul, ol")?.querySelectorAll("a[href]") ?? [];
    const addresses = new Set([...links].filter(isOfTicket).map((one) => one.getAttribute("href")));
    try { sessionStorage.setItem("callcentre.tickets", JSON.stringify([...addresses])); } catch { /* this browser stores nothing */ }
});
