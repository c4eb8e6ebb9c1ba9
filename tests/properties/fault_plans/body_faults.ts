import type { Delivery, FaultContext, FaultKind } from "./fault_kind.ts";
import type { Random } from "../random.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });
const encoder = new TextEncoder();

function bodyFault(
  name: string,
  deliver: (delivery: Delivery, context: FaultContext) => boolean | void,
): FaultKind {
  return {
    name,
    on: "any",
    isRecoverable: true,
    deliver: (delivery, context) => deliver(delivery, context) ?? true,
  };
}

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

/** Adds text before and after a body. */
function enclose(delivery: Delivery, before: string, after: string): void {
  const parts = [encoder.encode(before), delivery.bytes, encoder.encode(after)];
  delivery.bytes = Uint8Array.from(parts.flatMap((part) => [...part]));
}

export const BODY_FAULTS: readonly FaultKind[] = [
  bodyFault("reset in the body", (delivery, context) => {
    cut(delivery, context);
    delivery.end = "reset";
  }),
  bodyFault("reset after the complete body", (delivery) => {
    delivery.end = "reset";
  }),
  bodyFault("body truncated at a random byte", cut),
  bodyFault("stalled body", (delivery, context) => {
    cut(delivery, context);
    delivery.end = "hang";
  }),
  bodyFault("complete body without an end", (delivery) => {
    delivery.end = "hang";
  }),
  bodyFault("slow body", (delivery, { random }) => {
    delivery.delay = random.int(1, 29_000);
  }),
  bodyFault("invalid JSON", breakJson),
  bodyFault("text after the page", (delivery, { random }) => {
    const text = random.pick(["]", "}", "<!-- proxy -->", "\0", ',{"value":[]}', "null"]);
    enclose(delivery, "", text);
  }),
  bodyFault("the page twice", (delivery) => {
    delivery.bytes = Uint8Array.from([...delivery.bytes, ...delivery.bytes]);
  }),
  bodyFault("wrong content type", (delivery, { random }) => {
    delivery.contentType = random.pick(["text/html", "text/plain", "application/octet-stream", ""]);
  }),
];
