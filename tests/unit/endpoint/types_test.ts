// Wrong options and missing variables of a route do not compile: each has a `@ts-expect-error`.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { endpoint, type PlaceholderName, type RouteVariables } from "../../../src/endpoint/mod.ts";

/** Compiles only if both types are the same. */
function same<A, B>(..._: [A] extends [B] ? [B] extends [A] ? [] : [never] : [never]): void {}

Deno.test("PlaceholderName is the union of the placeholders when the route is a literal", () => {
  same<PlaceholderName<"GET /a/{b}/c">, "b">();
  same<PlaceholderName<"POST /a/{b:3}{/c*}{?d,e*}{&f}{#g}">, "b" | "c" | "d" | "e" | "f" | "g">();
  same<PlaceholderName<"/a/:b/:c_1">, "b" | "c_1">();
  same<PlaceholderName<"/Id:abcd/{id}:archive/15:30:00?x=:y#:z">, "id">();
  same<PlaceholderName<"/plain">, never>();
  same<PlaceholderName<"/a{?x}/:no#{y}:no">, "x" | "y">();
  same<PlaceholderName<"GET http://[::ffff:1]:80/{a:3,b*}/:id">, "a" | "b" | "id">();
  same<keyof RouteVariables<"/{a}{?b,data}">, "a" | "b">();
});

Deno.test("endpoint() does not compile when a parameter has a type that its placeholder cannot contain", () => {
  const { url } = endpoint("https://example.org/{id}/:part", { id: 5n, part: new Date(0) });
  assertEquals(url, "https://example.org/5/1970-01-01T00%3A00%3A00.000Z");
  endpoint("/x/{list*}", { list: ["a", 1, null] });
  endpoint("POST /x/{id}", { id: null, other: { anything: 1 } });
  const wrong = () => {
    // @ts-expect-error -- a function
    endpoint("/x/{id}", { id: () => 1 });
    // @ts-expect-error -- an object in an object
    endpoint("/x/:id", { id: { a: { b: 1 } } });
    // @ts-expect-error -- a header is a string
    endpoint("/x", { headers: { accept: {} } });
    // @ts-expect-error -- a method is a string
    endpoint({ url: "/x", method: 5 });
    // @ts-expect-error -- merge() checks the placeholders too
    endpoint.merge("/x/{id}", { id: Symbol() });
  };
  same<typeof wrong, () => void>();
});

Deno.test("endpoint() does not compile when neither the options nor a default supply a url", () => {
  const missing = () => {
    // @ts-expect-error -- no url
    endpoint({ method: "GET" });
    // @ts-expect-error -- no url
    endpoint({});
    // @ts-expect-error -- an undefined url
    endpoint({ url: undefined });
    // @ts-expect-error -- a default that is not a url
    endpoint.defaults({ org: "a" })({ method: "GET" });
    // @ts-expect-error -- a default of defaults that is not a url
    endpoint.defaults({ org: "a" }).defaults({ method: "PUT" })({ org: "b" });
  };
  same<typeof missing, () => void>();
  const url = "https://example.org/x";
  assertEquals(endpoint({ url }).url, url);
  assertEquals(endpoint.defaults({ url }).defaults({ headers: {} })({}).url, url);
  assertEquals(endpoint.defaults({ org: "a" }).defaults({ url })({}).url, `${url}?org=a`);
  assertEquals(endpoint.merge({ method: "GET" }).url, undefined);
});
