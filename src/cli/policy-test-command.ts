import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { noteText } from '../assets/policy-read.ts';
import type { PolicyNote } from '../risk/policy/policy-document.ts';
import { runPolicyTest, TESTED_CUSTOMER, timesOfEvents, type PolicyTestResult } from '../replay/policy-test.ts';
import { readTestFile, TEST_FILE_BYTES_MAX } from '../replay/policy-test-file.ts';
import { ReplayEngine } from '../replay/replay-engine.ts';
import { failure, ok, type CommandOutcome } from './command-outcome.ts';
import type { Io } from './io.ts';
import { givenGeo, givenPolicy } from './replay-inputs.ts';

export interface PolicyTestOptions {
  /** Null: the one that the test file names, or the default policy. */
  readonly policy: string | null;
  /** Whether to use location databases. */
  readonly geo: boolean;
  readonly dataDir: string;
  readonly env: Io['env'];
}

/** Choice: 240,000 records; the events of a test file touch some ten each. */
const VELOCITY_BYTES = 32 * 2 ** 20;

/** Runs `gatehouse policy test`. */
export async function testPolicy(path: string, options: PolicyTestOptions): Promise<CommandOutcome> {
  const text = await readText(path);
  if (text === null)
    return failure('unreadable_file', `${path} cannot be read, or is larger than ${TEST_FILE_BYTES_MAX} bytes`);
  const read = readTestFile(text);
  if (read.kind === 'faults') return invalid(path, read.faults);
  const { events, customer = null } = read.file;
  const times = timesOfEvents(events);
  if (times.kind === 'fault') return invalid(path, [times.fault]);
  const named = read.file.policy === undefined ? null : resolve(dirname(path), read.file.policy);
  const given = await givenPolicy(options.policy ?? named, customer, TESTED_CUSTOMER);
  if (given.kind === 'failed') return given.outcome;
  const { policies } = given;
  const { geo } = await givenGeo(options.env, options.dataDir, options.geo);
  const engine = new ReplayEngine({ policies, geo, sources: null, velocityBytes: VELOCITY_BYTES, keys: null });
  const result = await runPolicyTest(events, times.times, engine);
  const json = {
    passed: result.differences.length === 0,
    policy_version: policies.version,
    events: events.length,
    decisions: result.decisions,
    expectations: result.expectations,
    failed: result.differences.map(({ event, name, differences, decided }) => ({
      event,
      name,
      differences,
      ...decided,
    })),
  };
  return ok(json, reportText(path, policies.version, result), result.differences.length > 0);
}

function reportText(path: string, version: string, { expectations, differences, decisions }: PolicyTestResult): string {
  const counts = `${expectations} ${expectations === 1 ? 'expectation' : 'expectations'}, ${decisions} decisions`;
  if (differences.length === 0) return `${path}: passed, ${counts}, policy version ${version}`;
  const lines = differences.flatMap(({ event, name, differences: found, decided }) => [
    `event ${event}${name === null ? '' : ` (${name})`}`,
    ...found.map((line) => `  ${line}`),
    ...(decided === null
      ? []
      : [`  decided ${decided.decision}, score ${decided.score}, reasons ${decided.reasons.join(', ') || 'none'}`]),
  ]);
  const head = `${path}: ${differences.length} ${differences.length === 1 ? 'event differs' : 'events differ'}`;
  return [...lines, '', `${head}, ${counts}, policy version ${version}`].join('\n');
}

function invalid(path: string, faults: readonly PolicyNote[]): CommandOutcome {
  const lines = faults.map((fault) => `  ${noteText(fault)}`);
  return failure('invalid_test_file', [`${path} is not a valid test file:`, ...lines].join('\n'));
}

async function readText(path: string): Promise<string | null> {
  try {
    if ((await stat(path)).size > TEST_FILE_BYTES_MAX) return null;
    return await readFile(path, 'utf8');
  } catch {
    return null;
  }
}
