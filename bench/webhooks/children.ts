import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { START_FLAGS } from '../start-flags.ts';

/** The child processes of a bench: each is started here and terminated by its own process id. */

const SAID_CHARACTERS_MAX = 10_000;
const CLI = new URL('../../app/main.js', import.meta.url).pathname;

export interface Server {
  readonly port: number;
  readonly child: ChildProcess;
}

export class Children {
  readonly #started: ChildProcess[] = [];

  constructor() {
    // A bench that fails does not end its servers. It also fails when nobody reads its output any more (`| head`).
    process.once('exit', () => {
      for (const child of this.#started) if (isRunning(child)) child.kill('SIGKILL');
    });
  }

  /** Starts a built file. A caller names it relative to itself: `new URL('./site.js', import.meta.url)`. */
  spawn(file: URL, ...words: readonly string[]): ChildProcess {
    return this.#spawn([fileURLToPath(file), ...words], {});
  }

  /** Starts the built server, or that of another build, on a free port with the flags of `npm start`. It may deliver to this machine. */
  async serve(
    dataDir: string,
    nodeFlags: readonly string[],
    env: Readonly<Record<string, string>> = {},
    cli = CLI,
  ): Promise<Server> {
    const child = this.#spawn([...START_FLAGS, ...nodeFlags, cli, 'serve'], {
      GATEHOUSE_DATA_DIR: dataDir,
      GATEHOUSE_PORT: '0',
      GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8',
      // A large table is still being allocated after the start, while a backlog is already being sent.
      GATEHOUSE_VELOCITY_MB: '32',
      ...env,
    });
    const line = await lineOf(child, (text) => text.includes('"msg":"serving"'));
    const { url } = JSON.parse(line) as { url: string };
    return { port: Number(new URL(url).port), child };
  }

  #spawn(words: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
    const child = spawn(process.execPath, words, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    // The server's greeting contains keys, so the output of a process is shown only when it fails.
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-SAID_CHARACTERS_MAX)));
    child.once('exit', (code) => {
      if (code !== 0 && code !== null) console.error(said);
    });
    this.#started.push(child);
    return child;
  }

  async endAll(): Promise<void> {
    await Promise.all(this.#started.map(end));
  }
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

export async function end(child: ChildProcess): Promise<void> {
  if (!isRunning(child)) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

/** Resolves with the first matching line. Drains the rest, so that the child never blocks on its output. */
export function lineOf(child: ChildProcess, fits: (text: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on('line', (text) => {
      if (fits(text)) resolve(text);
    });
    child.once('exit', (code) => reject(new Error(`a process exited with code ${code}`)));
  });
}
