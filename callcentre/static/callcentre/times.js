// The spelling of lengths of time, for the clocks of the overview, the wallboard and the desk.
"use strict";

window.spellLength = (length) => {
    const seconds = Math.max(Math.floor(length), 0);
    const [days, hours, minutes] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
    if (days) return `${days} d ${hours} h`;
    return `${hours ? `${hours}:${String(minutes).padStart(2, "0")}` : minutes}:${String(seconds % 60).padStart(2, "0")}`;
};
