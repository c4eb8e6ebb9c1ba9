/** Returns the last line that a terminal shows for a text without escape sequences. */
export function screenOf(text: string): string {
  let line: string[] = [];
  for (const part of text.split("\n").at(-1)!.split("\r")) {
    const characters = Array.from(part);
    line = [...characters, ...line.slice(characters.length)];
  }
  return line.join("");
}
