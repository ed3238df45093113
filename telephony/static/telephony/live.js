// Keeps what changes by itself up to date: a list of queues, or who waits in one. Not while somebody ticks boxes.
(() => {
  const EVERY_MS = 3000;
  const LIVE = "#result_list, [data-live]";

  const isLooking = () => document.visibilityState === "visible" && !document.querySelector("input.action-select:checked");

  const refresh = async () => {
    const answer = await fetch(location.href, { credentials: "same-origin", redirect: "error" });
    if (!answer.ok || !isLooking()) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = [...page.querySelectorAll(LIVE)];
    document.querySelectorAll(LIVE).forEach((old, place) => {
      if (fresh[place] && fresh[place].textContent !== old.textContent) old.replaceWith(document.adoptNode(fresh[place]));
    });
  };

  setInterval(() => { if (isLooking()) refresh().catch(() => {}); }, EVERY_MS);
})();
