// A failed connection is described by what a person can check. The errors are those of the runtimes in November 2026:
// Deno 2.9.6, Node 20.20.2 and 26.10.0, Bun 1.4.5. tests/e2e/processes/network_test.ts gets them from the runtimes.
import "../../helpers/no_permission.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { DataStream, DataStreamError, type DataStreamOptions } from "../../../mod.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";

const fromDeno = (reason: string) =>
  new TypeError("fetch failed", {
    cause: new Error(
      `error sending request for url (https://api.datastream.org/v1/odata/v4/Metadata): client error (Connect): ${reason}`,
    ),
  });
const withCode = (code: string, facts: object = {}) =>
  Object.assign(new Error(`a message with ${code}`), { code, ...facts });
const fromNode = (code: string, facts?: object) =>
  new TypeError("fetch failed", { cause: withCode(code, facts) });
const fromBun = withCode;

const CHECK = "check your network connection";
const CANNOT_FIND = `Cannot find api.datastream.org: ${CHECK}`;
const CANNOT_REACH = `Cannot reach api.datastream.org: ${CHECK}`;
const REFUSED = "The connection to api.datastream.org was refused: " +
  "check your firewall and proxy, or try again later";
const UNTRUSTED = "The certificate of api.datastream.org has an unknown issuer: " +
  "if your network inspects TLS, set DENO_TLS_CA_STORE=system";
const DENIED = "No complete response from https://api.datastream.org (Requires net access): " +
  "allow access to DataStream: deno run --allow-net=api.datastream.org";
const INVALID = "The certificate of api.datastream.org is not valid: " +
  "check the clock of this computer, and whether your network requires a login";

const FAULTS: readonly (readonly [message: string, ...errors: Error[]])[] = [
  [
    CANNOT_FIND,
    fromDeno("dns error: failed to lookup address information: Name or service not known"),
    fromDeno("dns error: No such host is known. (os error 11001)"),
    fromDeno("invalid dns name"),
    fromNode("ENOTFOUND"),
    fromNode("EAI_AGAIN"),
    fromBun("EAI_AGAIN"),
  ],
  [`Cannot find proxy.example: ${CHECK}`, fromNode("ENOTFOUND", { hostname: "proxy.example" })],
  [
    CANNOT_REACH,
    fromDeno("tcp connect error: Network is unreachable (os error 101)"),
    fromDeno("tcp connect error: No route to host (os error 65)"),
    fromNode("ENETUNREACH"),
    fromNode("UND_ERR_CONNECT_TIMEOUT"),
    fromBun("EHOSTUNREACH"),
  ],
  [
    REFUSED,
    fromDeno("tcp connect error: Connection refused (os error 111)"),
    fromDeno("tcp connect error: (os error 10061)"),
    fromNode("ECONNREFUSED"),
    fromBun("ECONNREFUSED"),
  ],
  [
    UNTRUSTED,
    fromDeno("invalid peer certificate: UnknownIssuer"),
    fromNode("DEPTH_ZERO_SELF_SIGNED_CERT"),
    fromNode("SELF_SIGNED_CERT_IN_CHAIN"),
    fromNode("UNABLE_TO_VERIFY_LEAF_SIGNATURE"),
    fromBun("UNABLE_TO_GET_ISSUER_CERT_LOCALLY"),
  ],
  [
    INVALID,
    fromDeno('invalid peer certificate: certificate not valid for name "api.datastream.org"'),
    fromNode("CERT_HAS_EXPIRED"),
    fromBun("ERR_TLS_CERT_ALTNAME_INVALID"),
  ],
  [
    `No complete response from https://api.datastream.org (fetch failed: a message with ECONNRESET): ${CHECK}, then try again`,
    fromNode("ECONNRESET"),
  ],
  [DENIED, Object.assign(new Error("Requires net access"), { name: "NotCapable" })],
];

/** Returns the error of a query whose requests fail, and their number. */
async function fail(error: Error, options: DataStreamOptions = {}) {
  let requests = 0;
  const fetch = () => (requests++, Promise.reject(error));
  const clock = new FakeClock();
  const client = new DataStream({ fetch, clock, retry: { attempts: 2 }, ...options });
  const failure = await assertRejects(() => client.metadata().count(), DataStreamError);
  return { failure, requests };
}

Deno.test("count() says what to check when no connection is possible, with and without a key", async () => {
  for (const [message, ...errors] of FAULTS) {
    for (const error of errors) {
      for (const apiKey of ["k3y", undefined]) {
        const { failure } = await fail(error, { apiKey, retry: { attempts: 1 } });
        assertEquals([failure.message, failure.kind], [message, "network"]);
      }
    }
  }
});

Deno.test("count() is retried when the connection fails, except without access or for an invalid certificate", async () => {
  for (const [message, error] of FAULTS) {
    for (const apiKey of ["k3y", undefined]) {
      const { failure, requests } = await fail(error!, { apiKey });
      const isRetried = ![UNTRUSTED, INVALID, DENIED].includes(message);
      const facts = [requests, failure.detail.endsWith(", 2 times"), failure.isTemporary];
      assertEquals(facts, [isRetried ? 2 : 1, isRetried, isRetried]);
    }
  }
});

Deno.test("count() says to check the base URL when the service is another one", async () => {
  const options = { baseUrl: "http://127.0.0.1:9000/v1", retry: { attempts: 1 } };
  const messages = [
    [fromNode("ENOTFOUND"), `Cannot find 127.0.0.1:9000: ${CHECK} and baseUrl`],
    [
      fromNode("ECONNREFUSED"),
      "The connection to 127.0.0.1:9000 was refused: check baseUrl, and that its server runs",
    ],
  ] as const;
  for (const [error, message] of messages) {
    const { failure } = await fail(error, options);
    assertEquals(failure.message, message);
  }
});
