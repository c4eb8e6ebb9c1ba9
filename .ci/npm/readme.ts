/**
 * Converts `README.md` for the page of the npm package.
 *
 * Removes the images. Replaces relative links by links to the tag of the version in the repository, or by their
 * text if there is no repository.
 *
 * @param text Content of `README.md`
 * @param repository Address of the repository, or an empty string
 * @param version Version of the package
 */
export function packageReadme(text: string, repository: string, version: string): string {
  // Code blocks do not change.
  return text.split(/^(```[\s\S]*?^```)$/m).map((part) =>
    part.startsWith("```") ? part : part
      .replace(/^!\[[^\]]*\]\([^)]*\)\n\n?/gm, "")
      .replace(/\[([^\]]+)\]\((?![a-z]+:|#)([^)]+)\)/g, (_, label, target) =>
        repository === "" ? label : `[${label}](${repository}/blob/v${version}/${target})`)
  ).join("");
}
