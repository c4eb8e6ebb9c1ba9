/** What the command line needs of its process. */
export interface Io {
  /** The value of an environment variable; undefined also where it may not be read. */
  environment: (name: string) => string | undefined;
  /** Where data goes without `--output`. */
  output: WritableStream<Uint8Array>;
  /** Writes text to standard output. */
  print: (text: string) => Promise<void>;
  /** Writes a line to standard error. */
  error: (line: string) => void;
  /** Standard error as a terminal; undefined where it is none. */
  terminal: Terminal | undefined;
  /** Asks for a line that is not shown while it is typed; without a terminal, the first line of the input. */
  askSecret: (question: string) => Promise<string>;
  /** Aborts when the process is asked to end. */
  signal: AbortSignal;
}

/** A terminal with a line that is drawn over. */
export interface Terminal {
  /** How many characters a line has. */
  columns: () => number;
  /** Writes text as it is. */
  write: (text: string) => void;
}
