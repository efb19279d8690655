import { execFileSync } from 'node:child_process';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LogSampler } from '../../../src/observe/log.ts';

describe('which decisions get a line', () => {
  test('Every decision gets a line while there are few', () => {
    const sampler = new LogSampler();
    expect(Array.from({ length: 1_000 }, (_, n) => sampler.next(n * 5))).toEqual(
      Array.from({ length: 1_000 }, () => 1),
    );
  });

  test('A burst of 10,000 decisions gets a line for the first 100, then for every 100th', () => {
    const sampler = new LogSampler();
    const given = Array.from({ length: 10_000 }, () => sampler.next(5_000));
    expect(given.slice(0, 100).every((stands) => stands === 1)).toBe(true);
    expect(given.slice(100).filter((stands) => stands > 0)).toEqual(Array.from({ length: 99 }, () => 100));
  });

  test('At 3,000 decisions a second some 200 get a line, spread evenly over the second', () => {
    const sampler = new LogSampler();
    const linesAtMs: number[] = [];
    for (let ms = 0; ms < 3_000; ms++)
      for (let n = 0; n < 3; n++) if (sampler.next(ms) > 0 && ms >= 1_000) linesAtMs.push(ms);
    expect(linesAtMs.length).toBeGreaterThanOrEqual(399);
    expect(linesAtMs.length).toBeLessThanOrEqual(401);
    expect(new Set(linesAtMs.map((ms) => Math.floor(ms / 10))).size).toBe(200);
  });

  test('The sample counts of the lines add up to all decisions except those after the last line', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.nat(400), { maxLength: 300 }),
        (perSecond, every, waits) => {
          const sampler = new LogSampler(perSecond, every);
          let nowMs = 0;
          let stoodFor = 0;
          let lines = 0;
          let since = 0;
          for (const wait of waits) {
            nowMs += wait;
            const stands = sampler.next(nowMs);
            since++;
            stoodFor += stands;
            expect([0, since]).toContain(stands);
            expect(stands).toBeLessThanOrEqual(every);
            if (stands === 0) continue;
            lines++;
            since = 0;
          }
          expect(stoodFor + since).toBe(waits.length);
          const earned = perSecond / 2 + 1 + (nowMs * perSecond) / 1_000;
          expect(lines).toBeLessThanOrEqual(earned + waits.length / every);
        },
      ),
    );
  });
});

describe('the log', () => {
  test('The log writes one JSON object a line with level and time, and redacts possible secrets', () => {
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
      secret: '[redacted]',
      key: '[redacted]',
    });
    expect(lines[0]?.['time']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(lines[1]).toMatchObject({ level: 'error', err: { message: 'what happened' } });
  });
});
