// A panel: one picture on a canvas, its legend, and what the cursor reads from it. A picture consists of marks: lines,
// and sets of points, bars or areas. A group is the set of panels that share one x axis. Its `zero` is the value of x
// from which this axis counts.

const HEIGHTS = { "time-sequence": 380, timeline: 320, rto: 240, cwnd: 240 };
const USUAL_HEIGHT = 190;
const APART_HEIGHT = 300;
// The height of the title of the x axis.
const TITLE_HEIGHT = 16;
const CROWDED = "shaded: the range of a line that changes often, around its mean; zoom in for all values";
// The cursor reads the nearest mark if the mark is within this distance of the pointer, in points of the page.
const REACH = 24;

class Panel {
  constructor(picture, { zero, side, name, sinceData }) {
    Object.assign(this, { picture, zero, side, sinceData, marks: picture.marks });
    this.order = [...picture.marks].sort((a, b) => a.rank - b.rank);
    this.hidden = new Set();
    this.log = picture.x.log;
    this.root = element("figure", { class: "panel" });
    this.canvas = element("canvas", { role: "img" });
    this.over = element("canvas", { class: "over", "aria-hidden": "true" });
    this.tip = element("div", { class: "tip", hidden: "" });
    this.readout = element("output", { class: "readout", "aria-live": "off" });
    const stack = element("div", { class: "stack" }, [this.canvas, this.over, this.tip]);
    stack.style.height = `${this.height}px`;
    const heading = element("figcaption", {}, [
      element("h4", {}, [picture.title]),
      element("span", { class: "side" }, [name]),
      element("span", { class: "aside" }, [picture.aside || ""]),
    ]);
    this.crowded = element("span", { class: "aside", hidden: "" }, [CROWDED]);
    heading.append(this.crowded);
    this.root.append(heading, this.legend(), stack, this.readout);
  }

  get height() {
    const { kind, y } = this.picture;
    if (kind.startsWith("apart")) return TITLE_HEIGHT + Math.max(APART_HEIGHT, 60 + 26 * y.ticks.length);
    return TITLE_HEIGHT + (HEIGHTS[kind] || USUAL_HEIGHT);
  }

  // A button for each label: it hides and shows the marks with this label.
  legend() {
    const labels = [...new Set(this.marks.filter((one) => one.label).map((one) => one.label))];
    const list = element("div", { class: "legend", role: "group", "aria-label": "Marks shown" });
    if (this.picture.legend) list.append(element("span", { class: "aside" }, [`${this.picture.legend}:`]));
    for (const label of labels) {
      const mark = this.marks.find((one) => one.label === label);
      const sample = element("canvas", { class: "sample", width: 36, height: 24, "aria-hidden": "true" });
      const button = element("button", { type: "button", "aria-pressed": "true" }, [sample, label]);
      button.addEventListener("click", () => this.toggle(label, button));
      this.samples = [...(this.samples || []), [sample, mark]];
      list.append(button);
    }
    return list;
  }

  toggle(label, button) {
    const hide = !this.hidden.has(label);
    if (hide) this.hidden.add(label);
    else this.hidden.delete(label);
    button.setAttribute("aria-pressed", String(!hide));
    this.changed();
  }

  // Redraw everything that depends on this panel; the panel's group replaces this method.
  changed() {}

  shown() {
    return this.order.filter((mark) => !(mark.label && this.hidden.has(mark.label)));
  }

  // The ends of the x axis, counted from the group's zero. On a logarithmic axis they are logarithms.
  ends() {
    const { low, high } = this.picture.x;
    return [straight(low, this.log) - this.zero, straight(high, this.log) - this.zero];
  }

  // The indices of the first and the last value of a mark between two values of x. Lines and bands get one more value
  // on each side. A mark that is not sorted gets all its values.
  places(mark, low, high) {
    const count = lengthOf(mark);
    if (!mark.sorted) return [0, count - 1];
    const more = mark.type === "Polyline" || mark.type === "Band" ? 1 : 0;
    return [Math.max(0, before(mark.x, low) - more), Math.min(count - 1, before(mark.x, high, true) - 1 + more)];
  }

  // The least and the greatest y of the marks that are shown between two values of x.
  reach(low, high) {
    const found = [Infinity, -Infinity];
    const { low: floor, high: roof } = this.picture.y;
    for (const mark of this.shown()) {
      if (mark.type === "Rules" || mark.type === "Cells" || mark.type === "Shades") continue;
      let [first, last] = this.places(mark, low, high);
      // A stepped line or a band keeps its last value until the end, so the next value does not count.
      while ((mark.steps || mark.type === "Band") && last > first && mark.x[last] > high) last -= 1;
      const [lower, upper] = mark.y ? [mark.y, mark.y] : [mark.low, mark.high];
      for (let n = first; n <= last; n += 1) {
        if (lower[n] < found[0] && lower[n] >= floor) found[0] = lower[n];
        if (upper[n] > found[1] && upper[n] <= roof) found[1] = upper[n];
      }
    }
    return found[0] <= found[1] ? found : null;
  }

  // The ends of the y axis for a span of x. On a logarithmic axis they are logarithms.
  heights(span, fit) {
    const { low, high, log, fixed, ticks } = this.picture.y;
    const whole = [straight(low, log), straight(high, log)];
    const other = !span.isWhole() || this.hidden.size > 0;
    const found = fit && other && !ticks.length ? this.reach(...this.values(span)) : null;
    if (!found) return whole;
    const [least, most] = found.map((value) => straight(value, log));
    const spare = 0.06 * (most - least) || 0.02 * (whole[1] - whole[0]);
    return [fixed ? whole[0] : least - spare, most + spare];
  }

  // Make the y axis logarithmic; it begins a little below the least value above zero.
  makeLog() {
    const { y } = this.picture;
    if (y.log) return;
    let least = y.high;
    for (const mark of this.marks) {
      for (const value of mark.y || mark.low || []) if (value > 0 && value < least) least = value;
    }
    this.picture = { ...this.picture, y: { ...y, log: true, low: 0.8 * least, fixed: false } };
  }

  // The span of x in the units of the data.
  values(span) {
    return [bent(span.from + this.zero, this.log), bent(span.to + this.zero, this.log)];
  }

  // Return the map of the panel: where values lie on the canvas, in dots of the canvas.
  layout(span, heights, dot, width) {
    const left = Math.max(width < 520 ? 50 : 66, this.widest(this.picture.y.ticks) + 10) * dot;
    const map = { dot, left, top: 22 * dot, width: width * dot - left - 10 * dot };
    // Labels that do not fit side by side are slanted.
    const labels = this.picture.x.ticks;
    map.slanted = labels.length * (this.widest(labels) + 8) * dot > map.width;
    // Below the axis are its numbers, and below these its title.
    const room = (map.slanted ? Math.min(110, 0.6 * this.widest(labels) + 16) : 24) + TITLE_HEIGHT;
    map.height = this.height * dot - map.top - room * dot;
    map.logY = this.picture.y.log;
    map.paper = this.look.colours.paper;
    const across = map.width / (span.to - span.from);
    const down = map.height / (heights[1] - heights[0]);
    const { log } = this.picture.y;
    const start = span.from + this.zero;
    const far = 1e6;
    map.x = this.log
      ? (x) => left + (straight(x, true) - start) * across
      : (x) => left + (x - start) * across;
    map.y = (y) => {
      const place = map.top + (heights[1] - (log ? straight(y, true) : y)) * down;
      return Math.max(-far, Math.min(far, place));
    };
    map.value = (px) => bent(start + (px - left) / across, this.log);
    const slack = (8 * dot) / across;
    const low = bent(start - slack, this.log);
    const high = bent(span.to + this.zero + slack, this.log);
    map.visible = (mark) => this.places(mark, low, high);
    return map;
  }

  // The approximate width of the widest of some labels, in points of the page.
  widest(ticks) {
    return Math.min(180, 6.5 * Math.max(0, ...ticks.map(([, text]) => text.length)));
  }

  draw(span, heights, look) {
    const width = look.width || this.canvas.parentElement.clientWidth;
    if (!width) return;
    this.look = look;
    const { dot } = look;
    for (const one of [this.canvas, this.over]) {
      one.width = Math.round(width * dot);
      one.height = Math.round(this.height * dot);
    }
    this.map = this.layout(span, heights, dot, width);
    this.span = span;
    const pen = this.canvas.getContext("2d");
    this.frame(pen, heights, span);
    pen.save();
    pen.beginPath();
    // A mark at the last instant is drawn whole.
    pen.rect(this.map.left, this.map.top - 2 * dot, this.map.width + 6 * dot, this.map.height + 6 * dot);
    pen.clip();
    for (const mark of this.shown()) {
      if (lengthOf(mark)) drawMark(pen, mark, this.map, look.ink(mark.ink));
    }
    this.drawParting(pen);
    pen.restore();
    this.drawSamples();
    this.crowded.hidden = !this.shown().some((mark) => lengthOf(mark) && swings(mark, this.map));
    this.canvas.setAttribute("aria-label", this.told(heights));
  }

  // Draw a line at the first difference of two runs.
  drawParting(pen) {
    if (this.parting === undefined) return;
    const px = this.map.x(this.parting + this.zero);
    pen.setLineDash([3 * this.map.dot, 3 * this.map.dot]);
    pen.strokeStyle = this.look.colours.strong;
    pen.lineWidth = 1.2 * this.map.dot;
    pen.beginPath();
    strokeTo(pen, [px, this.map.top], [px, this.map.top + this.map.height]);
    pen.stroke();
    pen.setLineDash([]);
    if (this.picture.kind !== "time-sequence") return;
    pen.fillStyle = this.look.colours.strong;
    pen.textAlign = "left";
    pen.fillText("first difference", px + 4 * this.map.dot, this.map.top + 10 * this.map.dot);
  }

  // Draw the axes, the grid and the numbers of the axes.
  frame(pen, heights, span) {
    const { map, look, picture } = this;
    const { dot } = map;
    const bottom = map.top + map.height;
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.font = `${11.5 * dot}px system-ui, sans-serif`;
    pen.lineWidth = dot;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const [value, text] of axisTicks(picture.y, ...heights, map.height / (36 * dot))) {
      const y = Math.round(map.y(value)) + 0.5;
      this.rule(pen, [map.left, y], [map.left + map.width, y], look.colours.grid);
      pen.fillStyle = look.colours.text;
      pen.fillText(text, map.left - 6 * dot, y);
    }
    pen.textAlign = "center";
    for (const [value, text] of this.instants(span, map.width / (75 * dot))) {
      const x = Math.round(map.x(value)) + 0.5;
      this.rule(pen, [x, map.top], [x, bottom], look.colours.grid);
      pen.fillStyle = look.colours.text;
      if (map.slanted) this.slant(pen, text, x, bottom);
      else this.below(pen, text, x, bottom + 12 * dot);
    }
    const { zero } = picture.x;
    // A logarithmic axis cannot show zero, so zeros have a place of their own, beside the other values.
    if (zero !== null && map.x(zero) >= map.left) this.apart(pen, map.x(zero), bottom);
    this.rule(pen, [map.left, map.top], [map.left, bottom], look.colours.axis);
    this.rule(pen, [map.left, bottom], [map.left + map.width, bottom], look.colours.axis);
    this.labels(pen, heights, span);
  }

  // Draw a number below its tick. At the ends of the axis, the number is moved so that it stays on the canvas.
  below(pen, text, x, y) {
    const half = pen.measureText(text).width / 2;
    pen.fillText(text, Math.min(Math.max(x, half), this.canvas.width - half), y);
  }

  slant(pen, text, x, bottom) {
    pen.save();
    pen.translate(x, bottom + 9 * this.map.dot);
    pen.rotate(-0.6);
    pen.textAlign = "right";
    pen.fillText(text.length > 28 ? `${text.slice(0, 27)}…` : text, 0, 0);
    pen.restore();
    pen.textAlign = "center";
  }

  // Ticks of the x axis count from the group's zero.
  instants(span, wanted) {
    const ticks = axisTicks(this.picture.x, span.from, span.to, wanted);
    return ticks.map(([value, text]) => [value + (this.log ? 0 : this.zero), text]);
  }

  labels(pen, heights, span) {
    const { map, look, picture } = this;
    const most = Math.max(...heights.map((one) => Math.abs(bent(one, picture.y.log))));
    pen.fillStyle = look.colours.label;
    pen.textAlign = "left";
    pen.fillText(axisLabel(picture.y, most), 4 * map.dot, map.top - 13 * map.dot);
    pen.textAlign = "right";
    const scale = this.sinceData ? { ...picture.x, label: "time since the first data" } : picture.x;
    const label = axisLabel(scale, extent(scale, span.from, span.to));
    pen.fillText(label, map.left + map.width, this.canvas.height - 8 * map.dot);
  }

  apart(pen, x, bottom) {
    pen.setLineDash([2 * this.map.dot, 3 * this.map.dot]);
    this.rule(pen, [x, this.map.top], [x, bottom], this.look.colours.axis);
    pen.setLineDash([]);
  }

  rule(pen, from, to, colour) {
    pen.strokeStyle = colour;
    pen.beginPath();
    strokeTo(pen, from, to);
    pen.stroke();
  }

  // Small pictures of the marks, for the legend.
  drawSamples() {
    for (const [canvas, mark] of this.samples || []) {
      const pen = canvas.getContext("2d");
      pen.clearRect(0, 0, 36, 24);
      const ink = this.look.ink(mark.ink);
      [pen.fillStyle, pen.strokeStyle] = [ink, ink];
      drawSample(pen, mark);
    }
  }

  // What the canvas shows, for those who do not see it.
  told(heights) {
    const [low, high] = heights.map((one) => exact(bent(one, this.picture.y.log), this.picture.y.unit));
    const names = [...new Set(this.shown().map((one) => one.label).filter(Boolean))];
    return `${this.picture.title}: ${names.join(", ")}. ${this.picture.y.label} from ${low} to ${high}.`;
  }
}

// The number of a mark's values.
function lengthOf(mark) {
  return (mark.x || mark.y || mark.left || mark.values).length;
}

// The index of the first value that is not below `wanted`. If `after` is true, it is the index of the first value above
// `wanted`.
function before(values, wanted, after = false) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < wanted || (after && values[middle] === wanted)) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Make an element with attributes and content.
function element(name, attributes = {}, content = []) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content);
  return made;
}
