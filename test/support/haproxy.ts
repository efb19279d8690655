import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROGRAM = 'haproxy';
const CONFIG = fileURLToPath(new URL('../../deploy/haproxy.cfg', import.meta.url));
/** Ends a child together with the process that started it, whatever ends that one. Part of Debian's base system. */
const WITH_PARENT = existsSync('/usr/bin/setpriv') ? ['/usr/bin/setpriv', '--pdeathsig', 'KILL'] : [];

/** Tests that need it are skipped on a machine without the program. */
export const HAS_HAPROXY = spawnSync(PROGRAM, ['-v']).status === 0;

export interface Haproxy {
  readonly url: string;
  /** What it logged: one line for each change of a server's state. */
  output(): string;
  stop(): Promise<void>;
}

/** Returns deploy/haproxy.cfg with these addresses in the place of the names that only Compose resolves. Throws if it has another form. */
export function localConfig(port: number, nodePorts: readonly number[]): string {
  let text = readFileSync(CONFIG, 'utf8');
  const replace = (from: string | RegExp, to: string): void => {
    const next = text.replace(from, to);
    if (next === text) throw new Error(`deploy/haproxy.cfg lacks ${String(from)}`);
    text = next;
  };
  replace('bind :8080', `bind 127.0.0.1:${port}`);
  for (const [n, nodePort] of nodePorts.entries())
    replace(`server node-${n + 1} node-${n + 1}:8080`, `server node-${n + 1} 127.0.0.1:${nodePort}`);
  replace(' resolvers docker init-addr none', '');
  replace(/\nresolvers docker\n(?:  .*\n)+/, '');
  return text;
}

/** Runs HAProxy with deploy/haproxy.cfg, adapted by addresses only. */
export async function startHaproxy(port: number, nodePorts: readonly number[]): Promise<Haproxy> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-haproxy-'));
  const path = join(folder, 'haproxy.cfg');
  writeFileSync(path, localConfig(port, nodePorts));
  const [program = PROGRAM, ...words] = WITH_PARENT.concat(PROGRAM, '-db', '-f', path);
  const child: ChildProcess = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  const exited = once(child, 'exit');
  return {
    url: `http://127.0.0.1:${port}`,
    output: () => output,
    async stop() {
      if (child.exitCode === null) child.kill('SIGTERM');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
