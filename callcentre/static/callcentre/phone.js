// The window of the phone in the browser. It registers by sip.js, rings, and tells the other pages of this browser its state.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const page = document.getElementById("phone");
    const texts = page.dataset;
    const part = (name) => page.querySelector(`[data-${name}]`);
    const csrf = page.querySelector("[name=csrfmiddlewaretoken]").value;
    const [SEEN_MS, SOON_MS, QUALITY_MS] = [5000, 1000, 2000];
    const [MOST_LOST, MOST_DELAY, RTP_SILENT] = [0.05, 0.4, 2];
    const choice = window.kept("callcentre.phone");
    const chosen = { input: "", output: "", volume: 100, auto: false, ...choice.read() };
    const keep = (values) => choice.write(Object.assign(chosen, values));
    const channel = new BroadcastChannel(`callcentre.phone.${texts.user}`);
    const audio = part("audio");
    let [phone, token, call, stream, analyser] = [null, "", null, null, null];
    // What hinders the phone: the name of a sentence of the page; "" if calls can come.
    let trouble = "connecting";
    let [isReached, isMuted, isHeld, answeredAt, stopRing] = [false, false, false, 0, () => {}];
    // What the call has counted before, turns without a packet, and what the service is to be told of the quality.
    let [counted, silentTurns, reports] = [null, 0, []];

    const ask = async (action, values = {}) => {
        const body = new URLSearchParams({ ...values, token, csrfmiddlewaretoken: csrf });
        const answer = await window.poll.fetch(`${texts.url}${action}/`, { method: "POST", body });
        if (!answer.ok && answer.status !== 409) throw new Error(String(answer.status));
        return answer.json();
    };

    // The page

    const show = () => {
        const name = trouble || (isReached ? "registered" : "unreached");
        const line = part("state");
        line.textContent = texts[name];
        page.dataset.trouble = trouble;
        page.dataset.ready = String(name === "registered" || name === "simulated");
        part("open").hidden = !["taken", "closed", "refused", "denied", "microphone"].includes(trouble);
        const state = call?.state ?? "";
        const isTalk = state === "talking";
        part("call").hidden = !call;
        part("number").textContent = call?.number ?? "";
        part("call-state").textContent = isTalk && isHeld ? texts.held : state ? texts[state] : "";
        part("answer").hidden = state !== "ringing";
        part("mute").hidden = part("hold").hidden = part("keys").hidden = !isTalk;
        part("mute").setAttribute("aria-pressed", String(isMuted));
        part("hold").setAttribute("aria-pressed", String(isHeld));
        document.title = [call && `${texts[state]} ${call.number}`, texts[name]].filter(Boolean).join(" | ");
        tell();
    };
    const tell = () => channel.postMessage({ trouble: trouble || (isReached ? "" : "unreached"), call: call?.state ?? "", number: call?.number ?? "" });
    const setTrouble = (name) => {
        if (name === trouble) return;
        trouble = name;
        show();
        hear();
    };

    // Microphone and loudspeaker

    const microphone = async () => {
        if (stream?.getAudioTracks().some((track) => track.readyState === "live")) return stream;
        stream = await navigator.mediaDevices.getUserMedia({ audio: { deviceId: chosen.input ? { ideal: chosen.input } : undefined, echoCancellation: true, noiseSuppression: true, autoGainControl: true } });
        for (const track of stream.getAudioTracks()) track.addEventListener("ended", () => setTrouble("microphone"));
        const context = new AudioContext();
        analyser = context.createAnalyser();
        context.createMediaStreamSource(stream).connect(analyser);
        await list();
        return stream;
    };
    const list = async () => {
        const devices = await navigator.mediaDevices.enumerateDevices();
        for (const [name, kind] of [["input", "audioinput"], ["output", "audiooutput"]]) {
            const choice = part(name);
            const options = devices.filter((device) => device.kind === kind && device.deviceId).map(({ deviceId, label }) => new Option(label || deviceId, deviceId, false, deviceId === chosen[name]));
            choice.replaceChildren(...options);
            choice.disabled = !options.length;
        }
    };
    const hearMicrophone = async () => {
        if (!navigator.mediaDevices) return "insecure";
        try {
            await microphone();
            return "";
        } catch (error) {
            return error.name === "NotAllowedError" ? "denied" : "microphone";
        }
    };
    const speak = () => {
        audio.volume = chosen.volume / 100;
        if (chosen.output && audio.setSinkId) audio.setSinkId(chosen.output).catch(() => {});
    };

    // The registration

    const open = async () => {
        phone?.stop();
        phone = null;
        setTrouble("connecting");
        const lacking = await hearMicrophone();
        if (lacking) {
            setTrouble(lacking);
            await ask("lack", { trouble }).catch(() => {});
            return;
        }
        let given;
        try {
            given = await ask("open");
        } catch {
            setTrouble("service");
            return;
        }
        if (given.errors) {
            setTrouble("closed");
            return;
        }
        ({ token } = given);
        if (given.is_simulated) {
            setTrouble("simulated");
            return;
        }
        const mine = phone = new window.SipPhone({ url: given.url, number: given.number, password: given.password, iceServers: given.ice_servers, microphone });
        mine.addEventListener("state", ({ detail }) => { if (mine === phone) follow(detail); });
        mine.addEventListener("call", ({ detail }) => { if (mine === phone) take(detail); });
        mine.addEventListener("audio", ({ detail }) => { audio.srcObject = detail; speak(); });
        mine.start();
    };
    const follow = (state) => {
        if (state === "registered") setTrouble("");
        else if (state === "away") setTrouble("away");
        else if (state === "refused") refused();
    };
    // The password is no longer valid: another window has the phone, the agent has logged out, or the switch has restarted.
    const refused = async () => {
        setTrouble("refused");
        await hear();
        if (trouble === "refused") setTimeout(() => { if (trouble === "refused") phone?.start(); }, 2000);
    };
    const hear = async () => {
        if (trouble === "service") {
            await open();
            return;
        }
        if (trouble === "closed") {
            const { may_open: mayOpen } = await ask("seen", { trouble }).catch(() => ({}));
            if (mayOpen) await open();
            return;
        }
        if (["taken", "twice"].includes(trouble)) return;
        if (!token) {
            if (trouble !== "connecting") await ask("lack", { trouble }).catch(() => {});
            return;
        }
        const mine = token;
        const told = call?.state === "talking" ? { reports: JSON.stringify(reports.splice(0)) } : {};
        try {
            const now = await ask("seen", { trouble: ["simulated", "connecting"].includes(trouble) ? "" : trouble, ...told });
            if (mine !== token) return;
            const isNews = isReached !== now.is_reached || (told.reports && isHeld !== now.is_on_hold);
            isReached = now.is_reached;
            if (told.reports) isHeld = now.is_on_hold;
            if (now.is_current) {
                if (isNews) show();
                return;
            }
            phone?.stop();
            phone = null;
            setTrouble(now.is_closed ? "closed" : "taken");
        } catch { /* the service is away: calls go on */ }
    };

    // Calls

    const take = (now) => {
        stopRing();
        call = now.state === "ended" ? null : now;
        if (now.state === "ringing") ring();
        part("quality").textContent = "";
        if (now.state === "talking") [answeredAt, counted, silentTurns, reports] = [performance.now(), null, 0, []];
        if (!call) {
            isMuted = isHeld = false;
            audio.srcObject = null;
        }
        show();
    };
    const ring = async () => {
        if (call.isAwaited || chosen.auto) {
            answer();
            return;
        }
        const mine = call;
        await window.sounds.ready();
        if (mine === call && call.state === "ringing") stopRing = window.sounds.play("ring");
    };
    const answer = () => call?.answer().catch(({ name }) => setTrouble(name === "NotAllowedError" ? "denied" : "microphone"));
    const mute = () => {
        if (call?.state !== "talking") return;
        isMuted = !isMuted;
        call.mute(isMuted);
        show();
    };
    const hangUp = () => call?.hangUp();
    const hold = async () => {
        if (call?.state !== "talking") return;
        const { errors = [], is_on_hold: isNow = isHeld } = await ask("hold").catch(() => ({ errors: [texts.service] }));
        part("quality").textContent = errors.join(" ");
        isHeld = isNow;
        show();
    };
    const judge = async () => {
        const mine = call;
        const found = mine?.state === "talking" && !isHeld ? await mine.quality() : null;
        if (!found || mine !== call) return;
        const line = part("quality");
        const before = counted ?? { received: 0, lost: 0 };
        counted = found;
        const [received, lost] = [found.received - before.received, Math.max(0, found.lost - before.lost)];
        silentTurns = received ? 0 : silentTurns + 1;
        const loss = Math.max(found.lostThere ?? 0, lost / Math.max(1, lost + received));
        const delay = (found.roundTrip ?? 0) + (found.jitter ?? 0);
        if (received) reports.push([100 * loss, 1000 * found.jitter, found.roundTrip === undefined ? null : 1000 * found.roundTrip]);
        if (silentTurns >= RTP_SILENT) line.textContent = texts.silent;
        else if (loss > MOST_LOST) line.textContent = texts.lost.replace("{loss}", Math.round(loss * 100));
        else if (delay > MOST_DELAY) line.textContent = texts.slow.replace("{delay}", Math.round(delay * 1000));
        else line.textContent = "";
    };

    part("answer").addEventListener("click", answer);
    part("hang-up").addEventListener("click", hangUp);
    part("mute").addEventListener("click", mute);
    part("hold").addEventListener("click", hold);
    part("open").addEventListener("click", open);
    part("keys").addEventListener("click", ({ target }) => { if (target.dataset.key) call?.press(target.dataset.key); });
    part("test").addEventListener("click", async () => {
        const { errors = [] } = await ask("test").catch(() => ({ errors: [texts.service] }));
        part("said").textContent = errors.join(" ");
    });
    part("volume").value = chosen.volume;
    part("volume").addEventListener("input", ({ target }) => { keep({ volume: Number(target.value) }); speak(); });
    part("output").addEventListener("change", ({ target }) => { keep({ output: target.value }); speak(); });
    part("input").addEventListener("change", async ({ target }) => {
        keep({ input: target.value });
        for (const track of stream?.getTracks() ?? []) track.stop();
        stream = null;
        const lacking = await hearMicrophone();
        if (lacking) setTrouble(lacking);
        else if (call?.sender) await call.sender.replaceTrack(stream.getAudioTracks()[0]);
    });
    part("auto").checked = chosen.auto;
    part("auto").addEventListener("change", ({ target }) => keep({ auto: target.checked }));
    document.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
        const key = event.key.toLowerCase();
        if (key === "a") answer();
        else if (key === "m") mute();
        else if (key === "h") hold();
        else if (key === "x") hangUp();
        else if (/^[0-9*#]$/.test(key)) call?.press(key);
    });
    // Keys of a headset or keyboard.
    for (const [name, act] of [["play", answer], ["pause", answer], ["hangup", hangUp], ["togglemicrophone", mute]]) {
        try { navigator.mediaSession?.setActionHandler(name, act); } catch { /* this browser has no such key */ }
    }
    navigator.mediaDevices?.addEventListener("devicechange", async () => {
        await list();
        if (trouble === "microphone") await open();
    });
    channel.addEventListener("message", ({ data: { act } }) => {
        if (act === "answer") answer();
        if (act === "show") window.focus();
        if (act === "ask") tell();
    });
    addEventListener("beforeunload", (event) => { if (call?.state === "talking") event.preventDefault(); });
    // A call in which the page is left waits for the next page: the customer hears music meanwhile.
    addEventListener("pagehide", () => {
        if (call?.state === "talking") return;
        phone?.stop();
        if (token) navigator.sendBeacon(`${texts.url}close/`, new URLSearchParams({ token, csrfmiddlewaretoken: csrf }));
    });

    // Time: a worker keeps it while the window is hidden.
    const clock = new Worker(texts.clock);
    let turn = 0;
    clock.addEventListener("message", () => {
        turn += 1;
        if (turn % ((trouble || isReached ? SEEN_MS : SOON_MS) / 250) === 0) hear();
        if (turn % (QUALITY_MS / 250) === 0) judge();
        if (analyser && !document.hidden) {
            const samples = new Float32Array(analyser.fftSize);
            analyser.getFloatTimeDomainData(samples);
            part("level").value = Math.min(1, 4 * Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length));
        }
        part("time").textContent = call?.state === "talking" ? window.spellLength((performance.now() - answeredAt) / 1000) : "";
    });
    clock.postMessage(250);

    // One window has the phone; its lock ends with it.
    if (navigator.locks) navigator.locks.request(choice.key, { ifAvailable: true }, async (lock) => {
        if (!lock) {
            setTrouble("twice");
            return;
        }
        await open();
        await new Promise(() => {});
    });
    else open();
});
