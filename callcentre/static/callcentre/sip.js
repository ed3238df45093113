// The half of SIP that a phone in the browser needs: it registers and answers, over WebSocket (RFC 3261, 7118). The service
// places every call. Passwords are answered with SHA-256 (RFC 8760), sessions are kept alive with timers (RFC 4028).
"use strict";

window.SipPhone = (() => {
    // Browsers let the timers of a hidden window wait for a minute.
    const EXPIRES_SECONDS = 180;
    const REPEAT_MS = 60_000;
    // The switch asks for a sign of life every few seconds; without a word for this time the connection is dead.
    const SILENCE_MS = 15_000;
    const RECONNECT_MS = [500, 1000, 2000, 4000];
    const GATHER_MS = 1000;
    const RESEND_MS = [500, 1000, 2000, 4000, 4000, 4000, 4000, 4000, 4000, 4000];
    const ALLOW = "INVITE, ACK, CANCEL, BYE, OPTIONS, UPDATE";
    const COMPACT = { v: "via", f: "from", t: "to", i: "call-id", m: "contact", l: "content-length", c: "content-type", k: "supported", x: "session-expires" };
    const REASONS = { 100: "Trying", 180: "Ringing", 200: "OK", 405: "Method Not Allowed", 481: "Call Does Not Exist", 486: "Busy Here", 487: "Request Terminated", 488: "Not Acceptable Here", 491: "Request Pending" };

    const random = (length = 12) => [...crypto.getRandomValues(new Uint8Array(length))].map((byte) => (byte % 36).toString(36)).join("");
    const sha256 = async (text) => [...new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

    // Messages

    const parse = (text) => {
        const [head, ...rest] = text.split("\r\n\r\n");
        const [start, ...lines] = head.replace(/\r\n[ \t]+/g, " ").split("\r\n");
        const headers = new Map();
        for (const line of lines) {
            const colon = line.indexOf(":");
            const short = line.slice(0, colon).trim().toLowerCase();
            const name = COMPACT[short] ?? short;
            headers.set(name, [...(headers.get(name) ?? []), line.slice(colon + 1).trim()]);
        }
        const [first, second] = start.split(" ");
        const isAnswer = first === "SIP/2.0";
        const all = (name) => headers.get(name) ?? [];
        const one = (name) => all(name)[0] ?? "";
        const [number, method] = one("cseq").split(/\s+/);
        return { method, sequence: Number(number), status: isAnswer ? Number(second) : 0, uri: isAnswer ? "" : second, all, one, body: rest.join("\r\n\r\n") };
    };
    const uriOf = (address) => /<([^>]*)>/.exec(address)?.[1] ?? address.split(";")[0].trim();
    const numberOf = (address) => /sips?:([^@;>]*)@/.exec(address)?.[1] ?? "";
    const tagOf = (address) => /;\s*tag=([^;>\s]+)/i.exec(address.replace(/<[^>]*>/, ""))?.[1] ?? "";
    const parametersOf = (challenge) => Object.fromEntries([...challenge.matchAll(/(\w+)=(?:"([^"]*)"|([^,\s]+))/g)].map(([, name, quoted, bare]) => [name.toLowerCase(), quoted ?? bare]));
    const compose = (start, headers, body = "") => {
        const size = new TextEncoder().encode(body).length;
        return [start, ...headers.map(([name, value]) => `${name}: ${value}`), `Content-Length: ${size}`, "", body].join("\r\n");
    };

    // A call that the switch offers to this phone, until it has ended.
    class Call {
        constructor(phone, invite) {
            [this.phone, this.invite, this.state, this.socket] = [phone, invite, "ringing", phone.socket];
            this.id = invite.one("call-id");
            this.number = numberOf(invite.one("p-asserted-identity") || invite.one("from"));
            // A standing line, or a call that the agent has asked for.
            this.isAwaited = invite.one("x-awaited") !== "";
            this.tag = random();
            this.sequence = 0;
            this.isConfirmed = false;
            this.reply(invite, 180);
        }

        reply(request, status, headers = [], body = "") {
            this.phone.reply(request, status, this.tag, headers, body);
        }

        // Answer with the microphone. Raises if there is none, or if the browser does not understand the offer.
        async answer() {
            if (this.state !== "ringing") return;
            this.become("answering");
            try {
                const stream = await this.phone.microphone();
                if (this.state !== "answering") return;
                const peer = this.peer = new RTCPeerConnection({ iceServers: this.phone.iceServers, bundlePolicy: "max-bundle" });
                peer.addEventListener("track", ({ streams: [remote] }) => this.phone.tell("audio", remote));
                peer.addEventListener("connectionstatechange", () => this.phone.tell("media", peer.connectionState));
                for (const track of stream.getAudioTracks()) this.sender = peer.addTrack(track, stream);
                await this.accept(this.invite);
                this.become("talking");
            } catch (error) {
                if (this.state === "ended") return;
                this.reply(this.invite, 488);
                this.end("failed");
                throw error;
            }
        }

        // Accept the offer of an INVITE, also of one that keeps the session alive.
        async accept(invite) {
            const { peer } = this;
            if (invite.body) {
                await peer.setRemoteDescription({ type: "offer", sdp: invite.body });
                await peer.setLocalDescription(await peer.createAnswer());
                await gathered(peer);
            }
            if (this.state === "ended") return;
            const interval = invite.one("session-expires").split(";")[0];
            const timer = interval ? [["Require", "timer"], ["Session-Expires", `${interval};refresher=uac`]] : [];
            const headers = [...timer, ["Supported", "timer"], ["Allow", ALLOW], ["Content-Type", "application/sdp"]];
            // Repeated until the switch has confirmed it.
            const send = (turn) => {
                if (this.state === "ended") return;
                this.reply(invite, 200, headers, peer.localDescription.sdp);
                if (turn < RESEND_MS.length) this.resending = setTimeout(send, RESEND_MS[turn], turn + 1);
                else this.hangUp();
            };
            clearTimeout(this.resending);
            send(0);
        }

        async receive(request) {
            const { method } = request;
            if (method === "ACK") {
                clearTimeout(this.resending);
                this.isConfirmed = true;
            } else if (method === "CANCEL") {
                this.reply(request, 200);
                if (this.isConfirmed || this.state === "talking") return;
                this.reply(this.invite, 487);
                this.end("cancelled");
            } else if (method === "BYE") {
                this.reply(request, 200);
                if (this.state === "ringing" || this.state === "answering") this.reply(this.invite, 487);
                this.end("remote");
            } else if (method === "INVITE") {
                if (request.sequence === this.invite.sequence) {
                    if (this.state === "ringing") this.reply(request, 180);
                } else if (this.state === "talking") {
                    try {
                        await this.accept(request);
                    } catch {
                        this.reply(request, 488);
                    }
                } else this.reply(request, 491);
            } else if (method === "UPDATE" && !request.body) {
                const interval = request.one("session-expires").split(";")[0];
                this.reply(request, 200, interval ? [["Require", "timer"], ["Session-Expires", `${interval};refresher=uac`]] : []);
            } else if (method === "OPTIONS" || method === "INFO" || method === "NOTIFY") this.reply(request, 200);
            else this.reply(request, method === "UPDATE" ? 488 : 405);
        }

        hangUp() {
            if (this.state === "ended") return;
            if (this.state === "ringing" || this.state === "answering") this.reply(this.invite, 486);
            else {
                const { invite } = this;
                this.sequence += 1;
                this.phone.request("BYE", uriOf(invite.one("contact")), [
                    ...invite.all("record-route").map((route) => ["Route", route]),
                    ["From", `${invite.one("to")};tag=${this.tag}`],
                    ["To", invite.one("from")],
                    ["Call-ID", this.id],
                    ["CSeq", `${this.sequence} BYE`],
                ]);
            }
            this.end("local");
        }

        mute(isMuted) {
            if (this.sender?.track) this.sender.track.enabled = !isMuted;
        }

        press(digits) {
            if (this.sender?.dtmf?.canInsertDTMF) this.sender.dtmf.insertDTMF(digits, 120, 60);
        }

        // Loss and jitter of what is heard, and the round trip in seconds; null before the first report.
        async quality() {
            if (!this.peer) return null;
            const found = {};
            for (const report of (await this.peer.getStats()).values()) {
                if (report.type === "inbound-rtp" && report.kind === "audio") Object.assign(found, { received: report.packetsReceived, lost: report.packetsLost, jitter: report.jitter });
                if (report.type === "outbound-rtp" && report.kind === "audio") found.sent = report.packetsSent;
                if (report.type === "remote-inbound-rtp") Object.assign(found, { roundTrip: report.roundTripTime, lostThere: report.fractionLost });
            }
            return found;
        }

        become(state) {
            this.state = state;
            this.phone.tell("call", this);
        }

        end(reason) {
            if (this.state === "ended") return;
            clearTimeout(this.resending);
            this.mute(false);
            this.peer?.close();
            this.reason = reason;
            this.phone.call = null;
            this.become("ended");
        }
    }

    const gathered = (peer) => new Promise((resolve) => {
        if (peer.iceGatheringState === "complete") resolve();
        peer.addEventListener("icegatheringstatechange", () => { if (peer.iceGatheringState === "complete") resolve(); });
        setTimeout(resolve, GATHER_MS);
    });

    // The phone tells "state" (off, connecting, registered, refused, away), "call", "audio" and "media", as CustomEvents.
    return class SipPhone extends EventTarget {
        constructor({ url, number, password, iceServers = [], microphone }) {
            super();
            Object.assign(this, { url, number, password, iceServers, microphone, state: "off", call: null });
            this.host = new URL(url, location.href).hostname;
            this.instance = `${random()}.invalid`;
            this.registration = { id: random(20), tag: random(), sequence: 0 };
            this.failures = 0;
        }

        start() {
            this.isWanted = true;
            this.connect();
        }

        // Leave: hang up, and give the registration back.
        stop() {
            this.isWanted = false;
            this.call?.hangUp();
            if (this.state === "registered") this.register(0);
            clearTimeout(this.repeating);
            const { socket } = this;
            setTimeout(() => socket?.close(), 200);
            this.become("off");
        }

        connect() {
            clearTimeout(this.reconnecting);
            this.become(this.failures ? "away" : "connecting");
            const socket = this.socket = new WebSocket(new URL(this.url, location.href).href.replace(/^http/, "ws"), "sip");
            socket.addEventListener("open", () => { this.hear(); this.register(EXPIRES_SECONDS); });
            socket.addEventListener("message", ({ data }) => this.receive(data));
            socket.addEventListener("close", () => { if (socket === this.socket) this.lose(); });
            this.hear();
        }

        lose() {
            clearTimeout(this.silence);
            clearTimeout(this.repeating);
            if (!this.isWanted || this.state === "refused") return;
            this.become("away");
            const delay = RECONNECT_MS[Math.min(this.failures, RECONNECT_MS.length - 1)];
            this.failures += 1;
            this.reconnecting = setTimeout(() => this.connect(), delay * (0.75 + Math.random() / 2));
        }

        // Give up a connection on which nothing has been heard for long, as after the computer slept.
        hear() {
            clearTimeout(this.silence);
            const { socket } = this;
            this.silence = setTimeout(() => {
                if (socket !== this.socket) return;
                socket.close();
                this.lose();
            }, SILENCE_MS);
        }

        async register(expires, challenge = null) {
            const uri = `sip:${this.host}`;
            this.registration.sequence += 1;
            const headers = [
                ["From", `<sip:${this.number}@${this.host}>;tag=${this.registration.tag}`],
                ["To", `<sip:${this.number}@${this.host}>`],
                ["Call-ID", this.registration.id],
                ["CSeq", `${this.registration.sequence} REGISTER`],
                ["Contact", `${this.contact};expires=${expires}`],
                ["Expires", expires],
                ["Allow", ALLOW],
            ];
            this.registration.expires = expires;
            if (challenge) headers.push([challenge.header, await this.credentials(challenge, uri)]);
            this.request("REGISTER", uri, headers);
        }

        async credentials({ realm, nonce, opaque, qop, algorithm }, uri) {
            if (algorithm?.toUpperCase() !== "SHA-256") throw new Error(`unknown algorithm ${algorithm}`);
            const [client, count] = [random(16), "00000001"];
            const secret = await sha256(`${this.number}:${realm}:${this.password}`);
            const asked = await sha256(`REGISTER:${uri}`);
            const response = await sha256(qop ? `${secret}:${nonce}:${count}:${client}:auth:${asked}` : `${secret}:${nonce}:${asked}`);
            const parts = [`username="${this.number}"`, `realm="${realm}"`, `nonce="${nonce}"`, `uri="${uri}"`, `response="${response}"`, "algorithm=SHA-256"];
            if (qop) parts.push("qop=auth", `cnonce="${client}"`, `nc=${count}`);
            if (opaque) parts.push(`opaque="${opaque}"`);
            return `Digest ${parts.join(", ")}`;
        }

        get contact() {
            return `<sip:${this.number}@${this.instance};transport=ws>`;
        }

        request(method, uri, headers) {
            const via = ["Via", `SIP/2.0/WS ${this.instance};branch=z9hG4bK${random()}`];
            this.send(compose(`${method} ${uri} SIP/2.0`, [via, ["Max-Forwards", 70], ...headers]));
        }

        reply(request, status, tag, headers = [], body = "") {
            const to = request.one("to");
            this.send(compose(`SIP/2.0 ${status} ${REASONS[status]}`, [
                ...request.all("via").map((via) => ["Via", via]),
                ...request.all("record-route").map((route) => ["Record-Route", route]),
                ["From", request.one("from")],
                ["To", tagOf(to) || status === 100 ? to : `${to};tag=${tag}`],
                ["Call-ID", request.one("call-id")],
                ["CSeq", request.one("cseq")],
                ["Contact", this.contact],
                ...headers,
            ], body));
        }

        send(text) {
            if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(text);
        }

        receive(data) {
            this.hear();
            if (typeof data !== "string" || !data.trim()) return;
            const message = parse(data);
            if (message.status) this.answered(message);
            else if (this.call && this.call.id === message.one("call-id")) this.call.receive(message);
            else if (message.method === "INVITE") this.offered(message);
            else if (message.method !== "ACK") this.reply(message, message.method === "OPTIONS" || message.method === "NOTIFY" ? 200 : 481, random(), [["Allow", ALLOW]]);
        }

        offered(invite) {
            this.reply(invite, 100);
            if (tagOf(invite.one("to"))) this.reply(invite, 481, random());
            else if (this.call || !this.isWanted) this.reply(invite, 486, random());
            else {
                this.call = new Call(this, invite);
                this.tell("call", this.call);
            }
        }

        async answered(message) {
            if (message.method !== "REGISTER" || message.status < 200 || message.sequence !== this.registration.sequence) return;
            const { expires, isChallenged } = this.registration;
            if (message.status === 401 || message.status === 407) {
                const challenges = [["Authorization", "www-authenticate"], ["Proxy-Authorization", "proxy-authenticate"]].flatMap(([header, name]) => message.all(name).map((text) => ({ header, ...parametersOf(text) })));
                const challenge = challenges.find(({ algorithm }) => algorithm?.toUpperCase() === "SHA-256");
                if (challenge && (!isChallenged || challenge.stale === "true")) {
                    this.registration.isChallenged = true;
                    await this.register(expires, challenge);
                    return;
                }
            }
            this.registration.isChallenged = false;
            if (!expires) return;
            if (message.status === 200) {
                this.failures = 0;
                // The switch has given up a call of an earlier connection, and offers it anew.
                if (this.call && this.call.socket !== this.socket) this.call.end("lost");
                this.become("registered");
                this.repeating = setTimeout(() => this.register(EXPIRES_SECONDS), REPEAT_MS);
            } else if (message.status < 500) {
                // The password is not valid any more: another page has taken the phone, or the agent has logged out.
                this.become("refused");
                this.socket.close();
            } else this.socket.close();
        }

        become(state) {
            if (state === this.state) return;
            this.state = state;
            this.tell("state", state);
        }

        tell(name, detail) {
            this.dispatchEvent(new CustomEvent(name, { detail }));
        }
    };
})();
