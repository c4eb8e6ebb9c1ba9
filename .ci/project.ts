import settings from "./project.json" with { type: "json" };

/** Address of the repository on GitHub, without a trailing slash; empty while there is no repository. */
export const REPOSITORY: string = settings.repository;

/** Folder in which `deno task pack` builds the npm package. */
export const PACKAGE_FOLDER = "dist/package/";
/** Path in the npm package of the bundle for browsers. */
export const BROWSER_BUNDLE = "dist/weir.js";

/** Pattern of the address. Only GitHub runs `.github/workflows/release.yml`, which publishes releases. */
const ADDRESS = /^https:\/\/github\.com\/[\w.-]+\/[\w.-]*\w$/;

/** Fields of package.json that contain the address of the repository. */
export interface RepositoryFields {
  repository?: { type: "git"; url: string };
  homepage?: string;
  bugs?: { url: string };
}

/**
 * Returns the fields of package.json that contain the address of the repository.
 *
 * npm accepts provenance only if `repository.url` is the repository of the workflow.
 *
 * @param repository Address on GitHub; default: that of `.ci/project.json`
 * @returns An empty object while no repository is set
 * @throws {Error} If the address has another form
 */
export function repositoryFields(repository: string = REPOSITORY): RepositoryFields {
  if (repository === "") return {};
  const problem = repositoryProblem(repository);
  if (problem !== undefined) throw new Error(problem);
  return {
    repository: { type: "git", url: `git+${repository}.git` },
    homepage: `${repository}#readme`,
    bugs: { url: `${repository}/issues` },
  };
}

/** Returns why an address is invalid, and what to do; `undefined` if it is valid. */
export function repositoryProblem(repository: string): string | undefined {
  const example = "such as https://github.com/owner/weir";
  if (repository === "") {
    return `No repository is set: write its address, ${example}, as "repository" in ` +
      `.ci/project.json, and commit it`;
  }
  if (ADDRESS.test(repository) && !repository.endsWith(".git")) return undefined;
  return `"repository" in .ci/project.json is "${repository}": write an address ${example}, ` +
    `without ".git" and without a slash at the end, and commit it`;
}
