import type { FoundRecord, JsonObject, JsonValue } from '../../base/connector.ts';
import { withoutControls } from '../../read/page-text.ts';

/**
 * Creates a record whose first fields are its id and its URL; null if either is unknown, because a record requires both. Its texts have no
 * control characters.
 */
export function recordOf(id: string | null, url: string | null, fields: JsonObject): FoundRecord | null {
  if (id === null || url === null) return null;
  return { id, sourceUrl: url, fields: { id, url, ...cleanedFields(fields) } };
}

function cleanedFields(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, cleaned(value)]));
}

function cleaned(value: JsonValue): JsonValue {
  if (typeof value === 'string') return withoutControls(value);
  if (typeof value !== 'object' || value === null) return value;
  return Array.isArray(value) ? value.map(cleaned) : cleanedFields(value as JsonObject);
}
