// Keeps a page up to date: the list of queues, the callers of a queue, the progress of a resend. It pauses while boxes are
// ticked.
(() => {
  const EVERY_MS = 3000;
  const LIVE = "#result_list, [data-live]";

  const isLooking = () => document.querySelector(LIVE) && !document.querySelector("input.action-select:checked");

  const refresh = async () => {
    const answer = await window.poll.fetch(location.href);
    if (!answer.ok || document.hidden || !isLooking()) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = [...page.querySelectorAll(LIVE)];
    const shown = [...document.querySelectorAll(LIVE)];
    // A live part is gone: the work has ended, so load the whole page.
    if (fresh.length < shown.length) return location.reload();
    shown.forEach((old, place) => {
      if (fresh[place].textContent !== old.textContent) window.updateInPlace(old, fresh[place]);
    });
  };

  window.poll(EVERY_MS, async () => { if (isLooking()) await refresh().catch(() => {}); });
})();
