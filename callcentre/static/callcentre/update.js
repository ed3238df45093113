// Updates a part of a page in place. Its elements stay, and with them the keyboard's focus, the selection and the
// scrolling. A part that appears and disappears has a `data-key`; the key of a table's row
// without one is its first link.
"use strict";

window.updateInPlace = (() => {
    const keyOf = (node) => {
        if (node.nodeType !== Node.ELEMENT_NODE) return "";
        if (node.dataset.key) return node.dataset.key;
        if (node.nodeName === "TR") return node.querySelector("a[href]")?.getAttribute("href") ?? "";
        return "";
    };
    const isSame = (old, fresh) => old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName && keyOf(old) === keyOf(fresh);
    const hasFocus = (node) => node.contains(document.activeElement);

    const updateAttributes = (old, fresh) => {
        for (const { name } of [...old.attributes]) {
            // A person opens and closes details.
            if (!fresh.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
        }
        for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    };

    const updateChildren = (old, fresh) => {
        const byKey = new Map([...old.children].filter(keyOf).map((child) => [keyOf(child), child]));
        let place = old.firstChild;
        for (const wanted of [...fresh.childNodes]) {
            const found = keyOf(wanted) ? byKey.get(keyOf(wanted)) : place;
            byKey.delete(keyOf(wanted));
            if (!found || !isSame(found, wanted)) {
                old.insertBefore(document.importNode(wanted, true), place);
                continue;
            }
            if (found !== place && hasFocus(found)) {
                // A moved element loses the focus, so move the others; they are placed or removed later.
                while (place !== found) {
                    const next = place.nextSibling;
                    old.append(place);
                    place = next;
                }
            } else if (found !== place) {
                old.insertBefore(found, place);
            }
            update(found, wanted);
            place = found.nextSibling;
        }
        while (place) {
            const next = place.nextSibling;
            place.remove();
            place = next;
        }
    };

    const update = (old, fresh) => {
        if (old.nodeType !== Node.ELEMENT_NODE) {
            if (old.data !== fresh.data) old.data = fresh.data;
        } else if (!old.isEqualNode(fresh)) {
            updateAttributes(old, fresh);
            updateChildren(old, fresh);
        }
    };

    // If the focused element is gone, the focus moves to the updated part and not to the top of the page.
    return (old, fresh) => {
        const isFocused = hasFocus(old);
        update(old, fresh);
        if (isFocused && !hasFocus(old)) {
            old.tabIndex = -1;
            old.focus({ preventScroll: true });
        }
    };
})();
