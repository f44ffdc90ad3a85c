/* Keys of the grading page: j and k move between fields, 1 2 3 mark the current one. The page works without this file. */
(() => {
  "use strict";
  const fields = () => [...document.querySelectorAll("#grading [data-field]")];
  const typing = (target) => target.closest?.("textarea, select, input:not([type=radio], [type=checkbox])");
  let current = -1;

  const show = (index) => {
    const all = fields();
    if (!all.length) return;
    current = Math.max(0, Math.min(all.length - 1, index));
    all.forEach((field, number) => field.classList.toggle("is-current", number === current));
    const first = all[current].querySelector("input:checked") || all[current].querySelector("input");
    first?.focus({ preventScroll: true });
    all[current].scrollIntoView({ block: "nearest" });
  };

  const mark = (choice) => {
    const field = fields()[current];
    const input = field?.querySelectorAll(".choices input")[choice];
    if (!input) return;
    if (!input.checked || input.type === "checkbox") input.click();
    if (input.value === "wrong") field.querySelector("select")?.focus();
    else if (input.type === "radio") show(current + 1);
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (localStorage.getItem("shortcuts") === "off" || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && typing(event.target)) {
      show(current + 1);
      return;
    }
    if (typing(event.target)) return;
    const move = { j: 1, k: -1 }[event.key];
    if (move) show(current + move);
    else if ("123".includes(event.key) && event.key) mark(Number(event.key) - 1);
    else if (event.target.matches?.("input") && event.key === "s") document.querySelector("[data-submit]")?.click();
    else return;
    event.preventDefault();
  });

  document.addEventListener("focusin", (event) => {
    const at = fields().indexOf(event.target.closest?.("[data-field]"));
    if (at >= 0 && at !== current) {
      current = at;
      fields().forEach((field, number) => field.classList.toggle("is-current", number === at));
    }
  });
})();
