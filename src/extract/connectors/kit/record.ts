import type { FoundRecord, JsonObject } from '../../connector.ts';

/** Creates a record whose first fields are its id and its URL; null if either is unknown, because a record requires both. */
export function recordOf(id: string | null, url: string | null, fields: JsonObject): FoundRecord | null {
  return id === null || url === null ? null : { id, sourceUrl: url, fields: { id, url, ...fields } };
}
