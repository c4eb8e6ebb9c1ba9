import type { Fault } from "./fault.ts";

/** Faults of signed URLs, of the edge function and of the command line. */
export const PROGRAM_FAULTS: readonly Fault[] = [
  {
    name: "a signature is not checked",
    file: "src/signing/signed_url.ts",
    find: 'if (!isRight) return "wrong";',
    replacement: "",
    test: "tests/signing/signed_url_test.ts",
  },
  {
    name: "a signed URL never expires",
    file: "src/signing/signed_url.ts",
    find: 'now > Number(expires) * 1000 ? "expired" : "valid"',
    replacement: '"valid"',
    test: "tests/signing/signed_url_test.ts",
  },
  {
    name: "a token is compared by its digest's last byte alone",
    file: "edge/downloads/access.ts",
    find: "difference |= byte",
    replacement: "difference = byte",
    test: "tests/edge/downloads/access_test.ts",
  },
  {
    name: "without WEIR_ACCESS the server is open",
    file: "edge/config.ts",
    find: "(mode) => mode === environment.WEIR_ACCESS)",
    replacement: '(mode) => mode === (environment.WEIR_ACCESS || "public"))',
    test: "tests/edge/config_test.ts",
  },
  {
    name: "a download that breaks in its midst ends clean",
    file: "edge/downloads/download.ts",
    find: "        onFault(error);\n        onEnd();\n        throw error;",
    replacement: "        onFault(error);\n        onEnd();\n        return controller.close();",
    test: "tests/edge/downloads/faults_test.ts",
  },
  {
    name: "a cell's <script> runs in the page",
    file: "edge/page/results.ts",
    find: "                toCell(row[field])\n",
    replacement:
      "                Object.assign(new String(toCell(row[field])), { isEscaped: true })\n",
    test: "tests/edge/page/page_test.ts",
  },
  {
    name: "a file has its name before it is whole",
    file: "src/cli/download.ts",
    find: "    await sink.leave(rows);\n",
    replacement: "    await sink.finish();\n",
    test: "tests/processes/command_line_test.ts",
    only: "a fault before the first page leaves nothing, one after it the part and how to go on",
  },
  {
    name: "--resume goes on with another query",
    file: "src/cli/part_state.ts",
    find: "state.question !== question",
    replacement: 'state.question === ""',
    test: "tests/processes/resume_test.ts",
    only: "another question does not go on with a part, nor does one whose state is lost",
  },
  {
    name: "a fault ends the command line with 0",
    file: "src/cli/run.ts",
    find: "if (!(error instanceof UsageError)) return 1;",
    replacement: "if (!(error instanceof UsageError)) return 0;",
    test: "tests/cli/run_test.ts",
  },
  {
    name: "a resumed download forgets the DOIs of its first pages",
    file: "src/cli/doi_collector.ts",
    find: "this.#writer = writer;\n    this.#dois = new Set(dois);",
    replacement: "this.#writer = writer;\n    this.#dois = new Set();",
    test: "tests/cli/doi_collector_test.ts",
  },
];
