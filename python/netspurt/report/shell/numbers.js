// Numbers as text, in SI units.

const PREFIXES = {
  s: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]],
  B: [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
  "%": [[0.01, "%"]],
  "bit/s": [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]],
};

// The size and the name of the unit whose prefix suits the largest value. The constant `LONG` has the
// units of long spans. Each has the least span that is written in this unit, the size of the unit, and
// its name. page.py puts this constant before the script.
function fitting(unit, most) {
  if (unit === "elapsed") return (LONG.find(([least]) => most >= least) || [0, 1, "s"]).slice(1);
  const sizes = PREFIXES[unit] || [[1, unit]];
  return sizes.find(([size]) => most >= 2 * size) || sizes[sizes.length - 1];
}

// A number with grouped digits and at most `decimals` decimals, without zeros at the end.
function grouped(value, decimals = 6) {
  return value.toLocaleString("en-US", { maximumFractionDigits: decimals });
}

// A value in full: times to the nanosecond, octets to the octet; rates, percentages and fractions are rounded.
function exact(value, unit) {
  if (unit === "bit/s" || unit === "%") {
    const [size, name] = fitting(unit, 2 * value);
    return `${Number((value / size).toPrecision(4))} ${name}`;
  }
  if (unit === "elapsed") return value < LONG[LONG.length - 1][0] ? exact(value, "s") : `${exact(value, "s")} (${clock(value)})`;
  if (unit === "s" && value) {
    const [size, name] = fitting(unit, 2 * Math.abs(value));
    return `${Number((value / size).toFixed(Math.round(9 + Math.log10(size))))} ${name}`;
  }
  const text = Number.isInteger(value) ? grouped(value) : grouped(Number(value.toPrecision(6)));
  return unit ? `${text} ${unit}` : text;
}

// A long span in hours, minutes and seconds.
function clock(seconds) {
  const whole = Math.floor(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  return `${hours ? `${hours} h ` : ""}${minutes} min ${whole % 60} s`;
}

// The unit of an axis: the unit of its scale, or else the unit in brackets at the end of its label.
function unitOf(scale) {
  if (scale.unit) return scale.unit;
  const found = /\[(s|B|bit\/s)\]$/.exec(scale.label);
  return found ? found[1] : "";
}
