import * as z from 'zod';
import { ENTITY_NAME_CHARACTERS_MAX, ENTITY_VALUE_CHARACTERS_MAX } from '../../kernel/limits.ts';
import { ENTITY_KIND } from '../vocabulary.ts';

const PERSON_KEYS = ['ip', 'browser'];
const KEEP_BLOCKS = 'keep_blocks';

/** Returns the members of a body that name a person. */
export function personMembers(body: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(body).filter((name) => name !== KEEP_BLOCKS);
}

function isPersonMember(name: string): boolean {
  const entity = name.startsWith(ENTITY_KIND) ? name.length - ENTITY_KIND.length : 0;
  return PERSON_KEYS.includes(name) || (entity > 0 && entity <= ENTITY_NAME_CHARACTERS_MAX);
}

/** A person by one value, under the name of its kind. Other members are refused: one that is misspelt must not name someone else. */
function personBody(more: readonly string[]) {
  return z
    .record(z.string(), z.union([z.string().min(1).max(ENTITY_VALUE_CHARACTERS_MAX), z.boolean()]))
    .check(({ value, issues }) => {
      const named = Object.keys(value).filter((name) => !more.includes(name));
      const refuse = (name: string, message: string): void =>
        void issues.push({ code: 'custom', path: [name], message, input: value[name] });
      for (const name of named) {
        if (!isPersonMember(name))
          refuse(name, `This must be ${['entity.<name>', 'ip', 'browser', ...more].join(', ')}.`);
        else if (typeof value[name] !== 'string') refuse(name, 'This must be a string.');
      }
      if (named.length > 1) refuse(named[1] ?? '', 'Exactly one of entity.<name>, ip and browser must be given.');
      if (named.length === 0) issues.push({ code: 'custom', path: ['ip'], message: '', input: undefined });
      for (const name of more)
        if (name in value && typeof value[name] !== 'boolean') refuse(name, 'This must be true or false.');
    });
}

export const PERSON_EXPORT = personBody([]).meta({
  id: 'PersonExport',
  description:
    'Exactly one of `entity.<name>` (an identity as it was sent to decide), `ip` and `browser` (the id of a browser, or its hash)',
  examples: [{ 'entity.email': 'anna@example.com' }],
});

export const PERSON_ERASURE = personBody([KEEP_BLOCKS]).meta({
  id: 'PersonErasure',
  description:
    'Exactly one of `entity.<name>` (an identity as it was sent to decide), `ip` and `browser` (the id of a browser, or its hash), and ' +
    'optionally `keep_blocks` (default true): list entries that block the person stay',
  examples: [{ 'entity.email': 'anna@example.com' }, { ip: '203.0.113.9', keep_blocks: false }],
});
