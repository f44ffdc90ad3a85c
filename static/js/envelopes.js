/* Comforts for envelopes: the editor's gutter and jumps, the heartbeat, passkeys. Pages work without this file, passkeys aside. */
(() => {
  "use strict";
  const token = () => JSON.parse(document.body.getAttribute("hx-headers") || "{}")["x-csrftoken"];
  const post = (url, body) => fetch(url, { method: "POST", body, headers: { "x-csrftoken": token() }, credentials: "same-origin" });

  /* What fits at the caret: asked for, never while typing. The list is the editor's; the focus stays in the text. */
  const complete = (area) => {
    const box = document.querySelector("[data-completion]");
    const says = document.querySelector("[data-completion-says]");
    const button = document.querySelector("[data-complete]");
    if (!box || !button) return;
    let asked = 0;
    const options = () => [...box.querySelectorAll("[role=option]")];
    const chosen = () => options().findIndex((option) => option.getAttribute("aria-selected") === "true");

    const close = () => {
      asked += 1;
      box.hidden = true;
      box.parentElement.classList.remove("completing");
      box.replaceChildren();
      says.textContent = "";
      area.removeAttribute("aria-controls");
      area.removeAttribute("aria-activedescendant");
    };
    const choose = (index) => {
      const all = options();
      const option = all[(index + all.length) % all.length];
      for (const other of all) other.setAttribute("aria-selected", String(other === option));
      area.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    };
    const take = (option) => {
      const { back, ahead } = box.querySelector("[role=listbox]").dataset;
      const at = area.selectionStart;
      area.setRangeText(option.dataset.insert, at - Number(back), at + Number(ahead), "end");
      close();
      area.dispatchEvent(new Event("input", { bubbles: true }));
    };
    const show = (html) => {
      box.innerHTML = html;
      box.hidden = false;
      box.parentElement.classList.add("completing");
      says.textContent = box.querySelector("[data-says]").textContent;
      /* The caret's line stays in sight, though the text has less room now. */
      const lines = area.value.split("\n").length;
      const line = area.value.slice(0, area.selectionStart).split("\n").length;
      const height = area.scrollHeight / lines;
      if (line * height - area.scrollTop > area.clientHeight - height) area.scrollTop = line * height - area.clientHeight / 2;
      if (options().length) {
        area.setAttribute("aria-controls", "completion-list");
        choose(0);
      }
    };
    const ask = async () => {
      close();
      area.focus();
      area.setSelectionRange(area.selectionEnd, area.selectionEnd);
      const mine = asked;
      const body = new FormData();
      body.set("source", area.value);
      body.set("at", String([...area.value.slice(0, area.selectionStart)].length));
      const answer = await post(document.querySelector("[data-completing]").dataset.completing, body).catch(() => null);
      if (mine !== asked) return; // the text or the caret moved on meanwhile
      if (answer?.ok) show(await answer.text());
      else says.textContent = "The server did not answer.";
    };

    button.hidden = false;
    button.addEventListener("click", ask);
    box.addEventListener("pointerdown", (event) => event.preventDefault());
    box.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) take(option);
    });
    area.addEventListener("blur", close);
    area.addEventListener("input", close);
    area.addEventListener("pointerdown", close);
    area.addEventListener("keydown", (event) => {
      if (event.ctrlKey && event.code === "Space") {
        event.preventDefault();
        event.stopImmediatePropagation();
        ask();
        return;
      }
      if (box.hidden) return;
      const steps = { ArrowDown: 1, ArrowUp: -1 };
      if (event.key === "Escape") {
        close();
      } else if (options().length && event.key in steps) {
        choose(chosen() + steps[event.key]);
      } else if (options().length && event.key === "Enter") {
        take(options()[chosen()]);
      } else {
        if (!["Shift", "Control", "Alt", "Meta"].includes(event.key)) close();
        return;
      }
      event.preventDefault();
      event.stopImmediatePropagation();
    }, true);
  };

  /* The editor. */
  const area = document.querySelector("[data-editor]");
  const gutter = document.querySelector("[data-gutter]");
  if (area && gutter) {
    const number = () => {
      const lines = area.value.split("\n").length;
      gutter.textContent = Array.from({ length: lines }, (_, index) => index + 1).join("\n");
      gutter.scrollTop = area.scrollTop;
    };
    area.addEventListener("input", number);
    area.addEventListener("scroll", () => { gutter.scrollTop = area.scrollTop; });
    number();

    complete(area); // before the editor's own keys: an open list takes Enter and Esc
    let leaving = false;
    area.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        leaving = true;
        return;
      }
      if ((event.ctrlKey || event.metaKey) && event.key === "s") {
        event.preventDefault();
        area.dispatchEvent(new Event("save"));
      } else if (event.key === "Tab" && !event.shiftKey && !leaving) {
        event.preventDefault();
        area.setRangeText("  ", area.selectionStart, area.selectionEnd, "end");
        area.dispatchEvent(new Event("input", { bubbles: true }));
      } else if (event.key === "Enter") {
        const before = area.value.slice(0, area.selectionStart).split("\n").pop();
        const indent = before.match(/^ */)[0] + (/^\s*- /.test(before) ? "  " : "");
        if (indent) {
          event.preventDefault();
          area.setRangeText(`\n${indent}`, area.selectionStart, area.selectionEnd, "end");
          area.dispatchEvent(new Event("input", { bubbles: true }));
        }
      }
      leaving = false;
    });

    /* A problem or a hint leads to its line. */
    document.addEventListener("click", (event) => {
      const link = event.target.closest("[data-line]");
      if (!link) return;
      event.preventDefault();
      const lines = area.value.split("\n");
      const line = Math.min(Number(link.dataset.line), lines.length) - 1;
      const start = lines.slice(0, line).reduce((sum, text) => sum + text.length + 1, 0);
      area.focus();
      area.setSelectionRange(start + Number(link.dataset.column) - 1, start + lines[line].length);
      area.scrollTop = Math.max(0, (line - 5) * (area.scrollHeight / lines.length));
    });

    /* Typing makes the state honest at once: what is on the screen is not what is stored. */
    let dirty = false;
    area.addEventListener("input", () => {
      dirty = true;
      const state = document.querySelector(".save-state");
      if (state) state.textContent = "Not saved yet…";
    });
    document.addEventListener("htmx:afterSwap", () => { dirty = /Not saved/.test(document.querySelector(".save-state")?.textContent || ""); });
    for (const name of ["htmx:sendError", "htmx:responseError"]) {
      document.addEventListener(name, () => {
        const state = document.querySelector(".save-state");
        if (state) state.textContent = "Not saved: the server did not take it. Copy your text before you leave.";
      });
    }
    area.form.addEventListener("submit", () => { dirty = false; });
    window.addEventListener("beforeunload", (event) => { if (dirty) event.preventDefault(); });
  }

  /* The heartbeat: while the page is seen and its reader did something within the last minute. */
  const beating = document.querySelector("[data-beat]");
  if (beating) {
    let acted = Date.now();
    for (const name of ["keydown", "pointermove", "scroll", "pointerdown"]) {
      document.addEventListener(name, () => { acted = Date.now(); }, { passive: true, capture: true });
    }
    const beat = () => {
      if (document.visibilityState === "visible" && Date.now() - acted < 60000) post(beating.dataset.beat).catch(() => {});
    };
    beat();
    setInterval(beat, 15000);
  }

  /* Passkeys: the challenge is the hash of the statement that the server then signs. */
  const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-passkey-start]");
    if (!button) return;
    const form = button.form;
    const says = form.querySelector("[data-passkey-says]");
    button.disabled = true;
    try {
      const answer = await post(form.dataset.passkey);
      const asked = await answer.json();
      if (!answer.ok) throw new Error(asked.why || "The server did not answer as expected.");
      const options = { ...asked.options, challenge: bytes(asked.options.challenge) };
      options.allowCredentials = options.allowCredentials.map((known) => ({ ...known, id: bytes(known.id) }));
      const given = await navigator.credentials.get({ publicKey: options });
      form.elements.statement.value = asked.statement;
      form.elements.credential.value = JSON.stringify({
        id: given.id,
        rawId: text(given.rawId),
        type: given.type,
        response: {
          authenticatorData: text(given.response.authenticatorData),
          clientDataJSON: text(given.response.clientDataJSON),
          signature: text(given.response.signature),
        },
      });
      form.submit();
    } catch (error) {
      says.textContent = error.name === "NotAllowedError" ? "The passkey was not used: nothing is approved." : error.message;
      button.disabled = false;
    }
  });
})();
