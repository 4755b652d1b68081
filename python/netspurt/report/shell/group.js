// A group: the panels of one run or of two runs, which share a span of the x axis and a cursor. A panel is one picture
// with its legend. A side is one of the runs, with its flows.

const HELP =
  "Keys: + and - zoom, arrows left and right move, 0 shows all; up and down choose a picture, " +
  "full stop and comma go from mark to mark, Shift with an arrow moves the cursor, Escape removes it.";

class Group {
  constructor(root, told, look) {
    Object.assign(this, { root, told, look, fit: true, side: null, chosen: 0, cursor: null });
    this.picks = this.compared() || told.sides.map(() => 0);
    this.hand = new Hand(this);
    this.frame = element("div", {
      class: "frame", tabindex: "0", role: "application", "aria-label": `Linked pictures. ${HELP}`,
    });
    this.spanText = element("output", { class: "span", "aria-live": "off" });
    this.spoken = element("output", { class: "spoken", "aria-live": "polite" });
    this.bar = element("div", { class: "bar", role: "toolbar", "aria-label": "Pictures" });
    root.append(this.bar, this.frame, this.spoken);
    if (told.sides.length > 1) this.frame.classList.add("two");
    // Pictures without an axis of time have no buttons; keys and pointers work.
    if (told.x !== "time") this.bar.hidden = true;
    this.fillBar();
    this.build();
    new ResizeObserver(() => this.redraw()).observe(this.frame);
  }

  fillBar() {
    const button = (text, title, act) => {
      const made = element("button", { type: "button", title }, [text]);
      made.addEventListener("click", act);
      return made;
    };
    this.choosers = this.told.sides.map((side, n) => this.chooser(side, n));
    this.fitter = button("Fit heights", "Fit the y axes to what is shown", () => this.toggleFit());
    this.fitter.setAttribute("aria-pressed", "true");
    this.bar.append(
      ...this.choosers.filter(Boolean),
      button("−", "Zoom out (key -)", () => this.zoom(1 / PER_KEY)),
      button("+", "Zoom in (key +)", () => this.zoom(PER_KEY)),
      button("◀", "Earlier (left arrow)", () => this.move(-0.2)),
      button("▶", "Later (right arrow)", () => this.move(0.2)),
      button("All", "Show all (key 0, or a double click)", () => this.reset()),
      this.fitter,
      ...this.switches(button),
      this.spanText,
      element("span", { class: "hint" }, ["drag: zoom · Shift and drag: move · wheel: zoom, after a click or with Ctrl"]),
    );
  }

  // A choice among the flows of a side, if it has several.
  chooser(side, n) {
    if (side.flows.length < 2) return null;
    const options = side.flows.map((flow, place) => element("option", { value: place }, [flow.name]));
    const made = element("select", {}, options);
    made.value = this.picks[n];
    made.addEventListener("change", () => this.pick(n, Number(made.value)));
    const words = this.told.sides.length > 1 ? `Flow of ${side.name}` : "Flow";
    return element("label", {}, [words, made]);
  }

  // Buttons that show two runs side by side, or one of them at a time in the same place.
  switches(button) {
    if (this.told.sides.length < 2) return [];
    const names = ["Side by side", ...this.told.sides.map((side) => side.name)];
    this.turns = names.map((name, n) =>
      button(name, "Key s switches between the two", () => this.showSide(n ? n - 1 : null)));
    this.turns.forEach((one, n) => one.setAttribute("aria-pressed", String(n === 0)));
    const set = element("span", { class: "switch", role: "group", "aria-label": "Runs shown" }, this.turns);
    if (!this.told.parting) return [set];
    return [set, button("First divergence", this.told.parting.words, () => this.toParting())];
  }

  showSide(side) {
    this.side = side;
    this.turns.forEach((one, n) => one.setAttribute("aria-pressed", String(n === (side === null ? 0 : side + 1))));
    this.frame.classList.toggle("two", side === null);
    this.arrange();
  }

  turn() {
    if (this.told.sides.length > 1) this.showSide(this.side === 0 ? 1 : 0);
  }

  // For each side, the index of the flow that was compared; null if the page lacks one of these flows.
  compared() {
    const { parting, sides } = this.told;
    const places = sides.map(({ flows }, n) => (parting ? flows.findIndex((one) => one.name === parting.flows[n]) : -1));
    return places.includes(-1) ? null : places;
  }

  toParting() {
    const places = this.compared();
    if (places && places.some((one, n) => one !== this.picks[n])) this.picks.forEach((_, n) => this.pick(n, places[n]));
    const at = this.told.parting.at_s;
    const width = Math.max((this.span.ends[1] - this.span.ends[0]) / 20, this.span.least);
    this.span.show(at - width / 2, at + width / 2);
    this.frame.focus();
    this.setCursor(at);
  }

  // Choose a flow of a side; the other side follows if it has a flow of the same name.
  pick(side, place) {
    this.picks[side] = place;
    const { name } = this.told.sides[side].flows[place];
    this.told.sides.forEach((other, n) => {
      const same = other.flows.findIndex((flow) => flow.name === name);
      if (n !== side && same >= 0) this.picks[n] = same;
    });
    this.choosers.forEach((one, n) => one && (one.querySelector("select").value = this.picks[n]));
    this.build();
  }

  flow(side) {
    return this.told.sides[side].flows[this.picks[side]];
  }

  // Make the panels of the chosen flows.
  build() {
    const before = this.span;
    const places = this.compared();
    this.panels = this.told.sides.flatMap((_, side) => {
      const flow = this.flow(side);
      const name = this.told.sides.length > 1 ? this.told.sides[side].name : "";
      // In a comparison of two runs, times count from the first data, even if this data leaves at 0 s.
      const sinceData = Boolean(flow.zero || this.told.parting);
      return flow.panels.map((picture) => new Panel(picture, { zero: flow.zero, side, name, sinceData }));
    });
    for (const panel of this.panels) {
      panel.changed = () => this.redraw();
      if (places && this.picks.every((one, n) => one === places[n])) panel.parting = this.told.parting.at_s;
      this.hand.watch(panel);
    }
    this.alike();
    // Pictures of queues do not decide the span, because they show the whole run. The flow may last for a part of it.
    const own = this.panels.filter((panel) => panel.picture.kind !== "queue");
    const ends = (own.length ? own : this.panels).map((panel) => panel.ends());
    this.span = new Span(Math.min(...ends.map(([low]) => low)), Math.max(...ends.map(([, high]) => high)));
    if (before && !before.isWhole()) this.span.show(before.from, before.to);
    this.cursor = null;
    this.arrange();
  }

  // Two panels of a kind have equal y axes: if one axis is logarithmic, the other one becomes logarithmic.
  alike() {
    for (const kind of new Set(this.panels.map((panel) => panel.picture.kind))) {
      const own = this.panels.filter((panel) => panel.picture.kind === kind);
      if (own.some((panel) => panel.picture.y.log)) own.forEach((panel) => panel.makeLog());
    }
  }

  // Put the panels in rows by their kinds. The panels of two runs stand side by side.
  arrange() {
    const there = new Set(this.panels.map((panel) => panel.picture.kind));
    const kinds = this.told.kinds.filter((kind) => there.has(kind));
    const sides = this.told.sides.map((_, n) => n).filter((n) => this.side === null || n === this.side);
    this.frame.replaceChildren();
    for (const kind of kinds) {
      for (const n of sides) {
        const own = this.panels.filter((panel) => panel.side === n && panel.picture.kind === kind);
        this.frame.append(own.length ? own[0].root : element("p", { class: "none" }, [this.told.sides[n].absent]));
      }
    }
    this.redraw();
  }

  // The panels that can be seen.
  seen() {
    return this.panels.filter((panel) => this.side === null || panel.side === this.side);
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      this.drawAll();
    });
  }

  drawAll(look = this.look()) {
    const heights = new Map();
    // The same kind has the same y axis on both sides.
    for (const panel of this.panels) {
      const { kind } = panel.picture;
      const own = panel.heights(this.span, this.fit);
      const other = heights.get(kind) || own;
      heights.set(kind, [Math.min(own[0], other[0]), Math.max(own[1], other[1])]);
    }
    for (const panel of this.seen()) panel.draw(this.span, heights.get(panel.picture.kind), look);
    this.seen().forEach((panel, n) => panel.root.classList.toggle("chosen", n === this.chosen && this.panels.length > 1));
    this.spanText.value = this.spanWords();
    this.drawCursor();
  }

  spanWords() {
    const { log, unit } = this.panels[0].picture.x;
    if (log || this.told.x !== "time") return "";
    const [size, name] = fitting(unit, this.span.to - this.span.from);
    const digits = Math.max(0, Math.min(9, 3 - Math.floor(Math.log10((this.span.to - this.span.from) / size))));
    const [from, to] = [this.span.from, this.span.to].map((one) => (one / size).toFixed(digits));
    return `${from} to ${to} ${name || "s"}`;
  }

  show(from, to) {
    this.span.show(from, to);
    this.redraw();
  }

  zoom(factor, around = this.cursor && this.inside(this.cursor.at) ? this.cursor.at : undefined) {
    this.span.zoom(factor, around);
    this.redraw();
  }

  inside(at) {
    return at >= this.span.from && at <= this.span.to;
  }

  move(part) {
    this.span.move(part);
    this.redraw();
  }

  reset() {
    this.span.whole();
    this.redraw();
  }

  toggleFit() {
    this.fit = !this.fit;
    this.fitter.setAttribute("aria-pressed", String(this.fit));
    this.redraw();
  }

  // The pointer is above a panel: the cursor follows it in all panels.
  hover(panel, px, py) {
    const at = this.hand.below(panel, Math.max(panel.map.left, Math.min(px, panel.map.left + panel.map.width)));
    const found = nearest(panel, px, py);
    this.cursor = { at, panel, found };
    this.chosen = this.seen().indexOf(panel);
    this.drawCursor();
  }

  setCursor(at, panel = this.seen()[this.chosen], found = null) {
    this.cursor = { at, panel, found };
    if (!this.inside(at)) this.span.show(at - this.width() / 2, at + this.width() / 2);
    this.drawAll();
    this.speak();
  }

  width() {
    return this.span.to - this.span.from;
  }

  // Move the cursor by a part of what is shown.
  nudge(part) {
    const from = this.cursor ? this.cursor.at : (this.span.from + this.span.to) / 2;
    const at = Math.min(Math.max(from + part * this.width(), this.span.ends[0]), this.span.ends[1]);
    this.setCursor(at);
  }

  // Choose the panel above or below.
  choose(by) {
    const count = this.seen().length;
    this.chosen = Math.min(count - 1, Math.max(0, this.chosen + by));
    this.seen()[this.chosen].root.scrollIntoView({ block: "nearest" });
    this.redraw();
    this.spoken.value = this.seen()[this.chosen].picture.title;
  }

  // Go to the next mark of the chosen panel, or to the one before.
  step(forward) {
    const panel = this.seen()[this.chosen];
    // A mark may stand at the very beginning of what is shown.
    const from = this.cursor ? this.cursor.at : this.span.from - 1e-9 * this.width();
    const exactly = this.cursor && this.cursor.found && this.cursor.found.mark.x && this.cursor.panel === panel
      ? this.cursor.found.mark.x[this.cursor.found.n]
      : bent(from + panel.zero, panel.log);
    const found = stepFrom(panel, exactly, forward);
    if (found) this.setCursor(straight(found.mark.x[found.n], panel.log) - panel.zero, panel, found);
  }

  leave() {
    this.cursor = null;
    this.drawCursor();
  }

  // Highlight the part between two places of the pointer. When the pointer is released, only this part is shown.
  mark(panel, from, to) {
    this.marked = [this.hand.below(panel, from), this.hand.below(panel, to)];
    this.drawCursor();
  }

  unmark() {
    this.marked = null;
    this.drawCursor();
  }

  drawCursor() {
    for (const panel of this.seen()) if (panel.map) drawOver(panel, this.cursor, this.marked);
  }

  speak() {
    const panel = this.cursor && this.cursor.panel;
    if (!panel) return;
    const x = bent(this.cursor.at + panel.zero, panel.log);
    const mark = this.cursor.found ? tellMark(panel, this.cursor.found) : [tellPlace(panel, this.cursor.at)];
    this.spoken.value = `${panel.picture.title}: ${[...mark, ...readLines(panel, x)].join(", ")}`;
  }

  // Move the cursor to the mark to which a row of a table links.
  go({ side, flow, x, y }) {
    const place = this.told.sides[side].flows.findIndex((one) => one.name === flow);
    if (place < 0) return;
    if (this.side !== null && this.side !== side) this.showSide(side);
    if (this.picks[side] !== place) this.pick(side, place);
    const panel = this.panels.find((one) => one.side === side);
    const at = x - panel.zero;
    const width = Math.min(this.width(), (this.span.ends[1] - this.span.ends[0]) / 12);
    this.span.show(at - width / 2, at + width / 2);
    this.chosen = this.seen().indexOf(panel);
    this.drawAll();
    const found = nearest(panel, panel.map.x(x), panel.map.y(y), x);
    this.setCursor(at, panel, found);
    panel.root.scrollIntoView({ block: "center" });
    this.frame.focus({ preventScroll: true });
  }
}
