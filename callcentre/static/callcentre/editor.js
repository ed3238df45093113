// The editor of HTML replaces each textarea with data-editor. Without scripts the textarea stays.
// The edited text is part of the page, so attributes that the theme evaluates (Alpine, htmx) are disabled in it.
// data-upload: the address for pictures; without it, pictures are refused. data-height: the least height in pixels.
document.addEventListener("DOMContentLoaded", () => {
    for (const field of document.querySelectorAll("textarea[data-editor]")) {
        const place = document.createElement("div");
        place.setAttribute("x-ignore", "");
        place.setAttribute("hx-disable", "");
        field.replaceWith(place);
        place.append(field);
        const token = document.querySelector("input[name=csrfmiddlewaretoken]");
        const editor = Jodit.make(field, {
            language: document.documentElement.lang || "en",
            theme: document.documentElement.classList.contains("dark") ? "dark" : "default",
            minHeight: Number(field.dataset.height || 420),
            tabIndex: 0,
            toolbarAdaptive: false,
            buttons: `paragraph,|,bold,italic,underline,strikethrough,|,ul,ol,|,link,${field.dataset.upload ? "image," : ""}table,hr,|,eraser,undo,redo,|,source`,
            hidePoweredByJodit: true,
            showCharsCounter: false,
            showWordsCounter: false,
            showXPathInStatusbar: false,
            askBeforePasteHTML: false,
            // The other source editors load scripts from other sites.
            sourceEditor: "area",
            beautifyHTML: false,
            enableDragAndDropFileToEditor: Boolean(field.dataset.upload),
            uploader: {
                url: field.dataset.upload,
                format: "json",
                insertImageAsBase64URI: false,
                imagesExtensions: ["png", "jpg", "jpeg", "gif", "webp"],
                filesVariableName: () => "image",
                headers: {"X-CSRFToken": token ? token.value : ""},
                isSuccess: (answer) => !answer.error,
                getMessage: (answer) => answer.error,
                process: (answer) => ({files: answer.files || [], path: "", baseurl: "", isImages: (answer.files || []).map(() => true), error: answer.error ? 1 : 0, messages: answer.error ? [answer.error] : []}),
            },
        });
        // Screen readers see a text field with the name of the textarea.
        const name = field.getAttribute("aria-label") || (field.labels[0] ? field.labels[0].textContent.trim() : "");
        const typed = {role: "textbox", "aria-multiline": "true", "aria-label": name};
        for (const [attribute, value] of Object.entries(typed)) editor.editor.setAttribute(attribute, value);
        // The warning of unsaved changes watches the textarea.
        editor.events.on("change", () => field.dispatchEvent(new Event("input", {bubbles: true})));
        // The editor fills the textarea with a delay: without this, a quick submit would lose the last letters.
        if (field.form) field.form.addEventListener("submit", () => editor.setEditorValue(), true);
    }
});
