// Draws the marks of pictures that have a width: blocks, cells of heat maps, shades, and horizontal intervals.

// Six colours of the colour map Cividis, which is readable with every kind of colour vision. Smaller values are darker.
const HEAT = [[0, 32, 77], [49, 68, 107], [102, 105, 112], [149, 143, 120], [202, 185, 105], [255, 234, 70]];

function heatOf(share) {
  const place = Math.min(Math.max(share, 0), 1) * (HEAT.length - 1);
  const n = Math.min(HEAT.length - 2, Math.floor(place));
  const part = HEAT[n].map((one, k) => Math.round(one + (HEAT[n + 1][k] - one) * (place - n)));
  return `rgb(${part.join(",")})`;
}

// Blocks stand on zero, or on the x axis if the y axis is logarithmic.
function drawBlocks(pen, mark, map) {
  const bottom = map.top + map.height;
  const ground = Math.min(bottom, map.logY ? bottom : map.y(0));
  pen.globalAlpha = mark.alpha;
  pen.beginPath();
  for (let n = 0; n < mark.y.length; n += 1) {
    if (!(mark.y[n] > 0 || mark.y[n] < 0)) continue;
    const left = map.x(mark.left[n]);
    const top = map.y(mark.y[n]);
    pen.rect(left, top, Math.max(map.x(mark.right[n]) - left, 0.5), ground - top);
  }
  pen.fill();
  pen.globalAlpha = 1;
  if (mark.hatched) hatch(pen, map);
}

// Draw lines in the colour of the background across the shape that was just drawn.
function hatch(pen, map) {
  pen.save();
  pen.clip();
  pen.beginPath();
  for (let x = map.left - map.height; x < map.left + map.width; x += 7 * map.dot) {
    strokeTo(pen, [x, map.top + map.height], [x + map.height, map.top]);
  }
  pen.strokeStyle = map.paper;
  pen.lineWidth = 1.5 * map.dot;
  pen.stroke();
  pen.restore();
}

// The least and the greatest of the values of cells.
function rangeOf(values) {
  const known = values.filter((one) => !Number.isNaN(one));
  return [Math.min(...known), Math.max(...known)];
}

function drawCells(pen, mark, map) {
  const [low, high] = rangeOf(mark.values);
  const [rows, columns] = mark.shape;
  pen.font = `${10.5 * map.dot}px system-ui, sans-serif`;
  pen.textAlign = "center";
  for (let n = 0; n < rows * columns; n += 1) {
    const value = mark.values[n];
    if (Number.isNaN(value)) continue;
    const [row, column] = [Math.floor(n / columns), n % columns];
    const left = map.x(column - 0.5);
    const top = map.y(row + 0.5);
    const share = high > low ? (value - low) / (high - low) : 0.5;
    pen.fillStyle = heatOf(share);
    pen.fillRect(left, top, map.x(column + 0.5) - left + 0.5, map.y(row - 0.5) - top + 0.5);
    pen.fillStyle = share < 0.5 ? "#fff" : "#000";
    const lines = mark.texts.length ? mark.texts[row][column].split("\n") : [];
    lines.forEach((text, k) => {
      pen.fillText(text, map.x(column), map.y(row) + (k - (lines.length - 1) / 2) * 13 * map.dot);
    });
  }
}

// Areas over the whole height; each is at least a dot wide.
function drawShades(pen, mark, map) {
  pen.globalAlpha = mark.alpha;
  pen.beginPath();
  for (let n = 0; n < mark.left.length; n += 1) {
    const [left, right] = [map.x(mark.left[n]), map.x(mark.right[n])];
    pen.rect(left, map.top, Math.max(right - left, map.dot), map.height);
  }
  pen.fill();
  pen.globalAlpha = 1;
}

function drawSpans(pen, mark, map) {
  const width = Math.max(1, mark.width * map.dot);
  const cap = 3 * map.dot;
  pen.beginPath();
  for (let n = 0; n < mark.y.length; n += 1) {
    const [left, right, y] = [map.x(mark.left[n]), map.x(mark.right[n]), map.y(mark.y[n])];
    pen.rect(left, y - width / 2, right - left, width);
    for (const x of mark.caps ? [left, right] : []) pen.rect(x - width / 2, y - cap, width, 2 * cap);
  }
  pen.fill();
}
