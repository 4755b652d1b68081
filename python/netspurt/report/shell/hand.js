// Pointers and keys: they move the cursor and the span of a group of pictures, which share one x axis.

// How much a turn of the wheel zooms, and by which factor a press of a key zooms.
const PER_TURN = 0.0016;
const PER_KEY = 0.6;

class Hand {
  constructor(group) {
    this.group = group;
    this.pointers = new Map();
    group.root.addEventListener("keydown", (event) => this.key(event));
  }

  watch(panel) {
    const canvas = panel.over;
    const listen = (name, act, options) => canvas.addEventListener(name, act, options);
    listen("pointerdown", (event) => this.down(panel, event));
    listen("pointermove", (event) => this.moved(panel, event));
    listen("pointerup", (event) => this.up(panel, event));
    listen("pointercancel", (event) => this.up(panel, event));
    listen("pointerleave", () => !this.pointers.size && this.group.leave());
    listen("dblclick", () => this.group.reset());
    listen("wheel", (event) => this.wheel(panel, event), { passive: false });
  }

  // The place of an event on the canvas, in dots of the canvas.
  at(panel, event) {
    const box = panel.over.getBoundingClientRect();
    const { dot } = panel.map;
    return [(event.clientX - box.left) * dot, (event.clientY - box.top) * dot];
  }

  // The x value at a dot of the canvas, counted from the panel's zero; on a logarithmic axis, its logarithm.
  below(panel, px) {
    return straight(panel.map.value(px), panel.log) - panel.zero;
  }

  down(panel, event) {
    panel.over.setPointerCapture(event.pointerId);
    this.group.frame.focus({ preventScroll: true });
    const [px] = this.at(panel, event);
    const { from, to } = this.group.span;
    const pans = event.shiftKey || event.pointerType === "touch";
    this.pointers.set(event.pointerId, { px, start: px, from, to, pans });
  }

  moved(panel, event) {
    const [px, py] = this.at(panel, event);
    const held = this.pointers.get(event.pointerId);
    if (!held) {
      this.group.hover(panel, px, py);
      return;
    }
    held.px = px;
    if (this.pointers.size > 1) this.pinch(panel);
    else if (held.pans) this.drag(panel, held);
    else this.group.mark(panel, held.start, px);
  }

  drag(panel, { px, start, from, to }) {
    const shift = ((px - start) * (to - from)) / panel.map.width;
    this.group.show(from - shift, to - shift);
  }

  // Zoom and move so that each of two fingers keeps the part of the picture below it.
  pinch(panel) {
    const [a, b] = [...this.pointers.values()];
    const width = a.to - a.from;
    const place = (px) => a.from + ((px - panel.map.left) / panel.map.width) * width;
    const apart = Math.max(1, Math.abs(a.px - b.px)) / Math.max(1, Math.abs(a.start - b.start));
    const middle = place((a.start + b.start) / 2);
    const now = ((a.px + b.px) / 2 - panel.map.left) / panel.map.width;
    const from = middle - (now * width) / apart;
    this.group.show(from, from + width / apart);
  }

  up(panel, event) {
    const held = this.pointers.get(event.pointerId);
    this.pointers.delete(event.pointerId);
    if (!held) return;
    const [px, py] = this.at(panel, event);
    this.group.unmark();
    if (!held.pans && Math.abs(px - held.start) > 5 * panel.map.dot) {
      const places = [held.start, px].map((one) => this.below(panel, one));
      this.group.show(Math.min(...places), Math.max(...places));
    } else if (Math.abs(px - held.start) <= 5 * panel.map.dot) {
      this.group.hover(panel, px, py);
    }
  }

  // With Ctrl, or if the pictures have the focus, the wheel zooms; if it turns sideways, it moves the pictures.
  // Otherwise the wheel scrolls the page.
  wheel(panel, event) {
    const chosen = this.group.frame.contains(document.activeElement);
    if (!chosen && !event.ctrlKey) return;
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.group.move(event.deltaX / 800);
      return;
    }
    const lines = event.deltaMode === 1 ? 16 : 1;
    const factor = Math.exp(Math.max(-400, Math.min(400, event.deltaY * lines)) * PER_TURN);
    this.group.zoom(factor, this.below(panel, this.at(panel, event)[0]));
  }

  key(event) {
    const field = event.target.closest("select, input");
    if (field || event.ctrlKey || event.metaKey || event.altKey) return;
    const { group } = this;
    const acts = {
      "+": () => group.zoom(PER_KEY),
      "=": () => group.zoom(PER_KEY),
      "-": () => group.zoom(1 / PER_KEY),
      0: () => group.reset(),
      ArrowLeft: () => (event.shiftKey ? group.nudge(-0.01) : group.move(-0.2)),
      ArrowRight: () => (event.shiftKey ? group.nudge(0.01) : group.move(0.2)),
      ArrowUp: () => group.choose(-1),
      ArrowDown: () => group.choose(1),
      ".": () => group.step(true),
      ",": () => group.step(false),
      s: () => group.turn(),
      Escape: () => group.leave(),
    };
    if (!(event.key in acts)) return;
    event.preventDefault();
    acts[event.key]();
  }
}
