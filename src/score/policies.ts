import { BroadcastChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { PolicyContent, PolicyMessage, PolicySeed } from '../assets/policy-messages.ts';
import { AttributeNotes } from '../risk/policy/attribute-notes.ts';
import { compilePolicies, DEFAULT_DOCUMENT, type PolicySet } from '../risk/policy/policy-set.ts';

/** Choice: a person who looks at the dashboard after a request sees what was wrong with it. */
const NOTES_MS = 1_000;

/** The policies of one score worker. */
export interface WorkerPolicies {
  /**
   * The current policies. They change only in `refresh` and in a turn of this thread's event loop: read them once for decisions that must
   * be consistent.
   */
  current(): PolicySet;
  /** Takes what the main thread has posted, so that a rule counts for the next decision. Call it before each batch: one atomic read. */
  refresh(): void;
  /** Attributes and members that do not count. Call it only for requests with a secret key. */
  readonly attributes: AttributeNotes;
  /** Stops listening. */
  close(): void;
}

/** Opens the policies in workerData, and installs newer ones from the main thread from then on, between two batches. */
export function openWorkerPolicies(seed: PolicySeed): WorkerPolicies {
  const channel = new BroadcastChannel(seed.channel);
  // Source: the documentation of Node.js; its types do not have it.
  const port = channel as unknown as MessagePort;
  const posted = new Int32Array(seed.posted);
  let { generation } = seed.content;
  let current = compile(seed.content);
  const take = (message: PolicyMessage): void => {
    if (message.kind === 'policy' && message.content.generation > generation) {
      ({ generation } = message.content);
      current = compile(message.content);
    } else if (message.kind === 'rules' && message.generation === generation + 1) {
      // After a missed message the response to `hello` has everything.
      ({ generation } = message);
      current.setRules(message.customer, message.rules, message.tripped);
    }
  };
  channel.addEventListener('message', (event: unknown) => take((event as { readonly data: PolicyMessage }).data));
  // The pool's own port keeps the worker alive, not this channel.
  channel.unref();
  // Releases the first document. workerData lives as long as its worker, so it would otherwise stay in memory after a change.
  seed.content = {
    generation,
    document: DEFAULT_DOCUMENT,
    customerNumbers: new Map(),
    rules: new Map(),
    tripped: new Map(),
  };
  channel.postMessage({ kind: 'hello', generation } satisfies PolicyMessage);
  let timer: NodeJS.Timeout | null = null;
  const attributes = new AttributeNotes(() => {
    timer = setTimeout(() => {
      const notes = attributes.take();
      if (notes !== null) channel.postMessage({ kind: 'attributes', notes } satisfies PolicyMessage);
    }, NOTES_MS).unref();
  });
  return {
    attributes,
    current: () => current,
    refresh() {
      if (Atomics.load(posted, 0) <= generation) return;
      for (;;) {
        const received = receiveMessageOnPort(port);
        if (received === undefined) return;
        take(received.message as PolicyMessage);
      }
    },
    close() {
      if (timer !== null) clearTimeout(timer);
      channel.close();
    },
  };
}

function compile({ document, customerNumbers, rules, tripped }: PolicyContent): PolicySet {
  return compilePolicies(document, (id) => customerNumbers.get(id) ?? null, rules, tripped);
}
