import type { ListAction } from '../../contract/vocabulary.ts';
import type { ListEntryRow } from '../../contract/wire-types.ts';

/** The vocabulary's actions: pages import only types of the contract. */
export const ACTIONS: readonly ListAction[] = ['block', 'allow', 'watch'];

/** What a write of an entry sets. */
export type ListChange = Pick<ListEntryRow, 'fingerprint_hash' | 'action' | 'note' | 'expires_at'>;
