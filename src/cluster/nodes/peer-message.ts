import { decrypt, encrypt } from '../../kernel/encryption.ts';
import { pack, unpack } from '../../kernel/pack.ts';

/**
 * One entry of an inbox: a question, or a part of an answer. Packed, and encrypted with the name of the inbox as context, which holds the
 * receiver and its run: an entry can be read by that run alone.
 */
export type PeerMessage = PeerQuestion | PeerPart;

export interface PeerQuestion {
  readonly kind: 'question';
  /** 24 hex digits, random. */
  readonly id: string;
  readonly from: string;
  readonly fromRun: string;
  /** Rises with each question of the run, so that a repeated one is recognised. */
  readonly serial: number;
  /** Milliseconds that the asking node waits for the answer. */
  readonly deadlineMs: number;
  readonly name: string;
  /** Version of the question's body and of its answer. */
  readonly format: number;
  readonly body: readonly unknown[];
}

/**
 * Versions of the questions: their bodies and the bodies of their answers, which contain rows of decisions, counts and deliveries as the
 * nodes store them. Raise one when any of these changes. A node that has another version answers `unsupported` at once, and the result is
 * partial until all nodes are upgraded.
 */
const QUESTION_FORMATS = {
  'history.search': 1,
  'history.find': 1,
  'history.scan': 1,
  'stats.read': 1,
  'outcomes.report': 1,
  'keys.use': 1,
  'deliveries.find': 1,
  'deliveries.page': 1,
  'sessions.opened': 1,
  'sessions.ended': 1,
  'sessions.ended_all': 1,
  'sessions.list': 1,
  'codes.redeem': 1,
  'changes.applied': 1,
} as const;

/** A question that nodes answer. */
export type QuestionName = keyof typeof QUESTION_FORMATS;

/** Returns 0 for a question that this build does not know. */
export function questionFormat(name: string): number {
  return Object.hasOwn(QUESTION_FORMATS, name) ? QUESTION_FORMATS[name as QuestionName] : 0;
}

/** `busy`: too many questions are being answered. `unsupported`: the node does not know this question, or not in this version. */
export type AnswerStatus = 'more' | 'done' | 'busy' | 'unsupported' | 'failed';

export interface PeerPart {
  readonly kind: 'part';
  /** Id of the question. */
  readonly id: string;
  readonly from: string;
  readonly fromRun: string;
  /** Counts from 0. */
  readonly at: number;
  /** `more` until the last part. */
  readonly status: AnswerStatus;
  readonly body: readonly unknown[];
}

/** Version of this form. Entries of another one are dropped and counted; the node that asked gets no answer before its deadline. */
const VERSION = 2;
const QUESTION = 0;
const PART = 1;
const STATUSES: readonly AnswerStatus[] = ['more', 'done', 'busy', 'unsupported', 'failed'];
const ID = /^[0-9a-f]{24}$/;
/** Choice: ten times the usual part. Larger entries are dropped unread. */
const ENTRY_BYTES_MAX = 2 * 1_048_576;
const NAME_CHARACTERS_MAX = 64;

export function encodeMessage(key: Buffer, inbox: string, message: PeerMessage): Buffer {
  const { id, from, fromRun, body } = message;
  const rest =
    message.kind === 'question'
      ? [QUESTION, message.deadlineMs, message.name, message.format, message.serial]
      : [PART, message.at, STATUSES.indexOf(message.status)];
  return encrypt(key, pack([VERSION, id, from, fromRun, body, ...rest]), inbox);
}

/** A message that a node of this cluster wrote in another version of the form. */
export interface OtherVersion {
  readonly kind: 'other_version';
  readonly version: unknown;
}

/** Returns null for anything that no node of this cluster has written for this inbox. */
export function decodeMessage(key: Buffer, inbox: string, entry: Uint8Array): PeerMessage | OtherVersion | null {
  if (entry.length > ENTRY_BYTES_MAX) return null;
  const plain = decrypt(key, entry, inbox);
  if (plain === null) return null;
  try {
    const [version, id, from, fromRun, body, kind, number, last, format, serial] = unpack(plain);
    if (version !== VERSION) return { kind: 'other_version', version };
    if (typeof id !== 'string' || !ID.test(id) || typeof from !== 'string') return null;
    if (!Array.isArray(body) || typeof number !== 'number' || typeof fromRun !== 'string') return null;
    const head = { id, from, fromRun, body: body as readonly unknown[] };
    if (kind === QUESTION) {
      if (typeof last !== 'string' || last.length > NAME_CHARACTERS_MAX || typeof serial !== 'number') return null;
      return { kind: 'question', ...head, deadlineMs: number, name: last, format: Number(format), serial };
    }
    const status = STATUSES[Number(last)];
    return kind === PART && status !== undefined ? { kind: 'part', ...head, at: number, status } : null;
  } catch {
    return null;
  }
}
