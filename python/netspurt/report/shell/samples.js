// Draws the samples of marks in legends, on canvases of 36 by 24 dots. A mark is a part of a picture: a line, or a set
// of points, bars or areas.

function drawSample(pen, mark) {
  if (mark.type === "Points") {
    sampleShape(pen, mark.shape, mark.shape === "dot" ? 5 : 7, mark.hollow);
  } else if (mark.type === "Bars") {
    pen.fillRect(17, 2, 2.5, 20);
    if (mark.dot) sampleShape(pen, shapeOf(mark), 5);
  } else if (["Band", "Blocks", "Shades"].includes(mark.type)) {
    pen.globalAlpha = Math.max(0.35, mark.alpha || 1);
    pen.fillRect(4, 5, 28, 14);
    pen.globalAlpha = 1;
  } else if (mark.type === "Cells") {
    HEAT.forEach((_, n) => {
      pen.fillStyle = heatOf(n / (HEAT.length - 1));
      pen.fillRect(6 * n, 4, 6, 16);
    });
  } else {
    sampleLine(pen, mark);
    if (mark.dot) sampleShape(pen, "dot", 5);
  }
}

function sampleShape(pen, shape, radius, hollow = false) {
  shapes(pen, [[18, shape === "tick" ? 20 : 12]], { shape, radius, hollow, width: 2.4 });
}

function sampleLine(pen, mark) {
  pen.lineWidth = Math.max(2, 2 * mark.width);
  pen.setLineDash(mark.dashed ? [7, 5] : []);
  pen.beginPath();
  if (mark.type === "Rules") strokeTo(pen, [18, 1], [18, 23]);
  else strokeTo(pen, [2, 12], [34, 12]);
  pen.stroke();
  pen.setLineDash([]);
}
