import { readFileSync } from 'node:fs';

const GIB = 2 ** 30;
/**
 * Choice: a server at rest has 14.8 GB of addresses, of which it uses some 150 MB: V8 alone reserves 10 GB for one WebAssembly memory. Its
 * further threads, a large velocity table and large stores need more.
 */
const ADDRESSES_MIN = 32 * GIB;

/**
 * Returns why this process cannot start under its limit of address space (`ulimit -v`); null if it can. Libraries end the process by
 * SIGSEGV when they get no addresses.
 */
export function addressSpaceFault(file = '/proc/self/limits'): string | null {
  let text: string;
  try {
    text = readFileSync(file, 'latin1');
  } catch {
    return null;
  }
  const bytes = Number(/^Max address space +(\d+)/m.exec(text)?.[1] ?? Number.POSITIVE_INFINITY);
  if (bytes >= ADDRESSES_MIN) return null;
  return (
    `the address space of this process is limited to ${Math.floor(bytes / 2 ** 20)} MiB (ulimit -v), and it needs ${ADDRESSES_MIN / GIB} GiB, ` +
    'nearly all of it without memory; remove that limit, and limit the memory of a container or a unit instead'
  );
}
