// Points of locations: digits for GeoJSON, and well-known binary for GeoParquet.
import { type MapPosition, mapPositionOf } from "../odata/map_position.ts";
import { BytesCache, parseBytes } from "./json_scanner.ts";
import { readNumber } from "./numbers.ts";
import type { PageTranscoder } from "./page_writer.ts";
import { type Cells, EMPTY, PLAIN_STRING, SCALAR } from "./row_reader.ts";

export interface Point extends MapPosition {
  /** Longitude and latitude as the service sent them. */
  digits: readonly [Uint8Array, Uint8Array];
}

/** Returns the point of the row that a page converts. Notes if it has none, or is in NAD83. */
export type ReadPoint = (page: PageTranscoder) => Point | undefined;

/** `columns` are in the order of `POSITION_FIELDS`. */
export function pointReader(columns: readonly number[]): ReadPoint {
  const [longitudeColumn, latitudeColumn, systemColumn] = columns as [number, number, number];
  const systems = new BytesCache(parseBytes);
  return (page) => {
    const { reader } = page;
    const longitude = reader.content(longitudeColumn);
    const latitude = reader.content(latitudeColumn);
    const toNumber = (bytes: Uint8Array | undefined, column: number) =>
      bytes && readNumber(bytes, 0, bytes.length, reader.kinds[column] !== SCALAR);
    const position = mapPositionOf(
      toNumber(longitude, longitudeColumn),
      toNumber(latitude, latitudeColumn),
      reader.lookUp(systems, systemColumn),
    );
    if (position === undefined) page.note("withoutGeometry");
    else if (position.system === "NAD83") page.note("nad83");
    return position && { ...position, digits: [longitude!, latitude!] };
  };
}

/** Byte order (little-endian) and type of a point (OGC Simple Features, 8.2). */
const POINT_HEAD = [1, 1, 0, 0, 0];

/** The cell of the column `geometry`: a point in the well-known binary form. */
export class PointCell implements Cells {
  readonly bytes: Uint8Array = new Uint8Array(POINT_HEAD.length + 16);
  readonly view: DataView = new DataView(this.bytes.buffer);
  readonly starts: Int32Array = Int32Array.of(0);
  readonly ends: Int32Array = Int32Array.of(this.bytes.length);
  readonly kinds: Uint8Array = Uint8Array.of(EMPTY);

  constructor() {
    this.bytes.set(POINT_HEAD);
  }

  fill(point: Point | undefined): void {
    this.kinds[0] = point === undefined ? EMPTY : PLAIN_STRING;
    if (point === undefined) return;
    this.view.setFloat64(POINT_HEAD.length, point.longitude, true);
    this.view.setFloat64(POINT_HEAD.length + 8, point.latitude, true);
  }
}
