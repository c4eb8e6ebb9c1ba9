// No decision reads the words of a hint: the tests of retries and of problems pass when all hints are reworded.
import "../helpers/no_permission.ts";
import { DataStreamError, ValidationError } from "../../mod.ts";
import "./client/retry_test.ts";
import "./edge/http/problem_test.ts";

for (const { prototype } of [DataStreamError, ValidationError]) {
  Object.defineProperty(prototype, "hint", {
    set(hint: string) {
      // Options in braces are data, and so are numbers.
      const value = hint.replace(
        /\{[^{}]*\}|[a-z]{2,}/gi,
        (part) => part.startsWith("{") ? part : "word",
      );
      Object.defineProperty(this, "hint", { value, enumerable: true });
    },
  });
}
