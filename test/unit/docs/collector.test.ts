import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { Validator } from '@cfworker/json-schema';
import { describe, expect, test } from 'vitest';
import { deviceAutomation } from '../../../src/risk/rules/device_automation.ts';
import { readToken } from '../../../src/risk/signals/collector-token.ts';

const PAGE = readFileSync('docs/collector.md', 'utf8');

/** Blocks of the page, by their language. */
function blocks(language: string): string[] {
  return [...PAGE.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].flatMap(([, name, text]) =>
    name === language && text !== undefined ? [text] : [],
  );
}

function lineOf(block: string, name: string): string {
  return new RegExp(`^${name} +(.*)$`, 'm').exec(block)?.[1] ?? '';
}

const VECTORS = blocks('text').filter((block) => block.startsWith('payload'));
const [SCHEMA_TEXT = ''] = blocks('json');

describe('docs/collector.md', () => {
  test('The test vectors are tokens as the server reads them, and fit the schema', () => {
    const validator = new Validator(JSON.parse(SCHEMA_TEXT) as object, '2020-12');
    expect(VECTORS).toHaveLength(2);
    for (const block of VECTORS) {
      const payload = lineOf(block, 'payload');
      const encoded = Buffer.from(payload).toString('base64url');
      const nonce = lineOf(block, 'nonce');
      const mac = createHmac('sha256', Buffer.from(nonce, 'base64url')).update(payload).digest('base64url');
      const token = nonce === '' ? lineOf(block, 'st1') : lineOf(block, 'st2');
      expect(token).toBe(nonce === '' ? `st1.${encoded}` : `st2.${encoded}.${mac}`);
      expect(readToken(token).facts).toMatchObject({ kind: 'collector', sessionId: 'app-1' });
      expect(validator.validate(JSON.parse(payload)).valid).toBe(true);
    }
  });

  test('The schema refuses what the server takes for an opaque token', () => {
    const validator = new Validator(JSON.parse(SCHEMA_TEXT) as object, '2020-12');
    const good = { v: 1, sid: 's', iat: 1 };
    const isCollector = (body: object): boolean =>
      readToken(`st1.${Buffer.from(JSON.stringify(body)).toString('base64url')}`).facts.kind === 'collector';
    for (const body of [
      good,
      { ...good, fp: 'ab'.repeat(32) },
      { ...good, fp: 'ab' },
      { ...good, sid: '' },
      { ...good, sid: 's'.repeat(129) },
      { ...good, iat: -1 },
      { ...good, iat: 1.5 },
      { ...good, v: 3 },
      { sid: 's', iat: 1 },
    ])
      expect([body, validator.validate(body).valid]).toEqual([body, isCollector(body)]);
  });

  test('The table of codes has every code that the script writes, with the weight that it has alone', () => {
    const folder = 'src/web/collector';
    const source = readdirSync(folder)
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(`${folder}/${name}`, 'utf8'))
      .join('\n');
    const written = [...source.matchAll(/\badd\(\s*'(\w+)'|'(worker_ua)'\)/g)].map(
      ([, code, other]) => code ?? other ?? '',
    );
    const rows = PAGE.slice(PAGE.indexOf('## Traces of automation'), PAGE.indexOf('## The rhythm of input'));
    const table = new Map(
      [...rows.matchAll(/^\| `(\w+)` +\|[^|]*\|[^|]*\| (\.\d+)/gm)].map(([, code = '', weight]) => [code, weight]),
    );
    expect([...table.keys()].sort()).toEqual([...new Set(written)].sort());
    for (const [code, weight] of table) {
      if (code === 'webdriver') continue;
      const token = readToken(
        `st1.${Buffer.from(JSON.stringify({ v: 1, sid: 's', iat: 1, sig: { auto: [code] } })).toString('base64url')}`,
      );
      const found = deviceAutomation.evaluate({ token: token.facts } as never, {} as never, {});
      expect([code, deviceAutomation.weights[found?.level ?? 'default']]).toEqual([code, Number(weight)]);
    }
  });
});
