"use strict";
// The views beside the program: details of a value, the run with its shape variables, problems, checks of lengths, cost.

/** A link to a row. @param {Explorer} explorer @param {string} text @param {number} row @param {number} [stage] */
function rowLink(explorer, text, row, stage) {
  return button(text, () => explorer.select(row, stage ?? explorer.state.stage), "link");
}

/** A heading of a part. @param {string} text */
function heading(text) {
  return made("h2", "", text);
}

// -- details -----------------------------------------------------------------------------------------------------------

/** The selected value: StructInfo, readers, history, value, cost, problems. @param {Explorer} explorer @returns {Node[]} */
function detailsView(explorer) {
  const { state, body, doc, stages } = explorer;
  if (state.row < 0) return [stageDetails(explorer), marksTable(doc)];
  const [, , name, text, info] = body.data(state.row);
  const kind = body.kind(state.row);
  const title = kind === "binding" ? name : kind === "head" || kind === "kernel" ? name : kind;
  const number = body.numbers[state.row] ? `#${body.numbers[state.row]} of ` : "";
  const found = [
    made("h2", "", title, made("span", "info", ` ${info}`)),
    made("p", "muted", `${number}${body.functionOf(state.row)}, stage ${stages.data(state.stage).label}`),
    made("p", "code whole", ...spans(pieces(doc, text), "").childNodes),
  ];
  const note = state.stage ? stages.note(state.stage, state.row) : "";
  if (note) found.push(made("p", "", `${note} by ${stages.data(state.stage).by}`));
  if (kind === "binding") {
    const names = body.names.get(body.heads[state.row] ?? -1);
    const params = [...new Set(variables(doc, text))].filter((other) => !names?.has(other));
    found.push(linksTo(explorer, "reads", body.reads(state.row), params), linksTo(explorer, "read by", body.readers(state.row), []));
  }
  const problems = doc.problems.filter((item) => item.row >= 0 && stages.follow(item.stage, item.row, state.stage) === state.row);
  found.push(...problems.map((item) => made("p", item.level, `${item.code} ${item.message}`)));
  return [...found, ...valueOf(explorer), ...costOf(explorer), historyOf(explorer)];
}

/** @param {Explorer} explorer */
function stageDetails(explorer) {
  const stage = explorer.stages.data(explorer.state.stage);
  const facts = [stage.phase, stage.seconds ? `${(1000 * stage.seconds).toPrecision(3)} ms` : "", stage.run_by ? `run by ${stage.run_by}` : ""];
  return made("div", "", made("h2", "", `${stage.label} ${stage.by}`), made("p", "", stage.told), made("p", "muted", facts.filter(Boolean).join(" · ")));
}

/** @param {PageDocument} doc */
function marksTable(doc) {
  const rows = doc.marks.filter(([mark]) => mark !== "~›").map(([mark, words]) => [made("b", "", mark), words]);
  return made("div", "", heading("Marks"), table([], rows));
}

/** Rows as links, and names that have no row. @param {Explorer} explorer @param {string} word @param {number[]} rows @param {string[]} others */
function linksTo(explorer, word, rows, others) {
  const { body, doc } = explorer;
  const links = rows.slice(0, 12).map((row) => {
    const name = body.data(row)[2] || doc.kinds.row[body.data(row)[0]] || "";
    return rowLink(explorer, body.numbers[row] ? `${name} #${body.numbers[row]}` : name, row);
  });
  const more = rows.length > 12 ? ` and ${rows.length - 12} more` : "";
  const plainly = others.length ? made("span", "code", others.join(" ")) : links.length ? "" : "nothing";
  return made("p", "links", made("span", "muted", `${word} `), ...links, plainly, more);
}

/** The value in the run, which is one of the first stage. @param {Explorer} explorer @returns {Node[]} */
function valueOf(explorer) {
  const { state, doc, stages } = explorer;
  const row = stages.follow(state.stage, state.row, 0);
  const at = doc.run?.steps.findIndex((step) => row >= 0 && step.row === row) ?? -1;
  const step = doc.run?.steps[at];
  if (!doc.run && row >= 0 && explorer.store.missing(["run"]).length) {
    return [made("p", "", button("run the first stage for its value", () => explorer.when({ view: "values", stage: 0, row: -1 }, () => explorer.change({})), "link"))];
  }
  if (!step) return [];
  const where = state.stage ? ` in the run of stage ${stages.data(0).label}` : "";
  const go = button("step in the run", () => explorer.change({ view: "values", stage: 0, row: step.row, step: at, pane: "side" }), "link");
  return [heading(`Value${where}`), ...valueElements(step), made("p", "", go)];
}

/** @param {ValueData} value @returns {Node[]} */
function valueElements(value) {
  const found = [made("p", value.bad ? "code error" : "code", value.text)];
  if (value.counts.length) found.push(histogram(value.counts, value.numbers));
  else if (value.numbers.length) found.push(made("p", "muted", value.numbers.join("   ")));
  if (value.lines.length) found.push(folded("elements", made("pre", "", value.lines.join("\n"))));
  return found;
}

/** @param {string} title @param {...Node} content */
function folded(title, ...content) {
  return made("details", "", made("summary", "", title), ...content);
}

/** What the selected binding costs, before the first pass or after the last. @param {Explorer} explorer @returns {Node[]} */
function costOf(explorer) {
  const { state, body, doc, stages } = explorer;
  const cost = doc.cost;
  if (!cost || body.functionOf(state.row) !== cost.function || body.kind(state.row) !== "binding") return [];
  for (const part of cost.parts) {
    const row = stages.follow(state.stage, state.row, part.stage);
    const name = row >= 0 ? stages.body(part.stage).data(row)[2] : "";
    const found = name ? part.rows.find((item) => item[0] === name) : undefined;
    if (!found) continue;
    const [, flops = "", share = "", moved = "", , , held = "", , whole = ""] = found;
    const facts = [whole ? `${whole} FLOPs` : "", flops ? `${flops} FLOPs ${share}`.trim() : "", `${moved} moved`, held ? `${held} held` : ""];
    const lengths = cost.lengths ? ` at ${cost.lengths}` : "";
    return [heading(`Cost${lengths}`), made("p", "", facts.filter(Boolean).join(" · "))];
  }
  return [];
}

/** The stages that write the selected value in another way. @param {Explorer} explorer */
function historyOf(explorer) {
  const { state, stages, doc } = explorer;
  /** @type {{stage: number, row: number}[]} */
  const trace = [];
  let row = state.row;
  for (let at = state.stage; at >= 0 && row >= 0; at--) {
    trace.unshift({ stage: at, row });
    row = at ? stages.follow(at, row, at - 1) : -1;
  }
  row = state.row;
  let gone = -1;
  for (let at = state.stage + 1; at < stages.count; at++) {
    row = stages.follow(at - 1, row, at);
    if (row < 0) {
      gone = at;
      break;
    }
    trace.push({ stage: at, row });
  }
  const number = (/** @type {{stage: number, row: number}} */ item) => stages.body(item.stage).rows[item.row];
  const told = trace.filter((item, n) => n === 0 || item.stage === state.stage || number(item) !== number(/** @type {{stage: number, row: number}} */ (trace[n - 1])));
  const rows = told.map((item) => {
    const [, , name, text, info] = stages.body(item.stage).data(item.row);
    const at = trace.findIndex((other) => other.stage === item.stage);
    const isChange = at > 0 && number(item) !== number(/** @type {{stage: number, row: number}} */ (trace[at - 1]));
    const link = rowLink(explorer, `${stages.data(item.stage).label} ${stages.data(item.stage).by}`, item.row, item.stage);
    const line = made("li", item.stage === state.stage ? "now" : "", made("span", "mark", isChange ? "~" : at === 0 ? "+" : ""), link);
    line.append(made("span", "code", `${name ? `${name} = ` : ""}${plain(doc, text)}`), made("span", "info", info));
    return line;
  });
  if (gone >= 0) rows.push(made("li", "", made("span", "mark", "-"), made("span", "muted", `${stages.data(gone).label} ${stages.data(gone).by}: gone`)));
  return made("div", "", heading("History"), made("ol", "history", ...rows));
}

// -- values ------------------------------------------------------------------------------------------------------------

/** The recorded run with a scrubber, and the shape variables. @param {Explorer} explorer @returns {Node[]} */
function valuesView(explorer) {
  const { doc } = explorer;
  return [...shapesOf(explorer), ...runOf(explorer), ...(doc.compiled ? compiledOf(doc.compiled) : [])];
}

/** @param {Explorer} explorer @returns {Node[]} */
function shapesOf(explorer) {
  const { doc, state, stages } = explorer;
  const shown = [...doc.shapes].reverse().find((item) => item.stage <= state.stage) ?? doc.shapes[0];
  if (!shown) return [];
  const found = [heading(`Shape variables, stage ${stages.data(shown.stage).label}`)];
  for (const fn of shown.functions) {
    if (!fn.variables.length) continue;
    const rows = fn.variables.map(([name, value, origins]) => [made("b", "dimension", name), value === null ? "" : `= ${value}`, `← ${origins.join(", ")}`]);
    found.push(made("h3", "", fn.function), table([], rows));
    if (fn.lines.length) found.push(folded("what was demanded of them in the run", made("pre", "", fn.lines.join("\n"))));
  }
  if (found.length === 1) found.push(made("p", "muted", "No function has a shape variable: every length is a number."));
  return found;
}

/** @param {Explorer} explorer @returns {Node[]} */
function runOf(explorer) {
  const { doc, state } = explorer;
  const run = doc.run;
  if (!run) return [heading("Run"), made("p", "muted", "No run was recorded.")];
  const found = [heading(`Run of ${run.function}`), made("p", "muted", run.about), ...run.problems.map((text) => made("pre", "error", text))];
  if (run.steps.length) {
    const slider = /** @type {HTMLInputElement} */ (made("input"));
    Object.assign(slider, { type: "range", min: "0", max: String(run.steps.length - 1), value: String(Math.max(0, state.step)) });
    slider.id = "step";
    slider.setAttribute("aria-label", "step of the run");
    slider.addEventListener("input", () => toStep(explorer, Number(slider.value)));
    const step = run.steps[Math.max(0, state.step)];
    const last = run.steps[run.steps.length - 1];
    if (step) {
      const inside = step.inside ? `${step.inside} ▸ ` : "";
      const title = made("p", "", made("b", "", `${inside}${step.name}`), made("span", "muted", `  step ${step.step} of ${last?.step ?? 0}`));
      found.push(made("div", "scrubber", slider, title, ...valueElements(step)));
    }
    found.push(stepsTable(explorer, run));
  }
  return [...found, folded("inputs", ...run.inputs.flatMap((value) => [made("h3", "", value.name), ...valueElements(value)]))];
}

/** @param {Explorer} explorer @param {RunData} run */
function stepsTable(explorer, run) {
  const around = 100; // steps that are listed before and behind this one
  const here = Math.max(0, explorer.state.step);
  const rows = run.steps.slice(Math.max(0, here - around), here + around).map((step, n) => {
    const at = Math.max(0, here - around) + n;
    const row = made("li", at === here ? "now" : "", button(step.name, () => toStep(explorer, at), "link"));
    const bars = step.counts.map((count) => "▁▂▃▄▅▆▇█"[Math.max(0, Math.ceil((8 * count) / Math.max(...step.counts)) - 1)] ?? "").join("");
    row.append(made("span", step.bad ? "spark error" : "spark", step.bad ? `‼ ${step.bad}` : bars), made("span", "code", step.text));
    return row;
  });
  return made("ol", "steps", ...rows);
}

/** To a step of the run, which is one of the first stage. @param {Explorer} explorer @param {number} step */
function toStep(explorer, step) {
  const steps = explorer.doc.run?.steps ?? [];
  const found = steps[step];
  if (found) explorer.select(found.row, 0, { step, view: "values", since: -1 });
}

/** @param {CompiledData} compiled @returns {Node[]} */
function compiledOf(compiled) {
  const rows = compiled.rows.map(([call = "", ...rest]) => [made("span", "code", call), ...rest]);
  return [heading(`Compiled program, ${compiled.title}`), table(["call", "value", "distance from ours", "time"], rows, [3])];
}

// -- problems, checks, cost -----------------------------------------------------------------------------------------------

/** @param {Explorer} explorer @returns {Node[]} */
function problemsView(explorer) {
  const { doc } = explorer;
  if (!doc.problems.length) {
    return [made("p", "muted", "None: syntax, well-formedness, StructInfo, purity and the contracts of the passes were checked.")];
  }
  return doc.problems.map((item, n) => {
    const go = button(item.message, () => explorer.select(item.row, item.stage, { pane: "main" }), "link");
    const open = folded("where", made("pre", "", item.text));
    if (n === 0 || item.level === "error") open.setAttribute("open", "");
    return made("article", `problem ${item.level}`, made("p", "", made("b", "", `${item.level} ${item.code} `), go), made("p", "muted", item.where), open);
  });
}

/** @param {Explorer} explorer @returns {Node[]} */
function checksView(explorer) {
  const { doc, state, stages } = explorer;
  const shown = [...doc.checks].reverse().find((item) => item.stage <= state.stage) ?? doc.checks[0];
  if (!shown) return [];
  const found = [made("p", "muted", `Checks of lengths, stage ${stages.data(shown.stage).label}. ✓ is proved, · left to the run, ✗ fails in every run.`)];
  if (shown.note) found.push(made("p", "", shown.note));
  for (const list of shown.lists) {
    const rows = list.rows.map(([mark, text, row, sentences]) => {
      const line = made("summary", mark ? "" : "head", made("span", "mark", mark), ...spans(pieces(doc, text), "").childNodes);
      const body = made("div", "sentences", ...sentences.map((sentence) => made("p", "", sentence)));
      if (row >= 0) body.append(rowLink(explorer, "show it in the program", row, shown.stage));
      return made("details", "check", line, body);
    });
    found.push(heading(list.title), ...rows);
  }
  return found;
}

/** @param {Explorer} explorer @returns {Node[]} */
function costView(explorer) {
  const { doc, stages } = explorer;
  const cost = doc.cost;
  if (!cost) return [made("p", "muted", "The program has no Relax function, and only these are counted.")];
  const [head = [], ...rows] = cost.table;
  const isHead = head[0] === "";
  const numbers = head.map((_, n) => n).slice(1, -1);
  const found = [made("p", "", cost.summary), table(isHead ? head : [], isHead ? rows : cost.table, numbers)];
  found.push(made("ul", "muted", ...cost.lines.map((line) => made("li", "", line))));
  if (cost.chart.length) found.push(made("pre", "chart", cost.chart.join("\n")));
  const part = [...cost.parts].reverse().find((item) => item.stage <= explorer.state.stage) ?? cost.parts[0];
  if (part) {
    const [titles = [], ...bindings] = part.rows;
    const linked = bindings.map(([name = "", ...rest]) => {
      const row = stages.body(part.stage).rowOf(name, cost.function);
      return [row < 0 ? name : rowLink(explorer, name, row, part.stage), ...rest];
    });
    const lengths = cost.lengths ? ` at ${cost.lengths}` : "";
    found.push(heading(`Bindings, stage ${stages.data(part.stage).label}${lengths}`), table(titles, linked, [1, 2, 3, 4, 5, 6]));
  }
  return found;
}
