import type { FoundRecord, JsonObject } from '../../connector.ts';

/** A record whose first fields are its id and its address; null where either is not known, without which there is no record. */
export function recordOf(id: string | null, url: string | null, fields: JsonObject): FoundRecord | null {
  return id === null || url === null ? null : { id, sourceUrl: url, fields: { id, url, ...fields } };
}
