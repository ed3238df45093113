// What this browser keeps by a key, as JSON. A browser that stores nothing keeps nothing.
"use strict";

window.kept = (key) => ({
    key,
    read: () => { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } },
    write: (value) => { try { localStorage.setItem(key, JSON.stringify(value)); } catch { /* this browser stores nothing */ } },
    forget: () => { try { localStorage.removeItem(key); } catch { /* this browser stores nothing */ } },
});
