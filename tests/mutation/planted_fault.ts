/** A known fault, which a test must detect after it is patched into the code. */
export interface PlantedFault {
  /** Effect that a user would see. */
  name: string;
  /** Path of the source file. */
  file: string;
  /** Text to replace; it occurs once in the file. */
  find: string;
  replacement: string;
  /** Path of the test file; one of its tests must fail. */
  test: string;
  /** Name of the test to run, if the other tests of the file are slow. */
  only?: string;
}
