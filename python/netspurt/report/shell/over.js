// Draws what lies over a panel: the cursor, the mark that the cursor reads, and the span that the pointer selects. A
// panel is one picture with its legend. A mark is a part of a picture: a line, or a set of points, bars or areas.

function drawOver(panel, cursor, marked) {
  const pen = panel.over.getContext("2d");
  const { map, look } = panel;
  pen.clearRect(0, 0, panel.over.width, panel.over.height);
  panel.tip.hidden = true;
  panel.readout.value = "";
  if (marked) {
    const [from, to] = marked.map((one) => map.x(bent(one + panel.zero, panel.log)));
    pen.fillStyle = look.colours.chosen;
    pen.fillRect(from, map.top, to - from, map.height);
  }
  if (!cursor) return;
  const x = bent(cursor.at + panel.zero, panel.log);
  const px = map.x(x);
  if (px < map.left - 1 || px > map.left + map.width + 1) return;
  pen.strokeStyle = look.colours.strong;
  pen.globalAlpha = 0.6;
  pen.lineWidth = map.dot;
  pen.beginPath();
  strokeTo(pen, [px, map.top], [px, map.top + map.height]);
  pen.stroke();
  pen.globalAlpha = 1;
  const at = tellPlace(panel, cursor.at);
  panel.readout.value = [`at ${at}`, ...readLines(panel, x)].join(" · ");
  if (cursor.panel === panel && cursor.found) drawFound(panel, pen, cursor.found);
}

// Draw a ring around the mark that the cursor reads, and the words on this mark beside it.
function drawFound(panel, pen, found) {
  const { map, look } = panel;
  const { mark, n } = found;
  const px = mark.x ? map.x(mark.x[n]) : found.x;
  const middle = () => (mark.y ? mark.y[n] : (mark.low[n] + mark.high[n]) / 2);
  const py = mark.x ? map.y(middle()) : found.y;
  pen.strokeStyle = look.colours.strong;
  pen.lineWidth = 2 * map.dot;
  pen.beginPath();
  circle(pen, px, py, 7 * map.dot);
  pen.stroke();
  const { tip } = panel;
  tip.replaceChildren(...tellMark(panel, found).map((text) => element("div", {}, [text])));
  tip.hidden = false;
  const left = px / map.dot;
  const top = Math.min(Math.max(py / map.dot - 20, 0), panel.height - tip.offsetHeight - 2);
  const room = panel.over.clientWidth - left;
  const aside = room > tip.offsetWidth + 20 ? left + 14 : Math.max(0, left - tip.offsetWidth - 14);
  tip.style.transform = `translate(${aside}px, ${top}px)`;
}
