// The editor of an article: every textarea with data-editor becomes one. Without scripts it stays a field for HTML.
document.addEventListener("DOMContentLoaded", () => {
    for (const field of document.querySelectorAll("textarea[data-editor]")) {
        const token = document.querySelector("input[name=csrfmiddlewaretoken]");
        const editor = Jodit.make(field, {
            language: document.documentElement.lang || "en",
            theme: document.documentElement.classList.contains("dark") ? "dark" : "default",
            minHeight: 420,
            toolbarAdaptive: false,
            buttons: "paragraph,|,bold,italic,underline,strikethrough,|,ul,ol,|,link,image,table,hr,|,eraser,undo,redo,|,source",
            hidePoweredByJodit: true,
            showCharsCounter: false,
            showWordsCounter: false,
            showXPathInStatusbar: false,
            askBeforePasteHTML: false,
            // Nothing is fetched from elsewhere: the source is shown in a plain field.
            sourceEditor: "area",
            beautifyHTML: false,
            enableDragAndDropFileToEditor: true,
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
        // Whether the page has unsaved changes is asked of the field.
        editor.events.on("change", () => field.dispatchEvent(new Event("input", {bubbles: true})));
    }
});
