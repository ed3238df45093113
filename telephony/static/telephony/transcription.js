"use strict";
// A line's time is a button: the recording is heard from there.
document.querySelectorAll("[data-player]").forEach((button) => {
    button.addEventListener("click", () => {
        const player = document.getElementById(button.dataset.player);
        const play = () => {
            player.currentTime = Number(button.dataset.at);
            player.play();
        };
        if (player.readyState > 0) {
            play();
        } else {
            player.addEventListener("loadedmetadata", play, { once: true });
            player.load();
        }
    });
});
