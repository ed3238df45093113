"use strict";
// A recording is heard in its row: the link becomes a player. Without this script the link opens the sound.
document.addEventListener("click", (event) => {
    const link = event.target.closest("a.cc-play");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const player = new Audio(link.href);
    player.controls = true;
    player.setAttribute("aria-label", link.getAttribute("aria-label"));
    player.addEventListener("play", () => document.querySelectorAll("audio").forEach((other) => other === player || other.pause()));
    link.replaceWith(player);
    player.play();
    player.focus();
});
