import type { DecisionLog } from '../history/decision-log.ts';
import { RawRecord } from '../history/decision-log/raw-record.ts';
import type { PersonRows } from '../history/decision-log/erase-rows.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { Store } from '../state/feed/open-store.ts';
import type { Slices } from '../state/tables/turns.ts';
import type { VelocityMemory } from '../velocity/memory.ts';
import type { MarkForm, Person, PersonMarker } from './person.ts';

/** Where people are found. */
export interface FindParts {
  readonly store: Store;
  /** This node's own. */
  readonly decisions: DecisionLog;
  readonly dataDir: string;
  readonly keyFor: (purpose: string) => Buffer;
  /** Null on a node without a velocity store. */
  readonly velocity: VelocityMemory | null;
  readonly marker: PersonMarker;
  /** Starts slices for the work of a customer, or of the service itself. */
  readonly slicesOf: (customer: CustomerNumber | null) => Slices;
}

/** Who is looked for. */
export interface Sought {
  readonly customer: CustomerNumber;
  /** `entity.<name>`, `ip` or `browser`. */
  readonly subject: string;
  /** Null for an erasure that is repeated after a restore: only its marks are known. */
  readonly person: Person | null;
  readonly marks: readonly string[];
  /** Rows of later events do not count. */
  readonly untilMs: number;
}

/** A person as the tables have them: the same for an erasure and for an export. */
export interface FoundPerson extends FindParts, Omit<Sought, 'marks'> {
  readonly nowMs: number;
  readonly marks: ReadonlySet<string>;
  /** `hash`: as hex digits. */
  readonly isMarked: (form: MarkForm, hash: string) => boolean;
  /** Recognises the decisions about the person; null for a browser, to which no decision is linked. */
  readonly rows: PersonRows | null;
  /** Ids of the decisions of this node about the person. */
  readonly requestIds: ReadonlySet<string>;
  readonly slices: Slices;
}

/** Finds the decisions of this node about a person, by which other tables find the person. Throws if the slices are aborted. */
export async function findPerson(parts: FindParts, sought: Sought, nowMs: number): Promise<FoundPerson> {
  const { decisions, marker, slicesOf } = parts;
  const { customer, subject, untilMs } = sought;
  const slices = slicesOf(customer);
  const marks = new Set(sought.marks);
  const isMarked = (form: MarkForm, hash: string): boolean => marks.has(marker.markOf(customer, form, hash));
  const isLinkMarked = (bytes: Buffer, at: number): boolean => isMarked('link', bytes.hexSlice(at, at + 8));
  const rows = subject === 'browser' ? null : { isMarked: isLinkMarked, untilMs };
  const requestIds = new Set<string>();
  const raw = new RawRecord();
  if (rows !== null) {
    await decisions.visitAbout(customer, rows, slices, (bytes, from, end) => {
      if (raw.read(bytes, from, end)) requestIds.add(raw.requestId);
    });
  }
  await slices.begin();
  return { ...parts, ...sought, nowMs, marks, isMarked, rows, requestIds, slices };
}
