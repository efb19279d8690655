import { readdirSync, readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { startServer } from '../../support/server.ts';

interface Thread {
  readonly id: number;
  /** User and system time, clock ticks. */
  readonly ticks: number;
  readonly nice: number;
}

/** Source: proc(5), `/proc/[pid]/stat`: fields 14, 15 and 19; the name in field 2 may contain spaces. */
function threadsOf(pid: number): readonly Thread[] {
  return readdirSync(`/proc/${pid}/task`).map((id) => {
    const stat = readFileSync(`/proc/${pid}/task/${id}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { id: Number(id), ticks: Number(fields[11]) + Number(fields[12]), nice: Number(fields[16]) };
  });
}

test.skipIf(process.platform !== 'linux')(
  'The patterns of a schema are compiled by a thread of lower priority, not by the main thread',
  async () => {
    const server = await startServer();
    onTestFinished(() => server.stop().then(() => {}));
    const ticksOf = (pid: number): number => threadsOf(pid).find(({ id }) => id === pid)?.ticks ?? 0;
    // Opens the connection and runs the handlers once.
    await bearer(server.url, server.secretKey, 'POST', '/v1/extractions', {});
    expect(threadsOf(server.pid).filter(({ nice }) => nice > 0)).toEqual([]);
    const before = ticksOf(server.pid);
    const slow = Array.from({ length: 49 }, (_, n) => [`p${n}`, { pattern: `(?:a|b|c){300}x{${n}}` }]);
    // Refused for its last pattern, so that no job begins.
    const properties = Object.fromEntries([...slow, ['last', { pattern: '(?=a)' }]]);
    const answer = await bearer(server.url, server.secretKey, 'POST', '/v1/extractions', {
      connector: 'openlibrary',
      operation: 'search.works',
      input: { query: 'bread' },
      output: { schema: { properties } },
    });
    expect(answer.json).toMatchObject({
      status: 422,
      errors: [{ pointer: '/output/schema/properties/last/pattern', code: 'unsupported_pattern' }],
    });
    const [reading, ...others] = threadsOf(server.pid).filter(({ nice }) => nice > 0);
    expect(others).toEqual([]);
    expect(reading?.ticks).toBeGreaterThan(2 * (ticksOf(server.pid) - before));
  },
);
