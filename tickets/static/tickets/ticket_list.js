// The list of tickets: the page of a ticket leads to the next one of the list as it was shown here.
"use strict";

addEventListener("DOMContentLoaded", () => {
    const list = document.getElementById("result_list");
    if (!list) return;
    const links = list.querySelectorAll("tbody th a");
    const addresses = [...links].map((link) => link.getAttribute("href"));
    try { sessionStorage.setItem("callcentre.tickets", JSON.stringify(addresses)); } catch { /* this browser stores nothing */ }
});
