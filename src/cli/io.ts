/** What the command line needs of its process. */
export interface Io {
  /**
   * The value of an environment variable; undefined also where it may not be read. Deno asks at a
   * terminal whether it may.
   */
  environment: (name: string) => string | undefined;
  /** The same of one that is not worth a question. */
  environmentIfAllowed: (name: string) => string | undefined;
  /** What to do about a variable that may not be read; empty where there is nothing. */
  howToAllow: (name: string) => string;
  /** What to do about a failed connection, as far as the runtime is the cause. */
  networkHint: () => string | undefined;
  /** Where data goes without `--output`. */
  output: WritableStream<Uint8Array>;
  /** Writes text to standard output. */
  print: (text: string) => Promise<void>;
  /** Writes a line to standard error. */
  error: (line: string) => void;
  /** Standard error as a terminal that can redraw a line; undefined if it is not one. */
  terminal: Terminal | undefined;
  /** Whether standard output is a terminal: rows and progress would stand in one another's lines. */
  showsOutput: boolean;
  /** Asks for a line that is not shown while it is typed; without a terminal, the first line of the input. */
  askSecret: (question: string) => Promise<string>;
  /** Aborts when the process is asked to end. */
  signal: AbortSignal;
}

/** A terminal with a line that is redrawn. */
interface Terminal {
  /** How many characters a line has. */
  columns: () => number;
  /** Writes text as it is. */
  write: (text: string) => void;
}
