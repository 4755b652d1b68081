// Decodes the columns of the page. All columns are one text in base 64, which contains a gzip stream. The stream has
// the planes of each column: the lowest octets of all its values, then their second octets, and so on.

async function unzipped(text) {
  const packed = atob(text);
  const octets = new Uint8Array(packed.length);
  for (let n = 0; n < packed.length; n += 1) octets[n] = packed.charCodeAt(n);
  const stream = new Blob([octets]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Floats, stored with all their bits.
function floats(octets, at, count) {
  const raw = new Uint8Array(8 * count);
  for (let plane = 0; plane < 8; plane += 1) {
    for (let n = 0; n < count; n += 1) raw[8 * n + plane] = octets[at + plane * count + n];
  }
  return new Float64Array(raw.buffer);
}

// Whole numbers. Each is stored as its difference from its predecessor, or from the value in the same row of another
// column. The lowest bit of a stored number is the sign of the difference.
function whole(octets, at, [count, planes], base) {
  const found = new Float64Array(count);
  for (let plane = planes - 1; plane >= 0; plane -= 1) {
    const from = at + plane * count;
    for (let n = 0; n < count; n += 1) found[n] = 256 * found[n] + octets[from + n];
  }
  let before = 0;
  for (let n = 0; n < count; n += 1) {
    const code = found[n];
    const difference = code % 2 ? -(code + 1) / 2 : code / 2;
    before = (base ? base[n] : before) + difference;
    found[n] = before;
  }
  return found;
}

// All columns as floats, in the order of their descriptions.
async function columnsOf(described, text) {
  const octets = await unzipped(text);
  const counted = [];
  let at = 0;
  return described.map(([count, planes, scale, base], n) => {
    const from = at;
    at += count * planes;
    if (scale === 0) return floats(octets, from, count);
    counted[n] = whole(octets, from, [count, planes], base < 0 ? null : counted[base]);
    return scale === 1 ? counted[n] : counted[n].map((value) => value / scale);
  });
}
