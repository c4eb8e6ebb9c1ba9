import { METADATA_FIELDS } from "../../../src/odata/fields.ts";

export interface VersionedService {
  fetch(request: Request): Response;
  /** Publishes all datasets again. */
  publish(): void;
  /** Version of all datasets. */
  readonly version: string;
}

/** A service whose datasets are published again together. Each value of a row is the version of its dataset. */
export function versionedService(
  { datasets, rows, top }: Record<"datasets" | "rows" | "top", number>,
): VersionedService {
  let version = 1;
  const dois = Array.from({ length: datasets }, (_, index) => `10.1234/d${index}`);
  const fetch = (request: Request): Response => {
    const { pathname, searchParams } = new URL(request.url);
    const filter = searchParams.get("$filter") ?? "";
    const wanted = dois.filter((doi) => !filter.includes("DOI") || filter.includes(`'${doi}'`));
    if (pathname.endsWith("/Metadata")) {
      const value = wanted.map((doi) => ({
        ...Object.fromEntries(Object.keys(METADATA_FIELDS).map((field) => [field, doi])),
        TopicCategoryCode: [],
        Keywords: [],
        TemporalExtent: null,
        Version: `${version}`,
        PublishedTimestamp: new Date(version * 86_400_000).toISOString(),
      }));
      return Response.json({ value });
    }
    if (searchParams.has("$count")) return Response.json({ value: wanted.length * rows });
    const [doi] = wanted;
    const first = dois.indexOf(doi!) * rows;
    if (pathname.endsWith("/Locations")) {
      return Response.json({ value: [{ Id: first + 1, DOI: doi, ID: "site", Name: "Site" }] });
    }
    const after = Number(/Id:(\d+)/.exec(searchParams.get("$skiptoken") ?? "")?.[1] ?? first);
    const end = Math.min(first + rows, after + Math.min(top, Number(searchParams.get("$top"))));
    const value = Array.from({ length: end - after }, (_, index) => ({
      Id: after + index + 1,
      LocationId: first + 1,
      DOI: doi,
      CharacteristicName: "pH",
      ResultValue: version,
    }));
    const link = `${request.url.split("?")[0]}?$skiptoken=Id:${end}`;
    return Response.json({ value, ...end < first + rows && { "@odata.nextLink": link } });
  };
  return {
    fetch,
    publish: () => void version++,
    get version() {
      return `${version}`;
    },
  };
}
