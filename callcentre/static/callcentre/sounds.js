// The sounds and notifications of this browser: the ring of a call, and the chime of other news. The choice is kept in the
// browser, because loudspeakers and the permission to notify belong to it.
"use strict";

window.sounds = (() => {
    const choice = window.kept("callcentre.sounds");
    const RING_SECONDS = 3;
    const NOTE_SECONDS = 0.6;
    // Notes: pitch in Hz, and start in seconds.
    const TUNES = {
        phone: { ring: [0, 1, 2, 3, 4, 5, 6, 7].map((place) => [place % 2 ? 1150 : 900, place * 0.12]), chime: [[900, 0], [1150, 0.12]] },
        bell: { ring: [[1047, 0], [1319, 0.2], [1568, 0.4], [1319, 0.8], [1568, 1]], chime: [[1568, 0], [1047, 0.2]] },
        wood: { ring: [[392, 0], [523, 0.25], [659, 0.5], [523, 1]], chime: [[523, 0], [392, 0.2]] },
    };
    const chosen = { tune: "phone", volume: 60, isMuted: false, notifies: true };
    const read = () => Object.assign(chosen, choice.read());
    let audio = null;
    let playing = 0;

    const bufferOf = (kind) => {
        const rate = audio.sampleRate;
        const tune = TUNES[chosen.tune] ?? TUNES.phone;
        const buffer = audio.createBuffer(1, RING_SECONDS * rate, rate);
        const samples = buffer.getChannelData(0);
        const length = NOTE_SECONDS * rate;
        for (const [pitch, at] of tune[kind]) {
            for (let place = 0; place < length; place += 1) {
                const loudness = Math.min(1, place / 200) * Math.exp((-5 * place) / length) * 0.4;
                samples[Math.floor(at * rate) + place] += Math.sin((2 * Math.PI * pitch * place) / rate) * loudness;
            }
        }
        return buffer;
    };
    // Wait until the browser lets this page be heard: some want a click on the page first.
    const ready = () => {
        audio ??= new AudioContext();
        return audio.resume();
    };
    // Play a sound, and return what stops it. A ring goes on until then.
    const play = (kind) => {
        read();
        if (chosen.isMuted) return () => {};
        const source = audio.createBufferSource();
        const volume = audio.createGain();
        volume.gain.value = chosen.volume / 100;
        source.buffer = bufferOf(kind);
        source.loop = kind === "ring";
        source.connect(volume).connect(audio.destination);
        source.addEventListener("ended", () => {
            playing -= 1;
            if (!playing) audio.suspend();
        });
        playing += 1;
        source.start();
        return () => source.stop();
    };
    const isBlocked = () => audio !== null && audio.state !== "running" && !playing && !navigator.userActivation?.hasBeenActive;
    for (const name of ["pointerdown", "keydown"]) addEventListener(name, () => { if (isBlocked()) audio.resume(); }, true);

    document.addEventListener("DOMContentLoaded", () => {
        const dialog = document.getElementById("sounds");
        if (!dialog) return;
        const opener = document.querySelector("[data-sounds]");
        const [tune, volume, sounding, notifying] = ["tune", "volume", "sounding", "notifying"].map((name) => dialog.querySelector(`[name=${name}]`));
        const said = dialog.querySelector("[role=status]");
        const icon = opener.querySelector(".material-symbols-outlined");
        let stop = () => {};
        const show = () => {
            read();
            [tune.value, volume.value, sounding.checked] = [chosen.tune, chosen.volume, !chosen.isMuted];
            const permission = window.Notification?.permission ?? "denied";
            notifying.checked = chosen.notifies && permission === "granted";
            notifying.disabled = permission === "denied";
            said.textContent = permission === "denied" ? said.dataset.denied : "";
            icon.textContent = chosen.isMuted ? "notifications_off" : "notifications";
            opener.setAttribute("aria-label", chosen.isMuted ? opener.dataset.muted : opener.dataset.sounds);
        };
        const keep = (values) => {
            Object.assign(chosen, values);
            choice.write(chosen);
            show();
        };
        tune.addEventListener("change", () => keep({ tune: tune.value }));
        volume.addEventListener("change", () => keep({ volume: Number(volume.value) }));
        sounding.addEventListener("change", () => keep({ isMuted: !sounding.checked }));
        notifying.addEventListener("change", async () => {
            const isWanted = notifying.checked;
            if (isWanted) await Notification.requestPermission();
            keep({ notifies: isWanted });
        });
        dialog.querySelector("[data-try]").addEventListener("click", async () => {
            await ready();
            stop();
            stop = play("ring");
            setTimeout(stop, 1000 * RING_SECONDS);
        });
        dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
        dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
        dialog.addEventListener("close", () => stop());
        opener.addEventListener("click", () => { show(); dialog.showModal(); });
        addEventListener("storage", ({ key }) => { if (key === choice.key) show(); });
        show();
    });

    read();
    return { chosen, ready, play, isBlocked };
})();
