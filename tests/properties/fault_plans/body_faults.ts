import type { Delivery, FaultContext, FaultKind } from "./fault_kind.ts";

const encoder = new TextEncoder();

/** Cuts a body at a random byte. */
function cut(delivery: Delivery, { random }: FaultContext): void {
  delivery.bytes = delivery.bytes.slice(0, random.int(0, delivery.bytes.length - 1));
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
  {
    name: "a byte that JSON does not allow",
    deliver(delivery, { random }) {
      delivery.bytes = delivery.bytes.with(random.int(0, delivery.bytes.length - 1), 0);
    },
  },
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
