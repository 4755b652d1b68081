// What the cursor reads: the values of lines at an instant, and the mark that is nearest. A mark is a part of a
// picture: a line, or a set of points, bars or areas.

// The index of the value that holds at x, or of the point nearest to x if the line has no steps. The result is null
// before the first value of a stepped line or of a band.
function valueAt(mark, x) {
  const after = before(mark.x, x, true);
  if (mark.steps || mark.type === "Band") return after > 0 ? after - 1 : null;
  if (after === 0 || after === mark.x.length) return Math.min(after, mark.x.length - 1);
  return x - mark.x[after - 1] <= mark.x[after] - x ? after - 1 : after;
}

// The areas, lines and bands of a panel at x, in words.
function readLines(panel, x) {
  const { unit } = panel.picture.y;
  const areas = panel.shown().filter((one) => one.type === "Shades");
  const found = areas.filter((one) => one.left.some((left, n) => left <= x && x <= one.right[n])).map((one) => one.label);
  for (const mark of panel.marks) {
    const isLine = (mark.type === "Polyline" || mark.type === "Band") && mark.sorted;
    if (!isLine || !mark.label || panel.hidden.has(mark.label) || !mark.x.length) continue;
    const n = valueAt(mark, x);
    if (n === null || x > mark.x[mark.x.length - 1] || x < mark.x[0]) continue;
    const value = (mark.y || mark.high)[n];
    if (Number.isFinite(value)) found.push(`${mark.label} ${exact(value, unit)}`);
  }
  return found;
}

// The value nearest to a place on the canvas: its mark, its index in this mark, and its position. Other marks close to
// this value at the same instant, such as the ring around a retransmission, are the `company` of the value. If marks
// have a value exactly at x, only these marks count.
function nearest(panel, px, py, x = null) {
  const { map } = panel;
  let found = [];
  for (const mark of panel.shown()) {
    if (mark.type === "Rules" || mark.type === "Band" || mark.type === "Shades") continue;
    const one = closest(panel, mark, [px, py], REACH * map.dot);
    if (one) found.push(one);
  }
  if (!found.length) return null;
  const exactly = found.filter((one) => one.mark.x && one.mark.x[one.n] === x);
  if (exactly.length) found = exactly;
  const least = Math.min(...found.map((one) => one.far));
  // Of marks that are about equally near, the one that is drawn last counts.
  const best = found.filter((one) => one.far <= least + 2 * map.dot).pop();
  if (!best.mark.x) return best;
  const at = best.mark.x[best.n];
  const company = found.filter((one) => one.mark.x && one.mark.x[one.n] === at
    && one.far <= best.far + 8 * map.dot && one.mark.type !== "Polyline");
  // A bar shows the first and the last octet, but a ring shows only the middle between them.
  const bar = company.find((one) => one.mark.type === "Bars" && one.mark.rank >= 2.3);
  return { ...(bar || best), company };
}

function closest(panel, mark, [px, py], most) {
  const { map } = panel;
  if (!mark.x) return within(map, mark, px, py);
  const [first, last] = panel.places(mark, map.value(px - most), map.value(px + most));
  let found = null;
  for (let n = Math.max(0, first); n <= last; n += 1) {
    const x = map.x(mark.x[n]);
    const y = mark.y ? map.y(mark.y[n]) : middleOf(map, mark, n, py);
    const far = Math.hypot(x - px, y - py);
    if (far <= most && (!found || far < found.far)) found = { mark, n, far, x, y };
  }
  return found;
}

// The block, the cell or the interval below the pointer.
function within(map, mark, px, py) {
  const found = (n, x, y) => ({ mark, n, far: 0, x, y });
  if (mark.type === "Cells") {
    const [rows, columns] = mark.shape;
    for (let n = 0; n < rows * columns; n += 1) {
      const [x, y] = [map.x(n % columns), map.y(Math.floor(n / columns))];
      const [wide, high] = [map.x(1) - map.x(0), map.y(0) - map.y(1)];
      if (Math.abs(px - x) < wide / 2 && Math.abs(py - y) < high / 2) return found(n, x, y);
    }
    return null;
  }
  for (let n = 0; n < mark.y.length; n += 1) {
    const [left, right, y] = [map.x(mark.left[n]), map.x(mark.right[n]), map.y(mark.y[n])];
    const inside = mark.type === "Spans" ? Math.abs(py - y) < 4 * map.dot : py >= y;
    if (px >= left && px <= right && inside) return found(n, (left + right) / 2, y);
  }
  return null;
}

// The place on a bar that is nearest to a height.
function middleOf(map, mark, n, py) {
  const [bottom, top] = [map.y(mark.low[n]), map.y(mark.high[n])];
  return Math.min(bottom, Math.max(top, py));
}

// A mark in words: its label, its instant and its values.
function tellMark(panel, { mark, n, company = [] }) {
  const { x, y, packet_bytes: size } = panel.picture;
  const labels = [mark, ...company.map((one) => one.mark)].map((one) => one.label).filter(Boolean);
  const lines = [[...new Set(labels)].join(", ") || "mark"];
  if (!mark.x) return [...lines, ...tellArea(panel, mark, n)];
  const at = mark.x[n];
  lines.push(panel.zero ? `${exact(at - panel.zero, "s")} (${exact(at, "s")})` : valueOf(x, at, unitOf(x)));
  if (mark.low) lines.push(`${exact(mark.low[n], y.unit)} to ${exact(mark.high[n], y.unit)}`);
  else lines.push(valueOf(y, mark.y[n], y.unit));
  if (mark.packet) lines.push(`packet ${grouped(mark.packet[n])}`);
  else if (size && mark.low && mark.label !== "SACK block") {
    lines.push(`packet ${grouped(Math.floor((mark.low[n] - 1) / size) + 1)}`);
  }
  return lines;
}

// A value in words. A logarithmic axis shows zeros at the value `scale.zero`, so this value means zero.
function valueOf(scale, value, unit) {
  return exact(value === scale.zero ? 0 : value, unit);
}

// A block, a cell or an interval in words.
function tellArea({ picture }, mark, n) {
  const { x, y } = picture;
  if (mark.type === "Cells") {
    const columns = mark.shape[1];
    const nameOf = (scale, place) => (scale.ticks.find(([value]) => value === place) || [0, place + 1])[1];
    const names = [`${x.label} ${nameOf(x, n % columns)}`, `${y.label} ${nameOf(y, Math.floor(n / columns))}`];
    return [...names, exact(mark.values[n], "")];
  }
  const named = x.ticks.find(([value]) => value >= mark.left[n] - 0.5 && value <= mark.right[n] + 0.5);
  const width = `${endOf(x, mark.left[n])} to ${endOf(x, mark.right[n])}`;
  return [named && x.ticks.length ? `${x.label} ${named[1]}` : width, exact(mark.y[n], y.unit)];
}

function endOf(scale, value) {
  return value === scale.zero ? "0" : brief(value, scale.unit);
}

// The next value after x of all marks of a panel, or the last before x. Marks that are not sorted, and rules (vertical
// lines), are left out.
function stepFrom(panel, x, forward) {
  let found = null;
  for (const mark of panel.shown()) {
    if (!mark.sorted || mark.type === "Rules" || !mark.x.length) continue;
    const n = forward ? before(mark.x, x, true) : before(mark.x, x) - 1;
    if (n < 0 || n >= mark.x.length) continue;
    const nearer = !found || (forward ? mark.x[n] <= found.mark.x[found.n] : mark.x[n] >= found.mark.x[found.n]);
    if (nearer) found = { mark, n };
  }
  return found;
}

// A place on the x axis in words: the name of the nearest tick, or the value.
function tellPlace({ picture: { x } }, at) {
  if (!x.ticks.length) return x.log ? brief(bent(at, true), x.unit) : exact(Number(at.toPrecision(9)), unitOf(x));
  const far = ([value]) => Math.abs(straight(value, x.log) - at);
  const [, name] = x.ticks.reduce((best, one) => (far(one) < far(best) ? one : best));
  return `${x.label} ${name}`;
}
