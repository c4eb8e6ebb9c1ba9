/** A request that the service answers with 400. */
export class BadRequest extends Error {
  override readonly name = "BadRequest";
}
