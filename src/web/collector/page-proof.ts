/**
 * Functions of the browser that the collector uses, in forms that the page cannot change by accident. Frameworks of the years before 2015
 * replace `Array.from`, `Array.prototype.map` and the like, and give every object a `toJSON`. A form's fields and a document's images
 * hide properties and methods of their names: `<input name="elements">`.
 */

/** Returns what `read` returns; undefined if it throws. A signal that cannot be read is absent, and the others stay. */
export function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Reads a property of an element or document from its prototype, whatever the page's own elements are called. */
export function readProperty<T extends object, K extends string & keyof T>(
  { prototype }: { readonly prototype: T },
  name: K,
  target: T,
): T[K] {
  const own: { readonly get?: (this: T) => unknown } | undefined = Object.getOwnPropertyDescriptor(prototype, name);
  return own?.get === undefined ? target[name] : (own.get.call(target) as T[K]);
}

/** Listens on the document: an image named `addEventListener` is no obstacle. */
export function listenOnDocument<K extends keyof DocumentEventMap>(
  type: K,
  listener: (event: DocumentEventMap[K]) => void,
  options: AddEventListenerOptions,
): void {
  EventTarget.prototype.addEventListener.call(document, type, listener as EventListener, options);
}

/** Makes a list of the results for at most `max` items. */
export function mapUpTo<T, R>(items: ArrayLike<T>, max: number, convert: (item: T) => R): R[] {
  const made: R[] = [];
  for (let i = 0; i < items.length && i < max; i++) made.push(convert(items[i] as T));
  return made;
}

/** Visits an object's own members: a framework may have extended `Object.prototype` and replaced `Object.keys`. */
export function eachOwn<T>(members: Readonly<Record<string, T>>, visit: (name: string, member: T) => void): void {
  for (const name in members) if (Object.prototype.hasOwnProperty.call(members, name)) visit(name, members[name] as T);
}

/**
 * Writes what `JSON.stringify` writes for plain objects, lists, texts, numbers and booleans on a page without frameworks, which make it
 * write lists as texts. Undefined for what has no JSON.
 */
export function toJsonText(value: unknown): string | undefined {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number') return Number.isFinite(value) ? `${value}` : 'null';
  if (typeof value === 'boolean' || value === null) return `${value}`;
  if (value instanceof Date) return Number.isFinite(+value) ? quote(value.toISOString()) : 'null';
  if (Array.isArray(value)) return `[${mapUpTo(value, Infinity, (item) => toJsonText(item) ?? 'null').join(',')}]`;
  if (typeof value !== 'object') return undefined;
  const members: string[] = [];
  eachOwn(value as Readonly<Record<string, unknown>>, (name, member) => {
    const text = toJsonText(member);
    if (text !== undefined) members.push(`${quote(name)}:${text}`);
  });
  return `{${members.join(',')}}`;
}

/** Escapes what JSON requires. */
function quote(text: string): string {
  const escaped = text.replaceAll(
    // oxlint-disable-next-line no-control-regex
    /["\\\u0000-\u001f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `"${escaped}"`;
}
