import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { openPolicyFile, type PolicyFile, type PolicyFileOptions } from '../../../src/assets/policy-file.ts';
import type { OwnRule } from '../../../src/risk/policy/own-rule.ts';
import { policyStartFaults } from '../../../src/assets/policy-read.ts';
import { openWorkerPolicies, type WorkerPolicies } from '../../../src/score/policies.ts';
import { until } from '../../support/layer-folders.ts';

const CUSTOMER = 'cus_01ARZ3NDEKTSV4RRFFQ69G5FAV';
const NUMBER = 7 as CustomerNumber;
const OTHER = 8 as CustomerNumber;

let folder = '';
let file = '';
let lines: string[] = [];
let opened: { close(): unknown }[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-policy-'));
  file = join(folder, 'policy.json');
  lines = [];
});
afterEach(async () => {
  for (const one of opened) await one.close();
  opened = [];
  rmSync(folder, { recursive: true });
});

/** Moves the complete file into place. */
function put(policy: unknown): void {
  writeFileSync(`${file}.new`, typeof policy === 'string' ? policy : JSON.stringify(policy));
  renameSync(`${file}.new`, file);
}

function policy(block: number): object {
  return { version: `v${block}`, bands: { block } };
}

async function tryOpen(options: Partial<PolicyFileOptions> = {}) {
  const note = (fields: object, message: string): void => void lines.push(`${message} ${JSON.stringify(fields)}`);
  return openPolicyFile({
    file,
    pollMs: 0,
    log: { info: note, warn: note },
    customerNumberOf: () => null,
    ...options,
  });
}

async function open(options: Partial<PolicyFileOptions> = {}): Promise<PolicyFile> {
  const result = await tryOpen(options);
  if (result.kind === 'faults') throw new Error(result.faults.join('\n'));
  opened.unshift(result.policyFile);
  return result.policyFile;
}

/** Opens the policies as a worker does: from a copy of the current ones, then from the channel. */
function startWorker(policyFile: PolicyFile): WorkerPolicies {
  const policies = openWorkerPolicies(structuredClone(policyFile.initial()));
  opened.unshift(policies);
  return policies;
}

/** Polls twice: a change is used from the second poll that sees it. */
async function settle(policyFile: PolicyFile): Promise<void> {
  await policyFile.poll();
  await policyFile.poll();
}

function blockOf(policies: WorkerPolicies, customer = OTHER): number {
  return policies.current().of(customer, 'login').bands.block;
}

describe('the policy file at the start', () => {
  test('Without a policy file the defaults apply', async () => {
    const policyFile = await open({ file: null });
    expect(policyFile.status()).toMatchObject({ state: 'absent', version: null });
    expect(blockOf(startWorker(policyFile))).toBe(80);
    await policyFile.poll();
    expect(lines).toEqual([]);
  });

  test('A valid policy file applies at once', async () => {
    put(policy(90));
    const policyFile = await open();
    expect(policyFile.status()).toEqual({ state: 'ok', version: 'v90', refused: false, detail: '' });
    const worker = startWorker(policyFile);
    expect(worker.current().version).toBe('v90');
    expect(blockOf(worker)).toBe(90);
  });

  test.each([
    ['a missing file', () => {}, ['it does not exist']],
    ['a folder', () => mkdirSync(file), ['it is not a regular file']],
    ['a file that is too large', () => put(' '.repeat(1_048_577)), ['it is larger than 1048576 bytes']],
    ['a file that is not text', () => writeFileSync(file, Buffer.from([0x22, 0xff, 0x22])), ['it is not valid UTF-8']],
    [
      'a file with errors',
      () => put({ bands: { block: 3 }, weights: { nope: 1 } }),
      [/^\/weights\/nope there is no rule/, /^\/bands bands must rise/],
    ],
  ] as const)(
    'At the start %s gives one error for each cause, with the name of the setting',
    async (_name, make, expected) => {
      make();
      const result = await tryOpen();
      const faults = result.kind === 'faults' ? result.faults : [];
      expect(faults).toHaveLength(expected.length);
      for (const [at, fault] of faults.entries()) {
        const [, reason] = fault.split('GATEHOUSE_POLICY_FILE cannot be used: ');
        const wanted = expected[at] ?? '';
        if (typeof wanted === 'string') expect(reason).toBe(wanted);
        else expect(reason).toMatch(wanted);
      }
      expect(await policyStartFaults(file)).toEqual(faults);
    },
  );
});

describe('changes of the policy file', () => {
  test('A changed policy reaches running workers and workers that start later', async () => {
    put(policy(90));
    const policyFile = await open();
    const before = startWorker(policyFile);
    put(policy(91));
    await settle(policyFile);
    await until(() => blockOf(before) === 91);
    expect(before.current().version).toBe('v91');
    expect(blockOf(startWorker(policyFile))).toBe(91);
  });

  test('A policy file is not read while it is still being written', async () => {
    put(policy(90));
    const policyFile = await open();
    const text = JSON.stringify(policy(91));
    for (let length = 1; length < text.length; length += 4) {
      writeFileSync(file, text.slice(0, length));
      await policyFile.poll();
      expect(policyFile.status()).toMatchObject({ state: 'ok', version: 'v90' });
    }
    writeFileSync(file, text);
    await settle(policyFile);
    expect(policyFile.status()).toMatchObject({ state: 'ok', version: 'v91' });
  });

  test.each([
    ['written in place', () => writeFileSync(file, JSON.stringify(policy(91)))],
    ['moved into place', () => put(policy(91))],
    [
      'of the same size and time',
      () => {
        put(policy(91));
        utimesSync(file, 1_000, 1_000);
      },
    ],
    [
      'written in place with its time set back',
      () => {
        writeFileSync(file, JSON.stringify(policy(91)));
        utimesSync(file, 1_000, 1_000);
      },
    ],
  ])('A policy file %s is detected as changed', async (_name, change) => {
    put(policy(90));
    utimesSync(file, 1_000, 1_000);
    const policyFile = await open();
    change();
    await settle(policyFile);
    expect(policyFile.status().version).toBe('v91');
  });

  test('A changed target of a symbolic link is detected', async () => {
    for (const block of [90, 91]) {
      mkdirSync(join(folder, String(block)));
      writeFileSync(join(folder, String(block), 'policy.json'), JSON.stringify(policy(block)));
    }
    symlinkSync('90', join(folder, 'data'));
    symlinkSync('data/policy.json', file);
    const policyFile = await open();
    expect(policyFile.status().version).toBe('v90');
    symlinkSync('91', join(folder, 'data.new'));
    renameSync(join(folder, 'data.new'), join(folder, 'data'));
    await settle(policyFile);
    expect(policyFile.status().version).toBe('v91');
  });

  test('A changed time alone does not reload the policy', async () => {
    put(policy(90));
    const policyFile = await open();
    const { generation } = policyFile.initial().content;
    utimesSync(file, 1_000, 1_000);
    await settle(policyFile);
    expect(policyFile.initial().content.generation).toBe(generation);
    expect(lines.filter((line) => line.startsWith('policy loaded'))).toHaveLength(1);
  });

  test('A change between a worker’s start and its first listening reaches the worker', async () => {
    put(policy(90));
    const policyFile = await open();
    const seed = structuredClone(policyFile.initial());
    put(policy(91));
    await settle(policyFile);
    const late = openWorkerPolicies(seed);
    opened.unshift(late);
    expect(blockOf(late)).toBe(90);
    await until(() => blockOf(late) === 91);
  });

  test('A change is detected automatically when polling is on', async () => {
    put(policy(90));
    const policyFile = await open({ pollMs: 10 });
    put(policy(91));
    await until(() => policyFile.status().version === 'v91');
    expect(lines.at(-1)).toContain('policy loaded');
  });

  test('The last of many changes applies', async () => {
    put(policy(90));
    const policyFile = await open();
    const worker = startWorker(policyFile);
    for (let block = 91; block < 100; block++) {
      put({ ...policy(block), shifts: { search: 0 } });
      await settle(policyFile);
    }
    await until(() => blockOf(worker) === 99);
    expect(policyFile.status().version).toBe('v99');
  });
});

describe('errors in a later policy file', () => {
  test('An invalid policy file leaves the old policy in use and shows why, until it is valid again', async () => {
    put(policy(90));
    const policyFile = await open();
    const worker = startWorker(policyFile);
    put({ bands: { block: 'high' }, shift: {} });
    await settle(policyFile);
    const { state, version, detail } = policyFile.status();
    expect({ state, version }).toEqual({ state: 'broken', version: 'v90' });
    expect(detail).toContain('/bands/block must be a number from 0 to 100, and 1 more');
    expect(detail).not.toContain(folder);
    const rejected = lines.filter((line) => line.includes('rejected'));
    expect(rejected).toHaveLength(1);
    expect(rejected[0]).toContain('"pointer":"/bands/block"');
    expect(rejected[0]).toContain('"pointer":"/shift"');
    expect(blockOf(startWorker(policyFile))).toBe(90);

    // The rejection is logged once, not at every poll.
    await settle(policyFile);
    expect(lines.filter((line) => line.includes('rejected'))).toHaveLength(1);

    put(policy(92));
    await settle(policyFile);
    expect(policyFile.status()).toEqual({ state: 'ok', version: 'v92', refused: false, detail: '' });
    await until(() => blockOf(worker) === 92);
  });

  test.each([
    ['not text', () => writeFileSync(file, Buffer.from([0x22, 0xff, 0x22])), 'it is not valid UTF-8'],
    ['too large', () => put(' '.repeat(1_048_577)), 'it is larger than'],
    [
      'a folder',
      () => {
        rmSync(file);
        mkdirSync(file);
      },
      'it is not a regular file',
    ],
  ])('A policy file that becomes %s is broken, and the old policy stays in use', async (_name, change, why) => {
    put(policy(90));
    const policyFile = await open();
    change();
    await settle(policyFile);
    expect(policyFile.status()).toMatchObject({ state: 'broken', version: 'v90' });
    expect(policyFile.status().detail).toContain(why);
  });

  test('A policy file is valid again with its old content, too', async () => {
    put(policy(90));
    const text = readFileSync(file, 'utf8');
    const policyFile = await open();
    put('{');
    await settle(policyFile);
    expect(policyFile.status().state).toBe('broken');
    put(text);
    await settle(policyFile);
    expect(policyFile.status()).toEqual({ state: 'ok', version: 'v90', refused: false, detail: '' });
    expect(lines.at(-1)).toContain('policy recovered');
  });

  test('A removed policy file leaves the last good policy in use until the file is back', async () => {
    put(policy(90));
    const policyFile = await open();
    rmSync(file);
    await settle(policyFile);
    expect(policyFile.status()).toMatchObject({ state: 'broken', version: 'v90' });
    expect(policyFile.status().detail).toContain('it does not exist');
    expect(blockOf(startWorker(policyFile))).toBe(90);
    put(policy(91));
    await settle(policyFile);
    expect(policyFile.status()).toEqual({ state: 'ok', version: 'v91', refused: false, detail: '' });
  });
});

describe('customers', () => {
  const forOne = { version: 'v1', customers: { [CUSTOMER]: { bands: { block: 70 } } } };

  test('Customers have their own policy, and other customers the common one', async () => {
    put(forOne);
    const worker = startWorker(await open({ customerNumberOf: (id) => (id === CUSTOMER ? NUMBER : null) }));
    expect([blockOf(worker, NUMBER), blockOf(worker, OTHER)]).toEqual([70, 80]);
  });

  test('A customer created after the policy file gets its policy at the next poll', async () => {
    put(forOne);
    let made = false;
    const policyFile = await open({ customerNumberOf: () => (made ? NUMBER : null) });
    const worker = startWorker(policyFile);
    expect(policyFile.status()).toEqual({
      state: 'ok',
      version: 'v1',
      refused: false,
      detail: 'customers of the policy file that do not exist: 1',
    });
    expect(lines.join('\n')).toContain(CUSTOMER);
    await policyFile.poll();
    expect(blockOf(worker, NUMBER)).toBe(80);
    made = true;
    await policyFile.poll();
    await until(() => blockOf(worker, NUMBER) === 70);
    expect(policyFile.status().detail).toBe('');
  });

  test('Unknown customers are looked up at most 256 a poll, each in turn', async () => {
    const ids = Array.from({ length: 1_000 }, (_, n) => `cus_${String(n).padStart(26, '0')}`);
    put({ customers: Object.fromEntries(ids.map((id) => [id, {}])) });
    const asked: string[] = [];
    const policyFile = await open({
      customerNumberOf: (id) => {
        asked.push(id);
        return null;
      },
    });
    expect(asked).toHaveLength(1_000);
    asked.length = 0;
    await policyFile.poll();
    expect(asked.length).toBeLessThanOrEqual(256);
    for (let i = 0; i < 3; i++) await policyFile.poll();
    expect(new Set(asked)).toEqual(new Set(ids));
  });

  test('Customers are unknown while the store fails, and nothing else is affected', async () => {
    put(forOne);
    let fails = true;
    const policyFile = await open({
      customerNumberOf: () => {
        if (fails) throw new Error('the store fails');
        return NUMBER;
      },
    });
    await policyFile.poll();
    fails = false;
    await policyFile.poll();
    expect(policyFile.initial().content.customerNumbers).toEqual(new Map([[CUSTOMER, NUMBER]]));
  });
});

describe('rules of the API', () => {
  const rule = (code: string, when = 'score >= 0'): OwnRule => ({
    code,
    when,
    weight: null,
    decision: 'REVIEW',
    mode: 'enforce',
    eventTypes: null,
    note: '',
    expiresAtSeconds: null,
  });
  const codesOf = (worker: WorkerPolicies, customer = NUMBER): readonly string[] => {
    worker.refresh();
    return (worker.current().of(customer, 'login').own ?? []).map(({ own }) => own.code);
  };

  test('A rule counts for the batch after it, and a removed one does not, without a turn of the event loop', async () => {
    const policyFile = await open({ file: null, rules: new Map([[OTHER, [rule('own_before')]]]) });
    const worker = startWorker(policyFile);
    expect([codesOf(worker), codesOf(worker, OTHER)]).toEqual([[], ['own_before']]);
    policyFile.setRules(NUMBER, [rule('own_a')]);
    policyFile.setRules(NUMBER, [rule('own_a'), rule('own_b')]);
    expect([codesOf(worker), codesOf(worker, OTHER)]).toEqual([['own_a', 'own_b'], ['own_before']]);
    expect(codesOf(startWorker(policyFile))).toEqual(['own_a', 'own_b']);
    policyFile.setRules(NUMBER, []);
    expect(codesOf(worker)).toEqual([]);
  });

  test('A worker that missed a change gets all rules', async () => {
    const policyFile = await open({ file: null });
    const seed = structuredClone(policyFile.initial());
    policyFile.setRules(NUMBER, [rule('own_missed')]);
    const worker = openWorkerPolicies(seed);
    opened.unshift(worker);
    policyFile.setRules(OTHER, [rule('own_heard')]);
    await until(() => codesOf(worker).length === 1 && codesOf(worker, OTHER).length === 1);
    expect([codesOf(worker), codesOf(worker, OTHER)]).toEqual([['own_missed'], ['own_heard']]);
  });

  test('A rule of the file wins over one of the API, in whatever part of the file it stands', async () => {
    const inFile = { code: 'own_a', when: 'score > 99', weight: 0.1 };
    put({ version: 'v1', event_types: { payment: { rules: [inFile] } } });
    const policyFile = await open({ rules: new Map([[NUMBER, [rule('own_a'), rule('own_b')]]]) });
    const worker = startWorker(policyFile);
    expect(codesOf(worker)).toEqual(['own_b']);
    put({ version: 'v2' });
    await settle(policyFile);
    await until(() => worker.current().version === 'v2');
    expect(codesOf(worker)).toEqual(['own_a', 'own_b']);
  });

  test('A tripped rule of the file is only observed, for its customer, until another policy is active', async () => {
    const inFile = { code: 'own_a', when: 'score > 99', weight: 0.1, mode: 'enforce' };
    put({ version: 'v1', rules: [inFile] });
    const policyFile = await open({ rules: new Map([[NUMBER, [rule('own_b')]]]) });
    const worker = startWorker(policyFile);
    const modesOf = (customer = NUMBER, one = worker): readonly string[] => {
      one.refresh();
      return (one.current().of(customer, 'login').own ?? []).map(({ own }) => own.mode);
    };
    policyFile.setTripped(NUMBER, ['own_a']);
    expect([modesOf(), modesOf(OTHER)]).toEqual([['enforce', 'observe'], ['enforce']]);
    policyFile.setRules(NUMBER, []);
    expect([modesOf(), modesOf(NUMBER, startWorker(policyFile))]).toEqual([['observe'], ['observe']]);
    put({ version: 'v2', rules: [inFile] });
    await settle(policyFile);
    await until(() => worker.current().version === 'v2');
    expect(modesOf()).toEqual(['enforce']);
  });

  test('A rule that cannot be compiled is skipped, and the others run', async () => {
    const hostile = [
      rule('own_bad', 'attributes.gone > 1 &&'),
      rule('own_long', 'x'.repeat(100_000)),
      rule('own_good'),
    ];
    const policyFile = await open({ file: null, rules: new Map([[NUMBER, hostile]]) });
    expect(codesOf(startWorker(policyFile))).toEqual(['own_good']);
  });

  test('Rules run only up to the bound of their steps', async () => {
    const when = Array.from({ length: 40 }, (_none, n) => `score > ${n}`).join(' || ');
    const many = Array.from({ length: 200 }, (_none, n) => rule(`own_${n}`, `${when} || score > ${n + 100}`));
    const policyFile = await open({ file: null, rules: new Map([[NUMBER, many]]) });
    const worker = startWorker(policyFile);
    const run = worker.current().of(NUMBER, 'login').own ?? [];
    const cost = run.reduce((sum, { condition }) => sum + condition.cost, 0);
    expect(cost).toBeLessThanOrEqual(20_000);
    expect(run.length).toBeLessThan(200);
    expect(run.length).toBeGreaterThan(50);
  });
});
