// Describes a download as a data package: its query, schema, dataset versions and citations.
import { requestDatasets } from "../../src/client/dataset_versions.ts";
import { ValidationError } from "../../src/errors.ts";
import { versionsOf } from "../../src/formats/citations.ts";
import { sealPackage, toDataPackage } from "../../src/formats/data_package.ts";
import { parseSelect, toWiderMetadataFilter } from "../../src/odata/query_options.ts";
import { fieldNames, type ResourceName } from "../../src/odata/resources.ts";
import type { Exchange } from "../http/exchange.ts";
import { type AppContext, authorize, keyOf, sendDocument } from "./document.ts";
import { parseDownload } from "./download.ts";
import { PACKAGE_MEDIA_TYPE } from "./headers.ts";
import type { DownloadParameters } from "../http/parameters.ts";

/** Responds with the package of the download that has the same parameters; `$format` is its format. */
export async function respondWithDataPackage(
  exchange: Exchange,
  resource: ResourceName,
  context: AppContext,
): Promise<Response> {
  const { feeds, settings } = context;
  const dataStream = await authorize(exchange, context);
  // Without the header `accept`, which is about the package.
  const request = new Request(exchange.request.url);
  const download = await parseDownload(request, resource, undefined, dataStream, context);
  const { query, queryUrl: url, count, format, csv, fileName, options, document } = download;
  if (count) {
    throw new ValidationError("$count", "cannot be combined with a data package", {
      hint: "omit it: the package has the number of rows",
    });
  }
  exchange.facts.query = download.logged;
  const complete = feeds.findComplete(keyOf(document, exchange, settings));
  const facts = complete && {
    bytes: complete.bytes,
    rows: complete.rows,
    hash: complete.hash && `sha256:${complete.hash}`,
  };
  const { notes, missingRows, surplusRows } = complete?.parts.at(-1) ?? {};
  return await sendDocument(exchange, context, {
    mediaType: PACKAGE_MEDIA_TYPE,
    id: ["package", document, facts],
    task: "Request for the data package",
    async request(signal) {
      const filter = toWiderMetadataFilter(query);
      const citations = await requestDatasets(dataStream, filter, signal);
      const expectedRows = facts === undefined && isCountExact(query)
        ? await dataStream.query(resource, { ...options, signal }).count()
        : undefined;
      const { select, tidy, limit = Infinity } = query;
      const found = toDataPackage({
        fileName,
        resource,
        format,
        csv,
        columns: select === undefined ? fieldNames(resource) : parseSelect(select),
        tidy,
        created: new Date(settings.now()),
        url,
        citations,
        datasets: versionsOf(citations),
        more: {
          expectedRows: expectedRows && Math.min(expectedRows, limit),
          notes,
          missingRows,
          surplusRows,
        },
        ...facts,
      });
      const content = `${JSON.stringify(await sealPackage(found), null, 2)}\n`;
      return { content, rows: citations.length };
    },
  });
}

/** The service counts whole years, all types of activity, and the rows before a position too. */
function isCountExact(
  { skipToken, from, to, excludeQualityControl }: DownloadParameters["query"],
): boolean {
  return [skipToken, from, to].every((value) => value === undefined) && !excludeQualityControl;
}
