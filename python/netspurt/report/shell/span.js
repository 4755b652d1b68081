// The span of the x axis that a group of panels shows. A panel is one picture with its legend.

class Span {
  constructor(from, to) {
    this.ends = [from, to];
    this.least = Math.max((to - from) * 1e-9, 1e-9);
    [this.from, this.to] = this.ends;
  }

  isWhole() {
    return this.from === this.ends[0] && this.to === this.ends[1];
  }

  whole() {
    [this.from, this.to] = this.ends;
  }

  // Show the part from `from` to `to`. The part is moved or shortened so that it lies within the ends.
  show(from, to) {
    const width = Math.min(Math.max(to - from, this.least), this.ends[1] - this.ends[0]);
    const middle = (from + to) / 2;
    this.from = Math.min(Math.max(middle - width / 2, this.ends[0]), this.ends[1] - width);
    this.to = this.from + width;
    if (width === this.ends[1] - this.ends[0]) this.whole();
  }

  // Zoom around a place that stays where it is; a factor below 1 shows less.
  zoom(factor, around = (this.from + this.to) / 2) {
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  // Move by a part of what is shown.
  move(part) {
    const step = part * (this.to - this.from);
    this.show(this.from + step, this.to + step);
  }
}
