// The pages of an agent whose desk is the phone: they open its window, and answer by it.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const link = document.getElementById("phone-link");
    if (!link) return;
    const channel = new BroadcastChannel(`callcentre.phone.${link.dataset.user}`);
    const open = () => window.open(link.dataset.url, "callcentre.phone", "popup,width=400,height=720");
    // While a window tells its state, the phone rings there, and not on this page.
    let goneTimer = 0;
    channel.addEventListener("message", ({ data }) => {
        if (data.act) return;
        document.body.classList.add("has-phone");
        document.body.classList.toggle("phone-rings", data.call === "ringing");
        clearTimeout(goneTimer);
        goneTimer = setTimeout(() => document.body.classList.remove("has-phone", "phone-rings"), 10_000);
    });
    channel.postMessage({ act: "ask" });
    setInterval(() => channel.postMessage({ act: "ask" }), 3000);
    document.addEventListener("click", ({ target }) => {
        if (target.closest("[data-phone-open]")) open();
        if (target.closest("[data-phone-answer]")) channel.postMessage({ act: "answer" });
    });
    // The phone opens with the log-in of the agent. Its window waits for it.
    document.addEventListener("submit", ({ target }) => {
        if (!target.action.endsWith("/desk/log-in/")) return;
        if (!document.body.classList.contains("has-phone")) open();
    });
});
