// Records what the interpreter's worker says of the example that the page opens with: the page shows it until its own interpreter is there.
// `node scripts/record.mjs` runs the built module and writes www/pkg/recording.json; every build of the page begins with it.
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { ROOT } from "./lib/config.mjs";

const folder = `${ROOT}www/pkg/interpreter/`;

/** The worker's scope, as far as the module asks for it: it is one when it says so. */
globalThis.DedicatedWorkerGlobalScope = class {
  static [Symbol.hasInstance](value) {
    return value === globalThis;
  }
};
globalThis.self = globalThis;

/** What is asked about each compilation by what a visitor sees first. */
const QUESTIONS = [{ ask: "eager" }];

/** What a worker that starts with this script says until it is done, and what it answers then. */
async function record(program) {
  const events = [];
  const answers = [];
  let done;
  const ended = new Promise((resolve, reject) => {
    done = { resolve, reject };
  });
  globalThis.postMessage = (message) => {
    if (message.type === "event") events.push(typeof message.event === "string" ? JSON.parse(message.event) : message.event);
    else if (message.type === "answer") answers.push({ ...asked[message.ask], answer: message.answer });
    else if (message.type === "done") done.resolve();
    else if (message.type === "failed" || message.type === "unanswered") done.reject(new Error(message.message));
  };
  const { default: init, serve_interpreter } = await import(pathToFileURL(`${folder}interpreter.js`).href);
  await init({ module_or_path: readFileSync(`${folder}interpreter_bg.wasm`) });
  const options = { backend: "aot_eager", check: false, pretend_cuda: false };
  serve_interpreter("", {}, true, [{ type: "run", run: 1, program, files: [], options }]);
  await ended;
  const compilations = events.flatMap((event) => (event.event === "compiled" ? event.compilation.id : []));
  const asked = compilations.flatMap((compilation) => QUESTIONS.map((question) => ({ compilation, question })));
  asked.forEach(({ compilation, question }, ask) => globalThis.onmessage({ data: { type: "study", ask, compilation, question } }));
  return { events, answers };
}

/** Bytes have no form in JSON: they are told as text. */
const replacer = (_key, value) => (value instanceof Uint8Array ? { base64: Buffer.from(value).toString("base64") } : value);

const program = readFileSync(`${ROOT}www/src/gallery/examples/mlp.py`, "utf8");
writeFileSync(`${ROOT}www/pkg/recording.json`, `${JSON.stringify({ program, ...(await record(program)) }, replacer)}\n`);
// The module keeps a timer.
process.exit(0);
