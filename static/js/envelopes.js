/* Comforts for envelopes: the editor's gutter and jumps, the heartbeat, passkeys. Pages work without this file, passkeys aside. */
(() => {
  "use strict";
  const token = () => JSON.parse(document.body.getAttribute("hx-headers") || "{}")["x-csrftoken"];
  const post = (url, body) => fetch(url, { method: "POST", body, headers: { "x-csrftoken": token() }, credentials: "same-origin" });

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
