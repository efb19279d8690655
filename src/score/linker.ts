import type { CustomerNumber } from '../kernel/brand.ts';
import type { LinkTail } from '../risk/decision-record.ts';
import type { Entity, Facts } from '../risk/facts.ts';
import type { HistoryEvent } from '../risk/history.ts';
import { LinkHasher } from '../risk/decision-links.ts';
import { LinkTailWriter } from '../risk/link-tail.ts';
import type { LogIdentities } from '../risk/policy/policy.ts';
import { VELOCITY_ENTITIES_MAX } from '../kernel/velocity-limits.ts';

/** The links of a session's last event, and what they were computed from. */
export interface SessionLinks {
  readonly customer: CustomerNumber;
  readonly ip: string | null;
  readonly entities: readonly Entity[];
  readonly mode: LogIdentities;
  readonly tail: LinkTail;
}

/**
 * Computes the links of decisions. The events of one session usually have the same ones, so they are kept with the session.
 */
export class Linker {
  readonly #hasher: LinkHasher;
  readonly #writer = new LinkTailWriter();

  constructor(secret: Uint8Array) {
    this.#hasher = new LinkHasher(secret);
  }

  /** `event` has the identities that are counted, each e-mail by its mailbox. */
  tailOf(
    session: { links: SessionLinks | null },
    facts: Pick<Facts, 'ip' | 'fingerprintHash'>,
    event: Pick<HistoryEvent, 'customer' | 'sessionId' | 'entities'>,
    mode: LogIdentities,
  ): LinkTail {
    const { customer, entities } = event;
    const ip = facts.ip?.kind === 'valid' ? facts.ip.text : null;
    const known = session.links;
    if (
      known !== null &&
      known.customer === customer &&
      known.ip === ip &&
      known.mode === mode &&
      sameEntities(known.entities, entities)
    )
      return known.tail;
    const tail = { bytes: this.#bytesOf(facts, event, mode), identities: identitiesOf(entities, mode) };
    session.links = { customer, ip, entities, mode, tail };
    return tail;
  }

  #bytesOf(
    { ip, fingerprintHash }: Pick<Facts, 'ip' | 'fingerprintHash'>,
    { customer, sessionId, entities }: Pick<HistoryEvent, 'customer' | 'sessionId' | 'entities'>,
    mode: LogIdentities,
  ): Buffer | null {
    const hasher = this.#hasher;
    const writer = this.#writer;
    writer.reset();
    hasher.update(customer, 'session', sessionId);
    writer.addKind('session', hasher);
    if (ip?.kind === 'valid') {
      hasher.update(customer, 'ip', ip.text);
      writer.addKind('ip', hasher);
      hasher.update(customer, 'network', ip.networks.site);
      writer.addKind('network', hasher);
    }
    hasher.update(customer, 'fingerprint', fingerprintHash);
    writer.addKind('fingerprint', hasher);
    if (mode !== 'none') {
      for (const { name, value } of entities.slice(0, VELOCITY_ENTITIES_MAX)) {
        hasher.updateEntity(customer, name, value.trim());
        writer.addEntity(name, hasher);
      }
    }
    return writer.done();
  }
}

function sameEntities(a: readonly Entity[], b: readonly Entity[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i]?.value !== b[i]?.value || a[i]?.name !== b[i]?.name) return false;
  return true;
}

function identitiesOf(entities: readonly Entity[], mode: LogIdentities): readonly string[] | null {
  if (mode !== 'masked' && mode !== 'plain') return null;
  const values = entities.slice(0, VELOCITY_ENTITIES_MAX).map(({ value }) => value.trim());
  return mode === 'plain' ? values : values.map(masked);
}

/** Choice: enough to recognise a value that one knows, too little to learn one: `a***@mail.example`, `***4711`. */
function masked(value: string): string {
  const at = value.lastIndexOf('@');
  if (at > 0) return `${value.slice(0, 1)}***${value.slice(at)}`;
  return value.length < MASKED_WHOLE_BELOW ? '***' : `***${value.slice(-SHOWN)}`;
}

const SHOWN = 4;
/** Shorter values would show half of themselves. */
const MASKED_WHOLE_BELOW = 8;
