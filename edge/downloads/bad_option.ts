/** A download URL whose options cannot be read; the message says what was wanted. */
export class BadOption extends Error {
  override readonly name = "BadOption";
}
