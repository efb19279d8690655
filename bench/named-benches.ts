import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Children } from './webhooks/children.ts';

/** Command-line arguments: names of benches, and options. */
export interface Words {
  readonly isSmoke: boolean;
  has(name: string): boolean;
  text(name: string): string | undefined;
  /** Returns the option's number; without the option `usual`, or `least` with --smoke. */
  number(name: string, usual: number, least: number): number;
  /** Value of --node-flags, split at spaces. */
  readonly nodeFlags: readonly string[];
}

function readWords(words: readonly string[]): Words {
  const has = (name: string): boolean => words.includes(`--${name}`);
  const text = (name: string): string | undefined => {
    const at = words.indexOf(`--${name}`);
    return at < 0 ? undefined : words[at + 1];
  };
  const isSmoke = has('smoke');
  return {
    isSmoke,
    has,
    text,
    number: (name, usual, least) => Number(text(name) ?? (isSmoke ? least : usual)),
    nodeFlags: (text('node-flags') ?? '').split(' ').filter(Boolean),
  };
}

/** Runs the benches named on the command line, or all, one after the other. `run` gets a folder that is removed afterwards. */
export async function runNamed<T>(
  benches: Readonly<Record<string, T>>,
  run: (chosen: readonly T[], words: Words, folder: string, children: Children) => Promise<void>,
): Promise<void> {
  const named = Object.entries(benches).filter(([name]) => process.argv.includes(name));
  const chosen = (named.length > 0 ? named : Object.entries(benches)).map(([, bench]) => bench);
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  const children = new Children();
  try {
    await run(chosen, readWords(process.argv), folder, children);
  } finally {
    await children.endAll();
    rmSync(folder, { recursive: true, force: true });
  }
}
