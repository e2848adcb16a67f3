"use strict";
// The scrubber of the recorded run: it marks the step's row, dims later rows, and shows the value of the step.
(() => {
  const slider = document.getElementById("step");
  if (!slider) return;
  const steps = JSON.parse(document.getElementById("steps").textContent);
  const rows = Array.from(document.querySelectorAll("#program tr[data-row]"));
  const number = document.getElementById("step-number");
  const value = document.getElementById("step-value");
  const show = () => {
    const at = Number(slider.value);
    const step = steps[at];
    number.textContent = `step ${step.step} of ${steps[steps.length - 1].step}`;
    value.textContent = step.text;
    const done = new Set(steps.slice(0, at + 1).map((item) => item.row));
    for (const row of rows) {
      const own = Number(row.dataset.row);
      row.classList.toggle("now", own === step.row);
      row.classList.toggle("later", row.dataset.kind === "binding" && !done.has(own));
    }
    document.body.dataset.step = String(step.step);
  };
  slider.addEventListener("input", show);
  const asked = /^#step=(\d+)$/.exec(location.hash);
  slider.value = asked ? asked[1] : "0";
  show();
})();
