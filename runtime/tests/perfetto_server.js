// Serves Perfetto's trace processor over HTTP, as `trace_processor_shell -D` does.
//
//     node perfetto_server.js FOLDER
//
// FOLDER is Perfetto's user interface. It holds the trace processor as WebAssembly, and the script
// that loads it in a web worker. This program runs the script in a scope that looks like a worker,
// and passes requests on (protos/perfetto/trace_processor/trace_processor.proto). It prints the
// port that it listens on, and ends when its standard input closes.
"use strict";

const fs = require("fs");
const http = require("http");
const path = require("path");
const vm = require("vm");

const folder = process.argv[2];
const [APPEND, FINALIZE, QUERY] = [1, 2, 3];
const [APPEND_DATA, QUERY_ARGS, APPEND_RESULT, QUERY_RESULT] = [101, 103, 201, 203];

const load = (url) => fs.readFileSync(path.join(folder, path.basename(String(url))));

class Download {
  open(method, url) { this.url = url; }
  overrideMimeType() {}
  send() {
    const body = load(this.url);
    this.status = 200;
    this.response = body.buffer.slice(body.byteOffset, body.byteOffset + body.length);
    setTimeout(() => this.onload?.(), 0);
  }
}

// Starts the worker, and calls `ready` once when it takes requests. Each answer goes to `reply`.
function startWorker(reply, ready) {
  const worker = {
    console: { log() {}, warn() {}, error: console.error },
    WebAssembly, Uint8Array, TextDecoder, Error, TypeError, Promise, URL, performance,
    setTimeout, clearTimeout, crypto,
    location: { href: "http://localhost/engine_bundle.js", pathname: "/engine_bundle.js" },
    navigator: { languages: ["C"] },
    WorkerGlobalScope: class {}, ErrorEvent: class {}, PromiseRejectionEvent: class {},
    XMLHttpRequest: Download,
    ready: () => setTimeout(ready, 0),
    fetch: async (url) =>
      new Response(load(url), { headers: { "Content-Type": "application/wasm" } }),
  };
  worker.self = worker;
  vm.createContext(worker);
  const script = load("engine_bundle.js").toString();
  // The worker tells nobody when its module is compiled. Its last act then is this assignment.
  const last = "this.reqBufferAddr=";
  if (!script.includes(last)) throw new Error(`engine_bundle.js lacks ${last}`);
  vm.runInContext(script.replaceAll(last, `self.ready(),${last}`), worker);
  const port = { postMessage: reply, onmessage: null };
  worker.onmessage({ data: port });
  return (bytes) => port.onmessage({ data: new Uint8Array(bytes) });
}

function varint(number) {
  const bytes = [];
  for (; number > 127; number = Math.floor(number / 128)) bytes.push((number % 128) | 128);
  return Buffer.from([...bytes, number]);
}

const integer = (tag, number) => Buffer.concat([varint(tag * 8), varint(number)]);
const field = (tag, body) => Buffer.concat([varint(tag * 8 + 2), varint(body.length), body]);

// Yields the fields of a message that are strings or messages, as pairs of tag and bytes.
function* fields(message) {
  let at = 0;
  const next = () => {
    let number = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = message[at++];
      number += (byte & 127) * scale;
      if (byte < 128) return number;
    }
  };
  while (at < message.length) {
    const key = next();
    if (key % 8 === 0) { next(); continue; }
    const length = next();
    yield [Math.floor(key / 8), message.subarray(at, (at += length))];
  }
}

let replies = [];
const send = startWorker(
  (bytes) => replies.push(Buffer.from(bytes)),
  () => server.listen(0, "127.0.0.1", () => console.log(server.address().port)),
);
let sequence = 0;

// Returns the bytes of the field `tag` in the answers. The trace processor answers at once.
function call(method, tag, ...request) {
  replies = [];
  send(field(1, Buffer.concat([integer(1, ++sequence), integer(2, method), ...request])));
  const found = [];
  for (const [, message] of fields(Buffer.concat(replies)))
    for (const [number, body] of fields(message)) if (number === tag) found.push(body);
  return Buffer.concat(found);
}

const answers = {
  "/status": () => Buffer.alloc(0),
  "/parse": (body) => call(APPEND, APPEND_RESULT, field(APPEND_DATA, body)),
  "/notify_eof": () => call(FINALIZE, APPEND_RESULT),
  "/query": (body) => call(QUERY, QUERY_RESULT, field(QUERY_ARGS, body)),
};

const server = http.createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const answer = answers[request.url];
    if (!answer) { response.writeHead(404).end(); return; }
    const body = answer(Buffer.concat(chunks));
    response.writeHead(200, { "Content-Length": body.length }).end(body);
  });
});

process.stdin.on("end", () => process.exit(0)).resume();
