"use strict";
// The stages: a list with what each changed, and a slider over all of them.

class Rail {
  /** @param {Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    this.list = byId("stages");
    this.slider = /** @type {HTMLInputElement} */ (byId("slider"));
    this.slider.max = String(explorer.stages.count - 1);
    this.slider.addEventListener("input", () => explorer.goTo(Number(this.slider.value)));
    byId("back").addEventListener("click", () => this.step(-1));
    byId("forward").addEventListener("click", () => this.step(1));
    this.list.addEventListener("click", (event) => this._click(event));
    explorer.listeners.push((old) => this.draw(old));
    this._dots();
  }

  /** To the next stage that changed the module. @param {number} direction */
  step(direction) {
    const next = this.explorer.stages.changing(this.explorer.state.stage, direction);
    if (next < 0 && direction > 0 && this.explorer.awaits()) this.explorer.whenMore(() => this.step(direction));
    else this.explorer.goTo(next);
  }

  _dots() {
    const { stages } = this.explorer;
    const last = Math.max(1, stages.count - 1);
    const dots = this.explorer.doc.stages.map((stage, n) => {
      const dot = made("i", stage.errors ? "wrong" : stage.changed ? "changed" : "");
      dot.style.left = `${(100 * n) / last}%`;
      return dot;
    });
    byId("dots").replaceChildren(...dots);
  }

  /** Show what has come of the stages. */
  renew() {
    this.slider.max = String(this.explorer.stages.count - 1);
    this._dots();
    this.list.replaceChildren(...this._rows());
    if (this.explorer.stages.isThere(this.explorer.state.stage)) this.draw(this.explorer.state);
  }

  /** @param {MouseEvent} event */
  _click(event) {
    const hit = event.target instanceof Element ? event.target.closest("[data-stage]") : null;
    if (!(hit instanceof HTMLElement)) return;
    if (hit.dataset["stage"] === "") this.explorer.change({ shows_unchanged: true });
    else this.explorer.goTo(Number(hit.dataset["stage"]));
    this.explorer.change({ pane: "main" });
  }

  /** @param {State} old */
  draw(old) {
    const { state, stages, doc } = this.explorer;
    const here = stages.data(state.stage);
    const name = `${here.label} ${here.by}`;
    byId("stage-name").textContent = name;
    this.slider.value = String(state.stage);
    this.slider.setAttribute("aria-valuetext", `${name}, ${here.changed ? here.counts || "changed" : "nothing changed"}`);
    const isSame = old.stage === state.stage && old.shows_unchanged === state.shows_unchanged;
    if (isSame && this.list.childElementCount) return;
    const [before, after] = [old.stage, state.stage].map((stage) => document.getElementById(`stage-${stage}`));
    if (before && after && stages.data(old.stage).changed && old.shows_unchanged === state.shows_unchanged) {
      before.setAttribute("aria-selected", "false"); // the rows are the same ones
      after.setAttribute("aria-selected", "true");
    } else {
      this.list.replaceChildren(...this._rows());
    }
    this.list.setAttribute("aria-activedescendant", `stage-${state.stage}`);
    const chosen = this.list.querySelector('[aria-selected="true"]');
    afterDrawing(() => {
      if (!(chosen instanceof HTMLElement) || !this.list.clientHeight) return;
      const [top, height] = [chosen.offsetTop - this.list.offsetTop, this.list.clientHeight];
      if (top < this.list.scrollTop + 40 || top > this.list.scrollTop + height - 60) this.list.scrollTop = top - height / 2;
    });
    byId("rail-title").textContent = doc.summary;
  }

  /** A row for each stage; runs of stages that changed nothing are one row, unless they are asked for. */
  _rows() {
    const { state, doc } = this.explorer;
    /** @type {HTMLElement[]} */
    const rows = [];
    /** @type {number[]} */
    let quiet = [];
    const end = () => {
      if (quiet.length) rows.push(quiet.length === 1 ? this._row(quiet[0] ?? 0) : this._quiet(quiet));
      quiet = [];
    };
    const asides = [...doc.asides];
    doc.stages.forEach((stage, n) => {
      while (asides[0] && asides[0][0] !== null && asides[0][0] <= stage.label) {
        end();
        rows.push(made("li", "aside", `▸ ${asides.shift()?.[1]}`));
      }
      const isQuiet = n > 0 && !stage.changed && !stage.errors && n !== state.stage && !state.shows_unchanged;
      if (isQuiet) quiet.push(n);
      else {
        end();
        rows.push(this._row(n));
      }
    });
    end();
    return [...rows, ...asides.map((aside) => made("li", "aside", `▸ ${aside[1]}`))];
  }

  /** @param {number[]} stages */
  _quiet(stages) {
    const [first, last] = [stages[0] ?? 0, stages[stages.length - 1] ?? 0].map((n) => this.explorer.stages.data(n).label);
    const row = made("li", "quiet", `○ ${first}–${last} (${stages.length} unchanged)`);
    row.dataset["stage"] = "";
    row.title = "U shows them";
    return row;
  }

  /** @param {number} n */
  _row(n) {
    const stage = this.explorer.stages.data(n);
    const mark = stage.errors ? "✗" : stage.changed ? "●" : "○";
    const row = made(
      "li",
      stage.changed ? "" : "quiet",
      made("span", "dot", mark),
      made("span", "by", made("b", "", `${stage.label} `), stage.by),
      made("span", "counts", stage.counts),
    );
    const problems = this.explorer.doc.problems.filter((problem) => problem.stage === n && problem.where);
    const count = (/** @type {string} */ level) => {
      const number = problems.filter((problem) => problem.level === level).length;
      return number ? `${number} new ${level}${number > 1 ? "s" : ""}` : "";
    };
    const more = [
      count("error"),
      count("warning"),
      stage.seconds ? `${(1000 * stage.seconds).toPrecision(3)} ms` : "",
    ].filter(Boolean);
    if (more.length) row.append(made("span", stage.errors ? "more wrong" : "more", more.join(" · ")));
    row.id = `stage-${n}`;
    row.dataset["stage"] = String(n);
    row.title = [stage.told, stage.phase, stage.run_by].filter(Boolean).join("\n");
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", String(n === this.explorer.state.stage));
    return row;
  }
}
