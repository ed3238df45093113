// The pages of an import of records. They also work without this script, with more clicks.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const upload = document.getElementById("import-upload");
    if (upload) watchUpload(upload);
    const columns = document.getElementById("import-columns");
    if (columns) watchColumns(columns);
});

// Refuse a file that is too large before it is sent; show the progress of sending a large one.
function watchUpload(form) {
    const input = form.querySelector("input[type=file]");
    const sending = form.querySelector(".import-sending");
    const isTooLarge = () => input.files.length && input.files[0].size > Number(input.dataset.maxBytes);
    input.addEventListener("change", () => {
        input.setCustomValidity(isTooLarge() ? input.dataset.tooLarge : "");
        input.reportValidity();
    });
    form.addEventListener("submit", (event) => {
        if (isTooLarge()) {
            event.preventDefault();
            input.reportValidity();
            return;
        }
        if (!input.files.length || input.files[0].size < 1024 * 1024) return;
        event.preventDefault();
        const request = new XMLHttpRequest();
        const bar = sending.querySelector("progress");
        sending.hidden = false;
        request.upload.onprogress = (sent) => { bar.value = 100 * sent.loaded / sent.total; };
        request.onload = () => {
            const isHere = new URL(request.responseURL).pathname === window.location.pathname;
            if (!isHere) {
                window.location.assign(request.responseURL);
                return;
            }
            document.open();
            document.write(request.responseText);
            document.close();
        };
        request.onerror = () => { sending.textContent = sending.dataset.failed; };
        request.open("POST", window.location.href);
        request.send(new FormData(form));
    });
}

// A choice updates the preview. A choice that changes the columns loads the whole page.
function watchColumns(form) {
    let last = null;
    form.addEventListener("change", async (event) => {
        const data = new FormData(form);
        data.set("preview", "1");
        if (["encoding", "delimiter", "has_header"].includes(event.target.name)) {
            form.requestSubmit(form.querySelector("button[name=preview]"));
            return;
        }
        if (last) last.abort();
        last = new AbortController();
        try {
            const response = await fetch(window.location.href, { method: "POST", body: data, signal: last.signal });
            const page = new DOMParser().parseFromString(await response.text(), "text/html");
            const preview = page.getElementById("import-preview");
            if (!preview) {
                window.location.reload();
                return;
            }
            document.getElementById("import-preview").replaceChildren(...preview.childNodes);
        } catch (error) {
            if (error.name !== "AbortError") throw error;
        }
    });
    // The region's select is a jQuery widget, whose changes are no events of the browser.
    if (window.django && window.django.jQuery) {
        window.django.jQuery(form).on("select2:select", (event) => {
            event.target.dispatchEvent(new Event("change", { bubbles: true }));
        });
    }
}
