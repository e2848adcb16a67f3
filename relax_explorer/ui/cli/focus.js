// Keys reach the explorer without a click: the terminal takes the focus once it is there, and whenever the window has it.
"use strict";

function focusTerminal() {
  const input = document.querySelector("#terminal textarea");
  if (input instanceof HTMLElement && document.activeElement !== input) input.focus();
  return input !== null;
}

addEventListener("DOMContentLoaded", () => {
  const watch = new MutationObserver(() => {
    if (focusTerminal()) watch.disconnect();
  });
  watch.observe(document.body, { childList: true, subtree: true });
});
addEventListener("focus", focusTerminal);
