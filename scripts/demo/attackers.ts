import { ACCOUNT_ATTACKERS } from './attackers/accounts.ts';
import { PLAIN_ATTACKERS } from './attackers/plain.ts';
import { VOLUME_ATTACKERS } from './attackers/volume.ts';
import type { Persona } from './plan.ts';

/** All attackers. The rules must stop all of them except two, which rules that see only one customer cannot distinguish from shoppers. */
export const ATTACKERS: readonly Persona[] = [...PLAIN_ATTACKERS, ...VOLUME_ATTACKERS, ...ACCOUNT_ATTACKERS];
