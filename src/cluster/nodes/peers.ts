import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command, Link, Reply } from '../store/link.ts';
import type { ClusterNode, Membership } from './membership.ts';
import { replyList } from '../store/store-calls.ts';
import { nodeKey } from '../store/store-keys.ts';
import {
  type AnswerStatus,
  decodeMessage,
  encodeMessage,
  type PeerPart,
  type PeerQuestion,
  type QuestionName,
  questionFormat,
} from './peer-message.ts';

/** Choice: a person waits this long for a page; a node that is slower counts as missing. */
export const ASK_DEADLINE_MS = 2_000;
/** Choice: five times the longest deadline. An inbox without a reader expires. */
const INBOX_KEPT_MS = 10_000;
/** Choice: far above what the limits below allow to be in flight for a node that reads. */
const INBOX_ENTRIES_MAX = 4_096;
/** Choice: at most some 4 MB are taken out at once. */
const READ_COUNT = 16;
const READ_WAIT_SECONDS = 1;
const READ_DEADLINE_MS = 3_000;
const READ_PAUSE_MS = 200;
const SEND_DEADLINE_MS = 1_000;
/** Choice: more questions than all concurrent management calls send. */
const ASKED_MAX = 256;
/** Choice: twice the searches that a node runs at once. */
const ANSWERING_MAX = 16;
const WAITING_MAX = 128;
/** Choice: 100,000 decisions with their links. A longer answer ends there and counts as failed. */
const ANSWER_BYTES_MAX = 48 * 1_048_576;
/** Choice: 256 nodes that start 250 times each. */
const ASKING_RUNS_MAX = 65_536;
/** Choice: 256 nodes with some questions each, and their next starts. */
const REPORTED_MAX = 10_000;

/** Answers a question in parts; each is packed and sent alone, so keep them below `PEER_PART_BYTES`. Reads the body with mistrust. */
export type PeerHandler = (
  body: readonly unknown[],
  from: Pick<ClusterNode, 'id' | 'run'>,
) => AsyncIterable<readonly unknown[]> | Iterable<readonly unknown[]>;

/** Choice: large enough to make the cost of an entry small, small enough not to hold up a decision. */
export const PEER_PART_BYTES = 128 * 1_024;

export interface PeerAnswer {
  readonly node: ClusterNode;
  /** `late`: no complete answer before the deadline, or the node is gone. */
  readonly status: Exclude<AnswerStatus, 'more'> | 'late';
  /** Complete if the status is `done`. */
  readonly parts: readonly (readonly unknown[])[];
}

export interface Asked {
  /** Complete answers only. */
  readonly answers: readonly PeerAnswer[];
  /** True if a node that holds data, alive or dead, did not answer. */
  readonly isPartial: boolean;
}

export interface PeerCounts {
  asked: number;
  late: number;
  answered: number;
  /** Questions of this node that another one does not know in this version. */
  unsupported: number;
  /** Messages of another version of their form. */
  otherVersion: number;
  /** Entries of an inbox that no node of this cluster has written, or that came twice. */
  dropped: number;
}

export interface PeersOptions {
  readonly membership: Membership;
  readonly link: Link;
  /** A link of its own, which waits for entries. */
  readonly waiting: Link;
  /** `keyFor('cluster-values')`. */
  readonly key: Buffer;
  /**
   * Called for what a node of another version makes impossible: once for each question that it does not know in this version, and once
   * for its messages in another form (`name` is null).
   */
  readonly onOtherVersion?: (other: { readonly node: string | null; readonly name: string | null }) => void;
}

interface Open {
  readonly node: ClusterNode;
  readonly parts: (readonly unknown[])[];
  readonly end: (status: PeerAnswer['status']) => void;
}

/**
 * Requests between the nodes, over the store: each run of a node has one inbox, a list, for the questions of others and the answers to its
 * own. One round trip of the store each way; a question to several nodes is sent at once. A node that does not answer before the
 * deadline makes the result partial, never a failure.
 */
export class Peers {
  readonly counts: PeerCounts = {
    asked: 0,
    late: 0,
    answered: 0,
    unsupported: 0,
    otherVersion: 0,
    dropped: 0,
  };
  readonly #options: PeersOptions;
  readonly #handlers = new Map<string, PeerHandler>();
  /** By question and node. */
  readonly #open = new Map<string, Open>();
  /** Run of an asking node → serial of its last question. The store keeps their order, so a lower serial is a copy. */
  readonly #serials = new Map<string, number>();
  readonly #stop = new AbortController();
  readonly #queue: PeerQuestion[] = [];
  /** Reports to `onOtherVersion`, by node, its run, and question. */
  readonly #reported = new Set<string>();
  #serial = 0;
  #answering = 0;
  #reading: Promise<void> | null = null;

  constructor(options: PeersOptions) {
    this.#options = options;
    options.membership.onChange((event) => {
      if (event.kind === 'gone') this.#endOf(event.node);
    });
  }

  /** Number of other nodes that are alive. */
  get count(): number {
    return this.#options.membership.peers().length;
  }

  /** Sets how questions of this name are answered. */
  handle(name: QuestionName, handler: PeerHandler): void {
    this.#handlers.set(name, handler);
  }

  /** Begins to read the inbox. The node must have joined, or join later. */
  start(): void {
    this.#reading ??= this.#read();
  }

  /** Sends a question to these nodes in parallel, by default to all others that are alive. Never rejects. */
  async ask(name: string, body: readonly unknown[], options: AskOptions = {}): Promise<Asked> {
    const { membership } = this.#options;
    const nodes = options.nodes ?? membership.peers();
    const missing = options.nodes === undefined ? membership.missing().length : 0;
    if (nodes.length === 0) return { answers: [], isPartial: missing > 0 };
    if (this.#open.size + nodes.length > ASKED_MAX || this.#stop.signal.aborted)
      return { answers: [], isPartial: true };
    const answers = await this.#askAll(nodes, name, body, options.deadlineMs ?? ASK_DEADLINE_MS);
    const done = answers.filter(({ status }) => status === 'done');
    this.counts.asked += answers.length;
    for (const { node, status } of answers) {
      if (status === 'late') this.counts.late++;
      else if (status === 'unsupported') {
        this.counts.unsupported++;
        this.#report(`${node.id} ${node.run} ${name}`, { node: node.id, name });
      }
    }
    return { answers: done, isPartial: missing > 0 || done.length < answers.length };
  }

  async close(): Promise<void> {
    this.#stop.abort();
    for (const open of this.#open.values()) open.end('late');
    await this.#options.waiting.close();
    await this.#reading;
  }

  async #askAll(
    nodes: readonly ClusterNode[],
    name: string,
    body: readonly unknown[],
    deadlineMs: number,
  ): Promise<readonly PeerAnswer[]> {
    const { membership, key } = this.#options;
    const id = randomBytes(12).toString('hex');
    const question: PeerQuestion = {
      kind: 'question',
      id,
      from: membership.id,
      fromRun: membership.run,
      serial: ++this.#serial,
      deadlineMs,
      name,
      format: questionFormat(name),
      body,
    };
    const answers = nodes.map((node) => this.#await(id, node, deadlineMs));
    const entries = nodes.map((node) => {
      const inbox = inboxOf(node.id, node.run);
      return { inbox, entry: encodeMessage(key, inbox, question) };
    });
    const sent = await this.#push(entries);
    for (const [at, node] of nodes.entries()) if (sent[at] !== true) this.#open.get(`${id} ${node.id}`)?.end('late');
    return Promise.all(answers);
  }

  #await(id: string, node: ClusterNode, deadlineMs: number): Promise<PeerAnswer> {
    const key = `${id} ${node.id}`;
    return new Promise((resolve) => {
      const parts: (readonly unknown[])[] = [];
      const end = (status: PeerAnswer['status']): void => {
        if (!this.#open.delete(key)) return;
        clearTimeout(timer);
        resolve({ node, status, parts });
      };
      const timer = setTimeout(() => end('late'), deadlineMs);
      this.#open.set(key, { node, parts, end });
    });
  }

  /** Returns whether each entry is in its inbox. An inbox that is full has a reader that does not read, and loses its oldest entries. */
  async #push(entries: readonly { readonly inbox: string; readonly entry: Buffer }[]): Promise<readonly boolean[]> {
    const commands = entries.flatMap(({ inbox, entry }): Command[] => [
      { key: inbox, args: ['RPUSH', inbox, entry] },
      { key: inbox, args: ['PEXPIRE', inbox, String(INBOX_KEPT_MS)] },
    ]);
    const sent = await this.#options.link.send(commands, SEND_DEADLINE_MS);
    return entries.map(({ inbox }, at) => {
      const pushed = sent[2 * at];
      if (pushed?.kind !== 'reply') return false;
      if (Number(pushed.reply) <= INBOX_ENTRIES_MAX) return true;
      void this.#options.link.send([{ key: inbox, args: ['DEL', inbox] }]);
      return false;
    });
  }

  async #read(): Promise<void> {
    const { waiting, membership, key } = this.#options;
    while (!this.#stop.signal.aborted) {
      const inbox = inboxOf(membership.id, membership.run);
      const count = ['COUNT', String(READ_COUNT)];
      const args = ['BLMPOP', String(READ_WAIT_SECONDS), '1', inbox, 'LEFT', ...count];
      const [sent] =
        membership.epoch === 0 || !waiting.isUp ? [] : await waiting.send([{ key: inbox, args }], READ_DEADLINE_MS);
      if (sent?.kind === 'reply')
        for (const entry of entriesOf(sent.reply)) this.#receive(decodeMessage(key, inbox, entry));
      else await delay(READ_PAUSE_MS, null, { signal: this.#stop.signal }).catch(() => {});
    }
  }

  #receive(message: ReturnType<typeof decodeMessage>): void {
    if (message === null || (message.kind === 'question' && this.#isRepeated(message))) this.counts.dropped++;
    else if (message.kind === 'other_version') {
      this.counts.otherVersion++;
      this.#report(`form ${String(message.version)}`, { node: null, name: null });
    } else if (message.kind === 'part') this.#receivePart(message);
    else if (this.#answering < ANSWERING_MAX) void this.#answer(message);
    else if (this.#queue.length < WAITING_MAX) this.#queue.push(message);
    else void this.#reply(message, 0, 'busy', []);
  }

  #report(key: string, other: { readonly node: string | null; readonly name: string | null }): void {
    if (this.#reported.has(key) || this.#reported.size > REPORTED_MAX) return;
    this.#reported.add(key);
    this.#options.onOtherVersion?.(other);
  }

  #isRepeated({ fromRun, serial }: PeerQuestion): boolean {
    if (serial <= (this.#serials.get(fromRun) ?? 0)) return true;
    this.#serials.set(fromRun, serial);
    const [oldest = ''] = this.#serials.size > ASKING_RUNS_MAX ? this.#serials.keys() : [];
    if (oldest !== '') this.#serials.delete(oldest);
    return false;
  }

  #receivePart({ id, from, fromRun, at, status, body }: PeerPart): void {
    const open = this.#open.get(`${id} ${from}`);
    // The deadline is over.
    if (open === undefined) return;
    if (open.node.run === fromRun && at < open.parts.length) this.counts.dropped++;
    else if (open.node.run !== fromRun || open.parts.length !== at) open.end('failed');
    else {
      if (body.length > 0) open.parts.push(body);
      if (status !== 'more') open.end(status);
    }
  }

  async #answer(question: PeerQuestion): Promise<void> {
    this.#answering++;
    try {
      await this.#answerNow(question);
    } finally {
      this.#answering--;
      const next = this.#queue.shift();
      if (next !== undefined) void this.#answer(next);
    }
  }

  async #answerNow(question: PeerQuestion): Promise<void> {
    const handler = this.#handlers.get(question.name);
    if (handler === undefined || question.format !== questionFormat(question.name)) {
      await this.#reply(question, 0, 'unsupported', []);
      return;
    }
    const endMs = performance.now() + question.deadlineMs;
    let at = 0;
    let bytes = 0;
    // The last part also ends the answer, so one part stays behind.
    let last: readonly unknown[] | null = null;
    try {
      for await (const part of handler(question.body, { id: question.from, run: question.fromRun })) {
        if (last !== null) {
          const sent = await this.#reply(question, at++, 'more', last);
          bytes += sent;
          if (sent === 0 || bytes > ANSWER_BYTES_MAX || performance.now() > endMs) return;
        }
        last = part;
      }
      await this.#reply(question, at, 'done', last ?? []);
      this.counts.answered++;
    } catch {
      await this.#reply(question, at, 'failed', []);
    }
  }

  /** Returns the bytes that were sent; 0 if the asking node cannot be reached. */
  async #reply(question: PeerQuestion, at: number, status: AnswerStatus, body: readonly unknown[]): Promise<number> {
    const { membership, key } = this.#options;
    const inbox = inboxOf(question.from, question.fromRun);
    const from = { from: membership.id, fromRun: membership.run };
    const entry = encodeMessage(key, inbox, { kind: 'part', id: question.id, ...from, at, status, body });
    const [isSent = false] = await this.#push([{ inbox, entry }]);
    return isSent ? entry.length : 0;
  }

  #endOf({ id, run }: ClusterNode): void {
    for (const open of this.#open.values()) if (open.node.id === id && open.node.run === run) open.end('late');
  }
}

export interface AskOptions {
  readonly deadlineMs?: number;
  readonly nodes?: readonly ClusterNode[];
}

/** Each run has an inbox of its own, so a node never reads what was meant for an earlier run. */
export function inboxOf(id: string, run: string): string {
  return nodeKey(id, `inbox:${run}`);
}

/** Returns the entries of a reply of BLMPOP; empty if the wait ended without one. */
function entriesOf(reply: Reply): readonly Buffer[] {
  return replyList(replyList(reply)[1]).filter((entry) => Buffer.isBuffer(entry));
}
