/* The workspace's comforts: it works without this file, with its buttons. */
(() => {
  "use strict";
  const form = document.getElementById("correct");
  if (!form) return;
  const state = () => document.getElementById("draft-state");
  const tell = (text) => { const place = state(); if (place) place.textContent = text; };
  const isField = (element) => element?.matches?.("#fields input:not([type='hidden']):not([readonly]), #fields textarea:not([readonly])");

  /* Saving is told as it is: typed, saving, saved (the server's own word), not saved. */
  form.addEventListener("input", () => tell("Typed, not saved yet"));
  document.addEventListener("htmx:beforeRequest", (event) => { if (form.contains(event.target)) tell("Saving…"); });
  for (const failure of ["htmx:sendError", "htmx:responseError", "htmx:timeout"]) {
    document.addEventListener(failure, (event) => {
      if (form.contains(event.target)) tell("Not saved: the server did not take it. Your text is still here; it is tried again when you type.");
    });
  }

  /* The field that a span of the document fills: the last one that had the focus. */
  let last = null;
  document.addEventListener("focusin", (event) => { if (isField(event.target)) last = event.target; });
  const current = () => (last && last.isConnected ? last : last ? document.getElementById(last.id) : null);
  const fill = (text) => {
    const field = current();
    if (!field || !text) return;
    field.value = field.matches("textarea") ? text : text.replace(/\s+/g, " ").trim();
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus();
  };
  const selected = () => {
    const selection = document.getSelection();
    const page = document.getElementById("document");
    return selection && page && page.contains(selection.anchorNode) ? selection.toString() : "";
  };
  document.addEventListener("click", (event) => {
    const mark = event.target.closest?.("#document [data-evidence]");
    if (mark && !selected()) fill(mark.textContent);
  });

  document.addEventListener("keydown", (event) => {
    const mark = event.target.closest?.("#document [data-evidence]");
    if (mark && event.key === "Enter") {
      event.preventDefault();
      fill(mark.textContent);
    } else if (event.altKey && event.key.toLowerCase() === "s") {
      event.preventDefault();
      fill(selected());
    } else if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
      const panel = event.target.closest?.(".panels form");
      const button = panel ? panel.querySelector("button[value='next']") : document.getElementById("accept-next");
      if (button) {
        event.preventDefault();
        button.form.requestSubmit(button);
      }
    } else if (event.key === "Escape" && isField(event.target)) {
      event.target.blur();
    }
  });

  /* A key opens a panel and goes into it; its button still has to be pressed. */
  document.addEventListener("toggle", (event) => {
    if (event.target.matches?.(".panels details") && event.target.open) event.target.querySelector("select, textarea")?.focus();
  }, true);

  /* The lease: a sign of life while someone is really here. */
  const EVERY = 20000;
  let seen = Date.now();
  for (const sign of ["keydown", "pointerdown", "pointermove", "scroll"]) {
    document.addEventListener(sign, () => { seen = Date.now(); }, { capture: true, passive: true });
  }
  const beat = async () => {
    const place = document.getElementById("lease");
    if (!place?.dataset.beat || document.hidden || Date.now() - seen > 3 * EVERY) return;
    const body = new FormData();
    body.set("fence", form.elements.fence.value);
    try {
      const answer = await fetch(place.dataset.beat, {
        method: "POST", body, credentials: "same-origin",
        headers: { "x-csrftoken": form.elements.csrfmiddlewaretoken.value, "HX-Request": "true" },
      });
      if (answer.ok || answer.status === 409) {
        const said = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("lease");
        if (said) place.replaceWith(document.adoptNode(said));
      }
    } catch {
      place.textContent = "the server cannot be reached";
    }
  };
  setInterval(beat, EVERY);
})();
