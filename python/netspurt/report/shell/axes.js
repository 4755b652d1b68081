// Axes: positions of values, and the values that get a tick.

// The position of a value on a straight line: its logarithm on a logarithmic axis.
function straight(value, log) {
  return log ? Math.log10(Math.max(value, 1e-300)) : value;
}

// The value at a position on a straight line.
function bent(place, log) {
  return log ? 10 ** place : place;
}

// Round values from `low` to `high`, about `wanted` of them. If `whole` is true, all of them are whole numbers.
function ticksOf(low, high, wanted, whole) {
  const rough = (high - low) / Math.max(1, wanted);
  if (!(rough > 0) || !Number.isFinite(rough)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].find((one) => one * power >= rough) * power;
  if (whole) step = Math.max(1, Math.round(step));
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; n += 1) {
    found.push(Number((n * step).toPrecision(12)));
  }
  return found;
}

// The values with a tick on a logarithmic axis: 1, 2 and 5 times each power of ten, or only powers of ten if these
// are too many. An axis that spans less than 0.8 of a power of ten has round values.
function logTicks(low, high, wanted) {
  if (high - low < 0.8) return ticksOf(10 ** low, 10 ** high, wanted).filter((one) => one > 0);
  const parts = high - low > wanted / 2 ? [1] : [1, 2, 5];
  const every = Math.max(1, Math.ceil((high - low) / wanted));
  const found = [];
  for (let power = Math.floor(low); power <= high; power += every) {
    for (const part of parts) {
      const value = part * 10 ** power;
      if (Math.log10(value) >= low && Math.log10(value) <= high) found.push(value);
    }
  }
  return found;
}

// The ticks of an axis, each with its text. `low` and `high` are positions that `straight` returned.
function axisTicks(scale, low, high, wanted) {
  if (scale.ticks.length) return named(scale, low, high);
  if (scale.log) {
    const found = logTicks(low, high, wanted).map((one) => [one, brief(one, scale.unit)]);
    return scale.zero === null ? found : withZero(found, scale.zero, low, high);
  }
  const [size] = fitting(scale.unit, extent(scale, low, high));
  const found = ticksOf(low / size, high / size, wanted, scale.whole);
  const step = found.length > 1 ? found[1] - found[0] : 1;
  const decimals = Math.min(9, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return found.map((one) => [one * size, grouped(one, decimals)]);
}

// Add the tick of zero, which has a place of its own on a logarithmic axis. Leave out the ticks whose texts would cover
// the text of this tick.
function withZero(ticks, zero, low, high) {
  const at = straight(zero, true);
  if (at < low || at > high) return ticks;
  return [[zero, "0"], ...ticks.filter(([value]) => straight(value, true) > at + 0.06 * (high - low))];
}

// The value that decides the prefix of a unit: for elapsed time, the length of the span; otherwise, the largest value.
function extent({ unit }, low, high) {
  return unit === "elapsed" ? high - low : Math.max(Math.abs(low), Math.abs(high));
}

function named({ ticks, log }, low, high) {
  return ticks.filter(([value]) => straight(value, log) >= low && straight(value, log) <= high);
}

// A value with its unit, as a logarithmic axis shows it.
function brief(value, unit) {
  const [size, name] = fitting(unit, 2 * value);
  return `${grouped(Number((value / size).toPrecision(4)), 12)}${name ? ` ${name}` : ""}`;
}

// The label of an axis, with the unit that fits the largest value. A logarithmic axis has units in its ticks.
function axisLabel(scale, most) {
  if (scale.log || !scale.unit || scale.ticks.length) return scale.label;
  return `${scale.label} [${fitting(scale.unit, most)[1]}]`;
}
