/**
 * Converts `README.md` for the page of the npm package.
 *
 * Removes the images. Relative links lead to the repository at the tag of the version. While the address
 * of the repository is not known, only their text remains, because they would lead nowhere.
 *
 * @param text Content of `README.md`
 * @param repository Address of the repository, or an empty string
 * @param version Version of the package
 */
export function packageReadme(text: string, repository: string, version: string): string {
  // Code blocks stay as they are.
  return text.split(/^(```[\s\S]*?^```)$/m).map((part) =>
    part.startsWith("```") ? part : part
      .replace(/^!\[[^\]]*\]\([^)]*\)\n\n?/gm, "")
      .replace(/\[([^\]]+)\]\((?![a-z]+:|#)([^)]+)\)/g, (_, label, target) =>
        repository === "" ? label : `[${label}](${repository}/blob/v${version}/${target})`)
  ).join("");
}
