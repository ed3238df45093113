// The editor of HTML: every textarea with data-editor becomes one. Without scripts it stays a field.
// What is edited is shown in the page itself: the attributes that the theme evaluates (Alpine, htmx) stay text in it.
// data-upload: where pictures are sent to; none: it takes none. data-height: its least height in pixels.
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
            // Nothing is fetched from elsewhere: the source is shown in a plain field.
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
        // What is typed into is a field to those who do not see it, and bears the name of the one it stands for.
        const name = field.getAttribute("aria-label") || (field.labels[0] ? field.labels[0].textContent.trim() : "");
        const typed = {role: "textbox", "aria-multiline": "true", "aria-label": name};
        for (const [attribute, value] of Object.entries(typed)) editor.editor.setAttribute(attribute, value);
        // Whether the page has unsaved changes is asked of the field.
        editor.events.on("change", () => field.dispatchEvent(new Event("input", {bubbles: true})));
        // The editor fills the field some moments after a key: whoever sends at once would lose the last letters.
        if (field.form) field.form.addEventListener("submit", () => editor.setEditorValue(), true);
    }
});
