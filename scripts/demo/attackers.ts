import { ACCOUNT_ATTACKERS } from './attackers/accounts.ts';
import { PLAIN_ATTACKERS } from './attackers/plain.ts';
import { VOLUME_ATTACKERS } from './attackers/volume.ts';
import type { Persona } from './plan.ts';

/** Whoever must not get through, and two who do: rules that see one customer alone cannot tell them from shoppers. */
export const ATTACKERS: readonly Persona[] = [...PLAIN_ATTACKERS, ...VOLUME_ATTACKERS, ...ACCOUNT_ATTACKERS];
