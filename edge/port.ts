/**
 * The port to listen on.
 *
 * @param given The variable `PORT`; 0 is any free port. Default 8000
 * @throws {TypeError} If it is no port
 */
export function readPort(given: string | undefined): number {
  const port = Number(given || "8000");
  if (/^\d+$/.test(given || "8000") && port <= 65_535) return port;
  throw new TypeError(`PORT must be a number from 0 to 65535 (0: any free port), got "${given}"`);
}
