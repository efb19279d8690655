import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { JOURNAL_FILE_BYTES, JOURNAL_SPARES } from '../../src/kernel/limits.ts';
import { decide, newcomer } from '../support/requests.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { eventually, startReceiver, webhookClient, type Receiver } from '../support/webhooks.ts';

/** A disk without a free byte, simulated by a small file system in memory. Runs only where this user may mount one. */

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-disk-'));
const canMount = mount();

function mount(): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'tmpfs', folder], { stdio: 'ignore' });
    return true;
  } catch {
    rmSync(folder, { recursive: true });
    return false;
  }
}

/** Fills the rest of the disk. */
function fill(): void {
  const file = openSync(join(folder, 'filler'), 'w');
  for (const bytes of [Buffer.alloc(65_536, 1), Buffer.alloc(1, 1)]) {
    try {
      for (;;) writeSync(file, bytes);
    } catch {
      // The disk is now full except for less than one such piece.
    }
  }
  closeSync(file);
}

let server: RunningServer | null = null;
let receiver: Receiver | null = null;
afterEach(async () => {
  await server?.stop('SIGKILL');
  await receiver?.close();
  execFileSync('umount', ['-l', folder]);
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(!canMount)('a full disk, then SIGKILL', () => {
  test('After a SIGKILL on a full disk, no accepted request id is accepted again, and every pending delivery is sent', async () => {
    receiver = await startReceiver();
    const dataDir = join(folder, 'data');
    const env = { GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8' };
    server = await startServer({ dataDir, env });
    const { secretKey, url } = server;
    await webhookClient(url, secretKey).create(receiver.url, 'ALLOW');
    const replay = join(dataDir, 'hot', 'replay');
    const spares = (): number[] =>
      readdirSync(replay)
        .filter((name) => name.startsWith('spare-'))
        .map((name) => statSync(join(replay, name)).size);
    const laidOut = Array(JOURNAL_SPARES).fill(JOURNAL_FILE_BYTES);
    await eventually('what is laid out', () => Promise.resolve(String(spares()) === String(laidOut) ? true : null));
    fill();

    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    const sent = Array.from({ length: 400 }, (_, i) => ({ body: newcomer(), requestId: `full-${i}` }));
    const timestampSeconds = Math.floor(Date.now() / 1000);
    const post = async ({ body, requestId }: (typeof sent)[number], to: string): Promise<unknown> => {
      const { status, json } = await decide(to, secretKey, body, { agent, requestId, timestampSeconds });
      return status === 200 ? json['request_id'] : json['code'];
    };
    const answered = await Promise.all(sent.map((one) => post(one, url)));
    expect(answered.filter((id) => !String(id).startsWith('req_'))).toEqual([]);

    await server.stop('SIGKILL');
    rmSync(join(folder, 'filler'));
    server = await startServer({ dataDir, env });
    const again = server.url;
    expect(new Set(await Promise.all(sent.map((one) => post(one, again))))).toEqual(new Set(['replayed_request']));
    agent.destroy();
    const arrived = (): Set<unknown> =>
      new Set(
        receiver?.arrivals.map(({ body }) => (JSON.parse(body.toString()) as Record<string, unknown>)['request_id']),
      );
    await eventually('all deliveries', () => Promise.resolve(answered.every((id) => arrived().has(id)) ? true : null));
  }, 180_000);
});
