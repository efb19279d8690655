import { resolve } from 'node:path';
import { EXIT_SETTINGS, readSettings } from '../../app/settings.ts';
import { CONNECTORS_WITH_BASE } from '../../app/wire-extractions.ts';
import { ok, type CommandOutcome } from '../command-outcome.ts';
import { ownUrl, readHealth } from '../health-request.ts';
import { diskFindings, geoipFinding, keyFindings, policyFinding } from './data-findings.ts';
import { failed, fine, type DoctorFinding, warned } from './finding.ts';
import { clockFinding, portFinding, runtimeFindings, tlsFinding, transportFinding } from './machine-findings.ts';
import { keyFinding, layerFindings, proxyFinding } from './server-findings.ts';

export interface DoctorOptions {
  readonly env: Readonly<NodeJS.ProcessEnv>;
  readonly dataDir: string;
  /** The address that clients use; null to leave what stands before the server unchecked. */
  readonly publicUrl: string | null;
  /** A well-formed secret key to check; null for none. */
  readonly key: string | null;
}

/** Checks an installation, with its server or without one. The exit code is 1 if a check failed. */
export async function runDoctor({ env, dataDir, publicUrl, key }: DoctorOptions): Promise<CommandOutcome> {
  const read = readSettings({ ...env, GATEHOUSE_DATA_DIR: resolve(dataDir) }, CONNECTORS_WITH_BASE);
  if (read.kind === 'faults') {
    const todo = `correct it: the server exits with ${EXIT_SETTINGS}`;
    return outcomeOf([...read.faults.map((fault) => failed('settings', fault, todo)), ...runtimeFindings()]);
  }
  const { settings, warnings } = read;
  const own = ownUrl(env);
  const health = await readHealth(own);
  return outcomeOf([
    ...(warnings.length === 0 ? [fine('settings', 'all of them are valid')] : []),
    ...warnings.map((warning) => warned('settings', warning, 'remove it, or correct its name')),
    await clockFinding(),
    ...runtimeFindings(),
    transportFinding(settings, health),
    await portFinding(settings, health),
    tlsFinding(settings),
    ...diskFindings(settings),
    await policyFinding(settings),
    await geoipFinding(settings, health),
    ...(await keyFindings(settings)),
    ...layerFindings(health),
    await proxyFinding(publicUrl ?? settings.dashboard.publicOrigin, own),
    ...(key === null ? [] : [await keyFinding(key, publicUrl ?? own)]),
  ]);
}

function outcomeOf(findings: readonly DoctorFinding[]): CommandOutcome {
  const columns = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, state, detail, todo }) => [
    `${state.padEnd(4)}  ${check.padEnd(columns)}  ${detail}`,
    ...(todo === undefined ? [] : [`${' '.repeat(6 + columns)}  → ${todo}`]),
  ]);
  const isFailed = findings.some(({ state }) => state === 'fail');
  return ok({ ok: !isFailed, findings }, lines.join('\n'), isFailed);
}
