import { hash } from 'node:crypto';
import type { StoredKey } from '../../src/auth/key-cache.ts';
import { CUSTOMER } from './fixtures.ts';

export function keyText(kind: 'sk' | 'pk', n: number): string {
  return `${kind}_live_${n.toString(36).padStart(38, 'A')}`;
}

export function storedKey(text: string, number: number): StoredKey {
  return {
    hash: hash('sha256', text, 'hex'),
    kind: text.startsWith('pk_') ? 'public' : 'secret',
    customer: CUSTOMER,
    number,
    prefix: text.slice(0, 12),
    rateLimit: 600_000,
    revokedAtSeconds: null,
    origins: [],
  };
}
