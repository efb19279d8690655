import { resolve } from 'node:path';
import type { CustomerNumber } from '../kernel/brand.ts';
import { noteText, readPolicyFile } from '../assets/policy-read.ts';
import { compilePolicies, DEFAULT_POLICY_SET, type PolicySet } from '../risk/policy/policy-set.ts';
import { openReplayGeo, type ReplayGeo } from '../replay/replay-geo.ts';
import { failure, type CommandOutcome } from './command-outcome.ts';
import type { Io } from './io.ts';

/** What a replay on the command line reads besides its events. */

export type GivenPolicy =
  | { readonly kind: 'ok'; readonly policies: PolicySet }
  | { readonly kind: 'failed'; readonly outcome: CommandOutcome };

/** Reads a policy file; null stands for the defaults. `customerId`: the file's part for this customer applies. */
export async function givenPolicy(
  file: string | null,
  customerId: string | null,
  customer: CustomerNumber,
): Promise<GivenPolicy> {
  if (file === null) return { kind: 'ok', policies: DEFAULT_POLICY_SET };
  const read = await readPolicyFile(file);
  if (read.kind === 'unreadable')
    return { kind: 'failed', outcome: failure('unreadable_file', `${file} cannot be used: ${read.detail}`) };
  if (read.kind === 'faults') {
    const lines = read.faults.map((fault) => `  ${noteText(fault)}`);
    return { kind: 'failed', outcome: failure('invalid_policy', [`${file} is not valid:`, ...lines].join('\n')) };
  }
  return { kind: 'ok', policies: compilePolicies(read.document, (id) => (id === customerId ? customer : null)) };
}

/** Opens the location databases that the server of this environment and data directory would use. */
export function givenGeo(env: Io['env'], dataDir: string, wanted: boolean): Promise<ReplayGeo> {
  const folder = resolve(env['GATEHOUSE_GEOIP_DIR'] || `${dataDir}/geoip`);
  return openReplayGeo(wanted ? folder : null, env['GATEHOUSE_GEOIP_PACKAGES'] !== '0');
}
