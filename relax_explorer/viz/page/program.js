"use strict";
// The program of a stage: its rows with changes, folds, StructInfo, a cursor, and a search.

const TINY = window.matchMedia("(max-width: 560px)");

class Program {
  /** @param {Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    this.host = byId("program");
    /** @type {Line[]} */
    this.lines = [];
    this.list = new LineList(this.host, (line) => this._element(line), (line) => this._lookOf(line), (line, again) => this.choose(line, again));
    /** @type {Map<number, number>} the line of each row */
    this.lineOf = new Map();
    this._look = "";
    explorer.listeners.push((old) => this.draw(old));
    TINY.addEventListener("change", () => explorer.change({}));
    window.addEventListener("beforeprint", () => this._print(true));
    window.addEventListener("afterprint", () => this._print(false));
  }

  /** Where changes stand: the view with two stages decides, else the mode. */
  get mode() {
    const { view, mode } = this.explorer.state;
    const asked = view === "beside" ? "beside" : mode;
    return asked === "beside" && TINY.matches ? "only" : asked; // a telephone has no room for two programs
  }

  /** @param {State} old */
  draw(old) {
    const { explorer } = this;
    const { state } = explorer;
    const look = [state.stage, explorer.since, this.mode, state.find].join(" ");
    if (look !== this._look || explorer.lines_changed) {
      explorer.lines_changed = false;
      this._look = look;
      this._show();
    } else if (old.row !== state.row) {
      for (const row of [old.row, state.row]) this.list.redraw(this.lineOf.get(row) ?? -1);
    } else if (old.step !== state.step || old.view !== state.view) {
      this.list.show(this.lines.length);
    } else return;
    const line = this.lineOf.get(state.row);
    if (line !== undefined) this.list.reveal(line);
    else if (old.stage !== state.stage) this.list.scrollTo(0);
    this.host.setAttribute("aria-activedescendant", line === undefined ? "" : `line-${line}`);
    this._sentence();
  }

  _show() {
    const { stages, state, since, folds } = this.explorer;
    this.lines = linesOf(stages, state.stage, since, this.mode, folds);
    this.lineOf.clear();
    this.lines.forEach((line, n) => {
      if (line.pair && line.pair.row >= 0) this.lineOf.set(line.pair.row, n);
    });
    this.host.classList.toggle("beside", this.mode === "beside" && since >= 0);
    const here = this.explorer.doc.problems.filter((item) => item.stage === state.stage && item.level === "error" && item.where);
    this._problems = new Map(here.map((item) => [item.row, item]));
    this.list.show(this.lines.length);
  }

  /** @type {Map<number, ProblemData>} the errors of the stage by their rows */
  _problems = new Map();

  /** What the pass did, and what is compared. */
  _sentence() {
    const { stages, state, since } = this.explorer;
    const stage = stages.data(state.stage);
    const base = since >= 0 ? stages.data(since) : null;
    const isFar = base !== null && since !== state.stage - 1;
    const compared = isFar ? `Changes since stage ${base.label} ${base.by}. ` : "";
    const first = state.stage === 0 ? `${stage.by}: the program before the first pass, ${stage.phase}.` : stage.told;
    byId("sentence").textContent = compared + (isFar ? "" : first || "This stage could not be read as a program.");
    byId("counts").textContent = isFar ? "" : stage.counts;
    const words = { inline: "changes in place", beside: "side by side", only: "only changes", off: "no changes" };
    byId("mode").textContent = /** @type {Record<string, string>} */ (words)[this.mode] ?? "";
  }

  // -- elements --------------------------------------------------------------------------------------------------------

  /** What an element is made of: lines of two stages with the same look share it. @param {number} n */
  _lookOf(n) {
    const { stages, state, body, since, folds } = this.explorer;
    const line = this.lines[n];
    const pair = line?.pair;
    if (!line || !pair) return `${line?.fold?.[4]} ${line?.fold?.[3]} ${line?.fold && folds.isClosed(body, line.fold)} ${line?.skipped} ${line?.changes}`;
    const { row, old, change } = pair;
    const isCompared = change > 0 || this.mode === "beside" || row < 0;
    const before = isCompared && since >= 0 && old >= 0 ? stages.body(since) : null;
    const fold = row >= 0 ? this._foldAt(row) : undefined;
    const own = row < 0 ? [] : [body.rows[row], body.numbers[row], body.widths.get(body.heads[row] ?? -1), row === state.row, this._runMark(row), this._problems.get(row)?.message];
    const other = before ? [before.rows[old], before.numbers[old], before.widths.get(before.heads[old] ?? -1)] : [];
    const note = row >= 0 && since === state.stage - 1 ? stages.note(state.stage, row) : "";
    return [this.mode, since < 0, change, note, state.find, fold && folds.isClosed(body, fold), ...own, "|", ...other].join("\u0001");
  }

  /** @param {number} n */
  _element(n) {
    const line = this.lines[n];
    const element = line?.pair ? this._pair(line.pair) : line?.fold ? this._layer(line.fold, line.changes) : this._skipped(line?.skipped ?? 0);
    element.id = `line-${n}`;
    element.setAttribute("role", "option");
    return element;
  }

  /** @param {number} skipped */
  _skipped(skipped) {
    return made("div", "row skipped muted", `… ${skipped} unchanged`);
  }

  /** @param {FoldData} fold @param {number} changes */
  _layer(fold, changes) {
    const isClosed = this.explorer.folds.isClosed(this.explorer.body, fold);
    const text = ` ${fold[4]} · ${fold[3]} bindings${changes ? ` · ${changes} changed` : ""}`;
    const row = made("div", "row layer", made("span", "mark", changes ? "~" : ""), made("span", "code", isClosed ? "▸" : "▾", text));
    row.setAttribute("aria-expanded", String(!isClosed));
    return row;
  }

  /** @param {Pair} pair */
  _pair(pair) {
    const { stages, state, body, since } = this.explorer;
    const kind = this.explorer.doc.kinds.change[pair.change] ?? "same";
    const isStep = since === state.stage - 1;
    const note = pair.row >= 0 && isStep ? stages.note(state.stage, pair.row) : "";
    const glyph = stages.glyph(pair.change, note);
    const isChosen = pair.row >= 0 && pair.row === state.row;
    const own = pair.row >= 0 ? body.kind(pair.row) : since >= 0 ? stages.body(since).kind(pair.old) : "";
    const problem = pair.row >= 0 ? this._problems.get(pair.row) : undefined;
    const mark = made("span", problem ? "mark error" : "mark", problem ? "✗" : glyph || this._runMark(pair.row));
    const row = made("div", `row ${own} ${this.mode === "off" ? "same" : kind}`, mark);
    if (note || problem) mark.title = problem?.message ?? note;
    row.setAttribute("aria-selected", String(isChosen));
    if (this.mode === "beside" && since >= 0) {
      row.append(this._side(pair, true), this._side(pair, false));
    } else {
      row.append(...this._inline(pair, note));
    }
    const fold = pair.row >= 0 ? this._foldAt(pair.row) : undefined;
    if (fold) row.setAttribute("aria-expanded", String(!this.explorer.folds.isClosed(body, fold)));
    return row;
  }

  /** What a recorded run has done of a row: ▶ the step, blank before it. @param {number} row */
  _runMark(row) {
    const { state, doc } = this.explorer;
    const step = state.view === "values" && state.stage === 0 ? doc.run?.steps[state.step] : undefined;
    return step && step.row === row ? "▶" : "";
  }

  /** @param {Pair} pair @param {string} note */
  _inline(pair, note) {
    const { stages, state, since, doc, body } = this.explorer;
    const isGone = pair.row < 0;
    const other = since >= 0 ? stages.body(since) : body;
    const data = isGone ? other.data(pair.old) : body.data(pair.row);
    const isCompared = !isGone && this.mode !== "off" && since >= 0 && pair.old >= 0 && ["changed", "type"].includes(doc.kinds.change[pair.change] ?? "");
    const before = isCompared ? other.data(pair.old) : null;
    let shown = pieces(doc, data[3]);
    if (before && before[3] !== data[3]) shown = compared(pieces(doc, before[3]), shown);
    if (isGone) shown = [{ role: "removed", text: plain(doc, data[3]) }];
    const info = before && before[4] !== data[4] && before[4] ? `${before[4]} → ${data[4]}` : data[4];
    const code = this._code(isGone ? other : body, isGone ? pair.old : pair.row, data, shown);
    if (note && this.mode !== "off") code.append(made("span", "note muted", ` ${note}`));
    return [...code.childNodes.length ? [code] : [], made("span", "info", info)];
  }

  /** One side of two stages. @param {Pair} pair @param {boolean} isOld */
  _side(pair, isOld) {
    const { stages, since, doc } = this.explorer;
    const own = isOld ? pair.old : pair.row;
    const cell = made("span", isOld ? "before" : "after");
    if (own < 0) return cell;
    const body = isOld ? stages.body(since) : this.explorer.body;
    const data = body.data(own);
    const other = isOld ? (pair.row < 0 ? null : this.explorer.body.data(pair.row)) : pair.old < 0 ? null : stages.body(since).data(pair.old);
    let shown = pieces(doc, data[3]);
    if (other && other[3] !== data[3]) shown = isOld ? toldApart(shown, pieces(doc, other[3]), true) : toldApart(pieces(doc, other[3]), shown, false);
    cell.append(this._code(body, own, data, shown), made("span", other && other[4] !== data[4] ? (isOld ? "info old" : "info new") : "info", data[4]));
    return cell;
  }

  /** Number, nesting, name and text of a row. @param {Body} body @param {number} row @param {RowData} data @param {Piece[]} shown */
  _code(body, row, data, shown) {
    const { state } = this.explorer;
    const code = made("span", "code");
    const kind = body.kind(row);
    const fold = body === this.explorer.body ? this._foldAt(row) : undefined;
    if (kind === "head" || kind === "kernel") code.append(made("span", "fold", fold ? (this.explorer.folds.isClosed(body, fold) ? "▸ " : "▾ ") : "  "));
    else if (kind !== "line" && kind !== "text") {
      const turn = fold ? (this.explorer.folds.isClosed(body, fold) ? "▸" : "▾") : "";
      code.append(made("span", "num", made("span", "fold", turn), body.numbers[row] ? String(body.numbers[row]) : ""));
    }
    if (data[1]) code.append(made("span", "muted", "│ ".repeat(data[1])));
    if (kind === "binding") {
      const name = made("span", "name", ...spans([{ role: "text", text: data[2] }], state.find).childNodes);
      name.style.minWidth = `${body.widths.get(body.heads[row] ?? -1) ?? 1}ch`;
      code.append(name, made("span", "muted", " = "));
    }
    code.append(spans(shown, state.find));
    return code;
  }

  /** The fold whose head a row is. @param {number} row */
  _foldAt(row) {
    return this.explorer.body.foldAt.get(row);
  }

  // -- cursor ----------------------------------------------------------------------------------------------------------

  /** The line with the cursor. */
  get cursor() {
    return this.lineOf.get(this.explorer.state.row) ?? -1;
  }

  /** Select a line; one that was selected already, or the head of a layer, is opened or closed. @param {number} n @param {boolean} again */
  choose(n, again) {
    const line = this.lines[n];
    if (!line) return;
    if (line.fold) this.turn(line.fold);
    else if (line.pair && line.pair.row >= 0) {
      const fold = again ? this._foldAt(line.pair.row) : undefined;
      if (fold) this.turn(fold);
      else this.explorer.change({ row: line.pair.row });
    }
    this.host.focus({ preventScroll: true });
  }

  /** @param {FoldData} fold */
  turn(fold) {
    const { explorer } = this;
    explorer.folds.turn(explorer.body, fold);
    explorer.lines_changed = true;
    const isLayer = explorer.doc.kinds.fold[fold[2]] === "layer";
    const isHidden = hides(explorer.body, fold, explorer.state.row) && explorer.folds.isClosed(explorer.body, fold);
    explorer.change(isHidden ? { row: isLayer ? Math.max(0, fold[0] - 1) : fold[0] } : {});
  }

  /** Open or close what the cursor stands in or on. */
  fold() {
    const { body, state, doc } = this.explorer;
    const own = this._foldAt(state.row);
    const around = body.folds.filter((fold) => hides(body, fold, state.row) && doc.kinds.fold[fold[2]] !== "function");
    const fold = own ?? around[around.length - 1] ?? body.folds.find((item) => hides(body, item, state.row));
    if (fold) this.turn(fold);
  }

  foldAll() {
    this.explorer.folds.turnAll(this.explorer.body);
    this.explorer.lines_changed = true;
    this.explorer.change({});
  }

  /** Move by lines that show a row of the stage. @param {number} by */
  move(by) {
    const step = Math.sign(by);
    let left = Math.abs(by);
    let found = -1;
    for (let n = this.cursor + step; n >= 0 && n < this.lines.length && left > 0; n += step) {
      if ((this.lines[n]?.pair?.row ?? -1) >= 0) {
        found = n;
        left--;
      }
    }
    if (found >= 0) this.explorer.change({ row: this.lines[found]?.pair?.row ?? -1 });
  }

  /** To the next run of changed rows. @param {number} step */
  toChange(step) {
    const isChanged = (/** @type {number} */ n) => (this.lines[n]?.pair?.change ?? 0) > 1 || (this.lines[n]?.changes ?? 0) > 0;
    for (let n = this.cursor + step; n >= 0 && n < this.lines.length; n += step) {
      const line = this.lines[n];
      if (!isChanged(n) || (isChanged(n - 1) && !line?.fold)) continue;
      const shown = this.lines.slice(n).find((item) => (item.pair?.row ?? -1) >= 0);
      if (line?.fold) this.turn(line.fold);
      this.explorer.change({ row: line?.fold ? line.fold[0] : (shown?.pair?.row ?? -1) });
      if (this.cursor !== n) this.list.reveal(n);
      return;
    }
  }

  /** To the next function. @param {number} step */
  toFunction(step) {
    const { body, state } = this.explorer;
    const heads = [...body.names.keys()].filter((head) => body.kind(head) === "head" || body.kind(head) === "kernel");
    const here = state.row < 0 ? -1 : (body.heads[state.row] ?? -1);
    const found = step > 0 ? heads.find((head) => head > here) : heads.reverse().find((head) => head < (state.row === here ? here : here + 1));
    if (found !== undefined) this.explorer.select(found);
  }

  // -- search ----------------------------------------------------------------------------------------------------------

  /** The rows with the sought text, folded ones too. */
  matches() {
    const { body, state, doc } = this.explorer;
    const sought = state.find.toLowerCase();
    if (!sought) return [];
    return body.rows.map((_, row) => row).filter((row) => {
      const [, , name, text, info] = body.data(row);
      return `${name} ${plain(doc, text)} ${info}`.toLowerCase().includes(sought);
    });
  }

  /** To the next match, around the end. @param {number} step */
  toMatch(step) {
    const found = this.matches();
    const here = this.explorer.state.row;
    const next = step > 0 ? (found.find((row) => row > here) ?? found[0]) : (found.findLast((row) => row < here) ?? found[found.length - 1]);
    byId("found").textContent = found.length && next !== undefined ? `${found.indexOf(next) + 1} of ${found.length}` : this.explorer.state.find ? "not found" : "";
    if (next !== undefined) this.explorer.select(next);
  }

  /** Every line is an element on paper. @param {boolean} isWhole */
  _print(isWhole) {
    this.list.isWhole = isWhole && this.lines.length <= 5000;
    this.list.draw();
  }
}
