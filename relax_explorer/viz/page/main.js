"use strict";
// The page: its views, its theme, its search and its help.

/** Views and the words on their tabs. @type {[string, string, string][]} */
const TABS = [
  ["program", "Program", "1"],
  ["values", "Values & shapes", "2"],
  ["graph", "Graph", "3"],
  ["problems", "Problems", "4"],
  ["beside", "Side by side", "5"],
  ["checks", "Checks", "6"],
  ["cost", "Cost", "alt+c"],
];
/** What makes the content of a view. @type {Record<string, (explorer: Explorer) => Node[]>} */
const CONTENTS = { program: detailsView, values: valuesView, problems: problemsView, checks: checksView, cost: costView };
const IDLE = 150; // milliseconds without a key before a served page asks for what nobody looks at yet
const NARROW = window.matchMedia("(max-width: 899px)");

/** Tell something in a few words, also to screen readers. @param {string} text */
function say(text) {
  byId("said").textContent = text;
}

class Page {
  /** @param {PageDocument} doc */
  constructor(doc) {
    this.explorer = new Explorer(doc);
    this.program = new Program(this.explorer);
    this.rail = new Rail(this.explorer);
    this.graph = new GraphView(this.explorer, this.program);
    /** @type {Map<string, HTMLElement>} */
    this.tabs = new Map();
    this._contents = "";
    this._top = 0; // the first pixel of the content in sight
    byId("content").addEventListener("scroll", () => (this._top = byId("content").scrollTop), { passive: true });
    /** @type {string[]} keys that were typed while parts of the document were on their way */
    this.early = [];
    this.explorer.rest = () => this.rest();
    this.explorer.arrived = () => this.renew(true);
    this._tabs();
    this.explorer.listeners.push((old) => this.draw(old));
    document.addEventListener("keydown", (event) => onKey(this, event));
    window.addEventListener("hashchange", () => this.explorer.read(location.hash));
    this._search();
    byId("theme").addEventListener("click", () => this.nextTheme());
    byId("help-button").addEventListener("click", () => this.help());
    byId("mode").addEventListener("click", () => this.nextMode());
    this._since();
    byId("title").textContent = doc.program.replace(/[/\\]+$/, "").split(/[/\\]/).pop() ?? "";
    byId("title").title = doc.program;
    byId("tool").textContent = doc.tool;
    this.explorer.read(location.hash);
  }

  _tabs() {
    const count = this.explorer.doc.problems.length;
    const host = byId("tabs");
    const stages = button("Stages", () => this.explorer.change({ pane: "rail" }), "narrow");
    stages.id = "tab-stages";
    host.append(stages);
    for (const [view, text, key] of TABS) {
      const tab = button(view === "problems" && count ? `${text} ${count}` : text, () => this.show(view));
      tab.append(made("kbd", "", key));
      tab.id = `tab-${view}`;
      this.tabs.set(view, tab);
      host.append(tab);
      if (view === "program") {
        const details = button("Details", () => this.explorer.change({ view: "program", pane: "side" }), "narrow");
        details.id = "tab-details";
        host.append(details);
      }
    }
    host.addEventListener("keydown", (event) => this._turn(event));
    for (const tab of host.children) {
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", tab.id === "tab-stages" ? "rail" : tab.id === "tab-program" || tab.id === "tab-beside" ? "main" : "side");
    }
  }

  /** The choice of the stage that is compared with. */
  _since() {
    const { explorer } = this;
    const chooser = /** @type {HTMLSelectElement} */ (byId("since"));
    this._fillSince();
    chooser.addEventListener("change", () => {
      explorer.change({ since: Number(chooser.value) });
      this.program.host.focus({ preventScroll: true });
    });
    explorer.listeners.push(() => {
      chooser.value = String(explorer.state.since);
    });
  }

  /** The stages that one can compare with. */
  _fillSince() {
    const chooser = /** @type {HTMLSelectElement} */ (byId("since"));
    const options = this.explorer.doc.stages.map((stage, n) => ({ n, text: `since ${stage.label} ${stage.by}`, changed: stage.changed || n === 0 }));
    const shown = [{ n: -1, text: "since the one before" }, ...options.filter((item) => item.changed)].map(({ n, text }) => {
      const option = /** @type {HTMLOptionElement} */ (made("option", "", text));
      option.value = String(n);
      return option;
    });
    chooser.replaceChildren(...shown);
    chooser.value = String(this.explorer.state.since);
  }

  // -- parts of a served page --------------------------------------------------------------------------------------------

  /** Obey the keys that were typed while something was on its way; then ask for what will be looked at next. */
  rest() {
    while (this.early.length && !this.explorer.isWaiting) keyOf(this, this.early.shift() ?? "")?.act();
    clearTimeout(this._idle);
    this._idle = setTimeout(() => this._askOn(), IDLE);
  }

  /** @type {number | undefined} */
  _idle;

  /** Ask for one part that is missing beside what is shown, and show it. */
  async _askOn() {
    const { explorer } = this;
    const part = explorer.isWaiting ? undefined : this._next();
    if (!part) return;
    const count = explorer.stages.count;
    await explorer.store.load([part]);
    if (explorer.store.problem) {
      say(explorer.store.problem);
      return;
    }
    this.renew(count !== explorer.stages.count || part.startsWith("more/"));
    this.rest();
  }

  /** The next part: what the details of the selected row lack, more stages, then the programs of stages around this one. */
  _next() {
    const { explorer } = this;
    const { state, doc, store } = explorer;
    const steps = doc.run && state.row >= 0 ? doc.run.steps : [];
    const at = steps.findIndex((step) => step.row === explorer.stages.follow(state.stage, state.row, 0));
    const detailed = state.view === "program" && state.row >= 0 && doc.is_complete;
    const own = detailed ? [`cost/${state.stage}`, ...(at >= 0 ? [`values/${Math.floor(at / (doc.chunk ?? 1))}`] : [])] : [];
    const around = doc.stages.map((_, n) => n).sort((a, b) => Math.abs(a - state.stage) - Math.abs(b - state.stage));
    return [...store.missing(own), ...(doc.is_complete ? [] : [`more/${doc.stages.length}`]), ...store.missing(around.map((n) => `stage/${n}`))][0];
  }

  /** Show what has come. @param {boolean} hasStages */
  renew(hasStages) {
    const count = this.explorer.doc.problems.length;
    const tab = this.tabs.get("problems");
    if (tab?.firstChild) tab.firstChild.textContent = count ? `Problems ${count}` : "Problems";
    this.rail.renew();
    if (hasStages) this._fillSince();
    this._contents = "";
    if (document.body.dataset["ready"]) this.draw(this.explorer.state);
  }

  /** Arrows go from tab to tab, as in all lists of tabs. @param {KeyboardEvent} event */
  _turn(event) {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const tabs = [...byId("tabs").children].filter((tab) => tab instanceof HTMLElement && tab.offsetParent !== null);
    const next = tabs[(tabs.findIndex((tab) => tab === document.activeElement) + by + tabs.length) % tabs.length];
    if (!by || !(next instanceof HTMLElement)) return;
    event.preventDefault();
    next.click();
    next.focus();
  }

  /** @param {string} view */
  show(view) {
    this.explorer.change({ view, pane: view === "program" || view === "beside" ? "main" : "side" });
  }

  /** @param {State} old */
  draw(old) {
    const { state } = this.explorer;
    document.body.dataset["ready"] = "yes";
    document.body.dataset["view"] = state.view;
    document.body.dataset["pane"] = state.pane;
    const chosen = state.pane === "rail" ? "tab-stages" : state.pane === "side" && state.view === "program" && NARROW.matches ? "tab-details" : `tab-${state.view}`;
    for (const tab of byId("tabs").children) {
      const isChosen = tab.id === chosen;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.setAttribute("tabindex", isChosen ? "0" : "-1");
      if (isChosen && NARROW.matches) tab.scrollIntoView({ block: "nearest", inline: "center" });
    }
    byId("graph").hidden = state.view !== "graph";
    byId("content").hidden = state.view === "graph" || state.view === "beside";
    const what = [state.view, state.stage, state.row, state.step, state.since].join(" ");
    const make = CONTENTS[state.view];
    if (make && what !== this._contents) {
      const isSameView = this._contents.startsWith(`${state.view} `);
      this._contents = what;
      const content = byId("content");
      const [top, open] = [this._top, isSameView && content.contains(document.activeElement) && document.activeElement?.id];
      content.replaceChildren(...make(this.explorer));
      this._top = isSameView && state.view !== "program" ? top : 0;
      afterDrawing(() => (content.scrollTop = this._top));
      if (open) document.getElementById(open)?.focus();
    }
    if (old.view !== state.view || !byId("hints").childElementCount) this._hints();
  }

  /** The keys of this view that a newcomer needs. */
  _hints() {
    const { view } = this.explorer.state;
    /** @type {Record<string, [string, string][]>} */
    const more = {
      graph: [["hjkl", "nodes"], ["o", "callee"], ["+ -", "zoom"], ["z", "layers"], ["e", "SVG"]],
      values: [["s", "step"], ["S", "back"]],
      beside: [["c", "next change"], ["b", "other stage"]],
    }; // prettier-ignore
    const usual = view === "graph" ? [] : /** @type {[string, string][]} */ ([["3 e", "graph as SVG"]]);
    const values = view === "values" ? [] : /** @type {[string, string][]} */ ([["2", "values, shape variables"]]);
    /** @type {[string, string][]} */
    const hints = [["]", "next stage"], ...(more[view] ?? [["c", "change"], ["z", "fold"], ["d", "changes"]]), ...usual, ...values, ["/", "find"], ["?", "keys"]]; // prettier-ignore
    byId("hints").replaceChildren(...hints.map(([key, text]) => made("span", "", made("kbd", "", key), text)));
  }

  linesInSight() {
    return Math.max(1, Math.floor(this.program.list.extent.height / LINE) - 2);
  }

  nextMode() {
    const { state } = this.explorer;
    if (state.view === "beside") this.show("program");
    const mode = MODES[(MODES.indexOf(state.mode) + 1) % MODES.length] ?? "inline";
    this.explorer.change({ mode });
    say({ inline: "changes in place", beside: "side by side", only: "only what changed", off: "changes are not shown" }[mode] ?? "");
  }

  /** Compare with the stage that is shown from now on, or with the one before again. */
  fixSince() {
    const { state, stages } = this.explorer;
    const since = state.since >= 0 ? -1 : state.stage;
    this.explorer.change({ since });
    say(since < 0 ? "compared with the stage before" : `compared with stage ${stages.data(since).label}: ] and [ go to another one`);
  }

  nextUse() {
    const { state, body } = this.explorer;
    const name = state.row >= 0 ? body.data(state.row)[2] : "";
    if (!name) return;
    if (this._uses?.name !== `${state.stage} ${name}` && !this._uses?.rows.includes(state.row)) {
      this._uses = { name: `${state.stage} ${name}`, rows: [state.row, ...body.readers(state.row)] };
    }
    const { rows } = this._uses ?? { rows: [] };
    const next = rows[(rows.indexOf(state.row) + 1) % rows.length];
    if (rows.length < 2 || next === undefined) say("nothing reads this value");
    else this.explorer.select(next);
  }

  /** @type {{name: string, rows: number[]} | undefined} */
  _uses;

  // -- search ----------------------------------------------------------------------------------------------------------

  _search() {
    const input = /** @type {HTMLInputElement} */ (byId("find"));
    input.addEventListener("input", () => {
      this.explorer.change({ find: input.value });
      const count = this.program.matches().length;
      byId("found").textContent = input.value ? (count ? `${count} lines` : "not found") : "";
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        this.program.toMatch(event.shiftKey ? -1 : 1);
        input.blur();
      } else if (event.key === "Escape") this.cancel();
    });
    this.explorer.listeners.push(() => {
      if (input.value !== this.explorer.state.find) input.value = this.explorer.state.find;
    });
  }

  search() {
    if (NARROW.matches && this.explorer.state.pane === "rail") this.show("program");
    const input = /** @type {HTMLInputElement} */ (byId("find"));
    input.focus();
    input.select();
  }

  cancel() {
    byId("find").blur();
    byId("found").textContent = "";
    this.explorer.change({ find: "" });
    this.program.host.focus({ preventScroll: true });
  }

  // -- the rest --------------------------------------------------------------------------------------------------------

  nextTheme() {
    const root = document.documentElement;
    root.dataset["theme"] = root.dataset["theme"] === "dark" ? "light" : "dark";
  }

  copyLink() {
    this.explorer.write();
    const done = navigator.clipboard?.writeText(location.href);
    if (done) done.then(() => say("link copied"), () => say("the browser does not allow to copy")); // prettier-ignore
    else say(location.href);
  }

  help() {
    const dialog = /** @type {HTMLDialogElement} */ (byId("help"));
    const rows = keyTable(this)
      .filter((key) => !key.views || key.views.includes(this.explorer.state.view))
      .map((key) => [made("span", "", ...key.keys.map((name) => made("kbd", "", name))), key.does]);
    const marks = this.explorer.doc.marks.map(([mark, text]) => [made("b", "", mark), text]);
    byId("help-text").replaceChildren(heading("Keys"), table([], rows), heading("Marks"), table([], marks));
    dialog.showModal();
  }
}

/** The theme that a host of the page has set, else that of the reader's system, until a key changes it. */
function followSystem() {
  if (document.documentElement.dataset["theme"]) return;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  document.documentElement.dataset["theme"] = dark.matches ? "dark" : "light";
  dark.addEventListener("change", () => (document.documentElement.dataset["theme"] = dark.matches ? "dark" : "light"));
}

/** @type {Page} */
let page;

/** Show the document of the page, or the one that its server has. */
async function start() {
  followSystem();
  const source = byId("document");
  const from = source.dataset["from"];
  const answer = from ? await fetch(from) : null;
  if (answer && !answer.ok) {
    byId("static").replaceChildren(made("h1", "", "The program cannot be shown"), made("pre", "error", await answer.text()));
    document.body.dataset["ready"] = "no";
    return;
  }
  page = new Page(JSON.parse(answer ? await answer.text() : (source.textContent ?? "")));
}

start();
