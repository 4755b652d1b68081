// Loads files of qlog with the code of the viewer qvis, without its pages, and prints how many
// events of each name it found. README.md of the folder above says how to bundle and run this
// program.
import FileLoader from "@/components/filemanager/data/FileLoader";
import { QlogLoader } from "@/data/QlogLoader";
import * as fs from "fs";

const world = globalThis as any;
const print = console.log;
const errors: string[] = [];
console.log = () => {};
console.warn = () => {};
console.error = (...words: any[]) => errors.push(words.map(String).join(" "));
// A text that the viewer would show in a message box counts as an error.
world.alert = (text: string) => errors.push(text);

(async () => {
  for (const file of process.argv.slice(2)) {
    const read = await FileLoader.Load(fs.readFileSync(file, "utf8"), file);
    const group = QlogLoader.fromJSON(read.qlogJSON);
    for (const connection of group!.getConnections()) {
      connection.setupLookupTable();
      const counts: Record<string, number> = {};
      for (const [category, types] of connection.getLookupTable()) {
        for (const [name, events] of types) counts[`${category}:${name}`] = events.length;
      }
      print(file, group!.version, connection.title, JSON.stringify(counts));
    }
  }
  errors.forEach((text) => print("error:", text));
  process.exitCode = errors.length ? 1 : 0;
})();
