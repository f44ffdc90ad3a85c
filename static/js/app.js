/* Comforts only: every page works without this file. */
(() => {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const say = (text) => {
    const live = document.getElementById("live");
    if (live) live.textContent = text;
  };

  /* Theme: system → light → dark, kept in this browser. */
  const THEMES = ["system", "light", "dark"];
  const theme = () => document.documentElement.dataset.theme || "system";
  const nameTheme = () => all("[data-theme-toggle]").forEach((button) => {
    button.setAttribute("aria-label", `Colours: ${theme()}. Change`);
    button.title = `Colours: ${theme()}`;
  });
  const nextTheme = () => {
    const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
    if (next === "system") {
      delete document.documentElement.dataset.theme;
      localStorage.removeItem("theme");
    } else {
      document.documentElement.dataset.theme = next;
      localStorage.setItem("theme", next);
    }
    nameTheme();
    say(`Colours: ${next}`);
  };

  /* Shortcuts: every element with data-key is one; "g i" is two keys in a row. Off while typing, and by choice. */
  const areOn = () => localStorage.getItem("shortcuts") !== "off";
  const isTyping = (target) => target.closest?.("input, textarea, select, [contenteditable]") !== null;
  const sheet = () => document.getElementById("keys");
  let before = "";
  let forget = 0;

  const fillSheet = () => {
    const list = sheet()?.querySelector("[data-keys]");
    if (!list) return;
    list.replaceChildren(...all("[data-key]").filter((e) => !e.closest("#keys")).flatMap((element) => {
      const term = document.createElement("dt");
      element.dataset.key.split(" ").forEach((key, index) => {
        if (index) term.append(" then ");
        term.append(Object.assign(document.createElement("kbd"), { textContent: key }));
      });
      const what = document.createElement("dd");
      what.textContent = element.dataset.keyLabel || element.textContent.trim();
      return [term, what];
    }));
  };

  const openSheet = () => {
    const dialog = sheet();
    if (!dialog || dialog.open) return;
    fillSheet();
    const box = dialog.querySelector("[data-shortcuts]");
    if (box) box.checked = areOn();
    dialog.showModal();
  };

  const use = (element) => {
    if (element.matches("input, select, textarea, [tabindex='-1']")) element.focus();
    else element.click();
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(event.target)) return;
    if (event.key.length > 1 || event.key === " ") return; // Enter, Space and Tab belong to what has the focus
    if (document.querySelector("dialog[open]") || !areOn()) return;
    if (event.key === "?") {
      event.preventDefault();
      openSheet();
      return;
    }
    const pressed = before ? `${before} ${event.key}` : event.key;
    const keys = all("[data-key]");
    const found = keys.find((element) => element.dataset.key === pressed && element.getClientRects().length);
    clearTimeout(forget);
    before = "";
    if (found) {
      event.preventDefault();
      use(found);
    } else if (keys.some((element) => element.dataset.key.startsWith(`${event.key} `))) {
      before = event.key;
      forget = setTimeout(() => { before = ""; }, 1500);
    }
  });

  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-shortcuts]")) {
      localStorage.setItem("shortcuts", event.target.checked ? "on" : "off");
    }
  });

  document.addEventListener("click", (event) => {
    const target = event.target;
    if (target.closest("[data-theme-toggle]")) nextTheme();
    if (target.closest("[data-open-keys]")) openSheet();
    if (target.closest("[data-close]")) target.closest("dialog, .toast")?.[target.closest("dialog") ? "close" : "remove"]();
    all("details.menu[open]").forEach((menu) => { if (!menu.contains(target)) menu.open = false; });
  });

  document.addEventListener("keyup", (event) => {
    if (event.key !== "Escape") return;
    all("details.menu[open]").forEach((menu) => {
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  });

  /* Evidence: a finding lights its places in the document, a place lights its findings. */
  const light = (keys, scroll) => {
    all(".is-lit").forEach((element) => element.classList.remove("is-lit"));
    if (!keys.length) return;
    const wanted = new Set(keys);
    const marks = all("[data-evidence]").filter((e) => e.dataset.evidence.split(" ").some((key) => wanted.has(key)));
    marks.forEach((mark) => mark.classList.add("is-lit"));
    all("[data-finding]").filter((e) => e.dataset.finding.split(" ").some((key) => wanted.has(key))).forEach((e) => e.classList.add("is-lit"));
    const page = marks[0]?.closest(".document");
    if (scroll && page) {
      const place = marks[0].getBoundingClientRect();
      const frame = page.getBoundingClientRect();
      if (place.top < frame.top || place.bottom > frame.bottom) page.scrollTop += place.top - frame.top - frame.height / 3;
    }
  };
  const lit = (event) => {
    const finding = event.target.closest?.("[data-finding]");
    const mark = event.target.closest?.("[data-evidence]");
    if (finding) light(finding.dataset.finding.split(" "), true);
    else if (mark) light(mark.dataset.evidence.split(" "), false);
    else light([], false);
  };
  document.addEventListener("mouseover", lit);
  document.addEventListener("focusin", lit);

  /* Filters answer as they are chosen; their button stays for those without JavaScript or with a text field. */
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-submit-on-change]");
    if (form && event.target.matches("select")) form.requestSubmit();
  });

  document.addEventListener("htmx:responseError", () => say("That did not work. The page may be out of date: reload it."));
  document.addEventListener("htmx:sendError", () => say("The server cannot be reached. What you see may be out of date."));
  nameTheme();
})();
