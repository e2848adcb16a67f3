"use strict";
// What is shown: one state, which a link addresses. Views draw it, and only `change` replaces it.

/**
 * `row` is the selected row of the stage, or -1; `since` the stage that it is compared with, -1 for the one before.
 * @typedef {{stage: number, view: string, row: number, since: number, mode: string, graph: string, paint: string, layers: "once" | "each", step: number,
 *   find: string, shows_unchanged: boolean, pane: string}} State
 */

const VIEWS = ["program", "values", "graph", "problems", "beside", "checks", "cost"];
const PAUSE = 120; // milliseconds: browsers refuse many new addresses in a short time
const MODES = ["inline", "beside", "only", "off"];

class Explorer {
  /** @param {PageDocument} doc */
  constructor(doc) {
    this.doc = doc;
    this.store = new Store(doc);
    this.isWaiting = false; // for parts of the document
    this.stages = new Stages(doc);
    this.folds = new Folds();
    /** @type {((old: State) => void)[]} */
    this.listeners = [];
    /** @type {State} */
    this.state = {
      stage: 0, view: "program", row: -1, since: -1, mode: "inline", graph: "", paint: "", layers: "once", step: -1, find: "",
      shows_unchanged: false, pane: "main",
    }; // prettier-ignore
  }

  /** The program of the stage. */
  get body() {
    return this.stages.body(this.state.stage);
  }

  /** The stage that this one is compared with; -1 for none. */
  get since() {
    const { since, stage } = this.state;
    return since >= 0 && since !== stage ? since : stage - 1;
  }

  /** The name of the function with the selected row, else of the entry. */
  get within() {
    return (this.state.row >= 0 && this.body.functionOf(this.state.row)) || this.stages.data(this.state.stage).entry;
  }

  // -- parts ---------------------------------------------------------------------------------------------------------

  /** The function whose graph is shown in a state: the chosen one, else that of the cursor, else the entry. @param {State} state */
  graphFunction(state) {
    const { graphs, entry } = this.stages.data(state.stage);
    const within = state.row >= 0 ? this.stages.body(state.stage).functionOf(state.row) : entry;
    return [state.graph, within, entry].find((name) => name && name in graphs) ?? Object.keys(graphs)[0] ?? "";
  }

  /** The parts of the document that a state shows. @param {State} state */
  parts(state) {
    const { stage, since, view, step } = state;
    const first = Math.max(0, since >= 0 && since !== stage ? Math.min(since, stage) : stage - 1);
    const last = Math.max(since, stage);
    const found = [];
    for (let at = first; at <= last; at++) found.push(`stage/${at}`);
    if (this.store.missing(found).length) return found; // the rest is known when these are there
    if (view === "graph") found.push(...[this.graphFunction(state)].filter(Boolean).map((name) => `graph/${stage}/${name}`));
    if (view === "checks" || view === "cost") found.push(`${view}/${stage}`);
    if (view === "values") found.push("run", ...(this.doc.run?.steps.length ? [`values/${Math.floor(Math.max(0, step) / (this.doc.chunk ?? 1))}`] : []));
    return found;
  }

  /** Act when the parts of a state are there: at once if they are. @param {Partial<State>} next @param {() => void} act */
  when(next, act) {
    const missing = this.store.isLive ? this.store.missing(this.parts({ ...this.state, ...next })) : [];
    if (!missing.length) {
      act();
      return;
    }
    this._await(missing, () => this.when(next, act));
  }

  /** True if the server still reads stages. */
  awaits() {
    return this.store.isLive && !this.doc.is_complete;
  }

  /** Act when more stages are there. @param {() => void} act */
  whenMore(act) {
    this._await([`more/${this.stages.count}`], () => {
      this.arrived();
      act();
    });
  }

  /** @param {string[]} parts @param {() => void} act */
  _await(parts, act) {
    this.isWaiting = true;
    say("reading …");
    this.store.load(parts).then(() => {
      this.isWaiting = false;
      say(this.store.problem);
      if (!this.store.problem) act();
      if (!this.isWaiting) this.rest();
    });
  }

  /** What shows that stages have come. */
  arrived = () => {};

  /** What waits until nothing else does: keys that were typed meanwhile, then parts that nobody has asked for yet. */
  rest = () => {};

  /** @param {Partial<State>} next */
  change(next) {
    this.when(next, () => this._apply(next));
  }

  /** @param {Partial<State>} next */
  _apply(next) {
    const old = this.state;
    this.state = { ...old, ...next };
    for (const listener of this.listeners) listener(old);
    if (this.store.isLive) this.rest();
    clearTimeout(this._later);
    this._later = setTimeout(() => this.write(), PAUSE);
  }

  /** @type {number | undefined} */
  _later;

  /** Go to a stage; the selected value stays selected, if it is there. @param {number} stage */
  goTo(stage) {
    const { row, stage: from, mode } = this.state;
    if (stage < 0 || stage >= this.stages.count || stage === from) return;
    this.when({ stage, row: -1 }, () => {
      const kept = row < 0 ? -1 : this.stages.follow(from, row, stage);
      this.change({ stage, row: kept >= 0 || mode === "off" ? kept : this.firstChange(stage) });
    });
  }

  /** The first row that a stage changed; -1 if there is none. @param {number} stage */
  firstChange(stage) {
    if (stage < 1) return -1;
    return this.stages.pairs(stage - 1, stage).find((pair) => pair.change > 1 && pair.row >= 0)?.row ?? -1;
  }

  /** Select a row and open what hides it. @param {number} row @param {number} [stage] @param {Partial<State>} [more] */
  select(row, stage = this.state.stage, more = {}) {
    this.when({ stage, row: -1, view: "program" }, () => {
      const isOpened = row >= 0 && this.folds.reveal(this.stages.body(stage), row);
      if (isOpened) this.lines_changed = true;
      this.change({ row, stage, ...more });
    });
  }

  /** True once after folds changed. */
  lines_changed = false;

  // -- links ---------------------------------------------------------------------------------------------------------

  /** Write the state into the address, so that it can be passed on. */
  write() {
    const { stage, view, row, since, mode, find, step, paint } = this.state;
    const link = new URLSearchParams();
    link.set("stage", String(this.stages.data(stage).label));
    if (row >= 0) {
      const name = this.body.data(row)[2];
      if (name) link.set("binding", name);
      link.set("function", this.body.functionOf(row));
      if (!name) link.set("line", String(row - (this.body.heads[row] ?? 0)));
    }
    if (view !== "program") link.set("view", view);
    if (since >= 0) link.set("since", String(this.stages.data(since).label));
    if (mode !== "inline") link.set("changes", mode);
    if (find) link.set("find", find);
    if (paint && view === "graph") link.set("colours", paint);
    if (step >= 0 && view === "values") link.set("step", String(step + 1));
    try {
      history.replaceState(null, "", `#${link}`);
    } catch {
      return; // a frame without an address of its own, as in a notebook, has no links
    }
  }

  /** The state that an address asks for. @param {string} hash */
  read(hash) {
    const link = new URLSearchParams(hash.replace(/^#/, ""));
    const number = (/** @type {string} */ name) => (link.has(name) ? this.stages.labelled(Number(link.get(name))) : -1);
    if (link.has("stage") && number("stage") < 0 && this.awaits()) {
      this.whenMore(() => this.read(hash));
      return;
    }
    const last = this.stages.changing(-1, 1);
    const stage = Math.max(link.has("stage") ? number("stage") : Math.max(last, 0), 0);
    this.when({ stage, row: -1, view: "program", since: -1 }, () => this._follow(link, stage, number("since")));
  }

  /** @param {URLSearchParams} link @param {number} stage @param {number} since */
  _follow(link, stage, since) {
    const body = this.stages.body(stage);
    const [name, within] = [link.get("binding") ?? "", link.get("function") ?? ""];
    const head = within ? body.headOf(within) : -1;
    const line = head >= 0 && link.has("line") ? head + Number(link.get("line")) : head;
    const row = name && name !== within ? body.rowOf(name, within) : line < body.rows.length ? line : -1;
    const view = link.get("view") ?? "program";
    const mode = link.get("changes") ?? "inline";
    const step = Number(link.get("step") ?? "0") - 1;
    this.select(row, stage, {
      view: VIEWS.includes(view) ? view : "program",
      mode: MODES.includes(mode) ? mode : "inline",
      since,
      find: link.get("find") ?? "",
      paint: link.get("colours") ?? "",
      step: this.store.isLive || (this.doc.run && step < this.doc.run.steps.length) ? step : -1,
      pane: view === "program" ? "main" : "side",
    });
  }
}
