// The page of a report: its numbers, its groups of pictures, its light and dark colours, and its printed form.

const PRINTED = { width: 680, dot: 2 };
let printing = false;

function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

// The colours and the density with which to draw.
function lookOf(inks) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const place = isDark() && !printing ? 1 : 0;
  return {
    dot: printing ? PRINTED.dot : Math.min(3, window.devicePixelRatio || 1),
    width: printing ? PRINTED.width : 0,
    ink: (name) => inks[name][place],
    colours: printing
      ? { grid: "#e4e4e4", axis: "#777", text: "#333", label: "#000", strong: "#000", chosen: "#0002", paper: "#fff" }
      : Object.fromEntries(["grid", "axis", "text", "label", "strong", "chosen", "paper"].map((one) => [one, colour(one)])),
  };
}

// The description of a group has the number of each column. Replace these numbers by the columns.
function withColumns(told, columns) {
  const named = ["x", "y", "low", "high", "left", "right", "values", "packet"];
  for (const side of told.sides) {
    for (const flow of side.flows) {
      for (const panel of flow.panels) {
        for (const mark of panel.marks) {
          for (const one of named) if (typeof mark[one] === "number") mark[one] = columns[mark[one]];
        }
      }
    }
  }
  return told;
}

// The button switches between the colours of the system, light colours and dark colours.
function watchTheme(redraw) {
  const button = document.getElementById("theme");
  const order = ["", "light", "dark"];
  const tell = () => {
    const now = document.documentElement.dataset.theme || "";
    button.textContent = `Colours: ${now || "as the system"}`;
  };
  button.addEventListener("click", () => {
    const now = document.documentElement.dataset.theme || "";
    document.documentElement.dataset.theme = order[(order.indexOf(now) + 1) % order.length];
    tell();
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  tell();
}

// On paper, the pictures have the width of the paper, and dark ink.
function watchPrint(groups, look) {
  const draw = (now) => {
    printing = now;
    document.documentElement.classList.toggle("printing", now);
    for (const group of groups) group.drawAll(look());
  };
  window.addEventListener("beforeprint", () => draw(true));
  window.addEventListener("afterprint", () => draw(false));
}

// A click on a row of a table moves the pictures to the place of the row.
function watchRows(groups) {
  for (const row of document.querySelectorAll("tr[data-place]")) {
    row.addEventListener("click", () => {
      const place = JSON.parse(row.dataset.place);
      for (const other of document.querySelectorAll("tr.followed")) other.classList.remove("followed");
      row.classList.add("followed");
      groups[place.group].go(place);
    });
  }
}

async function open() {
  const read = (id) => document.getElementById(id).textContent;
  const told = JSON.parse(read("description"));
  const columns = await columnsOf(told.columns, read("payload"));
  const look = () => lookOf(told.inks);
  const groups = told.groups.map((one, n) => {
    const root = document.querySelector(`[data-group="${n}"]`);
    return new Group(root, withColumns(one, columns), look);
  });
  watchTheme(() => groups.forEach((group) => group.redraw()));
  watchPrint(groups, look);
  watchRows(groups);
  groups.forEach((group) => group.drawAll());
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

open().catch((error) => {
  const words = `The pictures cannot be drawn: ${error.message}. The tables are complete.`;
  document.getElementById("trouble").textContent = words;
  throw error;
});
