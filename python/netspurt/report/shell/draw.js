// Draws marks on a canvas. A mark is a part of a picture: a line, or a set of points, bars or areas. A map has the
// functions `x` and `y`, which give the position of a value in dots of the screen. Its function `visible` gives the
// indices of the first and the last value of a mark that are to be drawn.

// The shapes of the dots of bars, by colour, so that colour is never the only difference.
const SHAPES = { red: "square", blue: "diamond", sky: "down", brown: "plus", grey: "ring" };

// Remembers the dots of the screen that have a mark, so that marks at the same dot are drawn once.
class Seen {
  constructor(map) {
    this.width = Math.ceil(map.width) + 2;
    this.height = Math.ceil(map.height) + 2;
    this.left = map.left - 1;
    this.top = map.top - 1;
    this.cells = new Uint8Array(this.width * this.height);
  }

  // Return whether this dot has a mark already or lies outside the map, and remember the dot.
  has(px, py) {
    const column = Math.round(px - this.left);
    const row = Math.round(py - this.top);
    if (column < 0 || column >= this.width || row < 0 || row >= this.height) return true;
    const cell = row * this.width + column;
    if (this.cells[cell]) return true;
    this.cells[cell] = 1;
    return false;
  }
}

// Each function adds the outline of a shape to the pen's path. The shape has its centre at x and y, and the radius r.
const OUTLINES = {
  dot: (pen, x, y, r) => {
    if (r < 1.5) pen.rect(x - r, y - r, 2 * r, 2 * r);
    else circle(pen, x, y, r);
  },
  ring: (pen, x, y, r) => circle(pen, x, y, r),
  square: (pen, x, y, r) => pen.rect(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r),
  diamond: (pen, x, y, r) => corners(pen, [x, y - 1.3 * r], [x + 1.3 * r, y], [x, y + 1.3 * r], [x - 1.3 * r, y]),
  up: (pen, x, y, r) => corners(pen, [x, y - 1.2 * r], [x + 1.1 * r, y + 0.8 * r], [x - 1.1 * r, y + 0.8 * r]),
  down: (pen, x, y, r) => corners(pen, [x, y + 1.2 * r], [x + 1.1 * r, y - 0.8 * r], [x - 1.1 * r, y - 0.8 * r]),
  cross: (pen, x, y, r) => {
    strokeTo(pen, [x - r, y - r], [x + r, y + r]);
    strokeTo(pen, [x - r, y + r], [x + r, y - r]);
  },
  tick: (pen, x, y, r) => strokeTo(pen, [x, y - 2 * r], [x, y]),
  plus: (pen, x, y, r) => {
    strokeTo(pen, [x - 1.2 * r, y], [x + 1.2 * r, y]);
    strokeTo(pen, [x, y - 1.2 * r], [x, y + 1.2 * r]);
  },
};
const HOLLOW = new Set(["ring", "cross", "plus", "tick"]);

function circle(pen, x, y, r) {
  pen.moveTo(x + r, y);
  pen.arc(x, y, r, 0, 2 * Math.PI);
}

function corners(pen, first, ...others) {
  pen.moveTo(...first);
  for (const one of others) pen.lineTo(...one);
  pen.closePath();
}

function strokeTo(pen, from, to) {
  pen.moveTo(...from);
  pen.lineTo(...to);
}

// Draw a shape at many places; `width` is the width of the lines of hollow shapes.
function shapes(pen, places, { shape, radius, width, hollow = false }) {
  pen.beginPath();
  for (const [x, y] of places) OUTLINES[shape](pen, x, y, radius);
  pen.lineWidth = width;
  if (hollow || HOLLOW.has(shape)) pen.stroke();
  else pen.fill();
}

// The positions of the visible values of a mark; each dot of the screen occurs once.
function placesOf(mark, map, height) {
  const seen = new Seen(map);
  const places = [];
  const [first, last] = map.visible(mark);
  for (let n = first; n <= last; n += 1) {
    const px = map.x(mark.x[n]);
    const py = map.y(height(n));
    if (!seen.has(px, py)) places.push([px, py]);
  }
  return places;
}

function drawPoints(pen, mark, map) {
  const radius = 0.55 * mark.size * map.dot;
  const places = placesOf(mark, map, (n) => mark.y[n]);
  const { shape, hollow } = mark;
  shapes(pen, places, { shape, radius, hollow, width: mark.width * 1.3 * map.dot });
}

function drawBars(pen, mark, map) {
  const seen = new Seen(map);
  const width = Math.max(1, mark.width * map.dot);
  const cap = mark.caps ? 7 * map.dot : 0;
  const [first, last] = map.visible(mark);
  pen.beginPath();
  for (let n = first; n <= last; n += 1) {
    const px = map.x(mark.x[n]);
    const bottom = map.y(mark.low[n]);
    const top = map.y(mark.high[n]);
    if (bottom < map.top || top > map.top + map.height) continue;
    if (bottom - top < 2 && seen.has(px, (top + bottom) / 2)) continue;
    pen.rect(px - width / 2, top, width, Math.max(bottom - top, map.dot));
    if (cap) for (const y of [top, bottom]) pen.rect(px - cap / 2, y - width / 2, cap, width);
  }
  pen.fill();
  if (mark.dot) drawDots(pen, mark, map);
}

function drawDots(pen, mark, map) {
  const radius = 0.55 * mark.dot * map.dot;
  const places = placesOf(mark, map, (n) => (mark.low[n] + mark.high[n]) / 2);
  shapes(pen, places, { shape: shapeOf(mark), radius, width: 1.3 * map.dot });
}

// The shape of a mark's dots.
function shapeOf(mark) {
  if (mark.type === "Points") return mark.shape;
  return mark.rank >= 2.5 ? SHAPES[mark.ink] || "dot" : "dot";
}

// With more than this number of values per point of the page, a stepped line would look like a filled block.
const CROWD = 2;

// Whether a stepped line has more values than `CROWD` allows.
function isCrowded(mark, map) {
  if (mark.type !== "Polyline" || !mark.steps || !mark.sorted) return false;
  const [first, last] = map.visible(mark);
  return last - first > (CROWD * map.width) / map.dot;
}

// Whether a crowded line has a range that can be seen.
function swings(mark, map) {
  return isCrowded(mark, map)
    && rangesOf(mark, map).some(({ low, high }) => map.y(low) - map.y(high) > 12 * map.dot);
}

// Draw the range and the mean over time of a crowded line in each narrow column.
function drawCrowded(pen, mark, map) {
  const columns = rangesOf(mark, map);
  pen.globalAlpha = 0.3;
  pen.beginPath();
  for (const { from, to, low, high } of columns) pen.rect(from, map.y(high), to - from, map.y(low) - map.y(high));
  pen.fill();
  pen.globalAlpha = 1;
  pen.beginPath();
  for (const { from, to, mean } of columns) {
    pen.lineTo(from, map.y(mean));
    pen.lineTo(to, map.y(mean));
  }
  pen.lineWidth = mark.width * 1.2 * map.dot;
  pen.setLineDash(mark.dashed ? [5 * map.dot, 4 * map.dot] : []);
  pen.stroke();
  pen.setLineDash([]);
}

function rangesOf(mark, map) {
  const [first, last] = map.visible(mark);
  const wide = 3 * map.dot;
  const end = Math.min(map.left + map.width, map.x(mark.x[last]));
  const found = [];
  let n = first;
  for (let from = Math.max(map.left, map.x(mark.x[first])); from < end; from += wide) {
    const to = Math.min(from + wide, end);
    const column = { from, to, low: Infinity, high: -Infinity };
    let [sum, time] = [0, 0];
    // Find the value that holds at the beginning of the column; then take all values within the column.
    while (n < last && map.x(mark.x[n + 1]) <= from) n += 1;
    for (let at = from; at < to; n += 1) {
      const until = n < last ? Math.min(to, map.x(mark.x[n + 1])) : to;
      const value = mark.y[n];
      if (Number.isFinite(value)) {
        column.low = Math.min(column.low, value);
        column.high = Math.max(column.high, value);
        sum += value * (until - at);
        time += until - at;
      }
      at = until;
      if (at >= to) break;
    }
    if (time > 0) found.push({ ...column, mean: sum / time });
  }
  return found;
}

// Draw a line. Of all points of a sorted line in one column of the screen, only the first, the lowest, the highest
// and the last are drawn.
function drawLine(pen, mark, map) {
  if (isCrowded(mark, map)) {
    drawCrowded(pen, mark, map);
    return;
  }
  const [first, last] = map.visible(mark);
  let column = null;
  pen.beginPath();
  for (let n = first; n <= last; n += 1) {
    const px = map.x(mark.x[n]);
    const py = map.y(mark.y[n]);
    if (Number.isNaN(py)) {
      column = finish(pen, column);
    } else if (column && mark.sorted && Math.round(px) === column.px) {
      column.low = Math.max(column.low, py);
      column.high = Math.min(column.high, py);
      column.end = py;
    } else {
      if (column) {
        finish(pen, column);
        if (mark.steps) pen.lineTo(px, column.end);
        pen.lineTo(px, py);
      } else pen.moveTo(px, py);
      column = { px: Math.round(px), at: px, low: py, high: py, end: py };
    }
  }
  finish(pen, column);
  pen.lineWidth = mark.width * 1.2 * map.dot;
  pen.setLineDash(mark.dashed ? [5 * map.dot, 4 * map.dot] : []);
  pen.stroke();
  pen.setLineDash([]);
  if (mark.dot) {
    const places = placesOf(mark, map, (n) => mark.y[n]);
    shapes(pen, places, { shape: "dot", radius: 0.55 * mark.dot * map.dot, width: 1 });
  }
}

// Add the vertical line between the lowest and the highest point of a column to the path, if they differ.
function finish(pen, column) {
  if (column && column.low !== column.high) {
    pen.lineTo(column.at, column.low);
    pen.lineTo(column.at, column.high);
    pen.lineTo(column.at, column.end);
  }
  return null;
}

// Draw an area between the lower and the upper values.
function drawBand(pen, mark, map) {
  pen.beginPath();
  if (mark.steps) stepped(pen, mark, map);
  else slanted(pen, mark, map);
  pen.globalAlpha = mark.alpha;
  pen.fill();
  pen.globalAlpha = 1;
}

// Add a band with steps to the path: each value holds until the next one. Consecutive steps that are narrower than a
// dot are drawn together.
function stepped(pen, mark, map) {
  const [first, last] = map.visible(mark);
  let [from, low, high] = [null, -Infinity, Infinity];
  const finishNarrow = (to) => {
    if (from !== null) pen.rect(from, high, Math.max(to - from, map.dot), low - high);
    [from, low, high] = [null, -Infinity, Infinity];
  };
  for (let n = first; n < last; n += 1) {
    const [at, to] = [map.x(mark.x[n]), map.x(mark.x[n + 1])];
    const [bottom, top] = [map.y(mark.low[n]), map.y(mark.high[n])];
    if (to - at < map.dot) {
      from = from ?? at;
      low = Math.max(low, bottom);
      high = Math.min(high, top);
      if (to - from >= map.dot) finishNarrow(to);
    } else {
      finishNarrow(at);
      pen.rect(at, top, to - at, bottom - top);
    }
  }
  finishNarrow(map.x(mark.x[last]));
}

// Add a band whose ends are joined by straight lines to the path.
function slanted(pen, mark, map) {
  const known = [...mark.x.keys()].filter((n) => Number.isFinite(mark.low[n] + mark.high[n]));
  for (const n of known) pen.lineTo(map.x(mark.x[n]), map.y(mark.high[n]));
  for (const n of known.reverse()) pen.lineTo(map.x(mark.x[n]), map.y(mark.low[n]));
  pen.closePath();
}

function drawRules(pen, mark, map) {
  const [first, last] = map.visible(mark);
  pen.beginPath();
  for (let n = first; n <= last; n += 1) {
    const px = map.x(mark.x[n]);
    strokeTo(pen, [px, map.top], [px, map.top + map.height]);
  }
  pen.lineWidth = mark.width * 1.3 * map.dot;
  pen.setLineDash(mark.dashed ? [5 * map.dot, 4 * map.dot] : []);
  pen.stroke();
  pen.setLineDash([]);
}

const DRAWN = {
  Polyline: drawLine, Bars: drawBars, Points: drawPoints, Band: drawBand, Rules: drawRules,
  Blocks: drawBlocks, Cells: drawCells, Spans: drawSpans, Shades: drawShades,
};

function drawMark(pen, mark, map, ink) {
  pen.fillStyle = ink;
  pen.strokeStyle = ink;
  pen.lineJoin = "round";
  DRAWN[mark.type](pen, mark, map);
}
