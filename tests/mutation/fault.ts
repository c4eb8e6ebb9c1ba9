/** A fault to patch in, which a test of the suite must catch. */
export interface Fault {
  /** What a user would meet. */
  name: string;
  file: string;
  /** The text that is replaced; it stands in the file once. */
  find: string;
  replacement: string;
  /** The file of tests, one of which must fail. */
  test: string;
  /** The name of that test, where the others of its file take long. */
  only?: string;
}
