import { readFile, stat } from 'node:fs/promises';

const HOSTS_FILE = '/etc/hosts';
/** Choice: ms between two checks for changes of the file. */
const CHECK_MS = 5_000;
/** Choice: block lists have up to some hundred thousand lines. A larger file is treated as empty. */
const BYTES_MAX = 8 * 1_048_576;

/** Names of this machine's hosts file. They take precedence over all name servers. */
export class HostsFile {
  readonly #path: string;
  #names: ReadonlyMap<string, readonly string[]> = new Map();
  #version = '';
  #checkedMs = Number.NEGATIVE_INFINITY;
  #checking: Promise<void> = Promise.resolve();

  constructor(path = HOSTS_FILE) {
    this.#path = path;
  }

  /** Returns the addresses in the order of the file; null if the file does not contain the name. */
  async find(host: string): Promise<readonly string[] | null> {
    if (performance.now() - this.#checkedMs >= CHECK_MS) {
      this.#checkedMs = performance.now();
      this.#checking = this.#read();
    }
    await this.#checking;
    return this.#names.get(host.endsWith('.') ? host.slice(0, -1) : host) ?? null;
  }

  /** Loads the file if it has changed. An unreadable file counts as empty. */
  async #read(): Promise<void> {
    try {
      const { mtimeMs, size, ino } = await stat(this.#path);
      const version = `${mtimeMs} ${size} ${ino}`;
      if (version === this.#version) return;
      this.#names = size > BYTES_MAX ? new Map() : parseHosts(await readFile(this.#path, 'utf8'));
      this.#version = version;
    } catch {
      this.#names = new Map();
      this.#version = '';
    }
  }
}

/** Parses names in lower case. The caller that dials an address checks whether it is valid. */
export function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address, ...all] = (line.split('#')[0] ?? '').trim().split(/\s+/);
    if (address === undefined) continue;
    for (const name of all) {
      const key = name.toLowerCase();
      const addresses = names.get(key);
      if (addresses === undefined) names.set(key, [address]);
      else addresses.push(address);
    }
  }
  return names;
}
