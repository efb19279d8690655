/** Returns header fields of pasted lines by lower-case name; quotes and commas of a pasted object, and curl's `-H`, are removed. */
export function readHeaders(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const line of text.split('\n')) {
    const parts = /^\s*(?:-H\s+)?["']?([\w-]+)["']?\s*[:=]\s*["']?(.*?)["']?[,\\\s]*$/.exec(line);
    if (parts !== null) found.set((parts[1] ?? '').toLowerCase(), parts[2] ?? '');
  }
  return found;
}
