/** Returns the pointer of a member or an item. Source: RFC 6901, section 3. */
export function childPointer(pointer: string, key: string | number): string {
  return `${pointer}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

export function pointerOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((pointer, key) => childPointer(pointer, typeof key === 'symbol' ? '' : key), '');
}
