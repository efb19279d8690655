import { hash } from 'node:crypto';
import { type Argument, type Command, type Link, LINK_DEADLINE_MS, type Sent } from './link.ts';

export interface FunctionCall {
  /** Name of the function in the library's text. */
  readonly name: string;
  /** All keys that the function uses, at least one, all with the same hash tag. */
  readonly keys: readonly string[];
  readonly args: readonly Argument[];
}

/**
 * A library of functions that run inside the store (Lua, Redis 7.0 or Valkey 7.2 and later). Its name and those of its functions end with a
 * hash of its text, so nodes of different versions use the same store side by side.
 *
 * Nothing is loaded at the start. A store that does not know the library refuses the call without executing anything; the library is then
 * loaded and the call repeated within the same deadline. This also covers FUNCTION FLUSH, a failover to a replica, a Cluster's new primary
 * and a store that was replaced by an empty one.
 */
export class FunctionLibrary {
  readonly #text: string;
  readonly #names: ReadonlyMap<string, string>;
  #loads = 0;

  /** `body` defines a local function of each name; each gets its keys and its arguments. */
  constructor(area: string, names: readonly string[], body: string) {
    const version = hash('sha256', body).slice(0, 12);
    this.#names = new Map(names.map((name) => [name, `gh_${name}_${version}`]));
    const registered = names.map((name) => `redis.register_function('gh_${name}_${version}', ${name})`);
    this.#text = [`#!lua name=gh_${area}_${version}`, body, ...registered, ''].join('\n');
  }

  /** Number of times that a store had to load it. */
  get loads(): number {
    return this.#loads;
  }

  /** Calls all functions in one round trip. Returns one result for each, in the same order; never rejects. */
  async call(
    link: Link,
    calls: readonly FunctionCall[],
    deadlineMs: number = LINK_DEADLINE_MS,
  ): Promise<readonly Sent[]> {
    const startedAtMs = performance.now();
    const commands = calls.map((call) => this.#command(call));
    const sent = await link.send(commands, deadlineMs);
    const unknown = sent.flatMap((one, at) => (one.kind === 'fault' && isUnknownFunction(one.detail) ? [at] : []));
    if (unknown.length === 0) return sent;
    const leftMs = Math.max(1, deadlineMs - (performance.now() - startedAtMs));
    return this.#loadAndRepeat(link, commands, sent, unknown, leftMs);
  }

  async #loadAndRepeat(
    link: Link,
    commands: readonly Command[],
    sent: readonly Sent[],
    unknown: readonly number[],
    deadlineMs: number,
  ): Promise<readonly Sent[]> {
    const repeated = unknown.flatMap((at) => commands[at] ?? []);
    // One for each tag: keys of different tags may be on different primaries.
    const tags = new Set(repeated.map(({ key }) => key.slice(0, key.indexOf('}') + 1)));
    const loads = [...tags].map((key) => ({ key, args: ['FUNCTION', 'LOAD', 'REPLACE', this.#text] }));
    this.#loads += loads.length;
    const again = await link.send([...loads, ...repeated], deadlineMs);
    const results = [...sent];
    for (const [n, at] of unknown.entries()) {
      const result = again[loads.length + n];
      if (result !== undefined) results[at] = result;
    }
    return results;
  }

  #command({ name, keys, args }: FunctionCall): Command {
    const [key = ''] = keys;
    return { key, args: ['FCALL', this.#names.get(name) ?? name, String(keys.length), ...keys, ...args] };
  }
}

/** Returns whether the store refused a call because the function is not loaded. */
export function isUnknownFunction(detail: string): boolean {
  return detail.includes('Function not found');
}
