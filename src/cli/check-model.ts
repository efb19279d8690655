import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkModelApart } from '../assets/model-child.ts';
import { noteText, readPolicyFile } from '../assets/policy-read.ts';
import { DEFAULT_POLICY } from '../risk/policy/policy.ts';
import { failure, ok, type CommandOutcome } from './command-outcome.ts';

interface WrittenGate {
  readonly name: string;
  readonly holds: boolean;
  readonly detail: string;
}

/**
 * Runs the test rows of a model as a server does, and shows the gates of its report. Warns if the model was trained under another policy
 * than that of `policyFile`, the default one for null, and if that policy asks for more weight than a model may have.
 */
export async function checkModelFiles(path: string, policyFile: string | null): Promise<CommandOutcome> {
  // A corrupt file can crash the process that loads it, so a child process loads it.
  const checked = await checkModelApart(path);
  if (checked.kind === 'fault') return failure(checked.code, checked.detail);
  const { name, version, sha256, rows, maxError } = checked;
  const isFolder = await stat(path).then((found) => found.isDirectory());
  const folder = isFolder ? path : dirname(path);
  const gates = gatesIn(await readJson(join(folder, 'report.json')));
  const warnings = await policyWarnings(await readJson(join(folder, 'model.json')), policyFile);
  const text = [
    `${name} ${version} is valid: ${rows} golden rows, largest error ${maxError}`,
    `sha256 ${sha256}`,
    ...gates.map((gate) => `${gate.holds ? 'holds' : 'fails'}  ${gate.name}: ${gate.detail}`),
    ...warnings.map((warning) => `warning: ${warning}`),
  ];
  return ok({ name, version, sha256, rows, max_error: maxError, gates, warnings }, text.join('\n'));
}

async function policyWarnings(manifest: unknown, policyFile: string | null): Promise<readonly string[]> {
  const trained = memberOf(manifest, 'policy_hash');
  const read = policyFile === null ? null : await readPolicyFile(policyFile);
  if (read !== null && read.kind !== 'ok') return [`${policyFile} cannot be used, see policy check`];
  const current = read === null ? DEFAULT_POLICY.version : read.document.version;
  const isOther = typeof trained === 'string' && trained !== current;
  const lowered = (read?.warnings ?? []).filter(({ pointer }) => pointer.endsWith('/model_score'));
  return [
    ...(isOther
      ? [`it was trained under the policy ${trained}, and this one is ${current}: its columns of rules may differ`]
      : []),
    ...lowered.map(noteText),
  ];
}

function gatesIn(report: unknown): readonly WrittenGate[] {
  const gates = memberOf(report, 'gates');
  return Array.isArray(gates) ? gates.filter(isGate) : [];
}

function isGate(value: unknown): value is WrittenGate {
  return (
    typeof memberOf(value, 'name') === 'string' &&
    typeof memberOf(value, 'holds') === 'boolean' &&
    typeof memberOf(value, 'detail') === 'string'
  );
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

/** Null for a file that is absent or no JSON: a model from elsewhere has no report. */
async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return null;
  }
}
