import { expect, test } from 'vitest';
import { ProvenIds, timeOfId } from '../../../src/kernel/ids.ts';

const NOW = 1_790_000_000_123;
const ids = new ProvenIds(Buffer.from('0123456789abcdef0123456789abcdef'));

test('The id of a decision proves its customer and the kind of its key', () => {
  for (const kind of ['secret', 'public'] as const) {
    for (let n = 0; n < 500; n++) {
      const id = ids.create(7, kind, NOW + n);
      expect(id).toMatch(/^req_[0-9A-HJKMNP-TV-Z]{26}$/);
      expect(timeOfId(id, 'req')).toBe(NOW + n);
      expect(ids.prove(7, id)).toBe(kind);
      expect(ids.prove(8, id)).toBeNull();
    }
  }
});

test('An id with any character changed, of another key or of another form proves nothing', () => {
  const id = ids.create(7, 'secret', NOW);
  for (let at = 4; at < id.length; at++) {
    const other = id[at] === '0' ? '1' : '0';
    expect(ids.prove(7, id.slice(0, at) + other + id.slice(at + 1))).toBeNull();
  }
  expect(new ProvenIds(Buffer.alloc(32, 1)).prove(7, id)).toBeNull();
  for (const form of ['', 'req_', id.toLowerCase(), `${id}0`, id.slice(0, -1), id.replace('req', 'dlv')])
    expect(ids.prove(7, form)).toBeNull();
});

test('Ids of one millisecond differ, and later ones sort later', () => {
  const made = Array.from({ length: 10_000 }, () => ids.create(7, 'secret', NOW));
  expect(new Set(made).size).toBe(made.length);
  expect(ids.create(7, 'secret', NOW + 1) > (made[0] ?? '')).toBe(true);
});
