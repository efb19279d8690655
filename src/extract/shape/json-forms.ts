export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** Returns the names in a list of names, or the member names of an object. */
export function namesOf(value: unknown): readonly string[] {
  if (isObject(value)) return Object.keys(value);
  return isNames(value) ? value : [];
}

export function isNames(value: unknown): value is readonly string[] {
  return isList(value) && value.every((item) => typeof item === 'string');
}

/** Returns the value at a JSON pointer in URI fragment form; undefined if there is none. */
export function targetOf(root: unknown, pointer: string): unknown {
  let at = root;
  for (const part of pointer.split('/').slice(1)) {
    const name = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[name];
  }
  return at;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
