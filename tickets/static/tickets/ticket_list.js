// A choice runs its action on the selected rows; with the arrow keys, which pass others, after Enter. All rows that match
// are confirmed on a page.
addEventListener("DOMContentLoaded", () => {
    const select = document.querySelector("select[data-run]");
    if (!select) return;
    let isPassing = false;
    const run = () => {
        if (!select.value) return;
        const { form } = select;
        form.elements.action.value = select.dataset.run;
        if (form.elements.select_across.value !== "1") form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "apply", value: "1" }));
        form.submit();
    };
    select.addEventListener("pointerdown", () => { isPassing = false; });
    select.addEventListener("keydown", (event) => {
        isPassing = event.key !== "Enter";
        if (isPassing) return;
        event.preventDefault();
        run();
    });
    select.addEventListener("change", () => isPassing || run());
});
