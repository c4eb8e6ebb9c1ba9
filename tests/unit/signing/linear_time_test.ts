// Long and malformed URLs are signed and verified in linear time.
// Measures `signUrl()` and `verifyUrl()` directly, because a request takes more time than they do.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { signUrl, verifyUrl } from "../../../src/signing/signed_url.ts";
import { assertLinear } from "../../helpers/assert_linear.ts";

const secret = "0123456789abcdef0123456789abcdef";
const tail = `signature=${"0".repeat(64)}&expires=1800000000`;

for (const part of ["a=1&", "a&", "=", "&", "%41&", "(", "%", "expires=1&", "signature=0&"]) {
  Deno.test(`signUrl() takes linear time when a query repeats "${part}"`, async () =>
    await assertLinear(
      (n) => `https://weir.example/Records.csv?${part.repeat(n)}`,
      (url) => signUrl(url, { secret, expires: 1_800_000_000 }),
    ));

  Deno.test(`verifyUrl() returns invalid in linear time when a query repeats "${part}"`, async () => {
    const url = (n: number) =>
      new URL(`https://weir.example/Records.csv?${part.repeat(n)}&${tail}`);
    await assertLinear(url, (url) => verifyUrl(url, secret, 0));
    assertEquals(await verifyUrl(url(1_000), secret, 0), "invalid");
  });
}
