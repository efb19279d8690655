import { execFileSync } from 'node:child_process';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LogSampler } from '../../../src/observe/log.ts';

describe('which decisions get a line', () => {
  test('all of the first 200 of a second, then every 100th', () => {
    const sampler = new LogSampler();
    const given = Array.from({ length: 10_200 }, () => sampler.next(5_000));
    expect(given.slice(0, 200).every((stands) => stands === 1)).toBe(true);
    expect(given.slice(200).filter((stands) => stands > 0)).toEqual(Array.from({ length: 100 }, () => 100));
  });

  test('the next second begins with a full budget, and its first line stands for what was skipped', () => {
    const sampler = new LogSampler(2, 100);
    const of = (ms: number, count: number): number[] => Array.from({ length: count }, () => sampler.next(ms));
    expect(of(1_000, 5)).toEqual([1, 1, 0, 0, 0]);
    expect(of(2_000, 4)).toEqual([4, 1, 0, 0]);
  });

  test('the lines stand for every decision, but for those after the last one', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.nat(400), { maxLength: 300 }),
        (perSecond, every, waits) => {
          const sampler = new LogSampler(perSecond, every);
          const bySecond = new Map<number, { lines: number; all: number }>();
          let nowMs = 0;
          let stoodFor = 0;
          let since = 0;
          for (const wait of waits) {
            nowMs += wait;
            const second = Math.floor(nowMs / 1000);
            const counts = bySecond.get(second) ?? { lines: 0, all: 0 };
            const stands = sampler.next(nowMs);
            counts.all++;
            since++;
            stoodFor += stands;
            expect([0, since]).toContain(stands);
            if (stands > 0) {
              counts.lines++;
              since = 0;
            }
            expect(stands).toBeLessThanOrEqual(every);
            bySecond.set(second, counts);
          }
          expect(stoodFor + since).toBe(waits.length);
          for (const { lines, all } of bySecond.values()) {
            expect(lines).toBeGreaterThanOrEqual(Math.min(all, perSecond));
            expect(lines).toBeLessThanOrEqual(perSecond + Math.ceil(all / every) + 1);
          }
        },
      ),
    );
  });
});

describe('the log', () => {
  test('is one JSON object a line with level and time, and strikes out what could be a secret', () => {
    const script = `
      import { createLog } from ${JSON.stringify(new URL('../../../dist/src/observe/log.js', import.meta.url).href)};
      const log = createLog('info');
      log.debug('not this');
      log.info({ secret: 's3', key: 's3', authorization: 's3', cookie: 's3', body: { session_token: 's3', secret: 's3' }, fine: 1 }, 'a line');
      log.error({ err: new Error('what happened') }, 'another');
      log.flush();
    `;
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    expect(output).not.toContain('s3');
    const lines = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatchObject({
      level: 'info',
      msg: 'a line',
      fine: 1,
      secret: '[struck out]',
      key: '[struck out]',
    });
    expect(lines[0]?.['time']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(lines[1]).toMatchObject({ level: 'error', err: { message: 'what happened' } });
  });
});
