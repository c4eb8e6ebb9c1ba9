import type { Delivery, FaultContext, FaultKind } from "./fault_kind.ts";
import type { Random } from "../random.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });
const encoder = new TextEncoder();

/** Cuts a body at a random byte. */
function cut(delivery: Delivery, { random }: FaultContext): void {
  delivery.bytes = delivery.bytes.slice(0, random.int(0, delivery.bytes.length - 1));
}

function isJson(bytes: Uint8Array<ArrayBuffer>): boolean {
  try {
    JSON.parse(decoder.decode(bytes));
    return true;
  } catch {
    return false;
  }
}

/** Removes, inserts or replaces bytes until the body is not valid JSON. A body that is cut already stays as it is. */
function breakJson(delivery: Delivery, { random }: FaultContext): boolean {
  if (!isJson(delivery.bytes)) return false;
  for (let attempt = 0; attempt < 20; attempt++) {
    const bytes = changeByte(delivery.bytes, random);
    if (isJson(bytes)) continue;
    delivery.bytes = bytes;
    return true;
  }
  return false;
}

function changeByte(bytes: Uint8Array<ArrayBuffer>, random: Random): Uint8Array<ArrayBuffer> {
  const at = random.int(0, bytes.length - 1);
  const added = random.chance(0.7)
    ? [random.pick([...'",:[]{}\\0-.eE tfn\n\0'].map((mark) => mark.charCodeAt(0)))]
    : [];
  const removed = random.pick([0, 1, 1, 5]);
  return Uint8Array.from([...bytes.subarray(0, at), ...added, ...bytes.subarray(at + removed)]);
}

function concat(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

export const BODY_FAULTS: readonly FaultKind[] = [
  {
    name: "reset in the body",
    deliver(delivery, context) {
      cut(delivery, context);
      delivery.end = "reset";
    },
  },
  { name: "reset after the complete body", deliver: (delivery) => void (delivery.end = "reset") },
  { name: "body truncated at a random byte", deliver: cut },
  {
    name: "stalled body",
    deliver(delivery, context) {
      cut(delivery, context);
      delivery.end = "hang";
    },
  },
  { name: "complete body without an end", deliver: (delivery) => void (delivery.end = "hang") },
  {
    name: "slow body",
    deliver: (delivery, { random }) => void (delivery.delay = random.int(1, 29_000)),
  },
  { name: "invalid JSON", deliver: breakJson },
  {
    name: "text after the page",
    deliver(delivery, { random }) {
      const text = random.pick(["]", "}", "<!-- proxy -->", "\0", ',{"value":[]}', "null"]);
      delivery.bytes = concat(delivery.bytes, encoder.encode(text));
    },
  },
  {
    name: "the page twice",
    deliver: (delivery) => void (delivery.bytes = concat(delivery.bytes, delivery.bytes)),
  },
  {
    name: "wrong content type",
    deliver(delivery, { random }) {
      const types = ["text/html", "text/plain", "application/octet-stream", ""];
      delivery.headers["content-type"] = random.pick(types);
    },
  },
];
